/* fold_model.h: folds with an ephemeris: its spin on the clock of the samples, and everything else as
 * delays (private). */
#ifndef PSR_RUN_FOLD_FOLD_MODEL_H
#define PSR_RUN_FOLD_FOLD_MODEL_H

#include "fold_clock.h"
#include <psrkit/ephemeris.h>

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
