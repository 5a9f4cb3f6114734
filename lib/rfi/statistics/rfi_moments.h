/* rfi_moments.h: moments of samples to the fourth order (private).
 *
 * Of integers of up to 16 bits sums are exact, so that any number of threads and any device gives
 * the same bits; of others they are doubles, summed in an order that depends on n only. */
#ifndef PSR_RFI_STATISTICS_RFI_MOMENTS_H
#define PSR_RFI_STATISTICS_RFI_MOMENTS_H

#include "base/threads/isa.h"
#include "dsp/block_sums.h"
#include <stddef.h>
#include <stdint.h>

/* Of n samples x: m2, m3 and m4 are means of powers of x - mean.  Those of no samples are 0. */
struct psr_rfi_moments {
    double n, mean, m2, m3, m4;
};

__extension__ typedef __int128 psr_int128;

/* Sums of the first to the fourth power of x - origin over n integers, n at most 2^31. */
struct psr_rfi_power_sums {
    int64_t n, origin;
    psr_int128 sum[4];
};

/* Adds one sample, as often as count says; a negative count takes it away. */
void psr_rfi_power_sums_add(struct psr_rfi_power_sums *sums, int64_t x, int64_t count);

struct psr_rfi_moments psr_rfi_moments_from_sums(const struct psr_rfi_power_sums *sums);

/* Of integers of up to 16 bits, exact. */
struct psr_rfi_moments psr_rfi_moments_of_integers(const float *x, size_t n);

struct psr_rfi_moments psr_rfi_moments_of_floats(const float *x, size_t n);

/* m3 / m2^(3/2), and m4 / m2^2 - 3; 0 if the samples are equal. */
double psr_rfi_skewness(const struct psr_rfi_moments *m);
double psr_rfi_kurtosis(const struct psr_rfi_moments *m);

/* Generalised spectral kurtosis (Nita and Gary 2010, MNRAS 406, L60): of n powers that follow a
 * gamma distribution of shape d, (n d + 1) / (n - 1) (n S2 / S1^2 - 1) has mean 1, with the sums S1
 * of the powers and S2 of their squares.  Its limits are those of the Pearson curve with the
 * estimator's first four moments.
 *
 * Samples of a filterbank are powers that were summed, shifted and quantised.  Their shape is what
 * the data say: d is the median over intervals of mean^2 / variance of the channel, so that the
 * estimator is 1 in most intervals; and the width of the limits is multiplied by the ratio of the
 * scatter that samples of the channel's skewness and kurtosis have to that of a gamma distribution.
 * Where the mean is less than half a standard deviation above 0 (or below), the estimator is the
 * variance alone, relative to its median. */

/* How the samples of a channel are distributed without interference: medians over intervals. */
struct psr_rfi_noise {
    double shape;    /* mean^2 / variance */
    double variance; /* used instead of the shape if that is below PSR_RFI_LEAST_SHAPE */
    double skewness, kurtosis;
};

#define PSR_RFI_LEAST_SHAPE 0.25

/* Limits of a statistic in units of its standard deviation: low < 0 < high. */
struct psr_rfi_limits {
    double low, high;
};

/* The estimator less its mean, in units of its standard deviation in noise. */
double psr_rfi_sk_deviation(const struct psr_rfi_moments *m, const struct psr_rfi_noise *noise);

/* Variance, skewness and kurtosis (of a Gaussian 0) of the estimator of n powers of shape d. */
void psr_rfi_sk_moments(double n, double d, double *variance, double *skewness, double *kurtosis);

/* Limits beyond which, on either side, the estimator of n powers of shape d is as often as a
 * Gaussian is above sigma. */
struct psr_rfi_limits psr_rfi_sk_limits(double n, double d, double sigma);

/* The same for the skewness (D'Agostino 1970) and the kurtosis (Anscombe and Glynn 1983) of n
 * samples of a Gaussian; of the kurtosis the lower limit is -sigma, which is passed less often. */
struct psr_rfi_limits psr_rfi_skewness_limits(double n, double sigma);
struct psr_rfi_limits psr_rfi_kurtosis_limits(double n, double sigma);

enum { PSR_RFI_BYTES_ORIGIN = 128, PSR_RFI_BYTES_STEP = 32 };

struct psr_rfi_bytes_loops {
    /* Adds powers 1 to 4 of x - PSR_RFI_BYTES_ORIGIN to the exact sums of both channels.
     * Given: pair [n][2]   n a multiple of PSR_RFI_BYTES_STEP */
    void (*add_powers)(const uint8_t *pair, size_t n, int64_t sum[2][4]);
    /* Returned: a, b [n], (x - mean) factor of each channel */
    void (*scale)(const uint8_t *restrict pair, size_t n, const float mean[2],
                  const float factor[2], float *restrict a, float *restrict b);
};

/* The same bits with any instruction set. */
const struct psr_rfi_bytes_loops *psr_rfi_bytes_choose(enum psr_isa isa);

/* Channels that are transposed together: at most a cache line of them, and a multiple of 8. */
enum { PSR_RFI_BYTES_WIDTH = 64 };

/* Given:    channels c0 .. c0 + width - 1, c0 a multiple of 8, width at most PSR_RFI_BYTES_WIDTH
 * Returned: pair [(width + 1) / 2][n][2]; what there is beyond the last channel is 0 */
void psr_rfi_bytes_transpose(const struct psr_layout *layout, const unsigned char *in, size_t n,
                             size_t c0, size_t width, uint8_t *pair);

/* Exact sums of powers of the two channels, about origin 128. */
void psr_rfi_bytes_power_sums(const uint8_t *pair, size_t n, struct psr_rfi_power_sums sums[2]);

/* Returned: z [2][n], z = (x - mean) factor of each channel */
void psr_rfi_bytes_scale(const uint8_t *pair, size_t n, const float mean[2], const float factor[2],
                         float *z);

#endif
