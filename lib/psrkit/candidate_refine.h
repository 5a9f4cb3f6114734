/* candidate_refine.h: refines candidates found by boxcars and describes them as accelsearch does.
 *
 * A box gives the power in its bins, but neither the position of the signal within them nor the
 * sign of its drift.  Both come from template responses (accel_template.h) around the box: the
 * harmonic with the most power is searched from 0.5 to 1.5 times the box's drift, with both signs,
 * and the best position is refined on all harmonics.
 *
 *   r, z            of the template response, if it is significant (chance below one in 1000 such
 *                   boxes of noise) and holds half of the box's excess; else the middle and the
 *                   width of the box, with errors that reflect this uncertainty
 *   sign of z       of the template response, or of the sign whose power is higher by 3
 *                   (significance of e^3); else the candidate is listed twice, once for each sign,
 *                   unless its z is below its error
 *   power           chi^2 / 2 of the box
 *   coherent        |sum_h A_h exp i(phi_1 - h phi_1)|^2 / 2 of the template responses at h r, h z
 *   harm[].power    P_h = 1 + s_h (P - H), where s_h is the harmonic's fraction of the box's excess
 *                   over noise and P the power that makes 2 H degrees of freedom as improbable as
 *                   the box.  The sum over h thus has the box's significance when read as the power
 *                   of a matched search
 *   harm[].raw      chi^2 / 2 of the harmonic's bins; the sum over h is power
 *   phase, centroid, purity   of the template response
 *   note            "z of either sign"; "lines side by side" if narrow candidates dominate its box
 *                   and no response explains it; the better candidate that it is a harmonic of, as
 *                   "H 35 of Cand 1" or "H 7/2 of Cand 1" (merging knows small ratios only); or
 *                   "even harmonics only", as for a pulsar of half the period
 *
 * Candidates whose refined positions equal those of better ones are merged with them.
 *
 * If trials is set, candidates are what a matched search finds around their boxes: the best
 * position of all harmonics, whatever its significance; powers of the template responses, with 2 H
 * degrees of freedom in total; sigma after trials / H trials by Bonferroni, counted as accelsearch
 * does.  Candidates of at most least_sigma are dropped, and the best come first. */
#ifndef PSRKIT_CANDIDATE_REFINE_H
#define PSRKIT_CANDIDATE_REFINE_H

#include <psrkit/accel.h>
#include <psrkit/pulscan.h>

PSR_API_BEGIN

struct psr_refine_desc {
    int zmax;                   /* of the search: limit of the drift */
    bool boxes_only;            /* no template responses: hits do not know their bins, as with
                                   rblock and compat */
    const struct psr_span *zap; /* [nzap] bins that were treated as noise */
    size_t nzap;
    double trials; /* positions in the whole matched search; 0: candidates remain those of boxes */
    double least_sigma;
    int nthread; /* 0: all cores */
};

struct psr_measured {
    struct psr_accel_cand *cand; /* [n], in the order of the candidates kept; owned */
    size_t n;
    struct psr_accel_harm *harm; /* storage that cand points to; owned */
};

/* Given:    plan, s   spectrum s of the plan's last execute, whose input must still be valid
 *           cand [ncand]   candidates of that spectrum
 * Returned: *out, to be freed by psr_measured_clear; cleared on error
 * Status:   those of psr_pulscan_amplitudes */
PSR_MUST_CHECK psr_status psr_candidate_refine(struct psr_measured *out, psr_pulscan *plan,
                                               size_t s, const struct psr_pulscan_cand *cand,
                                               size_t ncand, const struct psr_refine_desc *desc,
                                               psr_err *err);

/* Frees the memory owned by m; may be called again. */
void psr_measured_clear(struct psr_measured *m);

PSR_API_END
#endif
