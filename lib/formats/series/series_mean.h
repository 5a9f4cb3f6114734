/* series_mean.h: means of series, to the same bits however they come in blocks (private). */
#ifndef PSR_FORMATS_SERIES_SERIES_MEAN_H
#define PSR_FORMATS_SERIES_SERIES_MEAN_H

#include <stddef.h>
#include <stdint.h>

enum { PSR_SERIES_LANES = 8 }; /* partial sums, so that the compiler may add eight at once */

/* Sample t is added to sum t mod PSR_SERIES_LANES.  Initialise with zeros. */
struct psr_series_mean {
    int64_t n;
    double sum[PSR_SERIES_LANES];
};

void psr_series_mean_add(struct psr_series_mean *m, const float *x, size_t n);

double psr_series_mean_sum(const struct psr_series_mean *m);

/* The mean of at least one sample. */
double psr_series_mean_value(const struct psr_series_mean *m);

#endif
