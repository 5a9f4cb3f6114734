/* sift_curve.h: power against DM, as a dispersed pulse has it and as noise scatters it (private).
 *
 * Harmonic h of frequency f is swept over x = h f (sweep of the band) turns at a DM that is wrong. The
 * rest of its power is |mean over the band of exp(2 pi i x t)|^2, t being the delay as a share of the sweep.
 * Its amplitude at a wrong DM is the amplitude at the right one, times the mean, plus independent noise:
 * so both the expected power and its variance follow from the powers of the row at the right DM. */
#ifndef PSR_SEARCH_SIFT_CURVE_H
#define PSR_SEARCH_SIFT_CURVE_H

#include "sift_state.h"

struct psr_sift_power {
    double sum, var; /* of the powers of all harmonics */
};

/* Power of a signal of that many harmonics, dm off its DM.
 * Given:  part   of the sweep: 1, or less for a signal in a part of the band */
struct psr_sift_power psr_sift_curve_expect(const struct psr_sift_band *band, double f_hz,
                                            const float *power, int nharm, double dm, double part);

/* The summed power of so many harmonics that has this sigma. */
double psr_sift_power_of(double sigma, int nharm);

/* The summed power of an entry in so many harmonics: its own, or that of equal sigma. */
double psr_sift_power_as(const struct psr_sift_entry *e, int nharm);

#endif
