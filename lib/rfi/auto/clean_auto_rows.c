/* Automatic cleaning, spectrum by spectrum: sums of samples, and their quantisation. */
#include "clean_auto_plan.h"

#include "base/threads/clones.h"
#include "base/threads/isa.h"
#include <math.h>
#include <string.h>

/* Loops over bytes are compiled for AVX-512, too: it makes bytes of numbers in one instruction. */
#if defined __x86_64__
#define FOR_WIDE PSR_ISA_FOR_AVX512
#else
#define FOR_WIDE
#endif
#define IN_BOTH static inline __attribute__((always_inline))

static bool is_wide(void)
{
    return psr_isa_find() == PSR_ISA_AVX512;
}

enum { ROWS = 4, CHANNELS = 256 }; /* added at a time */

/* Four spectra at a time, so that sums are loaded less often. */
IN_BOTH void add_bytes(const uint8_t *x, size_t stride, size_t nrow, size_t n, uint32_t *s1,
                       uint32_t *s2)
{
    size_t t = 0;
    for (; t + ROWS <= nrow; t += ROWS) {
        const uint8_t *a = x + t * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        for (size_t k = 0; k < n; k++) {
            uint32_t p = a[k], q = b[k], r = c[k], s = d[k];
            s1[k] += p + q + r + s;
            s2[k] += p * p + q * q + r * r + s * s;
        }
    }
    for (; t < nrow; t++)
        for (size_t k = 0; k < n; k++) {
            uint32_t p = x[t * stride + k];
            s1[k] += p;
            s2[k] += p * p;
        }
}

PSR_CLONES static void auto_add_bytes(const uint8_t *x, size_t stride, size_t nrow, size_t n,
                                      uint32_t *s1, uint32_t *s2)
{
    add_bytes(x, stride, nrow, n, s1, s2);
}

FOR_WIDE static void auto_add_bytes_wide(const uint8_t *x, size_t stride, size_t nrow, size_t n,
                                         uint32_t *s1, uint32_t *s2)
{
    add_bytes(x, stride, nrow, n, s1, s2);
}

static void sum_bytes(const psr_clean_auto *p, struct psr_auto_block *b)
{
    const size_t nchan = p->d.nchan;
    void (*const add)(const uint8_t *, size_t, size_t, size_t, uint32_t *, uint32_t *) =
        is_wide() ? auto_add_bytes_wide : auto_add_bytes;
    uint32_t s1[CHANNELS], s2[CHANNELS];
    for (size_t c = 0; c < nchan; c += CHANNELS) {
        size_t n = nchan - c < CHANNELS ? nchan - c : CHANNELS;
        memset(s1, 0, sizeof s1);
        memset(s2, 0, sizeof s2);
        add(p->from + b->first * nchan + c, nchan, b->n, n, s1, s2);
        for (size_t k = 0; k < n; k++) {
            b->s1[c + k] = s1[k];
            b->s2[c + k] = s2[k];
        }
    }
}

static bool is_bytes(const psr_clean_auto *p)
{
    return p->in.nbit == 8 && p->in.kind == PSR_UINT;
}

void psr_auto_sum(const psr_clean_auto *p, struct psr_auto_block *b, float *row)
{
    const size_t nchan = p->d.nchan;
    if (is_bytes(p)) {
        sum_bytes(p, b);
        return;
    }
    memset(b->s1, 0, nchan * sizeof *b->s1);
    memset(b->s2, 0, nchan * sizeof *b->s2);
    for (size_t t = b->first; t < b->first + b->n; t++) {
        psr_spectrum_widen(&p->in, p->from + t * p->in.row_bytes, row);
        for (size_t c = 0; c < nchan; c++) {
            b->s1[c] += (double)row[c];
            b->s2[c] += (double)row[c] * (double)row[c];
        }
    }
}

/* --- quantisation ----------------------------------------------------------------------------- */

enum { CHUNK = 64 }; /* channels at a time, in registers and the nearest cache */

/* Bytes nearest to n values.  Adding 2^23 rounds a float to the nearest whole number.  One
 * comparison in a loop, and nothing after it: of more, compilers make jumps, and no vectors. */
IN_BOTH void store_levels(uint8_t *restrict out, float *restrict y, size_t n)
{
    for (size_t k = 0; k < n; k++)
        y[k] = y[k] > 0.0f ? y[k] : 0.0f;
    for (size_t k = 0; k < n; k++)
        y[k] = y[k] < 255.0f ? y[k] : 255.0f;
    for (size_t k = 0; k < n; k++)
        y[k] = (y[k] + 8388608.0f) - 8388608.0f;
    for (size_t k = 0; k < n; k++)
        out[k] = (uint8_t)(int32_t)y[k];
}

IN_BOTH void make_levels(uint8_t *restrict out, const uint8_t *restrict x,
                         const float *restrict gain, const float *restrict offset, size_t n)
{
    float y[CHUNK];
    for (size_t k = 0; k < n; k++) {
        float now = (float)x[k] * gain[k];
        y[k] = now + offset[k];
    }
    store_levels(out, y, n);
}

/* Loops over a number of channels that is known are made into vectors without jumps. */
IN_BOTH void make_all_levels(uint8_t *restrict out, const uint8_t *restrict x,
                             const float *restrict gain, const float *restrict offset, size_t n)
{
    size_t c = 0;
    for (; c + CHUNK <= n; c += CHUNK)
        make_levels(out + c, x + c, gain + c, offset + c, CHUNK);
    if (c < n)
        make_levels(out + c, x + c, gain + c, offset + c, n - c);
}

PSR_CLONES static void auto_levels_of_bytes(uint8_t *restrict out, const uint8_t *restrict x,
                                            const float *restrict gain,
                                            const float *restrict offset, size_t n)
{
    make_all_levels(out, x, gain, offset, n);
}

