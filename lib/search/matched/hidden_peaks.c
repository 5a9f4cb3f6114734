/* Finds the peaks that better ones near them, or at ratios of their frequency, have hidden.
 *
 * A slow pulsar has peaks at many ratios p/q of its frequency, a few bins apart: psr_accel_select and
 * psr_accel_drop_harmonics leave little room between them, and a second slow pulsar seldom stands there.  What tells it
 * is power in harmonics that are none of a better signal. */
#include "peaks.h"

#include "search/matched/response/response.h"

#include "base/tool.h"
#include <psrkit/signif.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* LEAST_OWN: harmonics that a hidden peak has of its own.  MANY hits are measured in bins below LOW that are loaded
 * once. */
enum { LEAST_OWN = 3, MOST_SIGNALS = 64, MANY = 64, LOW = 1 << 15 };

/* Bins from a signal's harmonic within which power is its own: that of brighter lines is subtracted farther away. */
static const double TOUCH = 3;
static const double SAME = 1.5; /* bins */

struct place {
    struct psr_accel_peak peak;
    const struct psr_accel_hit *hit;
    bool measured, gone;
};

struct hidden {
    const struct psr_accel_search *s;
    const struct psr_accel_lines *lines;
    const struct psr_accel_normalise *norm;
    const struct psr_template_bank *bank;
    struct psr_direct near, low; /* bins around a place; all below LOW, without any line */
    struct place *place;         /* [n] */
    float *power;                /* [n][numharm] of a place's own harmonics */
    size_t n;
    /* Powers of so many harmonics that are as improbable as the cut of a stage. */
    double cut[PSR_ACCELSEARCH_NSTAGE][PSR_ACCELSEARCH_MAX_HARM + 1];
};

static void fill_cuts(struct hidden *h)
{
    for (int stage = 0; stage < h->s->nstage; stage++) {
        const int nharm = 1 << stage;
        const struct psr_logp p = psr_chi2_logp(2 * (double)h->s->cut[stage], 2.0 * nharm);
        for (int n = 1; n <= nharm; n++)
            h->cut[stage][n] = psr_chi2_threshold(p, 2.0 * n) / 2;
    }
}

/* --- one place -------------------------------------------------------------------------------- */

static bool is_others(const struct psr_accel_peak *p, int h)
{
    return p->others >> (h - 1) & 1;
}

/* Its harmonics that one of a signal's meets at some time of the observation. */
static uint32_t find_touched(const struct psr_accel_peak *p, const struct psr_accel_peak *signal)
{
    uint32_t touched = 0;
    for (int h = 1; h <= p->nharm; h++) {
        const double m = fmax(1, rint(h * p->r / signal->r));
        const double z = fabs(h * p->z - m * signal->z), w = fabs(h * p->w - m * signal->w);
        const double unsure = 0.25 * m / signal->nharm; /* r is that of a half bin */
        if (fabs(h * p->r - m * signal->r) <= TOUCH + z / 2 + w / 12 + unsure)
            touched |= UINT32_C(1) << (h - 1);
    }
    return touched;
}

/* The bins around half bin i, without lines but those there. */
static void load_near(struct hidden *h, int64_t i, int reach)
{
    psr_direct_load(&h->near, h->norm, i, reach, 1);
    psr_accel_lines_clean(h->lines, 0.5 * (double)i, h->near.first, (size_t)h->near.room,
                          h->near.bin);
}

static void measure(struct hidden *h, const struct place *p, float *power)
{
    const int H = p->peak.nharm;
    for (int k = 1; k <= H; k++) {
        const int64_t i = psr_harmonic_bin(p->hit->i, k, H);
        const size_t t =
            psr_template_number(h->bank->jmax, h->bank->lmax, psr_harmonic_step(p->hit->j, k, H),
                                psr_harmonic_step(p->hit->l, k, H));
        if (is_others(&p->peak, k))
            continue;
        const bool low =
            h->low.room && i < 2 * LOW && !psr_accel_lines_have(h->lines, 0.5 * (double)i);
        if (!low)
            load_near(h, i, h->bank->half[t]);
        power[k - 1] = psr_direct_power(low ? &h->low : &h->near, h->bank, t, i);
    }
}

/* Reduces a place to the harmonics that are its own.
 * Returned: whether they stand, without the strongest too: a line is no pulsar */
