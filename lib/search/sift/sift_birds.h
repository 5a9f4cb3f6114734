/* sift_birds.h: looks frequencies up in a list of birdies (private). */
#ifndef PSR_SEARCH_SIFT_BIRDS_H
#define PSR_SEARCH_SIFT_BIRDS_H

#include <psrkit/series.h>

struct psr_sift_birds;

/* Given:  list   may be freed afterwards
 *         baryv   as in psr_sift_desc
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_birds_create(struct psr_sift_birds **out,
                                                const struct psr_zaplist *list, double baryv,
                                                psr_err *err);

/* Whether f_hz, of a list of this length and frame, is within a bird, each at least a bin wide.
 * Takes log n. */
bool psr_sift_birds_hit(const struct psr_sift_birds *birds, double f_hz, double tobs_s,
                        bool barycentric);

void psr_sift_birds_destroy(struct psr_sift_birds *birds);

#endif
