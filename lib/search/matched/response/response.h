/* response.h: the response of Fourier bins to a drifting signal (private).
 *
 * A signal of mean frequency r, drift z and jerk w, in bins over the observation, puts into bin k
 * the amplitude K(k - r; z, w):
 *
 *   K(q; z, w) = int_0^1 exp{2 pi i [-(q + z/2 - w/12) u + (z - w/2) u^2/2 + w u^3/6]} du
 *
 * (Ransom, Eikenberry and Middleditch 2002; Andersen and Ransom 2018). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_RESPONSE_H
#define PSR_SEARCH_MATCHED_RESPONSE_RESPONSE_H

#include "accel_normalise.h"
#include "correlate_kernel.h"
#include "template_bank.h"
#include <complex.h>
#include <psrkit/experimental/accel.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Bins to either side of r within which accelsearch takes K: 1.1 times the largest deviation of the
 * frequency from its mean, and 16, or 48 where it measures candidates. */
int psr_response_halfwidth(double z, double w, bool fine);

/* Makes responses; one thread uses a maker at a time. */
struct psr_response_maker;

PSR_MUST_CHECK psr_status psr_response_maker_create(struct psr_response_maker **out, psr_err *err);

/* Given:    step   1 or 2: points in a bin
 * Returned: k [n], K at q = first + i / step; float, off by 1e-7 at most */
PSR_MUST_CHECK psr_status psr_response_make(struct psr_response_maker *m, double z, double w,
                                            double first, int step, size_t n, float complex *k,
                                            psr_err *err);

/* The same as accelsearch computes it if w is not 0: from so few samples of a real cosine that it is
 * off by some thousandths.
 * Given:    offset   of the signal from a bin, 0 <= offset < 1
 * Returned: k [2 step half], K at q = -half - offset + i / step */
PSR_MUST_CHECK psr_status psr_response_sample(struct psr_response_maker *m, double z, double w,
                                              double offset, int step, int half, float complex *k,
                                              psr_err *err);

/* NULL is fine. */
void psr_response_maker_destroy(struct psr_response_maker *m);

/* Normalised bins around a place. */
struct psr_direct {
    int64_t first, room;
    struct psr_split bin; /* [room] */
};

/* Room for places of so many half bins and responses that reach so far.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_direct_create(struct psr_direct *d, int reach, int places,
                                            psr_err *err);

/* Loads what half bins i .. of so many places need. */
void psr_direct_load(struct psr_direct *d, const struct psr_accel_normalise *norm, int64_t i,
                     int reach, int places);

/* |A|^2 of template t at half bin i, with the same bits in every build and on every processor. */
float psr_direct_power(const struct psr_direct *d, const struct psr_template_bank *bank, size_t t,
                       int64_t i);

void psr_direct_clear(struct psr_direct *d);

/* A line of mean frequency r, drift z and jerk w. */
struct psr_line_response {
    double r, z, w, power;
    int64_t first;
    size_t n;
    float *re, *im; /* [n] its part of bins first ..; re is malloc'd, and holds both */
};

/* Moves r, z and, with jerk, w to the highest power near them. */
void psr_line_fit(struct psr_line_response *line, const psr_accel_template *around, bool jerk);

/* Fills re and im for a line of amplitude 1.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_line_make(struct psr_line_response *line,
                                        struct psr_response_maker *maker, psr_err *err);

/* Multiplies re and im by the amplitude of least squares, and sets the power.
 * Given:    x       [n] bins first ..; noise: their mean power without signals
 * Returned: whether it is a line: no more than a twentieth of its power is left around it */
bool psr_line_scale(struct psr_line_response *line, struct psr_split x, double noise);

/* Subtracts its part from bins first .. first + n - 1. */
void psr_line_subtract(const struct psr_line_response *line, int64_t first, size_t n,
                       struct psr_split x);

#endif
