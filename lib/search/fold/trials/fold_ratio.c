/* The right period of several: the shortest whose turns do not differ. */
#include "fold_state.h"
#include "search/fold/kernels/fold_sums.h"

#include <psrkit/experimental/fold.h>
#include <psrkit/signif.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- profiles turned -------------------------------------------------------------------------- */

/* The turns of a fold of PSR_FOLD_RATIO_TURNS turns, in parts; owns coef. */
struct psr_fold_turns {
    size_t npart, nharm;
    double complex
        *coef; /* [npart][PSR_FOLD_RATIO_TURNS][nharm] mean and harmonics, less those of the part */
};

enum { TURNS = PSR_FOLD_RATIO_TURNS };

/* One in 740 is 3 sigma. */
enum { NORDER = 10 * 740, ORDERS_MOST = 9 };

/* --- coefficients ----------------------------------------------------------------------------- */

/* A part that ends before a turn of the fold does has none. */
static bool is_empty(const double *profile, size_t nbin)
{
    for (size_t b = 0; b < nbin; b++)
        if (profile[b] != 0)
            return false;
    return true;
}

/* Given: work   [nbin] */
static void fill_parts(struct psr_fold_turns *t, const struct psr_pfd *fold, size_t without,
                       double complex *root, double *work)
{
    const size_t nbin = (size_t)fold->nbin, per_turn = nbin / TURNS;
    for (size_t i = 0; i < (size_t)fold->npart; i++) {
        memcpy(work, fold->profile + i * nbin, nbin * sizeof *work);
        if (is_empty(work, nbin))
            continue;
        /* Takes the wave of k periods in nbin out of a profile. */
        double re = 0, im = 0;
        for (size_t b = 0; b < nbin && without; b++) {
            const double angle = 2 * M_PI * (double)(b * without % nbin) / (double)nbin;
            re += work[b] * cos(angle) * 2 / (double)nbin;
            im += work[b] * sin(angle) * 2 / (double)nbin;
        }
        for (size_t b = 0; b < nbin && without; b++) {
            const double angle = 2 * M_PI * (double)(b * without % nbin) / (double)nbin;
            work[b] -= re * cos(angle) + im * sin(angle);
        }
        double complex *part = t->coef + t->npart++ * TURNS * t->nharm;
        for (size_t k = 0; k < TURNS; k++)
            psr_fold_transform(work + k * per_turn, per_turn, root, 0, t->nharm,
                               part + k * t->nharm);
        /* What all turns of a part have does not tell them apart, and parts may have folded unequal numbers of them. */
        const size_t nharm = t->nharm;
        for (size_t k = 0; k < nharm; k++) {
            double complex mean = 0;
            for (size_t j = 0; j < TURNS; j++)
                mean += part[j * nharm + k] / TURNS;
            for (size_t j = 0; j < TURNS; j++)
                part[j * nharm + k] -= mean;
        }
    }
}

static void fold_turns_clear(struct psr_fold_turns *t)
{
    free(t->coef);
    memset(t, 0, sizeof *t);
}

/* Given:  nharm   the mean and nharm - 1 harmonics of a turn, at most half its bins
 *         without   periods, in the fold, of a wave that is taken out; 0: none
 * Status: PSR_ENOMEM; *t is cleared on error */
static psr_status fold_turns_init(struct psr_fold_turns *t, const struct psr_pfd *fold,
                                  size_t nharm, size_t without, psr_err *err)
{
    const size_t per_turn = (size_t)fold->nbin / TURNS;
    const double cells = (double)fold->npart * TURNS * (double)nharm;
    *t = (struct psr_fold_turns){.nharm = nharm};
    t->coef = calloc((size_t)fold->npart * TURNS, nharm * sizeof *t->coef);
    double complex *root = psr_fold_roots(per_turn);
    double *work = malloc((size_t)fold->nbin * sizeof *work);
    if (!t->coef || !root || !work) {
        free(root);
        free(work);
        fold_turns_clear(t);
        return psr_fail_nomem(err, "turns of a fold", cells * sizeof *t->coef);
    }
    fill_parts(t, fold, without, root, work);
    /* Each harmonic counts by its scatter: red noise has most of its own in the first. */
    const size_t n = t->npart * TURNS;
    for (size_t k = 0; k < t->nharm; k++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            const double complex c = t->coef[i * t->nharm + k];
            sum += creal(c) * creal(c) + cimag(c) * cimag(c);
        }
        for (size_t i = 0; i < n; i++)
            t->coef[i * t->nharm + k] *= sum > 0 ? 1 / sqrt(sum) : 0;
    }
    free(root);
    free(work);
    return PSR_OK;
}

/* --- orders ----------------------------------------------------------------------------------- */

