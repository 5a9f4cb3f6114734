/* The right period of several: the shortest whose turns do not differ. */
#include "search/fold/kernels/fold_trials.h"

#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>

/* A fold has this many turns of the candidate in one of its own. */
enum { TURNS = PSR_FOLD_RATIO_TURNS };

/* Turns that differ by this much, sigma, are not those of one period. */
static const double differing_sigma = 3;

struct spectrum {
    double *
        power; /* [n] of harmonics 1, 2, .. of the fold's turn, in units of noise's mean; power[0] unused */
    size_t n;
    double correlation; /* effective degrees of freedom of one */
};

/* Chi^2 and degrees of freedom of harmonics that are multiples of "of", but not of "without" (0: all). */
static double find_sigma(const struct spectrum *s, size_t of, size_t without)
{
    double chi2 = 0, dof = 0;
    for (size_t k = of; k < s->n; k += of) {
        if (without && k % without == 0)
            continue;
        chi2 += 2 * s->power[k];
        dof += 2;
    }
    return dof > 0 ? psr_gauss_sigma(psr_chi2_logp(chi2, fmax(dof * s->correlation, 1))) : 0;
}

static psr_status make_spectrum(struct spectrum *s, const struct psr_pfd *p, psr_err *err)
{
    const size_t nbin = (size_t)p->nbin;
    *s = (struct spectrum){.n = (nbin + 1) / 2, .correlation = 1 / psr_fold_correction(p)};
    s->power = calloc(s->n + 1, sizeof *s->power);
    double *wave = malloc(2 * nbin * sizeof *wave);
    if (!s->power || !wave) {
        free(s->power);
        free(wave);
        return psr_fail_nomem(err, "harmonics of a fold", 3.0 * (double)nbin * sizeof *wave);
    }
    for (size_t b = 0; b < nbin; b++) {
        wave[2 * b] = cos(2 * M_PI * (double)b / (double)nbin);
        wave[2 * b + 1] = sin(2 * M_PI * (double)b / (double)nbin);
    }
    const double noise = p->stats[0].prof_var * (double)nbin;
    for (size_t k = 1; k < s->n && noise > 0; k++) {
        double re = 0, im = 0;
        for (size_t b = 0; b < nbin; b++) {
            re += p->profile[b] * wave[2 * (b * k % nbin)];
            im += p->profile[b] * wave[2 * (b * k % nbin) + 1];
        }
        s->power[k] = (re * re + im * im) / noise;
    }
    free(wave);
    return PSR_OK;
}

/* In a fold of 6 turns those of m turns are harmonics 6 / m.  A longer period needs so many of its turns. */
static void choose_ratio(const struct spectrum *s, double turns, struct psr_fold_ratio *best)
{
    static const struct psr_fold_ratio one = {1, 1};
    const double whole = find_sigma(s, TURNS, 0);
    *best = one;
    for (int d = 3; d >= 2; d--) {
        const size_t shorter = (size_t)(TURNS * d);
        if (find_sigma(s, TURNS, shorter) < differing_sigma && find_sigma(s, shorter, 0) >= whole) {
            *best = (struct psr_fold_ratio){1, d};
            return;
        }
    }
    double most = differing_sigma;
    for (int m = 2; m <= 3; m++) {
        const double differ = turns >= 2 * m ? find_sigma(s, (size_t)(TURNS / m), TURNS) : 0;
        if (!(differ > most))
            continue;
        most = differ;
        *best = (struct psr_fold_ratio){m, 1};
    }
}

psr_status psr_fold_find_ratio(struct psr_fold_ratio *best, const struct psr_pfd *p, psr_err *err)
{
    struct spectrum s;
    *best = (struct psr_fold_ratio){1, 1};
    if (p->npart != 1 || p->nsub != 1 || p->nbin < 2 * TURNS || !(p->fold.f > 0))
        return psr_fail(
            err, PSR_EINVAL,
            "fold: %d parts, %d sub-bands, %d bins, %g Hz: harmonics are of 1, 1, %d or "
            "more, and a frequency above 0",
            p->npart, p->nsub, p->nbin, p->fold.f, 2 * TURNS);
    psr_status st = make_spectrum(&s, p, err);
    if (st)
        return st;
    choose_ratio(&s, TURNS * p->stats[0].numdata * p->tsamp_s * p->fold.f, best);
    free(s.power);
    return PSR_OK;
}
