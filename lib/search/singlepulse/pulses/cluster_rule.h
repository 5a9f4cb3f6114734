/* cluster_rule.h: what a pulse explains of the events around it (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_PULSES_CLUSTER_RULE_H
#define PSR_SEARCH_SINGLEPULSE_PULSES_CLUSTER_RULE_H

#include "plan/ddplan_internal.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdbool.h>

/* True if a boxcar of v samples and S/N r, inside or around that of a pulse, of w samples and S/N s, has no more S/N
 * than twice what a boxcar of its width has of the pulse, plus the noise. */
static inline bool psr_pulse_explains(double s, double w, double r, double v)
{
    const double share = 2, noise = 3;
    return r <= share * sqrt(v < w ? v / w : w / v) * s + noise;
}

/* True if such a boxcar, at a DM at which the delay over the band differs by so many samples, has no more S/N than
 * what dispersion leaves of a pulse that fills such a part of the band, plus the noise.  A pulse of w samples is
 * spread over the part's delay d there: of its S/N, a boxcar of d samples has psr_dispersed_share, a shorter one of
 * v samples sqrt(v / d) of that. */
static inline bool psr_pulse_leaves(double s, double w, double r, double v, double delay,
                                    double part)
{
    const double noise = 3, spread = part * fabs(delay);
    const double inside = v < spread ? sqrt(v / spread) : 1;
    return r <= psr_dispersed_share(spread, w) * inside * s + noise;
}

/* The same for a pulse that fills a third of the band or more. */
static inline bool psr_pulse_explains_at(double s, double w, double r, double v, double delay)
{
    return psr_pulse_leaves(s, w, r, v, delay, 1.0 / 3);
}

#endif
