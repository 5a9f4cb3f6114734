/* pulscan_significance.h: converts the power of a box to its sigma, and a sigma to a power
 * (private). */
#ifndef PSR_SEARCH_PULSCAN_SIGNIFICANCE_H
#define PSR_SEARCH_PULSCAN_SIGNIFICANCE_H

#include "pulscan_backend.h"

#include <psrkit/series.h>
#include <psrkit/signif.h>

struct psr_significance {
    enum psr_pulscan_significance significance;
    bool compat;
    double nbin, normblock;
    double zmax;
    double trials;            /* N_eff of the whole search; not used in a compatible one */
    struct psr_redden redden; /* start 0: spectra were not de-reddened */
    struct psr_span last;     /* the bins whose level the last block of de-reddening sets */
};

/* Bins of the last block of de-reddening, and those before it that its level reaches. */
struct psr_span psr_significance_last_block(const struct psr_redden *redden, int64_t nbin);

/* N_eff of a search whose boxes have their lo and hi. */
double psr_significance_calibrated(const struct psr_pulscan_search *s);

/* N_eff for a box of this many harmonics. */
double psr_significance_trials(const struct psr_significance *o, int nharm);

/* A box: its harmonics, its width less one, and the lowest bin of the fundamental. */
struct psr_significance_box {
    int nharm, z;
    int64_t first;
};

/* Both tails of noise, before N_eff. */
struct psr_logp psr_significance_alone(const struct psr_significance *o, double power,
                                       const struct psr_significance_box *box);

double psr_significance_sigma(const struct psr_significance *o, double power,
                              const struct psr_significance_box *box);

/* The power whose sigma is this, wherever that needs least: of no smaller power is sigma above it,
 * and where spectra are as they were transformed, of any larger one it is. */
double psr_significance_power(const struct psr_significance *o, double sigma, int nharm, int z);

#endif
