/* accel_refine.h: frequency, drift and jerk of candidates, with errors (private). */
#ifndef PSR_SEARCH_MATCHED_REFINE_ACCEL_REFINE_H
#define PSR_SEARCH_MATCHED_REFINE_ACCEL_REFINE_H

#include "search/matched/accel_plan.h"
#include "search/matched/peaks.h"
#include <psrkit/experimental/accel.h>

/* --- notes about harmonic relations of candidates --------------------------------------------- */

/* Notes "H 35 of Cand 2", or "H 7/2 of Cand 1", where a candidate's frequency is such a multiple of
 * that of a better one (cand, best first, counted from 1) and chance would bring it there less than
 * one time in 50; "even harmonics only" where the odd ones are empty, so that its frequency may be
 * twice as high.  Notes that are there stay. */
void psr_refine_note(struct psr_accel_cand *cand, size_t n);

/* Candidates and what they point into. */
struct psr_accel_measured {
    struct psr_accel_cand *cand; /* [n] malloc'd */
    struct psr_accel_harm *harm; /* malloc'd */
    size_t n;
};

/* Moves peaks to the highest sum of the powers of all harmonics, with responses that are not cut off,
 * and computes their properties there, without the lines around them.  sigma and the summed power remain those of the search.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_refine(struct psr_accel_measured *out,
                                           const struct psr_accel_search *s,
                                           const struct psr_accel_normalise *norm,
                                           const struct psr_accel_lines *lines,
                                           const struct psr_accel_peaks *peaks, psr_err *err);

/* Room for peaks and their harmonics, cand[k].harm [nharm] among it.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_measured_make(struct psr_accel_measured *out,
                                                  const struct psr_accel_peaks *peaks,
                                                  psr_err *err);

/* A harmonic's errors and sigma from its power and purity (Middleditch, Deich and Kulkarni 1993).
 * accelsearch's error of w is 6 sqrt(105) / pi where this is 30 sqrt(14) / pi: the phases of a
 * signal of jerk w deviate from a parabola by w / (6 sqrt(2800)) turns (rms), so accelsearch's error
 * is too small by a factor of 1.8. */
void psr_accel_fill_errors(struct psr_accel_harm *h);

/* |sum_h sqrt(P_h) exp i(phi_h + phi_1 - h phi_1)|^2; P_h is the power, or with mean > 0 raw / mean. */
double psr_accel_coherent(const struct psr_accel_harm *harm, int nharm, double mean);

/* Safe to call again. */
void psr_accel_measured_clear(struct psr_accel_measured *m);

#endif
