/* Brings values to mean 0 and standard deviation 1, by statistics that run along, and to levels. */
#include "base/base.h"
#include "dsp/dsp.h"

#include "base/threads/isa.h"
#include "base/threads/threads.h"

#include <math.h>
#include <stdlib.h>

enum { TILE = 256 }; /* values that a thread takes at a time */

/* Sums over the good rows of an interval. */
struct moments {
    double sum, squares;
};

struct psr_rescale {
    size_t nvalue;
    int64_t interval, row; /* rows; rows of the current interval so far */
    int64_t ngood;         /* of them */
    int nthread;
    struct psr_own own;
    struct moments *m;    /* [nvalue] */
    float *offset, *gain; /* [nvalue] of the current interval */
};

psr_status psr_rescale_create(psr_rescale **out, size_t nvalue, int64_t interval, int nthread,
                              psr_err *err)
{
    psr_rescale *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return psr_fail_nomem(err, "scales", sizeof *r);
    r->nvalue = nvalue;
    r->interval = interval;
    r->nthread = psr_count_threads(nthread);
    r->m = psr_own(&r->own, nvalue, sizeof *r->m);
    r->offset = psr_own(&r->own, nvalue, sizeof *r->offset);
    r->gain = psr_own(&r->own, nvalue, sizeof *r->gain);
    psr_status st = psr_own_check(&r->own, "scales", err);
    if (st)
        psr_rescale_destroy(r);
    else
        *out = r;
    return st;
}

void psr_rescale_scale(const psr_rescale *r, const float **offset, const float **gain)
{
    *offset = r->offset;
    *gain = r->gain;
}

void psr_rescale_destroy(psr_rescale *r)
{
    if (!r)
        return;
    psr_own_free(&r->own);
    free(r);
}

static void add_row(struct moments *m, const float *row, size_t from, size_t stop)
{
    for (size_t i = from; i < stop; i++) {
        m[i].sum += (double)row[i];
        m[i].squares += (double)row[i] * (double)row[i];
    }
}

/* Scales by the sums over n rows, and clears them. */
static void take_scale(psr_rescale *r, size_t from, size_t stop, int64_t n)
{
    for (size_t i = from; i < stop && n > 0; i++) {
        const double mean = r->m[i].sum / (double)n;
        const double variance = r->m[i].squares / (double)n - mean * mean;
        /* below this, it is what rounding leaves of values that do not vary */
        const bool varies = variance > 1e-13 * mean * mean && variance > 0;
        r->offset[i] = (float)mean;
        r->gain[i] = varies ? (float)(1 / sqrt(variance)) : 0;
        r->m[i] = (struct moments){0, 0};
    }
}

void psr_rescale_measure(psr_rescale *r, const float *rows, const bool *good, size_t n)
{
    const size_t ntile = (r->nvalue + TILE - 1) / TILE;
    const int nthread = r->nthread;
    int64_t ngood = 0;
    (void)nthread; /* without OpenMP */
    for (size_t t = 0; t < n; t++)
        ngood += good[t];
#pragma omp parallel for num_threads(nthread) schedule(static)
    for (size_t k = 0; k < ntile; k++) {
        const size_t from = k * TILE, end = from + TILE, stop = end < r->nvalue ? end : r->nvalue;
        for (size_t t = 0; t < n; t++)
            if (good[t])
                add_row(r->m, rows + t * r->nvalue, from, stop);
        take_scale(r, from, stop, ngood);
    }
}

