/* accel_normalise.h: bins over the square root of their local mean power (private). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_ACCEL_NORMALISE_H
#define PSR_SEARCH_MATCHED_RESPONSE_ACCEL_NORMALISE_H

#include "accel_search.h"
#include "correlate_kernel.h"

/* Contiguous blocks from bin 1 on, longer at higher frequencies, up to 8192 bins.  The mean power is a
 * block's median power over ln 2 at its middle, and interpolated linearly between middles. */
struct psr_accel_normalise;

/* Given:    s       must outlive the plan
 *           reach   of the widest response: its signal is no more than a quarter of any block
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_normalise_create(struct psr_accel_normalise **out,
                                                     const struct psr_accel_search *s, int reach,
                                                     psr_err *err);

/* Measures a spectrum, which is kept. */
PSR_MUST_CHECK psr_status psr_accel_normalise_measure(struct psr_accel_normalise *norm,
                                                      const struct psr_accelsearch_input *in,
                                                      psr_err *err);

/* Keeps a spectrum whose blocks' mean powers [nblock] are known. */
void psr_accel_normalise_take(struct psr_accel_normalise *norm,
                              const struct psr_accelsearch_input *in, const double *mean);

/* Where blocks begin.
 * Returned: how many; *first [nblock + 1], of which the last is the end; *longest, in bins */
size_t psr_accel_normalise_blocks(const struct psr_accel_normalise *norm, const int64_t **first,
                                  size_t *longest);

/* Returned: out [n], bins first .. of the spectrum measured last, normalised; 0 for bin 0, for bins
 *           that do not exist and for those zapped */
void psr_accel_normalise_load(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                              struct psr_split out);

/* Returned: scale [n], what each of these bins is multiplied by; 0 where it is 0 */
void psr_accel_normalise_scale(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                               float *scale);

/* The mean power at bin k of that spectrum; at bin 1 or the last, where there is no bin k. */
double psr_accel_normalise_at(const struct psr_accel_normalise *norm, int64_t k);

/* NULL is fine. */
void psr_accel_normalise_destroy(struct psr_accel_normalise *norm);

#endif
