/* rfi_dm0.h: interference in the sums of all channels: bursts, and lines of their spectrum
 * (private). */
#ifndef PSR_RFI_DETECTORS_RFI_DM0_H
#define PSR_RFI_DETECTORS_RFI_DM0_H

#include <psrkit/experimental/clean.h>

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
