/* Finds the peaks that better ones near them, or at ratios of their frequency, have hidden.
 *
 * A slow pulsar has peaks at many ratios p/q of its frequency, a few bins apart: psr_accel_select and
 * psr_accel_drop_harmonics leave little room between them, and a second slow pulsar seldom stands there.  What tells it
 * is power in harmonics that are none of a better signal. */
#include "peaks.h"

#include "base/tool.h"
#include "search/matched/response/response.h"
#include <math.h>
#include <psrkit/signif.h>
#include <stdbool.h>
#include <stdlib.h>

/* --- reduces places above the threshold to peaks, and computes their significance ------------- */

enum { MOST_RATIO = 16 };
static const double SAME = 1.5; /* bins */

/* Small ratios, besides n and 1 / n. */
static const struct {
    double num, den;
} ratios[] = {{3, 2}, {5, 2},  {2, 3},  {4, 3},  {5, 3},  {3, 4},  {5, 4}, {2, 5},
              {3, 5}, {4, 5},  {5, 6},  {2, 7},  {3, 7},  {4, 7},  {3, 8}, {5, 8},
              {2, 9}, {3, 10}, {2, 11}, {3, 11}, {2, 13}, {3, 13}, {2, 15}};
enum { NRATIO = sizeof ratios / sizeof *ratios };

/* --- sigma ------------------------------------------------------------------------------------ */

double psr_accel_sigma(const struct psr_accel_search *s, double power, int stage)
{
    struct psr_logp alone = psr_chi2_logp(2 * power, 2.0 * (1 << stage));
    return psr_gauss_sigma(psr_logp_trials(alone, fmax(1, s->trials[stage]), s->count));
}

double psr_accel_power(const struct psr_accel_search *s, double sigma, int stage)
{
    struct psr_logp all = psr_gauss_logp(sigma);
    struct psr_logp alone = psr_logp_trials(all, 1 / fmax(1, s->trials[stage]), s->count);
    return psr_chi2_threshold(alone, 2.0 * (1 << stage)) / 2;
}

/* --- neighbours ------------------------------------------------------------------------------- */

PSR_COMPARE(by_frequency, struct psr_accel_peak, PSR_THEN(PSR_RISING(r), PSR_RISING(nharm)));

PSR_COMPARE(best_first, struct psr_accel_peak,
            PSR_THEN(PSR_FALLING(sigma), PSR_THEN(PSR_FALLING(power), by_frequency(a, b))));

/* Best first. */
static void accel_sort_peaks(struct psr_accel_peaks *peaks)
{
    if (peaks->n)
        qsort(peaks->peak, peaks->n, sizeof *peaks->peak, best_first);
}

/* Marks peaks, by rising frequency, that have a better one less than PSR_ACCEL_CLOSEST below them; from the
 * other end, above. */
static void mark_beaten(const struct psr_accel_peak *p, size_t n, bool *beaten, size_t *queue,
                        bool downwards)
{
    size_t head = 0, tail = 0; /* candidates for being the best near: each better than the next */
    for (size_t i = 0; i < n; i++) {
        size_t k = downwards ? n - 1 - i : i;
        while (head < tail && fabs(p[queue[head]].r - p[k].r) >= PSR_ACCEL_CLOSEST)
            head++;
        if (head < tail && best_first(&p[queue[head]], &p[k]) < 0)
            beaten[k] = true;
        while (head < tail && best_first(&p[k], &p[queue[tail - 1]]) < 0)
            tail--;
        queue[tail++] = k;
    }
}

static psr_status drop_beaten(struct psr_accel_peaks *peaks, psr_err *err)
{
    if (peaks->n == 0)
        return PSR_OK;
    bool *beaten = calloc(peaks->n, sizeof *beaten);
    size_t *queue = malloc(peaks->n * sizeof *queue), n = 0;
    if (beaten && queue) {
        qsort(peaks->peak, peaks->n, sizeof *peaks->peak, by_frequency);
        mark_beaten(peaks->peak, peaks->n, beaten, queue, false);
        mark_beaten(peaks->peak, peaks->n, beaten, queue, true);
        for (size_t i = 0; i < peaks->n; i++)
            if (!beaten[i])
                peaks->peak[n++] = peaks->peak[i];
        peaks->n = n;
        accel_sort_peaks(peaks);
    }
    bool done = beaten && queue;
    free(beaten);
    free(queue);
    return done ? PSR_OK : psr_fail_nomem(err, "peaks", 9.0 * (double)peaks->n);
}

