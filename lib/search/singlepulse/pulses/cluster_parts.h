/* cluster_parts.h: pulses that were found in several parts of the band (private). */
#ifndef PSR_SEARCH_SINGLEPULSE_PULSES_CLUSTER_PARTS_H
#define PSR_SEARCH_SINGLEPULSE_PULSES_CLUSTER_PARTS_H

#include <psrkit/experimental/singlepulse.h>

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
 * apart, and the better one explains the other, at its DM, too (cluster_rule.h).  Each joins the best one that it is one pulse
 * with; so the best event of all names the pulse, whichever range it is of, and of equals that of the whole band.
 * Clusters of one range stay apart, unless both join others.
 * Given:    clusters [*n]   those of each range as psr_cluster_events returns them
 * Returned: clusters [*n], best first; members, first and last are those of all united
 * Status:   PSR_ENOMEM
 * Notes:    takes O(r n log n + m) time for r ranges and m pairs that arrive within two boxcars of each other */
PSR_MUST_CHECK psr_status psr_cluster_unite(const struct psr_cluster_parts_desc *d,
                                            struct psr_cluster *clusters, size_t *n, psr_err *err);

#endif
