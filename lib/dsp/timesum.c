/* Adds consecutive spectra, channel by channel. */
#include "base/base.h"
#include "dsp/dsp.h"

#include "base/threads/isa.h"
#include "formats/spectra/unpack.h"
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 512, /* stored numbers taken at a time, for their sums to stay in the cache */
    SPLIT_BYTES = 64 << 10, /* of input: less is not worth a second thread */
};

/* Rows to sum. */
struct rows {
    const unsigned char *in;
    size_t n, row_bytes, nchan;
    uint8_t bias;
};

typedef void sum_function(const struct rows *r, void *out);

struct psr_timesum {
    struct psr_own own;
    struct psr_timesum_desc d;
    size_t row_bytes, sum_bytes;
    sum_function *sum, *wide; /* to sum_nbit, and to 16 bits */
    size_t phase;             /* spectra in the sum that is incomplete */
    uint16_t *partial, *more; /* [nchan] that sum, and what comes to it */
};

/* NAME: one sum of rows of NBIT bits, PER samples to a stored number.  The samples of each place in
 * it have sums of their own until the end. */
#define DEFINE_SUM(NAME, ISA, TYPE, NBIT, PER, OUT)                                                \
    ISA static void NAME(const struct rows *r, void *out)                                          \
    {                                                                                              \
        const unsigned ones = (1U << NBIT) - 1;                                                    \
        const size_t nstored = (r->nchan + PER - 1) / PER, nwhole = r->nchan / PER;                \
        OUT *restrict to = out;                                                                    \
        for (size_t s0 = 0; s0 < nstored; s0 += CHUNK) {                                           \
            OUT sum[PER][CHUNK] = {{0}};                                                           \
            const size_t width = nstored - s0 < CHUNK ? nstored - s0 : CHUNK;                      \
            const size_t whole = nwhole - s0 < width ? nwhole - s0 : width;                        \
            for (size_t t = 0; t < r->n; t++) {                                                    \
                const TYPE *x = (const TYPE *)(const void *)(r->in + t * r->row_bytes) + s0;       \
                for (size_t k = 0; k < PER; k++)                                                   \
                    for (size_t s = 0; s < width; s++) {                                           \
                        unsigned place = (unsigned)(TYPE)(x[s] + r->bias) >> k * NBIT & ones;      \
                        sum[k][s] = (OUT)(sum[k][s] + (OUT)place);                                 \
                    }                                                                              \
            }                                                                                      \
            for (size_t s = 0; s < whole; s++)                                                     \
                for (size_t k = 0; k < PER; k++)                                                   \
                    to[(s0 + s) * PER + k] = sum[k][s];                                            \
            for (size_t c = (s0 + whole) * PER; whole < width && c < r->nchan; c++)                \
                to[c] = sum[c % PER][whole];                                                       \
        }                                                                                          \
    }

