/* Recognises folds of hum: a fast folding search finds what is faster than its shortest period at multiples of the period,
 * and a band that is narrow, or few channels, leaves it almost as bright at other DMs as at DM 0.
 *
 * Hum of frequency F has a fold at every k / F, of S/N A / sqrt(k), whose pulse is one crest of the k that the fold holds.  A pulsar's
 * folds are at multiples of its own period, which is one of them. */
#include "search/sift/sift_state.h"

#include <math.h>

/* Frequencies of hum: pulsars of 0.05 s and more have none. */
static const double LEAST_HZ = 20, MOST_HZ = 500;

/* Turns over the observation by which two folds of one hum may differ, one of them from all, and any other. */
static const double NEAR_TURNS = 0.5, FROM_ALL_TURNS = 0.4, OTHER_TURNS = 0.6;

/* A crest: its boxcar, in turns of the hum. */
static const double LEAST_CREST = 0.12, MOST_CREST = 0.65;

/* Folds of one hum have A between these shares of each other's. */
static const double LEAST_SHARE = 0.6, MOST_SHARE = 1 / 0.6;

/* Fewer are no family; nor are those that chance explains; nor those of which so many have multiples of one number of turns, which are a
 * slower signal's; nor those that are brighter elsewhere than at DM 0, by so much of S/N each. */
enum { LEAST_FOLDS = 3, LEAST_TURNS = 4, STRONGEST = 8, MOST_FOLDS = 512 };
static const double HUM_CHANCE = 1e-3, MULTIPLES = 0.75, BRIGHTER = 1;

/* Harmonic m of hum has 1 / m of its amplitude, or less. */
enum { MOST_MULTIPLE = 5 };

/* A fold of many crests is the brightest of them, by the noise. */
static const double CREST_SHARE = 1.1, CREST_NOISE = 3;

struct family {
    double f_hz, tobs_s;
    size_t n;
    const struct psr_sift_entry *fold[MOST_FOLDS];
    double turns[MOST_FOLDS];
};

/* Turns of frequency f_hz in the fold; 0 if it is no crest of it. */
static double turns_in(const struct psr_sift_entry *e, double f_hz, double near_hz)
{
    const double k = rint(f_hz / e->f), crest = e->fold_duty * k;
    return e->folded && k >= LEAST_TURNS && fabs(k * e->f - f_hz) < near_hz &&
                   crest >= LEAST_CREST && crest <= MOST_CREST
               ? k
               : 0;
}

static struct family gather(const struct family *all, const struct psr_sift_entry *first,
                            double f_hz, double turns)
{
    struct family of = {.f_hz = f_hz, .tobs_s = all->tobs_s};
    const double amp = first->sigma * sqrt(f_hz / first->f);
    double weight = 0, sum = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct psr_sift_entry *e = all->fold[i];
        const double k = turns_in(e, f_hz, turns / all->tobs_s), share = e->sigma * sqrt(k) / amp;
        if (!(k > 0 && share > LEAST_SHARE && share < MOST_SHARE))
            continue;
        of.fold[of.n] = e;
        of.turns[of.n++] = k;
        weight += e->sigma;
        sum += e->sigma * k * e->f;
    }
    of.f_hz = weight > 0 ? sum / weight : f_hz;
    return of;
}

/* How often chance gives so many of all one frequency, of ntry. */
static double find_chance(const struct family *of, size_t nall, double ntry)
{
    const double n = (double)of->n - 1, all = (double)nall - 1;
    double log_chance = log(ntry) + lgamma(all + 1) - lgamma(n + 1) - lgamma(all - n + 1);
    for (size_t i = 1; i < of->n; i++)
        log_chance += log(fmin(1, 2 * NEAR_TURNS / (of->fold[i]->f * of->tobs_s)));
    return exp(fmin(log_chance, 0));
}

static bool is_slower(const struct family *of)
{
    for (int p = 2; p <= of->turns[0]; p++) {
        size_t n = 0;
        for (size_t i = 0; i < of->n; i++)
            n += fmod(of->turns[i], p) < 0.5;
        if ((double)n > MULTIPLES * (double)of->n)
            return true;
    }
    return false;
}

static bool is_at_dm0(const struct psr_sift *s, const struct family *of)
{
    double more = 0;
    for (size_t i = 0; i < of->n; i++) {
        const struct psr_sift_entry *e = of->fold[i];
        if (e->reason == PSR_SIFT_DUPLICATE)
            more += s->all.entry[e->of].sigma - e->sigma;
    }
    return more < BRIGHTER * (double)of->n;
}

