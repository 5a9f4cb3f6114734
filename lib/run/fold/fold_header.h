/* fold_header.h: fills a .pfd header, its trials and its best values, as prepfold does (private). */
#ifndef PSR_RUN_FOLD_FOLD_HEADER_H
#define PSR_RUN_FOLD_FOLD_HEADER_H

#include "fold_clock.h"
#include <psrkit/series.h>

/* What all candidates of a run have in common. */
struct psr_fold_frame {
    const struct psr_folder_desc *desc;
    const struct psr_obs *obs;
    const struct psr_inf *inf;    /* of a series; NULL: spectra */
    size_t nchan;                 /* channels that the data were made from, as are the next two */
    double lowest_mhz, width_mhz; /* centre of the lowest; mean spacing */
    double *
        sub_mhz; /* [nsub] highest centre in each sub-band if channels are not evenly spaced, else NULL; owned */
    const struct psr_fold_bary *bary;
    size_t nsub, npart;
    double epoch_mjd; /* at the telescope, of the first sample folded */
    double length_s;  /* of what is folded */
};

/* Given:    cand   folded with nbin bins
 *           fold   frequency on the clock of the samples
 *           orbit   as psr_fold_delays_init returned it
 * Returned: *pfd without its profiles, statistics and best values; the caller clears it, also after an error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_header_fill(struct psr_pfd *pfd,
                                               const struct psr_fold_frame *frame,
                                               const struct psr_folder_candidate *cand, size_t nbin,
                                               struct psr_fold_spin fold,
                                               const struct psr_fold_orbit *orbit, psr_err *err);

/* Sets the best DM, period and derivatives: those of the trial that a search returned. */
void psr_fold_header_best(struct psr_pfd *pfd, const struct psr_fold_frame *frame,
                          const struct psr_fold_best *found);

/* Sets them to values between the trials instead, and found to the nearest trials. */
void psr_fold_header_refined(struct psr_pfd *pfd, const struct psr_fold_frame *frame,
                             const struct psr_fold_refined *refined, struct psr_fold_best *found);

/* Barycentric epoch at infinite frequency of a candidate. */
double psr_fold_bary_epoch(const struct psr_fold_frame *frame, double dm);

#endif
