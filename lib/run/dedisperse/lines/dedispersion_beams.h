/* dedispersion_beams.h: one plan that dedisperses the beams of several pipelines (private). */
#ifndef PSR_RUN_DEDISPERSE_LINES_DEDISPERSION_BEAMS_H
#define PSR_RUN_DEDISPERSE_LINES_DEDISPERSION_BEAMS_H

#include "dedispersion.h"

/* Counts its users. */
typedef struct psr_shared_beams psr_shared_beams;

/* Makes a plan for n beams if they can share one: two or more of them with tree sums of the same channels
 * and trials, of integers of 16 bits at most, on the host or on one device; DMs that rise within lines;
 * lines that sum different numbers of samples, each a multiple of the one before; no parts of the band;
 * and memory for the states of all.
 * Given:    desc [n]
 * Returned: a plan with one user, or NULL.  Beams that cannot share are no error: what is wrong with them,
 *           plans of their own will tell. */
psr_shared_beams *psr_shared_beams_create(const struct psr_dedispersion_desc *desc, size_t n);

/* Adds a user; the last one to leave frees the plan.  NULL is allowed. */
psr_shared_beams *psr_shared_beams_join(psr_shared_beams *s);
void psr_shared_beams_leave(psr_shared_beams *s);

/* Number of beams; and bytes for all of them. */
size_t psr_shared_beams_count(const psr_shared_beams *s);
double psr_shared_beams_bytes(const psr_shared_beams *s);

#endif
