/* fold_harmonics.h: the Fourier coefficients of a fold's profiles, which rotate by any fraction of a
 * bin (private). */
#ifndef PSR_SEARCH_FOLD_TRIALS_FOLD_HARMONICS_H
#define PSR_SEARCH_FOLD_TRIALS_FOLD_HARMONICS_H

#include "search/fold/kernels/fold_trials.h"
#include <complex.h>

enum { PSR_FOLD_HARMONICS = 32 };

/* Coefficients of harmonics 1, 2, .. of a profile, or of a sum of profiles; zeros where the bins give none. */
struct psr_fold_coefs {
    double complex h[PSR_FOLD_HARMONICS];
};

struct psr_fold_harmonics {
    size_t npart, nsub;
    size_t most;                /* harmonics that the bins give, of 1 .. PSR_FOLD_HARMONICS */
    struct psr_fold_coefs *row; /* [npart][nsub]; owned, as are the next three */
    double *var;    /* [nsub] expected |coefficient|^2 of the noise of a sub-band, over all parts */
    double *u;      /* [npart] middles of the parts, -1/2 to 1/2 of the fold */
    double *per_dm; /* [nsub] turns by which a unit of DM delays the sub-band */
    double length_s; /* of the parts */
};

/* Makes what psr_fold_transform needs, its room to work in with it; to be freed, NULL without memory. */
double complex *psr_fold_roots(size_t nbin);

/* Coefficients of harmonics first, first + 1 .. of a profile; 0 is its sum.
 * Given: profile [nbin]; to [n], first + n <= nbin */
void psr_fold_transform(const double *profile, size_t nbin, double complex *root, size_t first,
                        size_t n, double complex *to);

/* Transforms all profiles.
 * Status: PSR_ENOMEM; *h is cleared on error */
PSR_MUST_CHECK psr_status psr_fold_harmonics_init(struct psr_fold_harmonics *h,
                                                  const struct psr_pfd *fold,
                                                  const struct psr_fold_times *times, psr_err *err);
void psr_fold_harmonics_clear(struct psr_fold_harmonics *h);

/* Adds a row, advanced by turns. */
void psr_fold_coefs_add(struct psr_fold_coefs *sum, const struct psr_fold_coefs *row, double turns);

/* What a sum has of a profile, of n harmonics. */
double psr_fold_coefs_project(const struct psr_fold_coefs *a, const struct psr_fold_coefs *b,
                              size_t n);

/* Sums over parts, for each sub-band: of_band [nsub]; over sub-bands, for each part: of_part [npart].
 * Given: part [npart], band [nsub]   turns by which they are advanced */
void psr_fold_harmonics_bands(const struct psr_fold_harmonics *h, const double *part,
                              struct psr_fold_coefs *of_band);
void psr_fold_harmonics_parts(const struct psr_fold_harmonics *h, const double *band,
                              struct psr_fold_coefs *of_part);

/* How a pulse drifts over the fold, in turns: linear u + square u^2 + cubic (u + 1/2)^3. */
struct psr_fold_drift {
    double linear, square, cubic;
};

/* That of frequency and derivatives at the start, which differ from the folded ones. */
struct psr_fold_drift psr_fold_drift_of(const struct psr_fold_harmonics *h, double df, double dfd,
                                        double dfdd);

/* Turns by which parts are advanced for a drift. */
void psr_fold_harmonics_turns(const struct psr_fold_harmonics *h, struct psr_fold_drift drift,
                              double *part);

/* Those for the best values that a .pfd states. */
void psr_fold_harmonics_best_turns(const struct psr_fold_harmonics *h, const struct psr_pfd *p,
                                   double *part);

/* Z^2 of the first n harmonics of a sum over all parts and sub-bands: of noise 2 n are expected. */
double psr_fold_harmonics_power(const struct psr_fold_harmonics *h,
                                const struct psr_fold_coefs *sum, size_t n);

/* How many harmonics a pulse has: those for which Z^2 - 4 n is largest (de Jager, Raubenheimer and
 * Swanepoel 1989). */
size_t psr_fold_harmonics_count(const struct psr_fold_harmonics *h,
                                const struct psr_fold_coefs *sum);

#endif
