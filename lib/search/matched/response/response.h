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

#include <psrkit/status.h>

#include <complex.h>
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

#endif
