/* pulscan_internal.h: input and trials of boxes (private). */
#ifndef PSR_PULSCAN_PULSCAN_INTERNAL_H
#define PSR_PULSCAN_PULSCAN_INTERNAL_H

#include <psrkit/experimental/pulscan.h>

/* Returns memory of the plan that an execute reads fastest, for spectrum s < batch: 2 nbin floats.
 * The caller may fill it and pass it to execute, which overwrites series there. */
float *psr_pulscan_input(psr_pulscan *p, size_t s);

/* N_eff of the search (compat: of harmonic sum H = nharm). */
double psr_pulscan_trials(const psr_pulscan *p, int nharm);

/* The sigma of a box of this power in the search; first is used only if spectra were de-reddened.
 */
double psr_pulscan_sigma(const psr_pulscan *p, double power, int nharm, int z, int64_t first);

/* Merges hits, best first.  A hit belongs to the first candidate whose best box it touches, with a
 * gap of at most PSR_PULSCAN_NEAR bins, unless it stands out of that box: a hit less than a quarter
 * as wide whose power over noise exceeds that of the box times 3/2 of the square root of the ratio
 * of their widths, which no drift produces.
 *
 * With a plan, a hit also touches a candidate if power, such as that of red noise, continues all
 * the way between their boxes: over at most the width of either box, the bins, each cut at 8, have
 * a third of the power over noise of the hit's bins, and more than noise with a chance of exp(-5).
 * A box with a gap, more than PSR_PULSCAN_NEAR bins with no more than noise and a sixth of the
 * box's mean, is several signals side by side: it is processed after its parts.
 *
 * A hit that touches no candidate is evaluated without the bins that candidates hold (those of
 * their harmonics as far as they have power, and adjoining lines), and without the side lobes of
 * these, which fall as 1 / distance^2.  If this reduces it to the search's sigma or below, it
 * belongs to the candidate that holds most of it; otherwise it is sorted in again.  If it is then
 * still the best, it is a new candidate.  Its fundamental is the one whose harmonics have power,
 * from 16 times lower to PSR_PULSCAN_MAX_HARM times higher than the hit's, if a box of the search
 * there is above the search's sigma: that box becomes the best.  Sigma therefore never exceeds that
 * of a box of the search, and usually is that of the hit.
 *
 * Without a plan, or if so little of a hit remains, a candidate belongs to the first better one
 * that it touches at a frequency ratio of n, 1/n (n <= 16) or one of
 *   3/2 5/2 2/3 4/3 5/3 3/4 5/4 2/5 3/5 4/5 5/6 2/7 3/7 4/7 3/8 5/8 2/9 3/10 2/11 3/11 2/13 3/13
 *   2/15.
 *
 * Returned: *cand [*ncand] by decreasing sigma, then power, then increasing r; malloc'd, caller
 *           frees; *left_out, number of candidates beyond max (may be NULL)
 * Status:   PSR_ENOMEM; those of psr_pulscan_amplitudes */
PSR_MUST_CHECK psr_status psr_pulscan_merge(const struct psr_pulscan_hit *hit, size_t nhit,
                                            const struct psr_pulscan_merge_desc *desc,
                                            struct psr_pulscan_cand **cand, size_t *ncand,
                                            size_t *left_out, psr_err *err);

#endif
