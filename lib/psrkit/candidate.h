/* candidate.h: numbers of a folded candidate that a person can check, and the probability that they give.
 *
 * All are of the fold at its best period and DM.  The coefficients of the logistic function are a table in
 * lib/candidate/score_table.c, which tests/science/fit_score.py fits on made skies. */
#ifndef PSRKIT_CANDIDATE_H
#define PSRKIT_CANDIDATE_H

#include <psrkit/fold.h>
#include <psrkit/sift.h>
#include <psrkit/status.h>

PSR_API_BEGIN

/* What is not known, as a DM of a series, is not a number. */
enum psr_cand_number {
    PSR_CAND_ALPHA,       /* S/N at DM 0 over S/N; 1 for a fold at DM 0 or below */
    PSR_CAND_BETA,        /* |DM of the fold - DM of the search| over that of the search, which the
                             candidate's name has: LIST_DM12.50_ACCEL_50_Cand_1 */
    PSR_CAND_GAMMA,       /* error of DM over DM */
    PSR_CAND_SHARE_BANDS, /* share of sub-bands that have the profile of the others above 1 sigma */
    PSR_CAND_SHARE_PARTS, /* share of parts, likewise */
    PSR_CAND_HALVES_BAND, /* correlation of the profiles of the lower and the upper half of the band */
    PSR_CAND_HALVES_TIME, /* of the first and the second half of the observation */
    PSR_CAND_ACCEL_OK, /* 1: acceleration below 1000 m/s^2, or less than 4 bins of drift; 0: neither */
    PSR_CAND_COVERED,   /* share of sub-bands and parts with data, times the share of a turn that a
                             part covers */
    PSR_CAND_SNR,       /* root of Z^2 - 2 n of the n harmonics of the profile */
    PSR_CAND_DM0_SIGMA, /* root of the Z^2 that DM 0 has less, negative where it has more */
    PSR_CAND_NNUMBER,
};

enum { PSR_CAND_REASONS = 256 };

struct psr_cand_score {
    double number[PSR_CAND_NNUMBER];
    double
        probability; /* that it is dispersed, periodic and of the whole band; not a number: not folded */
    char
        reasons[PSR_CAND_REASONS]; /* what speaks for and against it, in words, with "; " between */
};

/* Name of a number in lists: alpha, beta, gamma, share_bands, .. */
const char *psr_cand_number_name(enum psr_cand_number k);

/* Measures a fold at the best values that the .pfd states, and scores it.
 * Status: PSR_EINVAL without a period, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cand_measure(struct psr_cand_score *score, const struct psr_pfd *fold,
                                           psr_err *err);

/* The probability that the numbers give. */
double psr_cand_probability(const double number[PSR_CAND_NNUMBER]);

/* Orders results of a sift by probability: those with marks against them last, folded ones before others,
 * which keep their order, fundamentals before their harmonics.
 * Given:  cand [n]   a copy of the result's
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cand_rank(struct psr_sift_cand *cand, size_t n, psr_err *err);

PSR_API_END
#endif
