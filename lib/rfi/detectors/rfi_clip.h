/* rfi_clip.h: finds the spectra of an interval to clip, and bursts and lines in the sums of all channels (private). */
#ifndef PSR_RFI_DETECTORS_RFI_CLIP_H
#define PSR_RFI_DETECTORS_RFI_CLIP_H

#include "dsp/block_sums.h"
#include "rfi/rules/clean_internal.h"
#include <psrkit/experimental/clean.h>
#include <psrkit/status.h>
#include <stddef.h>
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
