/* rfi_dm0.h: interference in the sums of all channels: bursts, and lines of their spectrum
 * (private). */
#ifndef PSR_RFI_DETECTORS_RFI_DM0_H
#define PSR_RFI_DETECTORS_RFI_DM0_H

#include <psrkit/experimental/clean.h>
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

typedef struct psr_rfi_dm0 psr_rfi_dm0;

/* Given:  n             spectra per interval
 *         burst_sigma   a spectrum is in a burst if its sum is so far from the running median
 *         line_sigma    threshold of lines; 0: none are searched
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_dm0_create(psr_rfi_dm0 **out, size_t n, double tsamp_s,
                                             double burst_sigma, double line_sigma, psr_err *err);

/* Takes the sums of the next interval.
 * Given:    sum [n]   NULL: there are no data
 * Returned: *share of the spectra that are in bursts, or not finite
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_dm0_push(psr_rfi_dm0 *p, const float *sum, float *share,
                                           psr_err *err);

/* Returned: *lines; the caller clears it, also after an error.  In bursts, the running median is
 *           taken instead, and where there are no data the last one.
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_dm0_finish(psr_rfi_dm0 *p, struct psr_rfi_lines *lines,
                                             psr_err *err);

void psr_rfi_dm0_destroy(psr_rfi_dm0 *p);

#endif