FOR_WIDE static void auto_levels_of_bytes_wide(uint8_t *restrict out, const uint8_t *restrict x,
                                               const float *restrict gain,
                                               const float *restrict offset, size_t n)
{
    make_all_levels(out, x, gain, offset, n);
}

PSR_CLONES static void auto_levels_of_floats(uint8_t *restrict out, const float *restrict x,
                                             const float *restrict gain,
                                             const float *restrict offset, size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = x[c + k] * gain[c + k];
            y[k] = now + offset[c + k];
        }
        store_levels(out + c, y, m);
    }
}

/* Masked channels have a gain of 0, and keep their level. */
PSR_CLONES static void auto_levels_less(uint8_t *restrict out, const float *restrict x,
                                        const float *restrict gain, const float *restrict offset,
                                        float less, size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = x[c + k] * gain[c + k];
            now += offset[c + k];
            y[k] = now - (gain[c + k] > 0.0f ? less : 0.0f);
        }
        store_levels(out + c, y, m);
    }
}

/* The same of bytes. */
IN_BOTH void make_levels_less(uint8_t *restrict out, const uint8_t *restrict x,
                              const float *restrict gain, const float *restrict offset, float less,
                              size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = (float)x[c + k] * gain[c + k];
            now += offset[c + k];
            y[k] = now - (gain[c + k] > 0.0f ? less : 0.0f);
        }
        store_levels(out + c, y, m);
    }
}

PSR_CLONES static void auto_levels_of_bytes_less(uint8_t *restrict out, const uint8_t *restrict x,
                                                 const float *restrict gain,
                                                 const float *restrict offset, float less, size_t n)
{
    make_levels_less(out, x, gain, offset, less, n);
}

FOR_WIDE static void auto_levels_of_bytes_less_wide(uint8_t *restrict out,
                                                    const uint8_t *restrict x,
                                                    const float *restrict gain,
                                                    const float *restrict offset, float less,
                                                    size_t n)
{
    make_levels_less(out, x, gain, offset, less, n);
}

/* As auto_levels_less, with so many levels a sigma. */
PSR_CLONES static void auto_levels_weighted(uint8_t *restrict out, const float *restrict x,
                                            const float *restrict gain,
                                            const float *restrict offset,
                                            const uint8_t *restrict weight, float less, size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = x[c + k] * gain[c + k];
            now += offset[c + k];
            now -= gain[c + k] > 0.0f ? less : 0.0f;
            now -= (float)PSR_AUTO_ZERO;
            now *= (float)weight[c + k] / (float)PSR_AUTO_SIGMA;
            y[k] = now + (float)PSR_AUTO_ZERO;
        }
        store_levels(out + c, y, m);
    }
}

PSR_CLONES static uint32_t auto_sum_levels(const uint8_t *x, size_t n)
{
    uint32_t sum = 0;
    for (size_t c = 0; c < n; c++)
        sum += x[c];
    return sum;
}

static void sum_groups(const psr_clean_auto *p, const uint8_t *out, int32_t *sum)
{
    for (size_t g = 0; g < p->ngroup; g++) {
        size_t first = psr_auto_first(p, g), n = psr_auto_first(p, g + 1) - first;
        sum[g] = (int32_t)auto_sum_levels(out + first, n) - (int32_t)(PSR_AUTO_ZERO * n);
    }
}

/* What is not a number becomes 0 sigma. */
static void mend_row(const psr_clean_auto *p, float *row)
{
    for (size_t c = 0; p->in.kind == PSR_FLOAT && c < p->d.nchan; c++)
        row[c] = isfinite(row[c]) ? row[c] : (float)p->now_l[c];
}

/* Given: row   the spectrum as floats; NULL: it is the bytes in */
static void subtract_common(const psr_clean_auto *p, const struct psr_auto_block *b, size_t t,
                            const unsigned char *in, const float *row, bool wide, uint8_t *out)
{
    for (size_t g = 0; g < p->ngroup; g++) {
        size_t c = psr_auto_first(p, g), n = psr_auto_first(p, g + 1) - c;
        float less = p->less[t * p->ngroup + g];
        if (p->d.weights)
            auto_levels_weighted(out + c, row + c, b->gain + c, b->offset + c, p->weight + c, less,
                                 n);
        else if (row)
            auto_levels_less(out + c, row + c, b->gain + c, b->offset + c, less, n);
        else if (wide)
            auto_levels_of_bytes_less_wide(out + c, in + c, b->gain + c, b->offset + c, less, n);
        else
            auto_levels_of_bytes_less(out + c, in + c, b->gain + c, b->offset + c, less, n);
    }
}

void psr_auto_quantise(const psr_clean_auto *p, const struct psr_auto_block *b, bool filter,
                       float *row)
{
    const size_t nchan = p->d.nchan;
    const bool bytes = is_bytes(p) && !(filter && p->d.weights), wide = is_wide();
    for (size_t t = b->first; t < b->first + b->n; t++) {
        const unsigned char *in = p->from + t * p->in.row_bytes;
        uint8_t *out = p->to + t * nchan;
        if (!bytes) {
            psr_spectrum_widen(&p->in, in, row);
            mend_row(p, row);
        }
        if (filter)
            subtract_common(p, b, t, in, bytes ? NULL : row, wide, out);
        else if (bytes && wide)
            auto_levels_of_bytes_wide(out, in, b->gain, b->offset, nchan);
        else if (bytes)
            auto_levels_of_bytes(out, in, b->gain, b->offset, nchan);
        else
            auto_levels_of_floats(out, row, b->gain, b->offset, nchan);
        if (!filter)
            sum_groups(p, out, p->sum + t * p->ngroup);
    }
}
