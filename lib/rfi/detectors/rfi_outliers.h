/* rfi_outliers.h: outliers of a series, such as the sums of all channels, from its running median
 * (private). */
#ifndef PSR_RFI_DETECTORS_RFI_OUTLIERS_H
#define PSR_RFI_DETECTORS_RFI_OUTLIERS_H

#include <psrkit/status.h>
#include <stddef.h>

/* Samples in a window.  In windows of PSR_RFI_WINDOW samples of Gaussian noise a sample is marked
 * at sigma 6 at most twice as often as a Gaussian is beyond that. */
enum { PSR_RFI_WINDOW = 4096 };

/* Marks the samples that are further from the running median than sigma times the scatter.  The
 * running median is that of windows, linear between their middles; the scatter is the median over
 * windows of their inter-quartile ranges over 1.349.  A burst of half a window or longer changes the
 * median, and is not marked beyond its ends.
 * Given:    x [n]      finite, n below 2^31
 *           window     samples, 1 or more; the last one is up to half as long again, or n
 * Returned: level [n]  the running median; may not be x; NULL: not wanted
 *           bad [n]    1 or 0
 *           *nbad      how many are 1
 * Status:   PSR_ENOMEM
 * Notes:    marks nothing if more than half of the windows have no scatter */
PSR_MUST_CHECK psr_status psr_rfi_outliers(const float *x, size_t n, size_t window, double sigma,
                                           float *level, unsigned char *bad, size_t *nbad,
                                           psr_err *err);

#endif
