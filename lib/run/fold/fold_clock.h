/* fold_clock.h: barycentric and orbital parameters as a fold needs them, on the telescope's clock
 * (private). */
#ifndef PSR_RUN_FOLD_FOLD_CLOCK_H
#define PSR_RUN_FOLD_FOLD_CLOCK_H

#include "astro/barycentre.h"
#include <psrkit/ephemeris.h>
#include <psrkit/experimental/fold.h>

/* Initialise with zeros.  Times as prepfold tabulates them, one every 20 s. */
struct psr_fold_bary {
    bool on;
    size_t n;
    double *topo_s, *bary_s; /* [n] seconds since the first sample folded, on either clock */
    double epoch_mjd;        /* barycentric date of that sample */
    double voverc;
};

/* Given:  epoch_mjd, length_s   of what is folded
 * Status: those of psr_bary_time, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_bary_init(struct psr_fold_bary *b, const struct psr_bary *target,
                                             double epoch_mjd, double length_s, psr_err *err);

/* Spin (f, fd, fdd as p, pd, pdd) on the clock of "to" that gives the phases of spin on the clock of
 * "from" by least squares, times as above. */
struct psr_fold_spin psr_fold_convert(const double *from_s, const double *to_s, size_t n,
                                      struct psr_fold_spin spin);

/* Where the part that is folded lies in an input. */
struct psr_fold_extent {
    double epoch_mjd; /* of the first sample folded, on the candidate's clock */
    double skipped_s; /* from the first sample of the input to that */
    double length_s;  /* of the whole input */
};

/* The spin of a candidate, as f, fd and fdd, moved to the first sample folded; from the beginning of
 * the input as prepfold does, without the second derivative.
 * Status: PSR_EINVAL for a date outside the input, by more than clocks differ */
PSR_MUST_CHECK psr_status psr_fold_move_spin(struct psr_fold_spin *spin,
                                             const struct psr_folder_candidate *cand,
                                             const struct psr_fold_extent *extent, psr_err *err);

/* Delays by an orbit, for psr_fold_candidate. */
struct psr_fold_delays {
    double *time_s, *delay_s; /* [n] */
    size_t n;
};

/* Given:    bary   NULL or off: the orbit is tabulated on the clock of the samples
 *           epoch_mjd   date that orbit->t0_mjd is compared with
 *           length_s   of what is folded
 * Returned: orbit->t0_mjd, the last periastron before the start, as prepfold writes it
 * Status:   PSR_EINVAL for an orbit that is none, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_delays_init(struct psr_fold_delays *delays,
                                               struct psr_fold_orbit *orbit,
                                               const struct psr_fold_bary *bary, double epoch_mjd,
                                               double length_s, psr_err *err);

void psr_fold_delays_clear(struct psr_fold_delays *delays);
void psr_fold_bary_clear(struct psr_fold_bary *b);

/* Given:    bary   NULL or off: samples are barycentric
 *           epoch_mjd   barycentric date of the first sample folded, at infinite frequency
 *           length_s   of what is folded
 * Returned: *fold   spin on the clock of the samples, without the orbit, as prepfold states it
 *           *orbit   for the .pfd; t0_mjd is the last periastron before the start
 *           *delays   such that spin and delay together give the phase of the ephemeris at every
 *                     sample, up to a constant: the orbit, and what the spin leaves over
 * Status:   those of psr_ephemeris_at, PSR_EINVAL, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_model_init(struct psr_fold_delays *delays,
                                              struct psr_fold_spin *fold,
                                              struct psr_fold_orbit *orbit,
                                              const struct psr_ephemeris *ephemeris,
                                              const struct psr_fold_bary *bary, double epoch_mjd,
                                              double length_s, psr_err *err);

#endif
