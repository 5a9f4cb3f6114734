/* template_plans.h: transforms of powers of two, planned once and shared by threads (private).
 *
 * FFTW plans one transform at a time in a process: with thousands of candidates, each of which wants
 * transforms of a few hundred points, threads would wait for that and for nothing else. */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_TEMPLATE_PLANS_H
#define PSR_SEARCH_MATCHED_RESPONSE_TEMPLATE_PLANS_H

#include <psrkit/experimental/accel.h>

#include <complex.h>
#include <fftw3.h>

struct psr_template_plans;

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_template_plans_create(struct psr_template_plans **out, psr_err *err);

/* Safe on several threads.
 * Given:    n   a power of two, up to 2^26; sign: FFTW_FORWARD or FFTW_BACKWARD
 * Returned: of n points in place, for fftwf_execute_dft and memory of fftwf_malloc; not the caller's;
 *           NULL: no memory */
fftwf_plan psr_template_plans_get(struct psr_template_plans *p, size_t n, int sign);

/* NULL is allowed. */
void psr_template_plans_destroy(struct psr_template_plans *p);

/* psr_accel_template_create with plans that outlive the template. */
PSR_MUST_CHECK psr_status psr_accel_template_make(psr_accel_template **out,
                                                  struct psr_template_plans *plans, const float *x,
                                                  int64_t first, size_t n, psr_err *err);

#endif
