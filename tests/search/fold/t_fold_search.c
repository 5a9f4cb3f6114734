/* fold search: the best of all trials around a fold, against a plain loop over all of them; on a device
 * if FOLD_BACKEND names one, which must give the CPU's bits. */
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <psrkit/experimental/fold.h>

#include "search/fold/fold_internal.h"
#include "tests/support/tap.h"

#include <math.h>
#include <string.h>

#ifndef FOLD_BACKEND
#define FOLD_BACKEND "cpu"
#endif

static psr_err err;

enum kind { NOISE, PULSE, BRIGHT, SPIKE, WHOLE, EMPTY, NKIND };
static const char *const kind_name[NKIND] = {"noise",        "a faint pulse", "a bright pulse",
                                             "interference", "whole numbers", "no variance"};

struct scene {
    struct psr_pfd fold;
    struct psr_fold_times times;
    struct psr_fold_search_desc d;
};

/* --- scenes ----------------------------------------------------------------------------------- */

/* What bin b of part i and sub-band j holds beside noise of 1. */
static double make_pulse(const struct scene *s, enum kind kind, size_t i, size_t j, size_t b)
{
    const struct psr_pfd *p = &s->fold;
    const double at = 3 + 0.3 * (double)i + 0.4 * (double)j, n = (double)p->nbin;
    const double off = fmod(fabs((double)b - fmod(at, n)), n);
    if (kind == SPIKE)
        return i == 2 && b == 1 ? 1e5 : 0;
    return (kind == PULSE ? 0.5 : kind == BRIGHT ? 300 : 0) * exp(-off * off);
}

static void fill_profiles(struct scene *s, enum kind kind, uint64_t *seed)
{
    struct psr_pfd *p = &s->fold;
    const size_t nsub = (size_t)p->nsub, nbin = (size_t)p->nbin, n = (size_t)p->npart * nsub;
    for (size_t k = 0; k < n; k++) {
        double *profile = p->profile + k * nbin, sum = 0;
        for (size_t b = 0; b < nbin; b++) {
            const double noise = kind == WHOLE   ? (double)tap_between(seed, 0, 1)
                                 : kind == EMPTY ? 0
                                                 : tap_normal(seed);
            profile[b] = 1000 + noise + make_pulse(s, kind, k / nsub, k % nsub, b);
            sum += profile[b];
        }
        p->stats[k] = (struct psr_fold_stats){.numdata = 100.0 * (double)nbin,
                                              .data_avg = 10,
                                              .data_var = kind == EMPTY ? 0 : 0.01,
                                              .numprof = (double)nbin,
                                              .prof_avg = sum / (double)nbin,
                                              .prof_var = kind == EMPTY ? 0 : 1};
    }
}

static void fill_lists(struct scene *s)
{
    struct psr_pfd *p = &s->fold;
    for (int32_t i = 0; i < p->ndm; i++)
        p->trial_dm[i] = 10 + 3.1 * i / p->nbin;
    p->dm = p->ndm ? p->trial_dm[p->ndm / 3] : 7;
    for (int32_t i = 0; i < p->nperiod; i++)
        p->trial_period_s[i] = 1 / (p->fold.f + (i - p->nperiod / 2) * 1e-3);
}

static void make_scene(struct scene *s, enum kind kind, int nbin, int npart, int nsub, int npfact,
                       uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    s->times = (struct psr_fold_times){.block_s = 0.1234567, .part_blocks = 7};
    s->times.length_s = s->times.block_s * (double)s->times.part_blocks * npart;
    const int32_t ntrial = 2 * npfact * nbin + 1;
    s->fold = (struct psr_pfd){.ndm = nsub > 1 ? 2 * nbin + 1 : 0,
                               .nperiod = ntrial,
                               .npdot = ntrial,
                               .nsub = nsub,
                               .npart = npart,
                               .nbin = nbin,
                               .nchan = nsub * 4,
                               .pstep = (int32_t)tap_between(seed, 1, 3),
                               .pdstep = (int32_t)tap_between(seed, 1, 5),
                               .tsamp_s = 1e-3,
                               .voverc = 1e-4,
                               .lofreq_mhz = 300,
                               .width_mhz = 2,
                               .fold = {.f = 3.21}};
    if (psr_pfd_allocate(&s->fold, &err) != PSR_OK)
        exit(EXIT_FAILURE);
    fill_profiles(s, kind, seed);
    fill_lists(s);
    s->d =
        (struct psr_fold_search_desc){.size = sizeof s->d, .nthread = 1, .backend = FOLD_BACKEND};
}

/* --- the plain loop --------------------------------------------------------------------------- */

struct best {
    size_t dm, period, pdot, pddot;
    double redchi, equal; /* trials that are as good, but for rounding */
};