void psr_rescale_apply(psr_rescale *r, float *rows, const bool *good, size_t n)
{
    while (n > 0) {
        const int64_t left = r->interval - r->row;
        const size_t part = r->interval > 0 && left < (int64_t)n ? (size_t)left : n;
        const size_t ntile = (r->nvalue + TILE - 1) / TILE;
        const int nthread = r->nthread;
        (void)nthread; /* without OpenMP */
        for (size_t t = 0; t < part; t++)
            r->ngood += good[t];
        r->row += (int64_t)part;
        const bool ends = r->row == r->interval;
#pragma omp parallel for num_threads(nthread) schedule(static)
        for (size_t k = 0; k < ntile; k++) {
            const size_t from = k * TILE, end = from + TILE,
                         stop = end < r->nvalue ? end : r->nvalue;
            for (size_t t = 0; t < part; t++) {
                float *row = rows + t * r->nvalue;
                if (good[t] && r->interval > 0)
                    add_row(r->m, row, from, stop);
                for (size_t i = from; i < stop; i++)
                    row[i] = good[t] ? (row[i] - r->offset[i]) * r->gain[i] : 0;
            }
            if (ends)
                take_scale(r, from, stop, r->ngood);
        }
        if (ends)
            r->row = r->ngood = 0;
        rows += part * r->nvalue;
        good += part;
        n -= part;
    }
}

/* As below, of 8 bits. */
PSR_CLONES static void digitise_bytes(const float *restrict x, size_t n, float gain, float half,
                                      float top, uint8_t *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        const float level = x[i] * gain + half, above = level > 0 ? level : 0; /* 0 for NaN */
        to[i] = (uint8_t)(int)(above < top ? above : top);
    }
}

static void digitise_words(const float *x, size_t n, float gain, float half, uint8_t *to)
{
    const float top = 65535;
    for (size_t i = 0; i < n; i++) {
        const float level = x[i] * gain + half;
        const unsigned bits = (unsigned)(level > 0 ? level < top ? level : top : 0);
        *to++ = (uint8_t)bits;
        *to++ = (uint8_t)(bits >> 8);
    }
}

/* Eight bytes, the first in the low bits. */
static uint64_t eight_bytes(const uint8_t *level)
{
    uint64_t bytes = 0;
    for (int k = 0; k < 8; k++)
        bytes |= (uint64_t)level[k] << 8 * k;
    return bytes;
}

/* Products put the bits of byte k at those of place k of the highest byte; no two of them meet. */
static void pack_1(const uint8_t *level, size_t nbyte, uint8_t *to)
{
    for (size_t i = 0; i < nbyte; i++)
        to[i] = (uint8_t)(eight_bytes(level + 8 * i) * 0x0102040810204080 >> 56);
}

static void pack_2(const uint8_t *level, size_t nbyte, uint8_t *to)
{
    for (size_t i = 0; i < nbyte; i++) {
        uint32_t bytes = 0;
        for (int k = 0; k < 4; k++)
            bytes |= (uint32_t)level[4 * i + (size_t)k] << 8 * k;
        to[i] = (uint8_t)(bytes * 0x01041040 >> 24);
    }
}

PSR_CLONES static void rescale_pack_4(const uint8_t *restrict level, size_t nbyte,
                                      uint8_t *restrict to)
{
    for (size_t i = 0; i < nbyte; i++)
        to[i] = (uint8_t)(level[2 * i] | level[2 * i + 1] << 4);
}

void psr_rescale_pack(const uint8_t *level, size_t n, int nbit, uint8_t *to)
{
    const size_t each = 8 / (size_t)nbit, nbyte = n / each;
    unsigned bits = 0;
    (nbit == 4 ? rescale_pack_4 : nbit == 2 ? pack_2 : pack_1)(level, nbyte, to);
    for (size_t k = 0, i = nbyte * each; i < n; i++, k++)
        bits |= (unsigned)level[i] << k * (size_t)nbit;
    if (nbyte * each < n)
        to[nbyte] = (uint8_t)bits;
}

void psr_rescale_digitise(const float *x, size_t n, int nbit, float gain, float shift, uint8_t *to)
{
    enum { CHUNK = 1024 };
    const float top = (float)((1 << nbit) - 1), half = shift + 0.5F;
    uint8_t level[CHUNK];
    if (nbit == 8)
        digitise_bytes(x, n, gain, half, top, to);
    else if (nbit == 16)
        digitise_words(x, n, gain, half, to);
    for (size_t i = 0; nbit < 8 && i < n; i += CHUNK) {
        const size_t m = n - i < CHUNK ? n - i : CHUNK;
        digitise_bytes(x + i, m, gain, half, top, level);
        psr_rescale_pack(level, m, nbit, to + i * (size_t)nbit / 8);
    }
}
