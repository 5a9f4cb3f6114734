/* cluster_parts.h: pulses that were found in several parts of the band (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_PULSES_CLUSTER_PARTS_H
#define PSR_SEARCH_SINGLEPULSE_PULSES_CLUSTER_PARTS_H

#include "plan/ddplan_internal.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/singlepulse.h>
#include <stdbool.h>

/* --- what a pulse explains of the events around it -------------------------------------------- */

/* True if a boxcar of v samples and S/N r, inside or around that of a pulse, of w samples and S/N s, has no more S/N
 * than twice what a boxcar of its width has of the pulse, plus the noise. */
static inline bool psr_pulse_explains(double s, double w, double r, double v)
{
    const double share = 2, noise = 3;
    return r <= share * sqrt(v < w ? v / w : w / v) * s + noise;
}

/* Part of what a pulse of the whole band is spread over that one is spread over at least. */
#define PSR_PULSE_LEAST_PART (1.0 / 3)

/* True if such a boxcar, at a DM at which the delay over the band differs by so many samples, has no more S/N than
 * what dispersion leaves of a pulse that is spread over such a part of the delay (psr_band_spread), plus the noise.  A pulse of w samples is
 * spread over the part's delay d there: of its S/N, a boxcar of d samples has psr_dispersed_share, a shorter one of
 * v samples sqrt(v / d) of that. */
static inline bool psr_pulse_leaves(double s, double w, double r, double v, double delay,
                                    double part)
{
    const double noise = 3, spread = part * fabs(delay);
    const double inside = v < spread ? sqrt(v / spread) : 1;
    return r <= psr_dispersed_share(spread, w) * inside * s + noise;
}

struct psr_band_range {
    double low_mhz, high_mhz;
};

struct psr_cluster_parts_desc {
    const struct psr_band_range *range; /* [nrange] of the whole band, and of its parts */
    size_t nrange;
    const size_t *part;  /* [trials] range in which a trial was dedispersed */
    const double *dm;    /* [trials] */
    const size_t *scale; /* [trials] as in psr_cluster_desc */
    int64_t time_tol;    /* as in psr_cluster_desc */
    double tick_s;       /* of the common clock, which all series have at ref_mhz */
    double dmconst, ref_mhz;
};

/* Unites clusters of different ranges that are one pulse.  Two ranges that share frequencies are compared in the
 * middle, by delay, of the narrower: there the delay hardly depends on the DM at which the pulse was found in it.
 * Two clusters are one pulse if the boxcars of their best events overlap there, or are at most time_tol samples
 * apart, and the better one explains the other, at its DM, too (psr_pulse_leaves, where it fills a third of the range).  Each joins the best one that it is one pulse
 * with; so the best event of all names the pulse, whichever range it is of, and of equals that of the whole band.
 * Clusters of one range stay apart, unless both join others.
 * Given:    clusters [*n]   those of each range as psr_cluster_events returns them
 * Returned: clusters [*n], best first; members, first and last are those of all united
 * Status:   PSR_ENOMEM
 * Notes:    takes O(r n log n + m) time for r ranges and m pairs that arrive within two boxcars of each other */
PSR_MUST_CHECK psr_status psr_cluster_unite(const struct psr_cluster_parts_desc *d,
                                            struct psr_cluster *clusters, size_t *n, psr_err *err);

#endif
