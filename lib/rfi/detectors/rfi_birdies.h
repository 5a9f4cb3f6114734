/* rfi_birdies.h: collects detections of periodic interference into birdies (private). */
#ifndef PSR_RFI_DETECTORS_RFI_BIRDIES_H
#define PSR_RFI_DETECTORS_RFI_BIRDIES_H

#include <psrkit/experimental/clean.h>

/* Adds a detection to the first birdie whose mean frequency is near enough, or as a new one.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_list_add(struct psr_rfi_list *list, double freq_hz, double sigma,
                                           size_t channel, size_t interval, psr_err *err);

/* Makes room for another number of intervals; those that remain keep their bits.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_list_widen(struct psr_rfi_list *list, size_t nint, psr_err *err);

#endif
