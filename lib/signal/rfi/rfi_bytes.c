/* Transposes, sums and scales channels of unsigned samples of up to 8 bits, two at a time. */
#include "rfi_bytes.h"

#include "base/clones.h"

#include <stdbool.h>
#include <string.h>

enum { WIDTH = PSR_RFI_BYTES_WIDTH, ROWS = 32, LANES = 32, FLUSH = 1 << 16 };

/* With d of -128 .. 127: 2^21 CUBES and 2^28 FOURTHS are less than 2^31. */
enum { ORIGIN = 128, CUBES = 1 << 9, FOURTHS = 7 };

/* Samples of less than a byte, as bytes. */
static void widen(uint8_t to[WIDTH], const unsigned char *from, size_t nbyte, int nbit)
{
    const unsigned mask = (1U << nbit) - 1;
    const size_t each = 8 / (size_t)nbit;
    for (size_t b = 0; b < nbyte; b++)
        for (size_t k = 0; k < each; k++)
            to[b * each + k] = (uint8_t)(from[b] >> k * (size_t)nbit & mask);
}

static uint64_t take_pair(const unsigned char *from)
{
    uint16_t two;
    memcpy(&two, from, sizeof two);
    return two;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first of four pairs is the lowest");

/* Rows that lie in the first cache: pairs one after the other, four of one at a time. */
static void transpose_rows(const unsigned char *rows, size_t stride, size_t n, size_t npair,
                           uint8_t *pair, size_t pair_bytes)
{
    const size_t whole = n / 4 * 4;
    for (size_t k = 0; k < npair; k++) {
        const unsigned char *from = rows + 2 * k;
        uint8_t *to = pair + k * pair_bytes;
        for (size_t t = 0; t < whole; t += 4, from += 4 * stride) {
            const uint64_t four = take_pair(from) | take_pair(from + stride) << 16 |
                                  take_pair(from + 2 * stride) << 32 |
                                  take_pair(from + 3 * stride) << 48;
            memcpy(to + 2 * t, &four, sizeof four);
        }
        for (size_t t = whole; t < n; t++, from += stride)
            memcpy(to + 2 * t, from, 2);
    }
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
        transpose_rows(whole ? at : row[0], whole ? l->row_bytes : WIDTH, m, (width + 1) / 2,
                       pair + 2 * t, 2 * n);
    }
}

/* Of at most FLUSH LANES bytes, so that no lane overflows. */
PSR_CLONES
static void sum_part(const uint8_t *x, size_t n, struct psr_rfi_sums sums[2])
{
    uint32_t sum[LANES] = {0}, squares[LANES] = {0};
    const size_t whole = n / LANES * LANES;
    for (size_t k = 0; k < whole; k += LANES)
        for (size_t l = 0; l < LANES; l++) {
            const uint32_t v = x[k + l];
            sum[l] += v;
            squares[l] += v * v;
        }
    for (size_t k = whole; k < n; k++) {
        const uint32_t v = x[k];
        sums[k % 2].sum += v;
        sums[k % 2].squares += v * v;
    }
    for (size_t l = 0; l < LANES; l++) {
        sums[l % 2].sum += sum[l];
        sums[l % 2].squares += squares[l];
    }
}

void psr_rfi_bytes_sum(const uint8_t *pair, size_t n, struct psr_rfi_sums sums[2])
{
    const size_t most = (size_t)FLUSH * LANES;
    memset(sums, 0, 2 * sizeof *sums);
    for (size_t k = 0; k < 2 * n; k += most)
        sum_part(pair + k, 2 * n - k < most ? 2 * n - k : most, sums);
}

/* Of at most CUBES LANES bytes, d = x - ORIGIN of each: so few that no lane overflows. */
PSR_CLONES
static void sum_powers(const uint8_t *x, size_t n, int64_t sums[4][2])
{
    int32_t s1[LANES] = {0}, s2[LANES] = {0}, s3[LANES] = {0};
    int64_t s4[LANES] = {0};
    for (size_t k0 = 0; k0 < n; k0 += FOURTHS * LANES) {
        const size_t end = n - k0 < FOURTHS * LANES ? n : k0 + FOURTHS * LANES;
        int32_t fourths[LANES] = {0};
        for (size_t k = k0; k < end; k += LANES)
            for (size_t l = 0; l < LANES; l++) {
                const int32_t d = (int32_t)x[k + l] - ORIGIN, square = d * d;
                s1[l] += d;
                s2[l] += square;
                s3[l] += square * d;
                fourths[l] += square * square;
            }
        for (size_t l = 0; l < LANES; l++)
            s4[l] += fourths[l];
    }
    for (size_t l = 0; l < LANES; l++) {
        sums[0][l % 2] += s1[l];
        sums[1][l % 2] += s2[l];
        sums[2][l % 2] += s3[l];
        sums[3][l % 2] += s4[l];
    }
}

void psr_rfi_bytes_power_sums(const uint8_t *pair, size_t n, struct psr_rfi_power_sums sums[2])
{
    const size_t most = (size_t)CUBES * LANES, whole = 2 * n / LANES * LANES;
    int64_t s[4][2] = {{0}};
    for (size_t k = 0; k < whole; k += most)
        sum_powers(pair + k, whole - k < most ? whole - k : most, s);
    for (size_t c = 0; c < 2; c++) {
        sums[c] = (struct psr_rfi_power_sums){(int64_t)(whole / 2), ORIGIN, {0}};
        for (size_t j = 0; j < 4; j++)
            sums[c].sum[j] = s[j][c];
    }
    for (size_t k = whole; k < 2 * n; k++)
        psr_rfi_power_sums_add(&sums[k % 2], pair[k], 1);
}

PSR_CLONES
static void scale_pair(const uint8_t *restrict x, size_t n, const float mean[2],
                       const float factor[2], float *restrict a, float *restrict b)
{
    const float mean_a = mean[0], mean_b = mean[1], factor_a = factor[0], factor_b = factor[1];
    for (size_t t = 0; t < n; t++) {
        a[t] = ((float)x[2 * t] - mean_a) * factor_a;
        b[t] = ((float)x[2 * t + 1] - mean_b) * factor_b;
    }
}

void psr_rfi_bytes_scale(const uint8_t *pair, size_t n, const float mean[2], const float factor[2],
                         float *z)
{
    scale_pair(pair, n, mean, factor, z, z + n);
}
