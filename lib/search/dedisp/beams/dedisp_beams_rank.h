/* dedisp_beams_rank.h: the trials of many beams, in the order of lines (private). */
#ifndef PSR_SEARCH_DEDISP_BEAMS_DEDISP_BEAMS_RANK_H
#define PSR_SEARCH_DEDISP_BEAMS_DEDISP_BEAMS_RANK_H

#include <psrkit/experimental/dedisp.h>

struct psr_beams_trial {
    double dm;
    size_t i, downsamp; /* its number in the description; the samples that it sums */
};

/* Returned: *out [ndm], by rising downsamp, then DM; to be freed
 * Status:   PSR_EINVAL (numbers given that are no lines), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_beams_rank_trials(struct psr_beams_trial **out,
                                                const struct psr_dedisp_beams_desc *d,
                                                psr_err *err);

#endif