static bool take_own(struct hidden *h, struct place *p)
{
    const int stage = p->hit->stage;
    float *power = h->power + (size_t)(p - h->place) * (size_t)h->s->numharm;
    double own = 0, most = 0;
    int n = 0;
    for (int k = 1; k <= p->peak.nharm; k++)
        n += !is_others(&p->peak, k);
    if (n < LEAST_OWN)
        return false;
    if (!p->measured)
        measure(h, p, power);
    p->measured = true;
    for (int k = 1; k <= p->peak.nharm; k++)
        if (!is_others(&p->peak, k)) {
            own += (double)power[k - 1];
            most = fmax(most, (double)power[k - 1]);
        }
    if (own <= h->cut[stage][n] || own - most <= h->cut[stage][n - 1])
        return false;
    const struct psr_logp alone = psr_chi2_logp(2 * own, 2.0 * n);
    p->peak.power = own;
    p->peak.sigma =
        psr_gauss_sigma(psr_logp_trials(alone, fmax(1, h->s->trials[stage]), h->s->count));
    return true;
}

/* --- all -------------------------------------------------------------------------------------- */

static struct place *find_best(const struct hidden *h)
{
    struct place *best = NULL;
    for (size_t k = 0; k < h->n; k++)
        if (!h->place[k].gone && (!best || psr_accel_compare(&h->place[k].peak, &best->peak) < 0))
            best = &h->place[k];
    return best;
}

/* Takes a signal's harmonics from all places. */
static void take_signal(struct hidden *h, const struct psr_accel_peak *signal)
{
    for (size_t k = 0; k < h->n; k++) {
        struct place *p = &h->place[k];
        const uint32_t touched = p->gone ? 0 : find_touched(&p->peak, signal) & ~p->peak.others;
        p->peak.others |= touched;
        if (touched)
            p->gone = !take_own(h, p);
    }
}

static bool is_listed(const struct psr_accel_peaks *peaks, size_t n, double r)
{
    for (size_t k = 0; k < n; k++)
        if (fabs(peaks->peak[k].r - r) < SAME)
            return true;
    return false;
}

static psr_status make_places(struct hidden *h, const struct psr_accel_hits *hits, psr_err *err)
{
    const int reach = psr_template_reach(h->s->jmax, h->s->lmax);
    h->place = malloc(h->n * sizeof *h->place);
    h->power = malloc(h->n * (size_t)h->s->numharm * sizeof *h->power);
    if (!h->place || !h->power)
        return psr_fail_nomem(err, "peaks", (double)h->n * sizeof *h->place);
    for (size_t k = 0; k < h->n; k++)
        h->place[k] =
            (struct place){psr_accel_peak_of(h->s, &hits->hit[k]), &hits->hit[k], false, false};
    psr_status st = psr_direct_create(&h->near, reach, 1, err);
    if (st || h->n < MANY)
        return st;
    st = psr_direct_create(&h->low, reach, 2 * LOW, err);
    if (!st) {
        psr_direct_load(&h->low, h->norm, 0, reach, 2 * LOW);
        psr_accel_lines_clean(h->lines, -INFINITY, h->low.first, (size_t)h->low.room, h->low.bin);
    }
    return st;
}

psr_status
psr_accel_add_hidden(const struct psr_accel_search *s, const struct psr_accel_lines *lines,
                     const struct psr_accel_normalise *norm, const struct psr_template_bank *bank,
                     const struct psr_accel_hits *hits, struct psr_accel_peaks *peaks, psr_err *err)
{
    struct hidden h = {.s = s, .lines = lines, .norm = norm, .bank = bank, .n = hits->n};
    if (s->numharm < LEAST_OWN || hits->n < 2)
        return PSR_OK;
    psr_status st = make_places(&h, hits, err);
    if (!st) {
        fill_cuts(&h);
        const size_t nlisted = peaks->n;
        struct place *best;
        st = PSR_OK;
        for (int k = 0; k < MOST_SIGNALS && !st && (best = find_best(&h)); k++) {
            best->gone = true;
            if (!is_listed(peaks, nlisted, best->peak.r) &&
                (best->peak.others || take_own(&h, best))) {
                st = psr_grow(&peaks->peak, &peaks->room, peaks->n, sizeof *peaks->peak, "peaks",
                              err);
                if (!st)
                    peaks->peak[peaks->n++] = best->peak;
            }
            take_signal(&h, &best->peak);
        }
    }
    if (!st)
        psr_accel_sort_peaks(peaks);
    psr_direct_clear(&h.near);
    psr_direct_clear(&h.low);
    free(h.place);
    free(h.power);
    return st;
}
