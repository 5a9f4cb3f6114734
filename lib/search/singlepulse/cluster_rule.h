/* cluster_rule.h: what a pulse explains of the events around it (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_CLUSTER_RULE_H
#define PSR_SEARCH_SINGLEPULSE_CLUSTER_RULE_H

#include <math.h>
#include <stdbool.h>

/* True if a boxcar of v samples and S/N r, inside or around that of a pulse, of w samples and S/N s, has no more S/N
 * than twice what a boxcar of its width has of the pulse, plus the noise. */
static inline bool psr_pulse_explains(double s, double w, double r, double v)
{
    const double share = 2, noise = 3;
    return r <= share * sqrt(v < w ? v / w : w / v) * s + noise;
}

#endif
