/* Work goes in squares of 64 spectra by 64 channels, which fit the first cache: unpack the rows,
 * transpose the square, and add each channel's 64 samples to its run.  Within a square, registers of 16
 * bytes are transposed by interleaving: after log2(n) rounds of interleaving row i with row i + n/2,
 * the n rows of n samples are the columns. */
#include "cornerturn.h"

#include "formats/spectra/unpack.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 64 };
enum { PORTION_BYTES = 256 << 10 }; /* of input, a thread's portion */

/* A sum that a call left incomplete. */
union partial {
    uint32_t u;
    double f;
};

/* What one call is given. */
struct output_span {
    const unsigned char *in;
    size_t nsamp;
    unsigned char *lane;
    size_t stride;
    uint64_t first;
};

struct psr_cornerturn {
    struct psr_cornerturn_desc d;
    size_t row_bytes;
    uint32_t bias;
    int32_t *slot;          /* [nchan] k, or -1 */
    union partial *partial; /* [nkept] */
    uint64_t t;             /* spectra taken */
    void (*square)(struct psr_cornerturn *ct, const struct output_span *s, size_t t, size_t c);
};

/* --- unpacking and transposing a square ----------------------------------------------------------- */

typedef uint8_t vec8 __attribute__((vector_size(16), may_alias));
typedef uint16_t vec16 __attribute__((vector_size(16), may_alias));
typedef uint32_t vec32 __attribute__((vector_size(16), may_alias));

