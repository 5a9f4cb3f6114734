/* accel_lines.h: takes the responses of bright lines out of the places around them (private).
 *
 * A line of amplitude a, frequency R, drift Z and jerk W puts a K(k - R; Z, W) into bin k (response.h),
 * and with that power into all of the plane within a bin for two of drift: a line of power 4000 is
 * above the threshold of single harmonics up to zmax / 2 bins away.  Its r, z and w are those of the
 * highest power, a is that of least squares; what a place then has without the line is computed from
 * bins less the line's. */
#ifndef PSR_SEARCH_MATCHED_ACCEL_LINES_H
#define PSR_SEARCH_MATCHED_ACCEL_LINES_H

#include "search/matched/response/accel_normalise.h"
#include "search/matched/response/template_bank.h"

struct psr_accel_lines;

/* Given:    s   must outlive it
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_lines_create(struct psr_accel_lines **out,
                                                 const struct psr_accel_search *s, psr_err *err);

/* Finds the lines among the hits of one harmonic, and takes their responses out of the powers of all
 * hits that have a harmonic near them, but not at them.  A hit is dropped if its power was mostly
 * a line's, or is no longer above the cut.  What is no line, as after the response to one frequency,
 * drift and jerk is taken out more than a twentieth of its power is left, is not touched.
 * Given:    norm   has measured the spectrum
 *           bank   templates of the search, with taps
 *           hits   in any order
 * Returned: hits, in an order that only depends on which there are
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_lines_subtract(struct psr_accel_lines *lines,
                                                   const struct psr_accel_normalise *norm,
                                                   const struct psr_template_bank *bank,
                                                   struct psr_accel_hits *hits, psr_err *err);

/* Subtracts the lines found last, except those at r, from normalised bins first .. first + n - 1. */
void psr_accel_lines_clean(const struct psr_accel_lines *lines, double r, int64_t first, size_t n,
                           struct psr_split x);

/* NULL is fine. */
void psr_accel_lines_destroy(struct psr_accel_lines *lines);

#endif
