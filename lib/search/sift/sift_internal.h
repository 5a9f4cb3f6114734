/* sift_internal.h: parts of sifting (private). */
#ifndef PSR_SIFT_SIFT_INTERNAL_H
#define PSR_SIFT_SIFT_INTERNAL_H

#include <psrkit/experimental/sift.h>

/* Whether a result has marks against it and is no known pulsar: such come after the others. */
bool psr_sift_comes_later(const struct psr_sift_cand *cand);

/* Adds DMs that were searched, in any order: dm [n]. */
PSR_MUST_CHECK psr_status psr_sift_add_dms(psr_sift *s, const double *dm, size_t n, psr_err *err);

/* The probability that the numbers give. */
double psr_cand_probability(const double number[PSR_CAND_NNUMBER]);

#endif