#define DEFINE_SUMS(TYPE, NBIT, PER, OUT, OUTBIT)                                                  \
    DEFINE_SUM(sum##NBIT##_##OUTBIT##_base, , TYPE, NBIT, PER, OUT)                                \
    DEFINE_AVX2(sum##NBIT##_##OUTBIT##_avx2, TYPE, NBIT, PER, OUT)

#if defined __x86_64__
#define DEFINE_AVX2(NAME, TYPE, NBIT, PER, OUT)                                                    \
    DEFINE_SUM(NAME, PSR_ISA_FOR_AVX2, TYPE, NBIT, PER, OUT)
#define KINDS(NBIT, OUTBIT)                                                                        \
    {                                                                                              \
        sum##NBIT##_##OUTBIT##_base, sum##NBIT##_##OUTBIT##_avx2                                   \
    }
#else
#define DEFINE_AVX2(NAME, TYPE, NBIT, PER, OUT)
#define KINDS(NBIT, OUTBIT)                                                                        \
    {                                                                                              \
        sum##NBIT##_##OUTBIT##_base, sum##NBIT##_##OUTBIT##_base                                   \
    }
#endif

DEFINE_SUMS(uint8_t, 1, 8, uint8_t, 8)
DEFINE_SUMS(uint8_t, 2, 4, uint8_t, 8)
DEFINE_SUMS(uint8_t, 4, 2, uint8_t, 8)
DEFINE_SUMS(uint8_t, 8, 1, uint8_t, 8)
DEFINE_SUMS(uint8_t, 1, 8, uint16_t, 16)
DEFINE_SUMS(uint8_t, 2, 4, uint16_t, 16)
DEFINE_SUMS(uint8_t, 4, 2, uint16_t, 16)
DEFINE_SUMS(uint8_t, 8, 1, uint16_t, 16)
DEFINE_SUMS(uint16_t, 16, 1, uint16_t, 16)

static sum_function *find_sum(int nbit, int sum_nbit)
{
    static const struct {
        int nbit, sum_nbit;
        sum_function *sum[2];
    } kinds[] = {
        {1, 8, KINDS(1, 8)},   {2, 8, KINDS(2, 8)},   {4, 8, KINDS(4, 8)},
        {8, 8, KINDS(8, 8)},   {1, 16, KINDS(1, 16)}, {2, 16, KINDS(2, 16)},
        {4, 16, KINDS(4, 16)}, {8, 16, KINDS(8, 16)}, {16, 16, KINDS(16, 16)},
    };
    size_t k = 0;
    while (kinds[k].nbit != nbit || kinds[k].sum_nbit != sum_nbit)
        k++;
    return kinds[k].sum[psr_isa_find() != PSR_ISA_BASE];
}

int psr_timesum_nbit(int nbit, enum psr_kind kind, size_t n)
{
    bool known = nbit == 8 || (kind == PSR_UINT && (nbit == 1 || nbit == 2 || nbit == 4));
    if (!known || kind == PSR_FLOAT)
        return 0;
    size_t ones = ((size_t)1 << nbit) - 1;
    return n <= UINT8_MAX / ones ? 8 : n <= UINT16_MAX / ones ? 16 : 0;
}

psr_status psr_timesum_create(struct psr_timesum **out, const struct psr_timesum_desc *desc,
                              psr_err *err)
{
    *out = NULL;
    struct psr_timesum *ts = calloc(1, sizeof *ts);
    if (!ts)
        return psr_fail_nomem(err, "sums of spectra", sizeof *ts);
    ts->d = *desc;
    ts->row_bytes = psr_row_bytes(desc->nchan, desc->nbit);
    ts->sum_bytes = psr_row_bytes(desc->nchan, desc->sum_nbit);
    ts->sum = find_sum(desc->nbit, desc->sum_nbit);
    ts->wide = find_sum(desc->nbit, 16);
    ts->partial = psr_own(&ts->own, desc->nchan, sizeof *ts->partial);
    ts->more = psr_own(&ts->own, desc->nchan, sizeof *ts->more);
    psr_status st = psr_own_check(&ts->own, "sums of spectra", err);
    if (st)
        psr_timesum_destroy(ts);
    else
        *out = ts;
    return st;
}

static struct rows rows_from(const struct psr_timesum *ts, const void *in, size_t n)
{
    return (struct rows){
        .in = in,
        .n = n,
        .row_bytes = ts->row_bytes,
        .nchan = ts->d.nchan,
        .bias = ts->d.kind == PSR_INT ? 128 : 0,
    };
}

/* Adds n spectra to the sum that is incomplete; gives it where that completes it. */
static bool extend_partial(struct psr_timesum *ts, const unsigned char *in, size_t n, void *out)
{
    struct rows rows = rows_from(ts, in, n);
    if (!n)
        return false;
    ts->wide(&rows, ts->more);
    for (size_t c = 0; c < ts->d.nchan; c++)
        ts->partial[c] = (uint16_t)((ts->phase ? ts->partial[c] : 0) + ts->more[c]);
    ts->phase += n;
    if (ts->phase < ts->d.ratio)
        return false;
    ts->phase = 0;
    if (ts->d.sum_nbit == 16)
        memcpy(out, ts->partial, ts->d.nchan * sizeof *ts->partial);
    else
        for (size_t c = 0; c < ts->d.nchan; c++)
            ((uint8_t *)out)[c] = (uint8_t)ts->partial[c];
    return true;
}

size_t psr_timesum_run(struct psr_timesum *ts, const void *in, size_t nsamp, void *out)
{
    const size_t ratio = ts->d.ratio, rest = ts->phase ? ratio - ts->phase : 0;
    const unsigned char *from = in;
    unsigned char *to = out;
    size_t head = rest < nsamp ? rest : nsamp, given = extend_partial(ts, from, head, to);
    from += head * ts->row_bytes;
    to += given * ts->sum_bytes;
    const size_t whole = (nsamp - head) / ratio;
#pragma omp parallel for num_threads(ts->d.nthread) if (nsamp * ts->row_bytes > SPLIT_BYTES)
    for (size_t q = 0; q < whole; q++) {
        struct rows rows = rows_from(ts, from + q * ratio * ts->row_bytes, ratio);
        ts->sum(&rows, to + q * ts->sum_bytes);
    }
    size_t done = head + whole * ratio;
    extend_partial(ts, from + whole * ratio * ts->row_bytes, nsamp - done,
                   to + whole * ts->sum_bytes);
    return given + whole;
}

void psr_timesum_destroy(struct psr_timesum *ts)
{
    if (!ts)
        return;
    psr_own_free(&ts->own);
    free(ts);
}