/* Bins by which sub-band j is later than the highest frequency, whole ones. */
static long find_band_bins(const struct psr_pfd *p, double dm, long j)
{
    const long per = p->nchan / p->nsub;
    const double high = (p->lofreq_mhz + (p->nchan - 1) * p->width_mhz) * (1 + p->voverc);
    const double own =
        (p->lofreq_mhz + (double)((j + 1) * per - 1) * p->width_mhz) * (1 + p->voverc);
    const double s = PSR_DMCONST_PRESTO * dm * (1 / (own * own) - 1 / (high * high));
    return lround(s * p->fold.f * p->nbin) % p->nbin;
}

/* Sum of the sub-bands of all parts: [npart][nbin]. */
static double *sum_bands(const struct psr_pfd *p, double dm)
{
    double *part = tap_take((size_t)(p->npart * p->nbin), sizeof *part);
    for (long i = 0; i < p->npart; i++)
        for (long j = 0; j < p->nsub; j++) {
            const long shift = p->ndm ? find_band_bins(p, dm, j) : 0;
            for (long b = 0; b < p->nbin; b++)
                part[i * p->nbin + b] +=
                    p->profile[(i * p->nsub + j) * p->nbin + (b + shift) % p->nbin];
        }
    return part;
}

/* The delay of part i in bins, and how many whole bins it is advanced by for it. */
static long find_part_bins(const struct scene *s, const struct best *trial, long i)
{
    const struct psr_pfd *p = &s->fold;
    const long mid_p = (p->nperiod - 1) / 2, mid_pd = (p->npdot - 1) / 2;
    const double len = s->times.length_s,
                 t = (double)(i * (long)s->times.part_blocks) * s->times.block_s;
    const double pd_turns = (double)(((long)trial->pdot - mid_pd) * p->pdstep) / p->nbin;
    const double pdd_turns = (double)(((long)trial->pddot - mid_pd) * p->pdstep) / p->nbin;
    const double fd = 2 * pd_turns / (len * len), fdd = 6 * pdd_turns / (len * len * len);
    double delay = fdd * t * t * t / 6 * p->nbin + fd * t * t / 2 * p->nbin;
    delay += (double)(i * ((long)trial->period - mid_p) * p->pstep) / p->npart;
    double bins = fmod(-delay, p->nbin);
    bins += bins < 0 ? p->nbin : 0;
    return (long)(bins + 0.5) % p->nbin;
}

static double find_redchi(const struct scene *s, const double *part, const struct best *trial,
                          double avg, double var)
{
    const struct psr_pfd *p = &s->fold;
    double *sum = tap_take((size_t)p->nbin, sizeof *sum), chi2 = 0;
    for (long i = 0; i < p->npart; i++) {
        const long shift = find_part_bins(s, trial, i);
        for (long b = 0; b < p->nbin; b++)
            sum[b] += part[i * p->nbin + (b + shift) % p->nbin];
    }
    for (long b = 0; b < p->nbin; b++)
        chi2 += (sum[b] - avg) * (sum[b] - avg) / var;
    free(sum);
    return p->nbin > 1 ? chi2 / (p->nbin - 1) : 0;
}

static void find_stats(const struct psr_pfd *p, double *avg, double *var)
{
    *avg = *var = 0;
    for (long i = 0; i < p->npart * p->nsub; i++) {
        *avg += p->stats[i].prof_avg;
        *var += p->stats[i].prof_var;
    }
}

static struct best search_plainly(const struct scene *s)
{
    const struct psr_pfd *p = &s->fold;
    const size_t mid_p = (size_t)(p->nperiod - 1) / 2, mid_pd = (size_t)(p->npdot - 1) / 2;
    struct best best = {(size_t)p->ndm / 3, mid_p, mid_pd, mid_pd, 0, 0}, x = {0};
    double avg, var;
    find_stats(p, &avg, &var);
    for (x.dm = 0; x.dm < (p->ndm ? (size_t)p->ndm : 1) && var > 0; x.dm++) {
        if (s->d.keep_dm && p->ndm && x.dm != (size_t)p->ndm / 3)
            continue;
        double *part = sum_bands(p, p->ndm ? p->trial_dm[x.dm] : 0);
        for (x.pddot = s->d.pddot ? 0 : mid_pd;
             x.pddot < (s->d.pddot ? (size_t)p->npdot : mid_pd + 1); x.pddot++)
            for (x.pdot = s->d.keep_pd ? mid_pd : 0;
                 x.pdot < (s->d.keep_pd ? mid_pd + 1 : (size_t)p->npdot); x.pdot++)
                for (x.period = s->d.keep_p ? mid_p : 0;
                     x.period < (s->d.keep_p ? mid_p + 1 : (size_t)p->nperiod); x.period++) {
                    x.redchi = find_redchi(s, part, &x, avg, var);
                    if (x.redchi > best.redchi * (1 + 1e-12))
                        best = x, best.equal = 1;
                    else if (x.redchi > best.redchi * (1 - 1e-12))
                        best.equal++;
                }
        free(part);
    }
    return best;
}

