/* peaks.h: reduces places above the cut to candidates (private). */
#ifndef PSR_SEARCH_MATCHED_PEAKS_H
#define PSR_SEARCH_MATCHED_PEAKS_H

#include "accel_plan.h"

/* Bins: of two candidates nearer than this only one is kept. */
#define PSR_ACCEL_CLOSEST 15.0

/* A candidate before it is refined, with the r, z and w of its fundamental. */
struct psr_accel_peak {
    double r, z, w, sigma, power;
    int nharm;
    uint32_t others; /* bit h - 1: harmonic h is another's, and no part of power */
};

struct psr_accel_peaks {
    struct psr_accel_peak *peak; /* [n] malloc'd */
    size_t n, room;
};

/* sigma of a sum of 2^stage harmonics. */
double psr_accel_sigma(const struct psr_accel_search *s, double power, int stage);

/* The power whose sigma this is. */
double psr_accel_power(const struct psr_accel_search *s, double sigma, int stage);

/* Leaves hits that have none of higher sigma within 15 bins of their fundamental; of equals the one
 * of more power, then of lower r, then of fewer harmonics stays.  Best first.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_select(const struct psr_accel_search *s,
                                           const struct psr_accel_hits *hits,
                                           struct psr_accel_peaks *peaks, psr_err *err);

/* Drops of peaks, best first, those within 1.5 bins of n times, 1/n (n <= 16) or another small ratio
 * of a better one.
 * Returned: *nremoved
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_drop_harmonics(struct psr_accel_peaks *peaks, size_t *nremoved,
                                                   psr_err *err);

/* Adds to peaks those of hits that are not among them, though what they have in harmonics that better signals do not
 * have stands by itself.
 * Given:    lines, norm, bank, hits   as psr_accel_lines_subtract had and left them
 * Returned: peaks, best first
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_add_hidden(const struct psr_accel_search *s,
                                               const struct psr_accel_lines *lines,
                                               const struct psr_accel_normalise *norm,
                                               const struct psr_template_bank *bank,
                                               const struct psr_accel_hits *hits,
                                               struct psr_accel_peaks *peaks, psr_err *err);

#endif
