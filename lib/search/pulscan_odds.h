/* pulscan_odds.h: from the power of a box to its sigma, and back to the power a sigma needs
 * (private). */
#ifndef PSR_SEARCH_PULSCAN_ODDS_H
#define PSR_SEARCH_PULSCAN_ODDS_H

#include "pulscan_backend.h"

#include <psrkit/signif.h>

struct psr_odds {
    enum psr_pulscan_significance significance;
    bool compat;
    double nbin, normblock;
    double zmax;
    double trials; /* N_eff of the whole search; not of a compatible one */
};

/* N_eff of a search whose boxes have their lo and hi. */
double psr_odds_calibrated(const struct psr_pulscan_search *s);

/* N_eff that a box of so many harmonics is held against. */
double psr_odds_trials(const struct psr_odds *o, int nharm);

/* Both tails of chi^2 noise, before N_eff. */
struct psr_logp psr_odds_alone(const struct psr_odds *o, double power, int nharm, int z);

double psr_odds_sigma(const struct psr_odds *o, double power, int nharm, int z);

/* The power whose sigma is this: sigma of any larger power is above it. */
double psr_odds_power(const struct psr_odds *o, double sigma, int nharm, int z);

#endif
