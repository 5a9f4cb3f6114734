/* score_table.h: how numbers of a candidate become a probability (private). */
#ifndef PSR_CANDIDATE_SCORE_TABLE_H
#define PSR_CANDIDATE_SCORE_TABLE_H

#include <psrkit/experimental/sift.h>

/* A number is limited, taken off the centre, divided by the scale, and multiplied by the weight; one that is not
 * known counts as the centre. */
struct psr_cand_weight {
    double least, most, centre, scale, weight;
};

extern const struct psr_cand_weight psr_cand_weights[PSR_CAND_NNUMBER];

/* The sum without any number. */
extern const double psr_cand_offset;

#endif
