/* rfi_statistics.h: moments, powers and periodic signals of the channels of an interval (private). */
#ifndef PSR_RFI_STATISTICS_RFI_STATISTICS_H
#define PSR_RFI_STATISTICS_RFI_STATISTICS_H

#include "base/threads/isa.h"
#include "dsp/dsp.h"
#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

/* Moments of samples to the fourth order.
 *
 * Of integers of up to 16 bits sums are exact, so that any number of threads and any device gives
 * the same bits; of others they are doubles, summed in an order that depends on n only. */

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

/* Complex transforms of moderate length, real and imaginary parts apart.
 *
 * X(k) = sum x(t) exp(-2 pi i k t / n).  Lengths of 8 times factors 2, 3, 5 and 7 from 128
 * to PSR_RFI_FFT_LONGEST are transformed here, with the same bits on any processor; others by
 * FFTW. */

/* Before a pass of radix r the series is [n / s][s], s the product of the radices so far; with
 * m = n / s / r, point (p, k) of the result, p < m, k < r, is the sum over j of
 * exp(-2 pi i j k / r) x(p + m j), times exp(-2 pi i p k / (m r)), at r p + k. */

/* The first pass, of s = 1, has radix 8 and works on several p at a time; the others work on
 * several of the s series, at least 8 at a time. */
enum { PSR_RFI_FFT_FIRST = 8 };

struct psr_rfi_pass {
    int radix;
    size_t m, s;
    float *twiddle; /* first pass [radix - 1][re, im][m], others [m][radix - 1][re, im] */
};

/* Real and imaginary parts of the series before and after the pass; not the same. */
typedef void psr_rfi_pass_run(const struct psr_rfi_pass *pass, const float *x, const float *xi,
                              float *y, float *yi);

/* The same bits with any instruction set.
 * Given:    s   1, where m is 16 or more, or a multiple of 8
 * Returned: NULL: there is no pass of this radix. */
psr_rfi_pass_run *psr_rfi_pass_choose(enum psr_isa isa, int radix, size_t s);

enum { PSR_RFI_FFT_LONGEST = 1 << 15 };

typedef struct psr_rfi_fft psr_rfi_fft;

/* Given:  n   1 or more
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_fft_create(psr_rfi_fft **out, size_t n, psr_err *err);

/* Threads may execute one plan at the same time.
 * Given:    x [2][n]      real and imaginary parts; overwritten
 *           work [2][n]   both from fftwf_malloc
 * Returned: x or work, whichever has the result */
float *psr_rfi_fft_execute(const psr_rfi_fft *plan, float *x, float *work);

void psr_rfi_fft_destroy(psr_rfi_fft *plan);

/* --- searches a channel's powers for periodic signals ----------------------------------------- */

/* Powers of one channel, in units of their mean in white noise. */
struct psr_rfi_powers {
    const float *whole, *half; /* [nbin] of bins k and k + 1/2; bins 0 .. n / 2 of n samples */
    size_t nbin;
    float largest;        /* of whole bins from PSR_RFI_LOBIN on */
    const uint32_t *seed; /* [nseed] half bins, j is bin j / 2, of powers above the seed */
    size_t nseed;
};

/* A detection: frequency of the lowest harmonic in bins, and its significance. */
struct psr_rfi_hit {
    double r, sigma;
    uint32_t order; /* of finding: by number of harmonics, then by r */
};

struct psr_rfi_hits {
    struct psr_rfi_hit *hit;
    size_t n, room;
};

/* Thresholds of a search. */
struct psr_rfi_threshold {
    double power[5]; /* [1 .. 4] of the sum of so many harmonics */
    double ln_trials;
    float seed; /* no sum reaches its threshold without a power above this */
};

/* The power that occurs by chance in noise, in the best of ntrials, as often as sigma. */
double psr_rfi_power_for_sigma(double sigma, int nharm, double ntrials);

void psr_rfi_threshold_set(struct psr_rfi_threshold *t, double sigma, size_t nbin);

/* Given:    work   room that is reused
 *           presto [2 nbin]   room for a search with the flaw of PRESTO's: where its list of
 *           detections grows (at 10, 20, 40 ..), the search of a sum of two or more harmonics goes on
 *           at that half bin, and adds harmonics again to the sums on the way.  NULL: without it
 * Returned: *largest, the power of whole bins
 *           hits   appended, best first
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_search(const struct psr_rfi_powers *x,
                                         const struct psr_rfi_threshold *t, float *largest,
                                         struct psr_rfi_hits *hits, struct psr_rfi_hits *work,
                                         float *presto, psr_err *err);

/* Powers of two channels from the transform of both.
 *
 * Two channels are the real and the imaginary part of one complex transform; the amplitudes of the
 * first are the even part of the result, those of the second the odd part. */

/* Room for the powers of one channel. */
struct psr_rfi_power_room {
    float *whole, *half; /* [nbin] */
    uint32_t *seed;      /* [2 nbin] */
};

/* Powers of bins and, by interbinning, half a bin above them: (pi / 4)^-2 |a(k) - a(k + 1)|^2 / 4.
 * Given:    z [2][n]   real and imaginary part of the transform, so scaled that the squares of sums
 *                      and differences are powers in units of their mean
 *           nbin       how many bins; the amplitude after the last one is 0
 *           seed       of psr_rfi_threshold
 * Returned: of both channels, in their rooms; the same bits with any instruction set */
void psr_rfi_powers_find(enum psr_isa isa, const float *z, size_t n, size_t nbin, float seed,
                         const struct psr_rfi_power_room room[2], struct psr_rfi_powers powers[2]);

#endif
