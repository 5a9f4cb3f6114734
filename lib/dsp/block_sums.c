/* Sums blocks of packed spectra, by spectrum and by channel. */
#include "dsp.h"

#include "base/threads/isa.h"
#include "formats/spectra/unpack.h"
#include <string.h>

/* Channels are taken so many at a time, for sums in narrow lanes to fit the first cache, and rows
 * so many, for them not to overflow.  The lanes of a row hold CHUNK / LANES samples each. */
enum { CHUNK = 512, LANES = 32, ROWS = 256 };

/* Adds up n rows of whole integers. */
#define DEFINE_SUMS(NAME, ISA, TYPE, ACC, WIDE)                                                    \
    ISA static void NAME(const struct psr_layout *l, const unsigned char *in, size_t n, float *z,  \
                         double *sum)                                                              \
    {                                                                                              \
        for (size_t t0 = 0; t0 < n; t0 += ROWS) {                                                  \
            size_t end = n - t0 < ROWS ? n : t0 + ROWS;                                            \
            WIDE total[ROWS] = {0};                                                                \
            for (size_t c0 = 0; c0 < l->nchan; c0 += CHUNK) {                                      \
                size_t width = l->nchan - c0 < CHUNK ? l->nchan - c0 : CHUNK;                      \
                size_t whole = width / LANES * LANES;                                              \
                ACC acc[CHUNK] = {0};                                                              \
                for (size_t t = t0; t < end; t++) {                                                \
                    const TYPE *x = (const TYPE *)(const void *)(in + t * l->row_bytes) + c0;      \
                    ACC lane[LANES] = {0};                                                         \
                    WIDE row = 0;                                                                  \
                    for (size_t c = 0; c < whole; c += LANES)                                      \
                        for (size_t k = 0; k < LANES; k++) {                                       \
                            acc[c + k] = (ACC)(acc[c + k] + (ACC)x[c + k]);                        \
                            lane[k] = (ACC)(lane[k] + (ACC)x[c + k]);                              \
                        }                                                                          \
                    for (size_t k = 0; k < LANES; k++)                                             \
                        row += (WIDE)lane[k];                                                      \
                    for (size_t c = whole; c < width; c++) {                                       \
                        acc[c] = (ACC)(acc[c] + (ACC)x[c]);                                        \
                        row += (WIDE)x[c];                                                         \
                    }                                                                              \
                    total[t - t0] += row;                                                          \
                }                                                                                  \
                for (size_t c = 0; c < width; c++)                                                 \
                    sum[c0 + c] += (double)acc[c];                                                 \
            }                                                                                      \
            for (size_t t = t0; t < end; t++)                                                      \
                z[t] = (float)total[t - t0];                                                       \
        }                                                                                          \
    }

#define BASE_ISA
DEFINE_SUMS(block_sums_u8_base, BASE_ISA, uint8_t, uint16_t, uint32_t)
DEFINE_SUMS(block_sums_i8, BASE_ISA, int8_t, int16_t, int32_t)
DEFINE_SUMS(block_sums_u16, BASE_ISA, uint16_t, uint32_t, uint64_t)
DEFINE_SUMS(block_sums_i16, BASE_ISA, int16_t, int32_t, int64_t)

#if defined __x86_64__
DEFINE_SUMS(block_sums_u8_avx2, PSR_ISA_FOR_AVX2, uint8_t, uint16_t, uint32_t)
#endif

static void block_sums_u8(const struct psr_layout *l, const unsigned char *in, size_t n, float *z,
                          double *sum)
{
#if defined __x86_64__
    if (psr_isa_find() != PSR_ISA_BASE) {
        block_sums_u8_avx2(l, in, n, z, sum);
        return;
    }
#endif
    block_sums_u8_base(l, in, n, z, sum);
}

/* The values of the samples in each byte, by its value: up to 8 of them. */
struct bit_table {
    uint8_t sample[256][8];
};

/* Rows of less than a byte a sample, some at a time, as rows of bytes.  A byte's samples are copied
 * as if there were 8; what is too much is overwritten, or lies in the room left at the end. */
