/* mask_correction.h: adds to dedispersed series what replaced samples are worth.
 *
 * psr_clean gives replaced samples as 0, so that integers stay integers, and steps that say what
 * they stand for.  A step is a change of what every sample of a channel is worth from some spectrum
 * on; in each trial it comes at its own time, and the series between two such changes is off by a
 * constant.  So the cost goes with the number of steps and not with that of replaced samples.
 * Values are summed in fixed point, and the result has the same bits however the stream was cut. */
#ifndef PSRKIT_MASK_CORRECTION_H
#define PSRKIT_MASK_CORRECTION_H

#include <psrkit/clean.h>
#include <psrkit/dedisp.h>

PSR_API_BEGIN

typedef struct psr_mask_correction psr_mask_correction;

struct psr_mask_correction_desc {
    const psr_dedisp *plan; /* whose series are patched; lives as long as the patch */
    size_t nchan, ndm, downsamp;
    double largest; /* size of any value of a step, at most */
    int nthread;    /* 0: all cores */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_mask_correction_create(psr_mask_correction **out,
                                                     const struct psr_mask_correction_desc *desc,
                                                     psr_err *err);

/* Whether the next execute with nstep steps may change samples; where not, its out may be NULL. */
bool psr_mask_correction_touches(const psr_mask_correction *p, size_t nstep);

/* Given:    step [nstep]   of the spectra that the plan took since the last execute here, of kept
 *                          channels; those of one channel in time order
 *           out [ndm][stride]   the n samples of each trial that the plan gave since then
 * Returned: out   with (1/downsamp) x the sum of the values of the replaced samples added
 * Status:   PSR_EINVAL (a value beyond largest), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_mask_correction_execute(psr_mask_correction *p,
                                                      const struct psr_step *step, size_t nstep,
                                                      float *out, size_t stride, size_t n,
                                                      psr_err *err);

/* NULL is fine. */
void psr_mask_correction_destroy(psr_mask_correction *p);

PSR_API_END
#endif
