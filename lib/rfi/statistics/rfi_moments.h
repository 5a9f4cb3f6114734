/* rfi_moments.h: moments of samples to the fourth order (private).
 *
 * Of integers of up to 16 bits sums are exact, so that any number of threads and any device gives
 * the same bits; of others they are doubles, summed in an order that depends on n only. */
#ifndef PSR_RFI_STATISTICS_RFI_MOMENTS_H
#define PSR_RFI_STATISTICS_RFI_MOMENTS_H

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

#endif
