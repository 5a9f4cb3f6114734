/* rfi_clip.h: finds the spectra of an interval to clip (private). */
#ifndef PSR_RFI_DETECTORS_RFI_CLIP_H
#define PSR_RFI_DETECTORS_RFI_CLIP_H

#include "dsp/block_sums.h"
#include "rfi/rules/clip.h"

#include <stdint.h>

typedef struct psr_rfi_clip psr_rfi_clip;

struct psr_rfi_clip_desc {
    struct psr_layout layout;
    bool reverse; /* the first channel is the highest: sums of floats begin with the last one */
    size_t n;     /* spectra per interval */
    double sigma;
    int nthread;
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_clip_create(psr_rfi_clip **out,
                                              const struct psr_rfi_clip_desc *desc, psr_err *err);

/* Takes the next interval, in [n] spectra.
 * Returned: *level [nchan], the values of clipped samples, in the order of the data
 *           *bad [return value], the spectra to clip, ascending; both belong to the plan and are
 *           valid until the next call */
size_t psr_rfi_clip_find(psr_rfi_clip *p, const void *in, const float **level,
                         const uint32_t **bad);

/* The sums over channels of an interval, [n], as they are before clipping; the plan's, until the next
 * call.
 * Given: in   NULL: that of the last psr_rfi_clip_find */
const float *psr_rfi_clip_sums(psr_rfi_clip *p, const void *in);

void psr_rfi_clip_destroy(psr_rfi_clip *p);

#endif