static struct psr_accel_peak accel_peak_of(const struct psr_accel_search *s,
                                           const struct psr_accel_hit *h)
{
    const double nharm = 1 << h->stage;
    return (struct psr_accel_peak){
        .r = 0.5 * (double)h->i / nharm,
        .z = 2.0 * h->j / nharm,
        .w = 20.0 * h->l / nharm,
        .sigma = psr_accel_sigma(s, (double)h->power, h->stage),
        .power = (double)h->power,
        .nharm = 1 << h->stage,
    };
}

psr_status psr_accel_select(const struct psr_accel_search *s, const struct psr_accel_hits *hits,
                            struct psr_accel_peaks *peaks, psr_err *err)
{
    peaks->n = 0;
    for (size_t k = 0; k < hits->n; k++) {
        psr_status st =
            psr_grow(&peaks->peak, &peaks->room, peaks->n, sizeof *peaks->peak, "peaks", err);
        if (st)
            return st;
        peaks->peak[peaks->n++] = accel_peak_of(s, &hits->hit[k]);
    }
    return drop_beaten(peaks, err);
}

/* --- harmonics -------------------------------------------------------------------------------- */

/* Ranks of peaks by frequency. */
struct place {
    double r;
    size_t rank;
};

PSR_COMPARE(by_place, struct place, PSR_THEN(PSR_RISING(r), PSR_RISING(rank)));

/* Marks peaks worse than rank within SAME of r. */
static void mark_near(const struct place *place, size_t n, double r, size_t rank, bool *gone)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (place[mid].r <= r - 2 * SAME)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < n && place[lo].r < r + 2 * SAME; lo++)
        if (place[lo].rank > rank && fabs(r - place[lo].r) < SAME)
            gone[place[lo].rank] = true;
}

psr_status psr_accel_drop_harmonics(struct psr_accel_peaks *peaks, size_t *nremoved, psr_err *err)
{
    struct place *place = malloc((peaks->n + 1) * sizeof *place);
    bool *gone = calloc(peaks->n + 1, sizeof *gone), done = place && gone;
    size_t n = 0;
    for (size_t k = 0; k < peaks->n && done; k++)
        place[k] = (struct place){peaks->peak[k].r, k};
    if (done) {
        qsort(place, peaks->n, sizeof *place, by_place);
        for (size_t k = 0; k < peaks->n; k++) {
            if (gone[k])
                continue;
            const double r = peaks->peak[k].r;
            for (int m = 1; m <= MOST_RATIO; m++) {
                mark_near(place, peaks->n, r / m, k, gone);
                mark_near(place, peaks->n, r * m, k, gone);
            }
            for (int m = 0; m < NRATIO; m++)
                mark_near(place, peaks->n, r * ratios[m].num / ratios[m].den, k, gone);
            peaks->peak[n++] = peaks->peak[k];
        }
        *nremoved = peaks->n - n;
        peaks->n = n;
    }
    free(place);
    free(gone);
    return done ? PSR_OK : psr_fail_nomem(err, "peaks", 17.0 * (double)peaks->n);
}

/* --- peaks that better ones have hidden ------------------------------------------------------- */

/* LEAST_OWN: harmonics that a hidden peak has of its own.  MANY hits are measured in bins below LOW that are loaded
 * once. */
enum { LEAST_OWN = 3, MOST_SIGNALS = 64, MANY = 64, LOW = 1 << 15 };

/* Bins from a signal's harmonic within which power is its own: that of brighter lines is subtracted farther away. */
static const double TOUCH = 3;

struct peak_place {
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
    struct peak_place *place;    /* [n] */
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

static void measure(struct hidden *h, const struct peak_place *p, float *power)
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
static bool take_own(struct hidden *h, struct peak_place *p)
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

static struct peak_place *find_best(const struct hidden *h)
{
    struct peak_place *best = NULL;
    for (size_t k = 0; k < h->n; k++)
        if (!h->place[k].gone && (!best || best_first(&h->place[k].peak, &best->peak) < 0))
            best = &h->place[k];
    return best;
}

/* Takes a signal's harmonics from all places. */
static void take_signal(struct hidden *h, const struct psr_accel_peak *signal)
{
    for (size_t k = 0; k < h->n; k++) {
        struct peak_place *p = &h->place[k];
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
            (struct peak_place){accel_peak_of(h->s, &hits->hit[k]), &hits->hit[k], false, false};
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
        struct peak_place *best;
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
        accel_sort_peaks(peaks);
    psr_direct_clear(&h.near);
    psr_direct_clear(&h.low);
    free(h.place);
    free(h.power);
    return st;
}
