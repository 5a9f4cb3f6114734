/* The right period of several: the shortest whose turns do not differ. */
#include "fold_harmonics.h"
#include "fold_turns.h"
#include "search/fold/kernels/fold_trials.h"

#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>

/* A fold has this many turns of the candidate in one of its own. */
enum { TURNS = PSR_FOLD_RATIO_TURNS };

/* Turns that differ by this much, sigma, are not those of one period. */
static const double differing_sigma = 3;

/* Sigma that the other harmonics may take with them where a shorter period has all but these. */
static const double lost_sigma = 0.5;

struct spectrum {
    double *
        power; /* [n] of harmonics 1, 2, .. of the fold's turn, in units of noise's mean; power[0] unused */
    size_t n, end;      /* below "end" are those that the candidate's pulse has */
    double correlation; /* effective degrees of freedom of one */
};

/* Sigma of harmonics that are multiples of "of", but not of "without" (0: all). */
static double find_sigma(const struct spectrum *s, size_t of, size_t without)
{
    double chi2 = 0, dof = 0;
    for (size_t k = of; k < s->end; k += of) {
        if (without && k % without == 0)
            continue;
        chi2 += 2 * s->power[k];
        dof += 2;
    }
    return dof > 0 ? psr_gauss_sigma(psr_chi2_logp(chi2, fmax(dof * s->correlation, 1))) : 0;
}

/* Of the sum over parts. */
static psr_status make_spectrum(struct spectrum *s, const struct psr_pfd *p, psr_err *err)
{
    const size_t nbin = (size_t)p->nbin;
    double noise = 0;
    *s = (struct spectrum){.n = (nbin + 1) / 2, .correlation = 1 / psr_fold_correction(p)};
    s->power = calloc(s->n + 1, sizeof *s->power);
    double complex *root = malloc(nbin * sizeof *root), *coef = malloc(s->n * sizeof *coef);
    double *profile = calloc(nbin, sizeof *profile);
    psr_status st = PSR_OK;
    if (!s->power || !root || !coef || !profile) {
        st = psr_fail_nomem(err, "harmonics of a fold", 40 * (double)nbin);
        goto done;
    }
    for (size_t i = 0; i < (size_t)p->npart; i++) {
        noise += p->stats[i].prof_var * (double)nbin;
        for (size_t b = 0; b < nbin; b++)
            profile[b] += p->profile[i * nbin + b];
    }
    psr_fold_roots(root, nbin);
    psr_fold_transform(profile, nbin, root, 1, s->n - 1, coef);
    for (size_t k = 1; k < s->n && noise > 0; k++)
        s->power[k] =
            (creal(coef[k - 1]) * creal(coef[k - 1]) + cimag(coef[k - 1]) * cimag(coef[k - 1])) /
            noise;
done:
    if (st)
        free(s->power);
    free(profile);
    free(coef);
    free(root);
    return st;
}

/* How many harmonics the candidate's turn has: those for which Z^2 - 4 n is largest. */
static size_t count_harmonics(const struct spectrum *s)
{
    double sum = 0, most = 0;
    size_t best = 1;
    for (size_t h = 1; h * TURNS < s->n; h++) {
        sum += 2 * s->power[h * TURNS] - 4;
        if (sum > most) {
            most = sum;
            best = h;
        }
    }
    return best;
}

/* Another pulsar in the data, or a line, has one harmonic among those of a few turns: the strongest that is not the
 * candidate's.  A pulse of more than one harmonic differs without it as well. */
static size_t find_beside(const struct spectrum *s, size_t nharm)
{
    size_t best = 0;
    for (size_t k = 1; k < s->end && nharm > 2; k++)
        if (k % TURNS && (!best || s->power[k] > s->power[best]))
            best = k;
    return best;
}

/* In a fold of 6 turns those of m turns are harmonics 6 / m. */
static bool choose_shorter(const struct spectrum *s, struct psr_fold_ratio *best)
{
    const double whole = find_sigma(s, TURNS, 0);
    for (int d = 3; d >= 2; d--) {
        const size_t shorter = (size_t)(TURNS * d);
        if (whole >= differing_sigma && find_sigma(s, TURNS, shorter) < differing_sigma &&
            find_sigma(s, shorter, 0) >= whole - lost_sigma) {
            *best = (struct psr_fold_ratio){1, d};
            return true;
        }
    }
    return false;
}

/* A longer period needs so many of its turns, which differ by more than noise does and by more than they scatter. */
static psr_status choose_longer(const struct spectrum *s, const struct psr_fold_turns *t,
                                double turns, struct psr_fold_ratio *best, psr_err *err)
{
    double most = differing_sigma;
    psr_status st = PSR_OK;
    for (int m = 2; m <= 3 && !st; m++) {
        const double sigma = turns >= 2 * m ? find_sigma(s, (size_t)(TURNS / m), TURNS) : 0;
        bool differ = false;
        if (!(sigma > most))
            continue;
        st = psr_fold_turns_differ(&differ, t, (size_t)m, err);
        if (!differ)
            continue;
        most = sigma;
        *best = (struct psr_fold_ratio){m, 1};
    }
    return st;
}

static psr_status choose_ratio(struct spectrum *s, const struct psr_pfd *p,
                               struct psr_fold_ratio *best, psr_err *err)
{
    struct psr_fold_turns t;
    double count = 0;
    const size_t nharm = 1 + count_harmonics(s);
    s->end = TURNS * nharm < s->n ? TURNS * nharm : s->n;
    if (choose_shorter(s, best))
        return PSR_OK;
    for (int32_t i = 0; i < p->npart; i++)
        count += p->stats[i].numdata;
    psr_status st = psr_fold_turns_init(&t, p, nharm, find_beside(s, nharm), err);
    if (!st)
        st = choose_longer(s, &t, TURNS * count * p->tsamp_s * p->fold.f, best, err);
    psr_fold_turns_clear(&t);
    return st;
}

psr_status psr_fold_find_ratio(struct psr_fold_ratio *best, const struct psr_pfd *p, psr_err *err)
{
    struct spectrum s;
    *best = (struct psr_fold_ratio){1, 1};
    if (p->npart < 1 || p->nsub != 1 || p->nbin < 2 * TURNS || p->nbin % TURNS || !(p->fold.f > 0))
        return psr_fail(err, PSR_EINVAL,
                        "fold: %d parts, %d sub-bands, %d bins, %g Hz: harmonics are of 1 or more, "
                        "1, a multiple of %d above it, and a frequency above 0",
                        p->npart, p->nsub, p->nbin, p->fold.f, TURNS);
    psr_status st = make_spectrum(&s, p, err);
    if (st)
        return st;
    st = choose_ratio(&s, p, best, err);
    free(s.power);
    return st;
}
