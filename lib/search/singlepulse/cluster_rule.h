/* cluster_rule.h: what a pulse explains of the events around it (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_CLUSTER_RULE_H
#define PSR_SEARCH_SINGLEPULSE_CLUSTER_RULE_H

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
 * what dispersion leaves of a pulse that fills a quarter of the band or more, plus the noise.  A pulse of w samples is
 * spread over the quarter's delay d there: of its S/N, a boxcar of d samples has psr_dispersed_share, a shorter one of
 * v samples sqrt(v / d) of that. */
static inline bool psr_pulse_explains_at(double s, double w, double r, double v, double delay)
{
    const double noise = 3, part = 0.25, spread = part * fabs(delay);
    const double inside = v < spread ? sqrt(v / spread) : 1;
    return r <= psr_dispersed_share(spread, w) * inside * s + noise;
}

#endif