static bool is_hum(const struct psr_sift *s, const struct family *of, size_t nall, double ntry)
{
    return of->n >= LEAST_FOLDS && find_chance(of, nall, ntry) < HUM_CHANCE && !is_slower(of) &&
           is_at_dm0(s, of);
}

/* The frequency that most of the folds are of; 0: there is none. */
static double find_hum(const struct psr_sift *s, const struct family *all)
{
    double best_hz = 0;
    size_t best = 0;
    for (size_t i = 0; i < all->n && i < STRONGEST; i++) {
        const struct psr_sift_entry *e = all->fold[i];
        const double least = fmax(LEAST_TURNS, fmax(LEAST_HZ / e->f, LEAST_CREST / e->fold_duty)),
                     most = fmin(MOST_HZ / e->f, MOST_CREST / e->fold_duty);
        for (double k = ceil(least); k <= most; k++) {
            const struct family wide = gather(all, e, k * e->f, NEAR_TURNS),
                                of = gather(all, e, wide.f_hz, FROM_ALL_TURNS);
            if (of.n > best && is_hum(s, &of, all->n, STRONGEST * (most - least + 1))) {
                best = of.n;
                best_hz = of.f_hz;
            }
        }
    }
    return best_hz;
}

/* Folds of the first DM, strongest first, but for those of hum that is known. */
static struct family list_folds(const struct psr_sift *s)
{
    struct family all = {.n = 0};
    for (size_t i = 0; i < s->all.n; i++) {
        const struct psr_sift_entry *e = &s->all.entry[i];
        if (!e->folded || s->list[e->list].dm_key != s->dm_key[0] || psr_sift_is_hum(s, e))
            continue;
        size_t at = all.n < MOST_FOLDS ? all.n++ : MOST_FOLDS - 1;
        if (at == MOST_FOLDS - 1 && all.fold[at] && all.fold[at]->sigma >= e->sigma)
            continue;
        for (; at > 0 && all.fold[at - 1]->sigma < e->sigma; at--)
            all.fold[at] = all.fold[at - 1];
        all.fold[at] = e;
        all.tobs_s = psr_sift_tobs(s, e);
    }
    return all;
}

void psr_sift_find_hum(struct psr_sift *s)
{
    s->nhum = 0;
    if (!psr_sift_searched_both(s))
        return;
    while (s->nhum < PSR_SIFT_MOST_HUM) {
        const struct family all = list_folds(s);
        const double f_hz = find_hum(s, &all);
        if (!(f_hz > 0))
            return;
        s->hum_hz[s->nhum++] = f_hz;
    }
}

/* The most that other folds of a frequency say of A in the list of e, in which they have other turns. */
static double find_amp(const struct psr_sift *s, const struct psr_sift_entry *e, double f_hz,
                       double near_hz)
{
    const struct psr_sift_entry *o = e, *const end = s->all.entry + s->all.n;
    double most = 0;
    /* Entries are in the order of lists. */
    while (o > s->all.entry && o[-1].list == e->list)
        o--;
    for (; o < end && o->list == e->list; o++) {
        const double k = turns_in(o, f_hz, near_hz);
        if (k > 0 && fabs(o->f - e->f) * psr_sift_tobs(s, e) > 1)
            most = fmax(most, o->sigma * sqrt(k));
    }
    return most;
}

bool psr_sift_is_hum(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    const double near_hz = OTHER_TURNS / psr_sift_tobs(s, e);
    for (size_t i = 0; i < s->nhum; i++)
        for (int m = 1; m <= MOST_MULTIPLE; m++) {
            const double k = turns_in(e, m * s->hum_hz[i], near_hz);
            if (k > 0 &&
                e->sigma <
                    CREST_SHARE * find_amp(s, e, s->hum_hz[i], near_hz) / sqrt(m * k) + CREST_NOISE)
                return true;
        }
    return false;
}

/* By how many turns a fold of hum and of its harmonics may be off it, in the slopes of its line. */
static const double SLOPE_TURNS = 8;

bool psr_sift_is_no_fold_of_hum(const struct psr_sift *s, const struct psr_sift_entry *a,
                                const struct psr_sift_entry *b)
{
    const double ta = psr_sift_tobs(s, a), tb = psr_sift_tobs(s, b);
    for (size_t i = 0; i < s->nhum && b->folded && b->sigma >= psr_sift_sure_sigma; i++) {
        bool on = !(turns_in(a, s->hum_hz[i], OTHER_TURNS / ta) > 0);
        for (int m = 1; m <= MOST_MULTIPLE && !on; m++)
            on = turns_in(b, m * s->hum_hz[i], SLOPE_TURNS / tb) > 0;
        if (!on)
            return true;
    }
    return false;
}
