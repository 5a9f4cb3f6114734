/* Turns in their order against turns in random order. */
#include "fold_turns.h"

#include "fold_harmonics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* What all turns of a part have does not tell them apart, and parts may have folded unequal numbers of them. */
static void subtract_mean(double complex *part, size_t nharm)
{
    for (size_t k = 0; k < nharm; k++) {
        double complex mean = 0;
        for (size_t i = 0; i < TURNS; i++)
            mean += part[i * nharm + k] / TURNS;
        for (size_t i = 0; i < TURNS; i++)
            part[i * nharm + k] -= mean;
    }
}

/* Each harmonic counts by its scatter: red noise has most of its own in the first. */
static void divide_by_scatter(struct psr_fold_turns *t)
{
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
}

/* Takes the wave of k periods in nbin out of a profile. */
static void subtract_wave(double *profile, size_t nbin, size_t k)
{
    double re = 0, im = 0;
    for (size_t b = 0; b < nbin && k; b++) {
        const double angle = 2 * M_PI * (double)(b * k % nbin) / (double)nbin;
        re += profile[b] * cos(angle) * 2 / (double)nbin;
        im += profile[b] * sin(angle) * 2 / (double)nbin;
    }
    for (size_t b = 0; b < nbin && k; b++) {
        const double angle = 2 * M_PI * (double)(b * k % nbin) / (double)nbin;
        profile[b] -= re * cos(angle) + im * sin(angle);
    }
}

/* Given: work   [nbin] */
static void fill_parts(struct psr_fold_turns *t, const struct psr_pfd *fold, size_t without,
                       const double complex *root, double *work)
{
    const size_t nbin = (size_t)fold->nbin, per_turn = nbin / TURNS;
    for (size_t i = 0; i < (size_t)fold->npart; i++) {
        memcpy(work, fold->profile + i * nbin, nbin * sizeof *work);
        if (is_empty(work, nbin))
            continue;
        subtract_wave(work, nbin, without);
        double complex *part = t->coef + t->npart++ * TURNS * t->nharm;
        for (size_t k = 0; k < TURNS; k++)
            psr_fold_transform(work + k * per_turn, per_turn, root, 0, t->nharm,
                               part + k * t->nharm);
        subtract_mean(part, t->nharm);
    }
}

psr_status psr_fold_turns_init(struct psr_fold_turns *t, const struct psr_pfd *fold, size_t nharm,
                               size_t without, psr_err *err)
{
    const size_t per_turn = (size_t)fold->nbin / TURNS;
    const double cells = (double)fold->npart * TURNS * (double)nharm;
    *t = (struct psr_fold_turns){.nharm = nharm};
    t->coef = calloc((size_t)fold->npart * TURNS, nharm * sizeof *t->coef);
    double complex *root = malloc(per_turn * sizeof *root);
    double *work = malloc((size_t)fold->nbin * sizeof *work);
    if (!t->coef || !root || !work) {
        free(root);
        free(work);
        psr_fold_turns_clear(t);
        return psr_fail_nomem(err, "turns of a fold", cells * sizeof *t->coef);
    }
    psr_fold_roots(root, per_turn);
    fill_parts(t, fold, without, root, work);
    divide_by_scatter(t);
    free(root);
    free(work);
    return PSR_OK;
}

void psr_fold_turns_clear(struct psr_fold_turns *t)
{
    free(t->coef);
    memset(t, 0, sizeof *t);
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

psr_status psr_fold_turns_differ(bool *differ, const struct psr_fold_turns *t, size_t m,
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