static void block_sums_bits(const struct psr_layout *l, const unsigned char *in, size_t n, float *z,
                            double *sum)
{
    enum { ROOM = 1 << 15 };
    uint8_t wide[ROOM];
    struct bit_table table;
    const int nbit = l->nbit;
    for (unsigned byte = 0; byte < 256; byte++)
        for (int k = 0; k < 8 / nbit; k++)
            table.sample[byte][k] = (uint8_t)(byte >> k * nbit & ((1U << nbit) - 1));
    size_t per_byte = 8 / (size_t)l->nbit, most = ROOM / 16;
    size_t used = psr_row_bytes(l->nchan, l->nbit); /* row_bytes may be more */
    for (size_t b0 = 0; b0 < used; b0 += most) {
        size_t nbyte = used - b0 < most ? used - b0 : most, c0 = b0 * per_byte;
        size_t width = l->nchan - c0 < nbyte * per_byte ? l->nchan - c0 : nbyte * per_byte;
        size_t stride = nbyte * per_byte, rows = ROOM / (stride + 8);
        struct psr_layout bytes = {width, 8, PSR_UINT, stride};
        for (size_t t0 = 0; t0 < n; t0 += rows) {
            size_t m = n - t0 < rows ? n - t0 : rows;
            float part[ROOM / 9];
            for (size_t t = 0; t < m; t++)
                for (size_t k = 0; k < nbyte; k++)
                    memcpy(wide + t * stride + k * per_byte,
                           table.sample[in[(t0 + t) * l->row_bytes + b0 + k]], 8);
            block_sums_u8(&bytes, wide, m, part, sum + c0);
            for (size_t t = 0; t < m; t++)
                z[t0 + t] = b0 ? z[t0 + t] + part[t] : part[t];
        }
    }
}

void psr_block_sums(const struct psr_layout *l, const void *in, size_t n, float *z, double *sum,
                    double *row)
{
    if (sum)
        memset(sum, 0, l->nchan * sizeof *sum);
    if (!sum || l->nbit == 32) {
        for (size_t t = 0; t < n; t++) {
            psr_row_unpack(row, (const unsigned char *)in + t * l->row_bytes, l->nchan, l->nbit,
                           l->kind);
            double total = 0;
            for (size_t c = 0; c < l->nchan; c++)
                total += row[c];
            for (size_t c = 0; sum && c < l->nchan; c++)
                sum[c] += row[c];
            z[t] = (float)total;
        }
    } else if (l->nbit == 8)
        (l->kind == PSR_INT ? block_sums_i8 : block_sums_u8)(l, in, n, z, sum);
    else if (l->nbit == 16)
        (l->kind == PSR_INT ? block_sums_i16 : block_sums_u16)(l, in, n, z, sum);
    else
        block_sums_bits(l, in, n, z, sum);
}

#define WIDEN(TYPE)                                                                                \
    for (size_t c = 0; c < l->nchan; c++)                                                          \
    x[c] = (float)((const TYPE *)in)[c]

static void widen_bits(const struct psr_layout *l, const unsigned char *in, float *x)
{
    for (size_t c = 0; c < l->nchan; c++) {
        size_t bit = c * (size_t)l->nbit;
        x[c] = (float)((unsigned)in[bit / 8] >> bit % 8 & ((1U << l->nbit) - 1));
    }
}

void psr_spectrum_widen(const struct psr_layout *l, const void *in, float *x)
{
    if (l->kind == PSR_FLOAT)
        memcpy(x, in, l->nchan * sizeof *x);
    else if (l->kind == PSR_INT && l->nbit == 8)
        WIDEN(int8_t);
    else if (l->kind == PSR_INT)
        WIDEN(int16_t);
    else if (l->nbit == 8)
        WIDEN(uint8_t);
    else if (l->nbit == 16)
        WIDEN(uint16_t);
    else if (l->nbit == 32)
        WIDEN(uint32_t);
    else
        widen_bits(l, in, x);
}
