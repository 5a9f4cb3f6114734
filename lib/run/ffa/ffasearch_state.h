/* ffasearch_state.h: a search for slow pulsars with its plan (private). */
#ifndef PSR_RUN_FFA_FFASEARCH_STATE_H
#define PSR_RUN_FFA_FFASEARCH_STATE_H

#include "search/ffa/ffa_internal.h"
#include <psrkit/experimental/ffa.h>

/* What the plan searches. */
struct psr_ffasearch_ranges {
    struct psr_ffa_range range[PSR_FFASEARCH_RANGES]; /* [n] */
    size_t n;
    bool cut; /* pmax_s is above a quarter of the series */
};

/* What was found in a series. */
struct psr_ffasearch_found {
    struct psr_inf inf;
    double tobs_s;
    struct psr_ffa_peak *peak; /* [npeak] strongest first, without those of the zaplist; owned */
    size_t npeak, nzapped;
};

struct psr_ffasearch {
    struct psr_ffasearch_desc d;
    struct psr_ffasearch_shape shape; /* of the plan; without one, nsamp is 0 */
    struct psr_ffasearch_ranges ranges;
    psr_ffa *plan;
    size_t batch;
    const float **x;               /* [batch] */
    const char **name;             /* [batch] of the last execute; borrowed */
    struct psr_ffa_result *result; /* [batch] */

    struct psr_ffasearch_weights *weights; /* for psr_ffasearch_prepare; threads share it */

    struct psr_ffasearch_found *found; /* [nfound] kept for the next merge */
    size_t nfound, found_room;
    struct psr_ffa_stack stack; /* of those that are kept, which have no peaks */
    struct psr_ffa_row *row;    /* of the last merge */
    struct psr_sift_hit *hit;   /* that rows point to */
};

/* What series are prepared with.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_weights_create(struct psr_ffasearch_weights **out,
                                                       psr_err *err);
void psr_ffasearch_weights_destroy(struct psr_ffasearch_weights *weights);

/* Makes peaks of the stack. */
PSR_MUST_CHECK psr_status psr_ffasearch_stack(struct psr_ffasearch *f, psr_err *err);

/* Forgets what is kept for the next merge. */
void psr_ffasearch_forget(struct psr_ffasearch *f);

#endif