/* --- comparison ------------------------------------------------------------------------------- */

static bool is_same(const struct scene *s, const struct psr_fold_best *is, const struct best *must)
{
    const double len = s->times.length_s, mid = (s->fold.npdot - 1) / 2;
    const double turns = ((double)must->pddot - mid) * s->fold.pdstep / s->fold.nbin;
    return is->dm == must->dm && is->period == must->period && is->pdot == must->pdot &&
           fabs(is->fdotdot - 6 * turns / (len * len * len)) <= 1e-12 * fabs(is->fdotdot);
}

static bool search(struct scene *s, struct psr_fold_best *best)
{
    psr_fold_search *search = NULL;
    bool good = psr_fold_search_create(&search, &s->d, &err) == PSR_OK;
    /* the second time the sums are listed already */
    for (int i = 0; i < 2 && good; i++)
        good = psr_fold_search_run(search, &s->fold, &s->times, best, &err) == PSR_OK;
    psr_fold_search_destroy(search);
    return good;
}

/* Returned: 1 for a wrong result */
static int compare(struct scene *s, const char *what)
{
    struct psr_fold_best best = {0}, again = {0};
    const struct best must = search_plainly(s);
    bool good = search(s, &best);
    const double off = fabs(best.stats.redchi - must.redchi);
    good = good && off <= 1e-9 * must.redchi && (must.equal > 1 || is_same(s, &best, &must));
    s->d.nthread = 3;
    s->d.backend = NULL;
    good = good && search(s, &again);
    good = good && again.dm == best.dm && again.period == best.period && again.pdot == best.pdot &&
           memcmp(&again.stats, &best.stats, sizeof best.stats) == 0 &&
           again.fdotdot == best.fdotdot;
    if (!good)
        printf("# %s, %d bins, %d parts, %d bands: DM %zu, p %zu, pd %zu, chi2 %.12g, must be %zu, "
               "%zu, "
               "%zu, %.12g; 3 threads: %.12g\n",
               what, s->fold.nbin, s->fold.npart, s->fold.nsub, best.dm, best.period, best.pdot,
               best.stats.redchi, must.dm, must.period, must.pdot, must.redchi, again.stats.redchi);
    return !good;
}

static void test_random(uint64_t *seed)
{
    for (int kind = 0; kind < NKIND; kind++) {
        int bad = 0;
        for (int k = 0; k < 8; k++) {
            struct scene s;
            const int nbin = (int)tap_between(seed, 1, 12), npart = (int)tap_between(seed, 1, 20);
            make_scene(&s, (enum kind)kind, nbin, npart, k % 3 ? (int)tap_between(seed, 2, 5) : 1,
                       (int)tap_between(seed, 1, 2), seed);
            s.d.keep_p = tap_between(seed, 0, 4) == 0;
            s.d.keep_pd = tap_between(seed, 0, 4) == 0;
            s.d.keep_dm = tap_between(seed, 0, 2) == 0;
            s.d.pddot = nbin < 6 && tap_between(seed, 0, 1);
            bad += compare(&s, kind_name[kind]);
            psr_pfd_clear(&s.fold);
        }
        ok(bad == 0, "the best of all trials is found: %s", kind_name[kind]);
    }
}

/* Shapes that choose groups of other sizes, and prepfold's own. */
static void test_shapes(uint64_t *seed)
{
    static const int shape[][3] = {
        {64, 64, 1}, {64, 64, 2}, {300, 3, 1}, {50, 60, 1}, {33, 130, 1}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        struct scene s;
        make_scene(&s, i % 2 ? PULSE : NOISE, shape[i][0], shape[i][1], shape[i][2],
                   shape[i][0] == 64 ? 2 : 1, seed);
        s.d.keep_dm = true;
        s.d.keep_pd = shape[i][0] == 300;
        ok(compare(&s, "shape") == 0, "so it is with %d bins and %d parts", shape[i][0],
           shape[i][1]);
        psr_pfd_clear(&s.fold);
    }
}

/* Few trials of noise are summed in full. */
static void test_bound(uint64_t *seed)
{
    struct scene s;
    struct psr_fold_best best = {0};
    make_scene(&s, NOISE, 64, 64, 4, 2, seed);
    const bool good = search(&s, &best);
    ok(good && best.ntrial == 129L * 257 * 257, "%lld trials of noise", (long long)best.ntrial);
    ok(best.nsummed < best.ntrial / 1000, "%lld of them are not excluded by the bound",
       (long long)best.nsummed);
    psr_pfd_clear(&s.fold);
}

