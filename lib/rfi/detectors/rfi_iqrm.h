/* rfi_iqrm.h: inter-quartile range mitigation (private).
 *
 * Morello, Rajwade and Stappers 2021 (arXiv 2108.12434).  A statistic of the channels of one interval
 * is compared with itself shifted by lags of 1, 2, 3, 4, 6, 9, .. channels (each half as long again
 * as the one before, to a tenth of the channels) in both directions.  Where a difference exceeds the
 * median of all differences of that lag by more than a threshold of scatters, from their
 * inter-quartile range, the channel that it is compared with votes against the channel.  A vote
 * counts if the voter votes against fewer channels than vote against that channel. */
#ifndef PSR_RFI_DETECTORS_RFI_IQRM_H
#define PSR_RFI_DETECTORS_RFI_IQRM_H

#include <psrkit/status.h>
#include <stddef.h>

typedef struct psr_rfi_iqrm psr_rfi_iqrm;

/* Given:  nchan   at most 2^20
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_iqrm_create(psr_rfi_iqrm **out, size_t nchan, double sigma,
                                              psr_err *err);

/* Given:    x [nchan]
 * Returned: bad [nchan], 1 or 0 */
void psr_rfi_iqrm_find(psr_rfi_iqrm *p, const float *x, unsigned char *bad);

void psr_rfi_iqrm_destroy(psr_rfi_iqrm *p);

#endif