/* gcc before 12 knows only the builtin of its own. */
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(vec, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(vec, a, b, ...) __builtin_shuffle(a, b, (vec){__VA_ARGS__})
#endif
#define LO8(a, b)  SHUFFLE(vec8, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HI8(a, b)  SHUFFLE(vec8, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LO16(a, b) SHUFFLE(vec16, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HI16(a, b) SHUFFLE(vec16, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LO32(a, b) SHUFFLE(vec32, a, b, 0, 4, 1, 5)
#define HI32(a, b) SHUFFLE(vec32, a, b, 2, 6, 3, 7)

/* transpose: rows [SIDE] of row_bytes apart to column [SIDE][SIDE]. */
#define DEFINE_TRANSPOSE(BITS, N)                                                                  \
    static inline void interleave##BITS(vec##BITS *to, const vec##BITS *from)                      \
    {                                                                                              \
        for (int i = 0; i < N / 2; i++) {                                                          \
            to[2 * i] = LO##BITS(from[i], from[i + N / 2]);                                        \
            to[2 * i + 1] = HI##BITS(from[i], from[i + N / 2]);                                    \
        }                                                                                          \
    }                                                                                              \
    static void transpose##BITS(void *column, const unsigned char *rows, size_t row_bytes)         \
    {                                                                                              \
        for (int t = 0; t < SIDE; t += N)                                                          \
            for (int c = 0; c < SIDE; c += N) {                                                    \
                vec##BITS a[N], b[N];                                                              \
                for (int i = 0; i < N; i++)                                                        \
                    memcpy(&a[i], rows + (size_t)(t + i) * row_bytes + c * (BITS / 8), 16);        \
                interleave##BITS(b, a);                                                            \
                interleave##BITS(a, b);                                                            \
                if (N > 4)                                                                         \
                    interleave##BITS(b, a);                                                        \
                if (N > 8)                                                                         \
                    interleave##BITS(a, b);                                                        \
                for (int i = 0; i < N; i++)                                                        \
                    memcpy((char *)column + ((c + i) * SIDE + t) * (BITS / 8),                     \
                           N == 8 ? &b[i] : &a[i], 16);                                            \
            }                                                                                      \
    }

DEFINE_TRANSPOSE(8, 16)
DEFINE_TRANSPOSE(16, 8)
DEFINE_TRANSPOSE(32, 4)

/* Spreads 8 samples of nbit < 8 bits to the 8 bytes of a word. */
static uint64_t spread8(uint64_t x, int nbit)
{
    uint64_t mask = (UINT64_C(1) << nbit) - 1;
    x = (x | x << (32 - 4 * nbit)) & ((UINT64_C(1) << 4 * nbit) - 1) * UINT64_C(0x0000000100000001);
    x = (x | x << (16 - 2 * nbit)) & ((UINT64_C(1) << 2 * nbit) - 1) * UINT64_C(0x0001000100010001);
    return (x | x << (8 - nbit)) & mask * UINT64_C(0x0101010101010101);
}

static inline void unpack_row(uint8_t *to, const unsigned char *from, size_t nbyte, int nbit)
{
    for (size_t at = 0; at < nbyte; at += (size_t)nbit, to += 8) {
        uint64_t x = 0;
        for (size_t j = 0; j < (size_t)nbit && at + j < nbyte; j++)
            x |= (uint64_t)from[at + j] << 8 * j;
        x = spread8(x, nbit);
        memcpy(to, &x, 8);
    }
}

/* A square's rows as whole samples: where they are, if the square is whole, or copied to "rows".
 * Returned: first row; *row_bytes apart */
static const unsigned char *square_rows(const struct psr_cornerturn *ct,
                                        const struct output_span *s, size_t t, size_t c,
                                        unsigned char *rows, size_t *row_bytes)
{
    size_t bits = (size_t)ct->d.nbit, n = s->nsamp - t < SIDE ? s->nsamp - t : SIDE;
    size_t at = c * bits / 8, nbyte = SIDE * bits / 8;
    const unsigned char *from = s->in + t * ct->row_bytes + at;
    if (bits >= 8 && n == SIDE && at + nbyte <= ct->row_bytes) {
        *row_bytes = ct->row_bytes;
        return from;
    }
    nbyte = nbyte < ct->row_bytes - at ? nbyte : ct->row_bytes - at;
    memset(rows, 0, SIDE * SIDE * (bits < 8 ? 1 : bits / 8));
    *row_bytes = bits < 8 ? SIDE : SIDE * bits / 8;
    for (size_t i = 0; i < n; i++, from += ct->row_bytes) {
        unsigned char *to = rows + i * *row_bytes;
        switch (bits) {
        case 1:
            unpack_row(to, from, nbyte, 1);
            break;
        case 2:
            unpack_row(to, from, nbyte, 2);
            break;
        case 4:
            unpack_row(to, from, nbyte, 4);
            break;
        default:
            memcpy(to, from, nbyte);
        }
    }
    return rows;
}

/* --- adding a channel's samples to its run ---------------------------------------------------- */

/* Whole sums of D samples: a constant D lets the compiler use registers of them. */
#define WHOLE_SUMS(RAW, STORE, SUM, D)                                                             \
    for (size_t q = 0; q < whole; q++) {                                                           \
        SUM sum = 0;                                                                               \
        for (size_t u = 0; u < (D); u++)                                                           \
            sum += (RAW)(x[q * (D) + u] + bias);                                                   \
        lane[q] = (STORE)sum;                                                                      \
    }

/* name: n samples x of channel k, the first of which is number "phase" of its sum. */
#define DEFINE_ADD(name, RAW, STORE, SUM, member)                                                  \
    static void name(struct psr_cornerturn *ct, void *to, const RAW *restrict x, size_t n,         \
                     size_t phase, size_t k)                                                       \
    {                                                                                              \
        STORE *restrict lane = to;                                                                 \
        const size_t ds = ct->d.downsamp;                                                          \
        const RAW bias = (RAW)ct->bias;                                                            \
        if (ds == 1 && n == SIDE) {                                                                \
            for (size_t t = 0; t < SIDE; t++)                                                      \
                lane[t] = (STORE)(RAW)(x[t] + bias);                                               \
            return;                                                                                \
        }                                                                                          \
        if (phase) {                                                                               \
            size_t rest = ds - phase < n ? ds - phase : n;                                         \
            SUM sum = ct->partial[k].member;                                                       \
            for (size_t u = 0; u < rest; u++)                                                      \
                sum += (RAW)(*x++ + bias);                                                         \
            ct->partial[k].member = sum;                                                           \
            if (phase + rest < ds)                                                                 \
                return;                                                                            \
            *lane++ = (STORE)sum;                                                                  \
            n -= rest;                                                                             \
        }                                                                                          \
        const size_t whole = n / ds;                                                               \
        switch (ds) {                                                                              \
        case 1:                                                                                    \
            WHOLE_SUMS(RAW, STORE, SUM, 1)                                                         \
            break;                                                                                 \
        case 2:                                                                                    \
            WHOLE_SUMS(RAW, STORE, SUM, 2)                                                         \
            break;                                                                                 \
        case 4:                                                                                    \
            WHOLE_SUMS(RAW, STORE, SUM, 4)                                                         \
            break;                                                                                 \
        case 8:                                                                                    \
            WHOLE_SUMS(RAW, STORE, SUM, 8)                                                         \
            break;                                                                                 \
        default:                                                                                   \
            WHOLE_SUMS(RAW, STORE, SUM, ds)                                                        \
        }                                                                                          \
        if (whole * ds == n) /* also where threads share a channel: sums are of one sample */      \
            return;                                                                                \
        SUM sum = 0;                                                                               \
        for (size_t u = whole * ds; u < n; u++)                                                    \
            sum += (RAW)(x[u] + bias);                                                             \
        ct->partial[k].member = sum;                                                               \
    }

DEFINE_ADD(add8_8, uint8_t, uint8_t, uint32_t, u)
DEFINE_ADD(add8_16, uint8_t, uint16_t, uint32_t, u)
DEFINE_ADD(add8_32, uint8_t, uint32_t, uint32_t, u)
DEFINE_ADD(add16_16, uint16_t, uint16_t, uint32_t, u)
DEFINE_ADD(add16_32, uint16_t, uint32_t, uint32_t, u)
DEFINE_ADD(add32_float, uint32_t, float, double, f)
DEFINE_ADD(addfloat, float, float, double, f)

/* --- squares ---------------------------------------------------------------------------------- */

/* Where in channel k's run spectrum t belongs: *sample, and its number *phase in that sum.
 * Returned: spectra to skip first, which come before the run begins */
static inline size_t place_in_run(const struct psr_cornerturn *ct, size_t k, uint64_t t,
                                  uint64_t *sample, size_t *phase)
{
    uint64_t pre = (uint64_t)ct->d.pre[k], at = t > pre ? t - pre : 0;
    *sample = at / ct->d.downsamp;
    *phase = at % ct->d.downsamp;
    return t < pre ? (size_t)(pre - t) : 0;
}

/* name: the square at spectrum t of the stretch and channel c, with samples of BITS bits.
 * Divisions are slow: all channels that are not shifted share one. */
#define DEFINE_SQUARE(name, BITS, RAW, STORE, add)                                                 \
    static void name(struct psr_cornerturn *ct, const struct output_span *s, size_t t, size_t c)   \
    {                                                                                              \
        _Alignas(64) unsigned char copy[SIDE * SIDE * BITS / 8];                                   \
        _Alignas(64) RAW column[SIDE][SIDE];                                                       \
        size_t row_bytes, n = s->nsamp - t < SIDE ? s->nsamp - t : SIDE;                           \
        const unsigned char *rows = square_rows(ct, s, t, c, copy, &row_bytes);                    \
        uint64_t common = (ct->t + t) / ct->d.downsamp;                                            \
        size_t common_phase = (ct->t + t) % ct->d.downsamp;                                        \
        transpose##BITS(column, rows, row_bytes);                                                  \
        for (size_t j = 0; j < SIDE && c + j < ct->d.nchan; j++) {                                 \
            if (ct->slot[c + j] < 0)                                                               \
                continue;                                                                          \
            size_t k = (size_t)ct->slot[c + j], phase = common_phase, skip = 0;                    \
            uint64_t sample = common;                                                              \
            if (ct->d.pre[k])                                                                      \
                skip = place_in_run(ct, k, ct->t + t, &sample, &phase);                            \
            STORE *lane = (STORE *)s->lane + k * s->stride + (sample - s->first);                  \
            if (skip < n)                                                                          \
                add(ct, lane, column[j] + skip, n - skip, phase, k);                               \
        }                                                                                          \
    }

DEFINE_SQUARE(square8_8, 8, uint8_t, uint8_t, add8_8)
DEFINE_SQUARE(square8_16, 8, uint8_t, uint16_t, add8_16)
DEFINE_SQUARE(square8_32, 8, uint8_t, uint32_t, add8_32)
DEFINE_SQUARE(square16_16, 16, uint16_t, uint16_t, add16_16)
DEFINE_SQUARE(square16_32, 16, uint16_t, uint32_t, add16_32)
DEFINE_SQUARE(square32_float, 32, uint32_t, float, add32_float)
DEFINE_SQUARE(square_float, 32, float, float, addfloat)

/* --- the stream ------------------------------------------------------------------------------- */

psr_status psr_cornerturn_create(struct psr_cornerturn **out,
                                 const struct psr_cornerturn_desc *desc, psr_err *err)
{
    struct psr_cornerturn *ct = calloc(1, sizeof *ct);
    *out = NULL;
    if (!ct)
        return psr_fail_nomem(err, "a corner turn", sizeof *ct);
    ct->d = *desc;
    ct->row_bytes = psr_row_bytes(desc->nchan, desc->nbit);
    ct->bias = desc->kind == PSR_INT ? UINT32_C(1) << (desc->nbit - 1) : 0;
    ct->slot = malloc(desc->nchan * sizeof *ct->slot);
    ct->partial = calloc(desc->nkept, sizeof *ct->partial);
    if (!ct->slot || !ct->partial) {
        psr_cornerturn_destroy(ct);
        return psr_fail_nomem(err, "a corner turn", 12.0 * (double)desc->nchan);
    }
    for (size_t c = 0; c < desc->nchan; c++)
        ct->slot[c] = -1;
    for (size_t k = 0; k < desc->nkept; k++)
        ct->slot[desc->chan[k]] = (int32_t)k;
    static void (*const integer[2][3])(struct psr_cornerturn *, const struct output_span *, size_t,
                                       size_t) = {
        {square8_8, square8_16, square8_32},
        {NULL, square16_16, square16_32},
    };
    if (ct->d.nbit == 32)
        ct->square = ct->d.kind == PSR_FLOAT ? square_float : square32_float;
    else
        ct->square = integer[ct->d.nbit == 16][ct->d.store_bytes / 2];
    *out = ct;
    return PSR_OK;
}

/* Threads take portions of the time where sums are of one sample, and else of the band, as a sum
 * must not be shared. */
void psr_cornerturn_run(struct psr_cornerturn *ct, const void *in, size_t nsamp, void *lane,
                        size_t stride, uint64_t first)
{
    struct output_span s = {
        .in = in, .nsamp = nsamp, .lane = lane, .stride = stride, .first = first};
    size_t device_series = nsamp, strip = SIDE;
    if (ct->d.downsamp == 1) {
        device_series = (PORTION_BYTES / ct->row_bytes / SIDE + 1) * SIDE;
        strip = (ct->d.nchan + SIDE - 1) / SIDE * SIDE;
    }
    size_t ndevice_series = nsamp ? (nsamp + device_series - 1) / device_series : 0;
    size_t nstrip = (ct->d.nchan + strip - 1) / strip;
#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(ct->d.nthread) if (ndevice_series * nstrip > 1)
    for (size_t n = 0; n < ndevice_series * nstrip; n++) {
        size_t t0 = n / nstrip * device_series, c0 = n % nstrip * strip;
        size_t t1 = t0 + device_series < nsamp ? t0 + device_series : nsamp;
        size_t c1 = c0 + strip < ct->d.nchan ? c0 + strip : ct->d.nchan;
        for (size_t t = t0; t < t1; t += SIDE)
            for (size_t c = c0; c < c1; c += SIDE)
                ct->square(ct, &s, t, c);
    }
    ct->t += nsamp;
}

void psr_cornerturn_reset(struct psr_cornerturn *ct)
{
    ct->t = 0;
}

void psr_cornerturn_destroy(struct psr_cornerturn *ct)
{
    if (!ct)
        return;
    free(ct->slot);
    free(ct->partial);
    free(ct);
}