/* The same orders for every fold (Steele, Lea and Flood 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Of the numbers of a part's turns (Fisher and Yates). */
static void shuffle(size_t order[TURNS], uint64_t *state)
{
    for (size_t i = TURNS - 1; i > 0; i--) {
        const size_t k = draw(state) % (i + 1), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

/* Power of the sums over turns whose numbers are equal modulo m.
 * Given: state   of random orders; NULL: that of time
 *        sum     room for [m][nharm] */
static double find_power(const struct psr_fold_turns *t, size_t m, uint64_t *state,
                         double complex *sum)
{
    double power = 0;
    memset(sum, 0, m * t->nharm * sizeof *sum);
    for (size_t part = 0; part < t->npart; part++) {
        size_t order[TURNS] = {0, 1, 2, 3, 4, 5};
        if (state)
            shuffle(order, state);
        for (size_t i = 0; i < TURNS; i++) {
            const double complex *from = t->coef + (part * TURNS + order[i]) * t->nharm;
            for (size_t k = 0; k < t->nharm; k++)
                sum[i % m * t->nharm + k] += from[k];
        }
    }
    for (size_t k = 0; k < m * t->nharm; k++)
        power += creal(sum[k]) * creal(sum[k]) + cimag(sum[k]) * cimag(sum[k]);
    return power;
}

/* Whether turns whose numbers are equal modulo m are alike, by 3 sigma: of turns in random order within their parts at
 * most one in 740 is so as much.  Red noise, gaps and pulses of uneven height scatter turns without order.
 * Given:  m   divides PSR_FOLD_RATIO_TURNS
 * Status: PSR_ENOMEM */
static psr_status fold_turns_differ(bool *differ, const struct psr_fold_turns *t, size_t m,
                                    psr_err *err)
{
    uint64_t state = 0;
    double complex *sum = malloc((m * t->nharm + 1) * sizeof *sum);
    if (!sum)
        return psr_fail_nomem(err, "turns of a fold", (double)(m * t->nharm) * sizeof *sum);
    /* Orders that only swap equal turns differ by rounding. */
    const double least = find_power(t, m, NULL, sum) * (1 - 1e-12);
    size_t as_much = t->npart ? 0 : NORDER;
    for (size_t i = 0; i < NORDER && as_much <= ORDERS_MOST; i++)
        as_much += find_power(t, m, &state, sum) >= least;
    *differ = as_much <= ORDERS_MOST;
    free(sum);
    return PSR_OK;
}

/* --- ratios ----------------------------------------------------------------------------------- */

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
    double complex *root = psr_fold_roots(nbin), *coef = malloc(s->n * sizeof *coef);
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
    psr_status st = fold_turns_init(&t, p, nharm, find_beside(s, nharm), err);
    if (!st) {
        /* A longer period needs so many of its turns, which differ by more than noise does and
         * by more than they scatter. */
        double turns = TURNS * count * p->tsamp_s * p->fold.f;
        double most = differing_sigma;
        for (int m = 2; m <= 3 && !st; m++) {
            const double sigma = turns >= 2 * m ? find_sigma(s, (size_t)(TURNS / m), TURNS) : 0;
            bool differ = false;
            if (!(sigma > most))
                continue;
            st = fold_turns_differ(&differ, &t, (size_t)m, err);
            if (!differ)
                continue;
            most = sigma;
            *best = (struct psr_fold_ratio){m, 1};
        }
    }
    fold_turns_clear(&t);
    return st;
}

/* Returned: *sum   p with one sub-band; its profile and stats are malloc'd */
static psr_status add_bands(struct psr_pfd *sum, const struct psr_pfd *p, psr_err *err)
{
    const size_t npart = (size_t)p->npart, nsub = (size_t)p->nsub, nbin = (size_t)p->nbin;
    *sum = *p;
    sum->nsub = 1;
    sum->profile = calloc(npart * nbin, sizeof *sum->profile);
    sum->stats = calloc(npart, sizeof *sum->stats);
    if (!sum->profile || !sum->stats)
        return psr_fail_nomem(err, "a fold", 8.0 * (double)(npart * nbin));
    for (size_t row = 0; row < npart * nsub; row++) {
        double *to = sum->profile + row / nsub * nbin;
        for (size_t b = 0; b < nbin; b++)
            to[b] += p->profile[row * nbin + b];
        sum->stats[row / nsub].numdata = p->stats[row].numdata;
        sum->stats[row / nsub].prof_var += p->stats[row].prof_var;
    }
    return PSR_OK;
}

psr_status psr_fold_find_ratio(struct psr_fold_ratio *best, const struct psr_pfd *p, psr_err *err)
{
    struct spectrum s;
    struct psr_pfd sum;
    *best = (struct psr_fold_ratio){1, 1};
    if (p->npart < 1 || p->nsub < 1 || p->nbin < 2 * TURNS || p->nbin % TURNS || !(p->fold.f > 0))
        return psr_fail(err, PSR_EINVAL,
                        "fold: %d parts, %d sub-bands, %d bins, %g Hz: harmonics are of 1 or more, "
                        "1 or more, a multiple of %d above it, and a frequency above 0",
                        p->npart, p->nsub, p->nbin, p->fold.f, TURNS);
    psr_status st = add_bands(&sum, p, err);
    if (!st)
        st = make_spectrum(&s, &sum, err);
    if (!st) {
        st = choose_ratio(&s, &sum, best, err);
        free(s.power);
    }
    free(sum.profile);
    free(sum.stats);
    return st;
}
