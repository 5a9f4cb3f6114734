/* fold_turns.h: whether turns of a fold differ by more than their scatter (private). */
#ifndef PSR_SEARCH_FOLD_TURNS_H
#define PSR_SEARCH_FOLD_TURNS_H

#include <psrkit/experimental/fold.h>

#include <complex.h>

/* The turns of a fold of PSR_FOLD_RATIO_TURNS turns, in parts; owns coef. */
struct psr_fold_turns {
    size_t npart, nharm;
    double complex
        *coef; /* [npart][PSR_FOLD_RATIO_TURNS][nharm] mean and harmonics, less those of the part */
};

/* Given:  nharm   the mean and nharm - 1 harmonics of a turn, at most half its bins
 *         without   periods, in the fold, of a wave that is taken out; 0: none
 * Status: PSR_ENOMEM; *t is cleared on error */
PSR_MUST_CHECK psr_status psr_fold_turns_init(struct psr_fold_turns *t, const struct psr_pfd *fold,
                                              size_t nharm, size_t without, psr_err *err);
void psr_fold_turns_clear(struct psr_fold_turns *t);

/* Whether turns whose numbers are equal modulo m are alike, by 3 sigma: of turns in random order within their parts at
 * most one in 740 is so as much.  Red noise, gaps and pulses of uneven height scatter turns without order.
 * Given:  m   divides PSR_FOLD_RATIO_TURNS
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_turns_differ(bool *differ, const struct psr_fold_turns *t,
                                                size_t m, psr_err *err);

#endif
