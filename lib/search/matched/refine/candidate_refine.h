/* candidate_refine.h: notes about harmonic relations of candidates (private). */
#ifndef PSR_SEARCH_MATCHED_REFINE_CANDIDATE_REFINE_H
#define PSR_SEARCH_MATCHED_REFINE_CANDIDATE_REFINE_H

#include <psrkit/experimental/accel.h>

/* Notes "H 35 of Cand 2", or "H 7/2 of Cand 1", where a candidate's frequency is such a multiple of
 * that of a better one (cand, best first, counted from 1) and chance would bring it there less than
 * one time in 50; "even harmonics only" where the odd ones are empty, so that its frequency may be
 * twice as high.  Notes that are there stay. */
void psr_refine_note(struct psr_accel_cand *cand, size_t n);

#endif