/* Every value of the plane, and of the DMs, is that of its trial. */
static int compare_view(const struct scene *s, const struct psr_fold_best *best,
                        const struct psr_fold_view *v)
{
    const struct psr_pfd *p = &s->fold;
    double *part = sum_bands(p, p->ndm ? p->trial_dm[best->dm] : 0), avg, var;
    struct best x = {best->dm, best->period, best->pdot, best->pddot, 0, 0};
    int bad = 0;
    find_stats(p, &avg, &var);
    const double largest = best->stats.redchi * v->correction;
    for (x.pdot = 0; x.pdot < v->npdot; x.pdot++)
        for (x.period = 0; x.period < v->nperiod; x.period++) {
            const double must = find_redchi(s, part, &x, avg, var) * v->correction;
            const double is = (double)v->plane[x.pdot * v->nperiod + x.period];
            bad += fabs(is - must) > 0.01 * must + 1e-6 * largest + 1e-3;
        }
    free(part);
    x.period = best->period, x.pdot = best->pdot;
    for (x.dm = 0; x.dm < v->ndm; x.dm++) {
        part = sum_bands(p, p->trial_dm[x.dm]);
        const double must = find_redchi(s, part, &x, avg, var) * v->correction;
        bad += fabs(v->dm_redchi[x.dm] - must) > 1e-9 * must;
        free(part);
    }
    for (size_t b = 0; b < v->nbin; b++) {
        double parts = 0, bands = 0;
        for (size_t i = 0; i < v->npart; i++)
            parts += v->part[i * v->nbin + b];
        for (size_t j = 0; j < v->nsub; j++)
            bands += v->band[j * v->nbin + b];
        bad += fabs(parts - v->profile[b]) > 1e-9 * parts || fabs(bands - parts) > 1e-9 * parts;
    }
    const double last = v->part_redchi[v->npart - 1];
    return bad + (fabs(last - largest) > 1e-9 * largest);
}

static void test_view(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 6; k++) {
        struct scene s;
        struct psr_fold_best best;
        struct psr_fold_view view = {.npart = 0};
        psr_fold_search *search = NULL;
        make_scene(&s, k % 2 ? BRIGHT : NOISE, 8 + k, 5 + 3 * k, k % 3 + 1, 2, seed);
        s.fold.topo.p = 1 / s.fold.fold.f;
        s.d.keep_p = s.d.keep_pd = k == 3;
        bad += psr_fold_search_create(&search, &s.d, &err) != PSR_OK ||
               psr_fold_search_run(search, &s.fold, &s.times, &best, &err) != PSR_OK ||
               psr_fold_search_view(search, &s.fold, &s.times, &best, &view, &err) != PSR_OK ||
               compare_view(&s, &best, &view);
        psr_fold_view_clear(&view);
        psr_fold_search_destroy(search);
        psr_pfd_clear(&s.fold);
    }
    ok(bad == 0, "what a picture shows is what the trials have (%d bad)", bad);
}

static void test_refusals(uint64_t *seed)
{
    struct scene s;
    struct psr_fold_best best;
    psr_fold_search *search = NULL;
    make_scene(&s, NOISE, 4, 3, 2, 1, seed);
    s.d.nthread = -1;
    ok(psr_fold_search_create(&search, &s.d, &err) == PSR_EINVAL && !search, "-1 threads: %s",
       err.msg);
    s.d.nthread = 1;
    s.d.mem_bytes = 1000;
    ok(psr_fold_search_create(&search, &s.d, &err) == PSR_OK &&
           psr_fold_search_run(search, &s.fold, &s.times, &best, &err) == PSR_ENOMEM,
       "1000 bytes: %s", err.msg);
    s.fold.ndm = 0;
    ok(psr_fold_search_run(search, &s.fold, &s.times, &best, &err) == PSR_EINVAL, "no DMs: %s",
       err.msg);
    s.fold.ndm = 9;
    psr_fold_search_destroy(search);
    search = NULL;
    s.d.mem_bytes = 0;
    s.d.backend = "tpu";
    ok(psr_fold_search_create(&search, &s.d, &err) == PSR_EDEVICE && !search, "%s", err.msg);
    psr_fold_search_destroy(NULL);
    psr_pfd_clear(&s.fold);
}

int main(void)
{
    uint64_t seed = tap_seed();
    if (strcmp(FOLD_BACKEND, "cpu") != 0 && !psr_device_count(&err)) {
        skip("a fold search on a device", err.msg);
        return done_testing();
    }
    test_random(&seed);
    test_shapes(&seed);
    test_bound(&seed);
    test_view(&seed);
    test_refusals(&seed);
    return done_testing();
}
