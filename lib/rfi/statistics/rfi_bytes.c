/* Transposes, sums and scales channels of unsigned samples of up to 8 bits, two at a time. */
#include "rfi_bytes.h"

#include "base/threads/clones.h"

#include <stdbool.h>
#include <string.h>

enum { WIDTH = PSR_RFI_BYTES_WIDTH, ROWS = 32 };

/* Samples of less than a byte, as bytes. */
static void widen(uint8_t to[WIDTH], const unsigned char *from, size_t nbyte, int nbit)
{
    const unsigned mask = (1U << nbit) - 1;
    const size_t each = 8 / (size_t)nbit;
    for (size_t b = 0; b < nbyte; b++)
        for (size_t k = 0; k < each; k++)
            to[b * each + k] = (uint8_t)(from[b] >> k * (size_t)nbit & mask);
}

/* Eight pairs of channels in one spectrum, or eight spectra of one pair. */
typedef uint16_t eight __attribute__((vector_size(16)));
typedef uint16_t any_eight __attribute__((vector_size(16), aligned(1), may_alias));
#if defined __clang__
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define LOWER(a, b) __builtin_shuffle(a, b, (eight){0, 8, 1, 9, 2, 10, 3, 11})
#define UPPER(a, b) __builtin_shuffle(a, b, (eight){4, 12, 5, 13, 6, 14, 7, 15})
#endif

static inline __attribute__((always_inline)) void
transpose_eight(const unsigned char *from, size_t stride, uint8_t *to, size_t pair_bytes)
{
    eight a[8], b[8];
    for (size_t k = 0; k < 8; k++)
        a[k] = *(const any_eight *)(const void *)(from + k * stride);
    for (int step = 0; step < 3; step++) {
        for (int k = 0; k < 4; k++) {
            b[2 * k] = LOWER(a[k], a[k + 4]);
            b[2 * k + 1] = UPPER(a[k], a[k + 4]);
        }
        memcpy(a, b, sizeof a);
    }
    for (size_t k = 0; k < 8; k++)
        *(any_eight *)(void *)(to + k * pair_bytes) = a[k];
}

/* Rows that lie in the first cache: eight pairs after the other, eight rows of them at a time. */
PSR_CLONES
static void transpose_pairs(const unsigned char *rows, size_t stride, size_t n, size_t npair,
                            uint8_t *pair, size_t pair_bytes)
{
    const size_t whole = n - n % 8, together = npair - npair % 8;
    for (size_t k = 0; k < together; k += 8)
        for (size_t t = 0; t < whole; t += 8)
            transpose_eight(rows + t * stride + 2 * k, stride, pair + k * pair_bytes + 2 * t,
                            pair_bytes);
    for (size_t k = 0; k < npair; k++)
        for (size_t t = k < together ? whole : 0; t < n; t++)
            memcpy(pair + k * pair_bytes + 2 * t, rows + t * stride + 2 * k, 2);
}

static void fetch_rows(const unsigned char *rows, size_t stride, size_t n)
{
    for (size_t t = 0; t < n; t++)
        __builtin_prefetch(rows + t * stride);
}

void psr_rfi_bytes_transpose(const struct psr_layout *l, const unsigned char *in, size_t n,
                             size_t c0, size_t width, uint8_t *pair)
{
    const size_t nbyte = (width * (size_t)l->nbit + 7) / 8;
    const unsigned char *from = in + c0 * (size_t)l->nbit / 8;
    const bool whole = l->nbit == 8 && width % 2 == 0;
    for (size_t t = 0; t < n; t += ROWS) {
        uint8_t row[ROWS][WIDTH];
        const size_t m = n - t < ROWS ? n - t : ROWS, ahead = n - t - m < ROWS ? n - t - m : ROWS;
        const unsigned char *at = from + t * l->row_bytes;
        fetch_rows(at + m * l->row_bytes, l->row_bytes, ahead);
        for (size_t k = 0; k < m && !whole; k++) {
            widen(row[k], at + k * l->row_bytes, nbyte, l->nbit);
            memset(row[k] + width, 0, WIDTH - width);
        }
        transpose_pairs(whole ? at : row[0], whole ? l->row_bytes : WIDTH, m, (width + 1) / 2,
                        pair + 2 * t, 2 * n);
    }
}

void psr_rfi_bytes_power_sums(const uint8_t *pair, size_t n, struct psr_rfi_power_sums sums[2])
{
    const size_t whole = n - n % PSR_RFI_BYTES_STEP;
    int64_t s[2][4] = {{0}};
    psr_rfi_bytes_choose(psr_isa_find())->add_powers(pair, whole, s);
    for (size_t c = 0; c < 2; c++) {
        sums[c] = (struct psr_rfi_power_sums){(int64_t)whole, PSR_RFI_BYTES_ORIGIN, {0}};
        for (size_t j = 0; j < 4; j++)
            sums[c].sum[j] = s[c][j];
    }
    for (size_t k = 2 * whole; k < 2 * n; k++)
        psr_rfi_power_sums_add(&sums[k % 2], pair[k], 1);
}

void psr_rfi_bytes_scale(const uint8_t *pair, size_t n, const float mean[2], const float factor[2],
                         float *z)
{
    psr_rfi_bytes_choose(psr_isa_find())->scale(pair, n, mean, factor, z, z + n);
}
