/* candidate_refine.h: candidates of boxes as accelsearch describes candidates.
 *
 * A box knows how much power is in its bins, but neither where in them the signal lies nor which
 * way it drifted.  Both come from responses matched to a drift (accel_template.h) around the box: the
 * harmonic with most power in it is looked at from half to one and a half times the box's drift, to
 * both sides, and the best place is made better on all harmonics.
 *
 *   r, z            of the matched responses, if the best is no chance (one in 1000 such boxes of
 *                   noise) and holds half of the box's excess; else the middle of the box, its
 *                   width, and errors that say how little that tells
 *   sign of z       of the matched responses, or of the side that is 3 in power better (significance of
 *                   e^3); else the candidate is given twice, once for each sign, unless its z is
 *                   below its error
 *   power           chi^2 / 2 of the box
 *   coherent        |sum_h A_h exp i(phi_1 - h phi_1)|^2 / 2 of the matched responses at h r, h z
 *   harm[].power    P_h = 1 + s_h (P - H), s_h the harmonic's share of the box's excess over noise,
 *                   P the power that 2 H degrees of freedom need to be as improbable as the box. So
 *                   their sum has the box's significance for whoever takes it for a matched power
 *   harm[].raw      chi^2 / 2 of the harmonic's bins; these add up to power
 *   phase, centroid, purity   of the matched responses
 *   note            "z of either sign"; "lines side by side", where narrow candidates stand out of
 *                   its box and no response is what is in it; or of which better candidate it is a
 *                   harmonic, as "H 35 of Cand 1" or "H 7/2 of Cand 1": the candidates' joining
 *                   knows small ratios only; or "even harmonics only", which the pulsar of half the
 *                   period has
 *
 * Candidates whose places, once they are known, are those of better ones are joined to them.
 *
 * With trials, candidates are what a matched search finds around their boxes: the best place of all
 * harmonics whatever its significance; powers those of the matched responses, 2 H degrees of
 * freedom in all, sigma after trials / H of them by Bonferroni, as accelsearch counts.  Those of at
 * most least_sigma are left out, and the best come first. */
#ifndef PSRKIT_CANDIDATE_REFINE_H
#define PSRKIT_CANDIDATE_REFINE_H

#include <psrkit/accel.h>
#include <psrkit/pulscan.h>

PSR_API_BEGIN

struct psr_refine_desc {
    int zmax;                   /* of the search: no larger drift is looked at */
    bool boxes_only;            /* no matched responses: hits do not know their bins, as with rblock
                                   and compat */
    const struct psr_span *zap; /* [nzap] bins that counted as noise */
    size_t nzap;
    double trials; /* matched places of the whole search; 0: candidates stay those of boxes */
    double least_sigma;
    int nthread; /* 0: all cores */
};

struct psr_measured {
    struct psr_accel_cand *cand; /* [n], the order of the candidates kept; owned */
    size_t n;
    struct psr_accel_harm *harm; /* what cand points into; owned */
};

/* Given:    plan, s   spectrum s of the plan's last execute, whose input is still where it was
 *           cand [ncand] of that spectrum
 * Returned: *out, for psr_measured_clear; cleared on error
 * Status:   those of psr_pulscan_amplitudes */
PSR_MUST_CHECK psr_status psr_candidate_refine(struct psr_measured *out, psr_pulscan *plan,
                                               size_t s, const struct psr_pulscan_cand *cand,
                                               size_t ncand, const struct psr_refine_desc *desc,
                                               psr_err *err);

/* Safe to call again. */
void psr_measured_clear(struct psr_measured *m);

PSR_API_END
#endif
