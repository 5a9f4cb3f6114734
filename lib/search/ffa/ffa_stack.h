/* ffa_stack.h: several series of one position, searched as one (private).
 *
 * The S/N z of a trial is the largest of its boxcars; that of noise exceeds it with p = 1 - (1 - Q(z))^M, with M
 * independent boxcars, such that one in fifty trials of a step has p below 0.02.  With N series 2 sum -ln p is chi^2 of
 * 2 N degrees of freedom, and the stack's S/N the z of one series that is as improbable: with one it is z, and the
 * threshold is that of one. */
#ifndef PSR_SEARCH_FFA_STACK_H
#define PSR_SEARCH_FFA_STACK_H

#include "ffa_backend.h"

/* All 0 at first. */
struct psr_ffa_stack {
    size_t n, ntrial, nsamp; /* series; trials and samples of each */
    double tsamp_s;
    float *sum, *best, *snr; /* [ntrial] of -ln p; largest S/N of a series; of the last */
    int *best_width, *width; /* [ntrial] likewise */
    double *nphase;          /* [nstep] sums of M */
};

/* Adds a series of p's last execute.
 * Status: PSR_EINVAL if trials differ from those of the first; those of psr_ffa_periodogram */
PSR_MUST_CHECK psr_status psr_ffa_stack_add(struct psr_ffa_stack *k, psr_ffa *p, size_t series,
                                            psr_err *err);

/* Peaks of the stack, of a plan with the same trials; result is valid until its next execute. */
PSR_MUST_CHECK psr_status psr_ffa_stack_peaks(const struct psr_ffa_stack *k, psr_ffa *p,
                                              struct psr_ffa_result *result, psr_err *err);
void psr_ffa_stack_clear(struct psr_ffa_stack *k);

#endif
