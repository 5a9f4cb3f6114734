/* score.h: reasons of a score (private). */
#ifndef PSR_CANDIDATE_SCORE_H
#define PSR_CANDIDATE_SCORE_H

#include <psrkit/experimental/sift.h>

/* Fills the reasons, from the numbers. */
void psr_cand_explain(struct psr_cand_score *score);

#endif
