/* Adds lines of trials for parts of the band. */
#include "run/dedisperse/lines/lines.h"

#include "base/tool.h"
#include "search/singlepulse/singlepulse_internal.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST = 8 /* channels of a part: fewer cannot be told from interference */ };

struct ranked {
    double value;
    size_t i;
};

/* The input: its sampling, and its sweep per DM. */
struct scale {
    double dmconst, tsamp_s, sweep_s;
};

PSR_COMPARE(by_rising_value, struct ranked, PSR_THEN(PSR_RISING(value), PSR_RISING(i)));

size_t psr_trials_whole_lines(const struct psr_trial_list *t)
{
    return t->npart ? t->nwhole : t->nline;
}

size_t psr_trials_whole_ndm(const struct psr_trial_list *t)
{
    return t->npart ? t->ndm_whole : t->ndm;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Kept channels by falling frequency.  Returned: how many */
static size_t rank_channels(struct ranked *rank, const struct psr_obs *obs,
                            const unsigned char *keep)
{
    size_t n = 0;
    for (size_t c = 0; c < obs->nchan; c++)
        if (keep[c])
            rank[n++] = (struct ranked){-psr_obs_freq_mhz(obs, c), c};
    qsort(rank, n, sizeof *rank, by_rising_value);
    return n;
}

static psr_status add_part(struct psr_trial_list *t, const struct ranked *rank, size_t n,
                           size_t nchan, psr_err *err)
{
    psr_status st = psr_resize(&t->part, t->npart + 1, sizeof *t->part, "parts of the band", err);
    if (st)
        return st;
    unsigned char *keep = calloc(nchan, 1);
    if (!keep)
        return psr_fail_nomem(err, "parts of the band", (double)nchan);
    for (size_t k = 0; k < n; k++)
        keep[rank[k].i] = 1;
    t->part[t->npart++] = (struct psr_band_part){keep, n, -rank[n - 1].value, -rank[0].value};
    return PSR_OK;
}

/* --- lines ------------------------------------------------------------------------------------ */

static double sweep_s(double dmconst, double low_mhz, double high_mhz)
{
    return psr_delay_s(dmconst, 1, low_mhz) - psr_delay_s(dmconst, 1, high_mhz);
}

/* Given:  times   samples that it sums, for one of the whole band's */
static void add_line(struct psr_trial_list *t, size_t whole, size_t part, struct ranked *rank,
                     const struct scale *scale, int64_t times)
{
    const struct psr_band_part *of = &t->part[part];
    struct psr_line *l = &t->line[t->nline++];
    *l = t->line[whole];
    l->downsamp *= times;
    for (size_t i = 0; i < l->ndm; i++)
        rank[i] = (struct ranked){t->dm[l->first + i], i};
    qsort(rank, l->ndm, sizeof *rank, by_rising_value);
    const double range = rank[l->ndm - 1].value - rank[0].value,
                 each_s = scale->tsamp_s * (double)l->downsamp;
    const double steps = l->ndm > 1 ? range * scale->sweep_s / each_s / (double)(l->ndm - 1) : 0;
    const double step =
        fmax(1, steps) * each_s / sweep_s(scale->dmconst, of->low_mhz, of->high_mhz);
    l->part = part + 1;
    l->first = t->ndm;
    /* Trials of a line, by rising DM, with a step or more from one to the next. */
    double *dm = t->dm + t->ndm;
    const double rounding = 1e-9;
    size_t n = 0;
    for (size_t i = 0; i < l->ndm; i++)
        if (!n || rank[i].value - dm[n - 1] >= step * (1 - rounding))
            dm[n++] = rank[i].value;
    l->ndm = n;
    t->ndm += l->ndm;
}

static psr_status grow(struct psr_trial_list *t, psr_err *err)
{
    const size_t ndm = t->ndm_whole * (t->npart + 1), nline = t->nwhole * (t->npart + 1);
    const char what[] = "trials of parts of the band";
    psr_status st = psr_resize(&t->dm, ndm, sizeof *t->dm, what, err);
    return st ? st : psr_resize(&t->line, nline, sizeof *t->line, what, err);
}

static psr_status add_lines(struct psr_trial_list *t, const struct scale *scale, psr_err *err)
{
    psr_status st = grow(t, err);
    struct ranked *rank = malloc(t->ndm_whole * sizeof *rank);
    if (!st && !rank)
        st = psr_fail_nomem(err, "trials of parts of the band", 16 * (double)t->ndm_whole);
    for (size_t p = 0; p < t->npart && !st; p++)
        for (size_t k = 0; k < t->nwhole; k++)
            add_line(t, k, p, rank, scale, 1);
    free(rank);
    return st;
}

static struct scale find_scale(const struct psr_obs *obs, double dmconst)
{
    return (struct scale){dmconst, obs->tsamp_s,
                          sweep_s(dmconst, psr_obs_lowest_mhz(obs), psr_obs_highest_mhz(obs))};
}

psr_status psr_trials_add_parts(struct psr_trial_list *t, const struct psr_obs *obs,
                                const unsigned char *keep, double dmconst, size_t nhalve,
                                psr_err *err)
{
    struct ranked *rank = malloc(obs->nchan * sizeof *rank);
    if (!rank)
        return psr_fail_nomem(err, "parts of the band", 16 * (double)obs->nchan);
    t->nwhole = t->nline;
    t->ndm_whole = t->ndm;
    size_t n = rank_channels(rank, obs, keep);
    psr_status st = PSR_OK;
    for (size_t h = 1; h <= nhalve && !st; h++) {
        const size_t wide = (n + ((size_t)1 << h) - 1) >> h;
        if (wide < LEAST || wide >= n)
            break;
        for (size_t first = 0; first + wide < n && !st; first += wide / 2)
            st = add_part(t, rank + first, wide, obs->nchan, err);
        if (!st)
            st = add_part(t, rank + n - wide, wide, obs->nchan, err);
    }
    free(rank);
    const struct scale scale = find_scale(obs, dmconst);
    return st || !t->npart ? st : add_lines(t, &scale, err);
}

/* --- wide boxcars ----------------------------------------------------------------------------- */

/* What is asked of boxcars, and the limit of downsamp. */
struct wide {
    const struct psr_obs *obs;
    double longest_s;
    int64_t most;
};

/* Samples of a line that one of its longest boxcars needs more of; of a short observation no more than a piece of the
 * baseline. */
static int64_t times_of(const struct psr_line *l, const struct wide *w)
{
    const struct psr_obs *obs = w->obs;
    const double each_s = obs->tsamp_s * (double)l->downsamp;
    const double longest = (double)psr_singlepulse_longest(0, each_s);
    const double longest_of_all =
        obs->nsamp >= 0 ? (double)obs->nsamp * obs->tsamp_s / 8 : INFINITY;
    const double times = ceil(fmin(w->longest_s, longest_of_all) / (longest * each_s) - 1e-9);
    return (int64_t)fmin(fmax(times, 1), (double)(w->most / l->downsamp));
}

static bool needs_wide(const struct psr_trial_list *t, const struct wide *w)
{
    bool any = false;
    for (size_t k = 0; k < psr_trials_whole_lines(t); k++)
        any |= times_of(&t->line[k], w) > 1;
    return any;
}

psr_status psr_trials_add_wide(struct psr_trial_list *t, const struct psr_obs *obs,
                               const unsigned char *keep, double dmconst, double longest_s,
                               int64_t most, psr_err *err)
{
    const struct wide wide = {obs, longest_s, most};
    if (!needs_wide(t, &wide))
        return PSR_OK;
    struct ranked *rank = malloc((obs->nchan + t->ndm) * sizeof *rank);
    if (!rank)
        return psr_fail_nomem(err, "trials of wide boxcars", 16 * (double)obs->nchan);
    t->nwhole = psr_trials_whole_lines(t);
    t->ndm_whole = psr_trials_whole_ndm(t);
    const size_t n = rank_channels(rank, obs, keep);
    psr_status st = n ? add_part(t, rank, n, obs->nchan, err) : PSR_OK;
    if (!st && n)
        st = grow(t, err);
    const struct scale scale = find_scale(obs, dmconst);
    if (!st && n) {
        for (size_t k = 0; k < t->nwhole; k++) {
            const int64_t times = times_of(&t->line[k], &wide);
            if (times <= 1)
                continue;
            add_line(t, k, t->npart - 1, rank, &scale, times);
            t->line[t->nline - 1].least_width = (int64_t)psr_singlepulse_longest(0, 1) / times + 1;
        }
    }
    free(rank);
    return st;
}

/* --- fine samples ----------------------------------------------------------------------------- */

/* Samples that a line sums if it sums so many times fewer. */
static int64_t fine_downsamp(const struct psr_line *l, int64_t times)
{
    return (l->downsamp + times - 1) / times;
}

/* Trials of a line with so many steps for one of its own. */
static size_t fine_ndm(const struct psr_line *l, int64_t times)
{
    const int64_t fine = fine_downsamp(l, times), steps = (l->downsamp + fine - 1) / fine;
    return fine < l->downsamp ? l->ndm * (size_t)steps : 0;
}

/* Given:  rank [l->ndm]   room */
static void add_fine_line(struct psr_trial_list *t, size_t whole, int64_t times,
                          struct ranked *rank)
{
    const struct psr_line *of = &t->line[whole];
    const size_t n = fine_ndm(of, times), steps = n / of->ndm;
    struct psr_line *l = &t->line[t->nline++];
    *l = *of;
    for (size_t i = 0; i < of->ndm; i++)
        rank[i] = (struct ranked){t->dm[of->first + i], i};
    qsort(rank, of->ndm, sizeof *rank, by_rising_value);
    for (size_t k = 0; k < n; k++) {
        const size_t i = k / steps, from = i + 1 < of->ndm ? i : i - (i > 0);
        const double apart = of->ndm > 1 ? rank[from + 1].value - rank[from].value : 0;
        t->dm[t->ndm + k] = rank[i].value + apart * (double)(k % steps) / (double)steps;
    }
    l->part = t->npart;
    l->downsamp = fine_downsamp(of, times);
    l->least_width = 1;
    l->first = t->ndm;
    l->ndm = of->ndm > 1 ? n : 1;
    t->ndm += l->ndm;
}

static psr_status grow_fine(struct psr_trial_list *t, size_t nline, size_t ndm, psr_err *err)
{
    const char what[] = "trials of fine samples";
    psr_status st = psr_resize(&t->dm, t->ndm + ndm, sizeof *t->dm, what, err);
    return st ? st : psr_resize(&t->line, t->nline + nline, sizeof *t->line, what, err);
}

psr_status psr_trials_add_fine(struct psr_trial_list *t, const struct psr_obs *obs,
                               const unsigned char *keep, int64_t times, psr_err *err)
{
    const size_t nwhole = psr_trials_whole_lines(t), ndm_whole = psr_trials_whole_ndm(t);
    size_t ndm = 0;
    for (size_t k = 0; k < nwhole; k++)
        ndm += fine_ndm(&t->line[k], times);
    if (!ndm)
        return PSR_OK;
    struct ranked *rank = malloc((obs->nchan + ndm_whole) * sizeof *rank);
    if (!rank)
        return psr_fail_nomem(err, "trials of fine samples", 16 * (double)obs->nchan);
    const size_t n = rank_channels(rank, obs, keep);
    psr_status st = n ? grow_fine(t, nwhole, ndm, err) : PSR_OK;
    if (!st && n)
        st = add_part(t, rank, n, obs->nchan, err);
    t->nwhole = nwhole;
    t->ndm_whole = ndm_whole;
    for (size_t k = 0; k < nwhole && !st && n; k++)
        if (fine_ndm(&t->line[k], times))
            add_fine_line(t, k, times, rank);
    free(rank);
    return st;
}
