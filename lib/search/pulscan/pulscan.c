/* Checks the description of a boxcar search, drives its backend, and rates its hits. */
#include "base/base.h"

#include "base/device/device_internal.h"
#include "base/threads/threads.h"
#include "pulscan_internal.h"
#include "search/pulscan/pulscan_internal.h"

#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- side lobes of bright lines --------------------------------------------------------------- */

/* Bins beyond which not even the brightest line has noticeable side lobes. */
enum { FAR = 4096 };

static double excess(const struct psr_pulscan_search *s, const struct psr_pulscan_peak *k)
{
    return (double)k->power - psr_pulscan_dof(s->harm[k->harm], s->z[k->z]);
}

/* Peaks of one spectrum and sum, by width and start: those of one bin come first. */
struct group {
    const struct psr_pulscan_search *s;
    const struct psr_pulscan_lines *fitted;
    struct psr_pulscan_peak *peak;
    size_t n;
    struct psr_pulscan_peak *line; /* [nline] of one bin, brighter than the faintest peak */
    size_t nline;
};

/* The first line at bin first or behind. */
static size_t first_line(const struct group *g, int64_t first)
{
    size_t lo = 0, hi = g->nline;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->line[mid].first < first)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Whether a line at a start of the sum, d bins from a box, is one whose response is known there. */
static bool is_fitted(const struct group *g, const struct psr_pulscan_peak *k, int64_t at,
                      int64_t d)
{
    const int H = g->s->harm[k->harm];
    for (int h = 1; h <= H && (d + g->s->z[k->z] + 1) * h <= PSR_PULSCAN_LINE_REACH / 2; h++)
        if (psr_pulscan_lines_in(g->fitted, k->spec, (double)(h * at), (double)(h * at + h - 1)) >=
            0)
            return true;
    return false;
}

/* A line of power E in its bin has side lobes of at most E / 4 d^2 d bins away, if its frequency is
 * between two bins; with noise, up to four times that, twice the amplitude.  This is the sum of
 * 1 / (d^2 - 1/4) over the bins d .. d + z of a box; of all lines, or only of those not fitted. */
static double sum_lobes(const struct group *g, const struct psr_pulscan_peak *k, bool all)
{
    const int64_t last = k->first + g->s->z[k->z];
    const double own = excess(g->s, k);
    double lobes = 0;
    for (size_t i = first_line(g, k->first - FAR); i < g->nline; i++) {
        const int64_t at = g->line[i].first, d = at < k->first ? k->first - at : at - last;
        if (at > last + FAR)
            break;
        const double bins = (double)(last - k->first) + 1, near = (double)d - 0.5;
        const double power = excess(g->s, &g->line[i]);
        if (d > 0 && power > own && (all || !is_fitted(g, k, at, d)))
            lobes += power * bins / (near * (near + bins));
    }
    return lobes;
}

/* What may be a side lobe is none if it has most of its power without the lines that are fitted. */
static bool is_lobe(const struct group *g, const struct psr_pulscan_peak *k)
{
    const double own = excess(g->s, k), lobes = sum_lobes(g, k, true);
    /* Without lobes, what has less power than noise is none either. */
    if (!(lobes > 0 && lobes >= own))
        return false;
    const struct psr_pulscan_hit box = {
        .first = k->first, .power = k->power, .nharm = g->s->harm[k->harm], .z = g->s->z[k->z]};
    const double others = sum_lobes(g, k, false);
    double power;
    return !(others < lobes) || !psr_pulscan_lines_apart(g->fitted, k->spec, &box, &power) ||
           power <= (double)g->s->boxes[k->harm * g->s->nz + k->z].floor ||
           (others > 0 && others >= power - psr_pulscan_dof(box.nharm, box.z));
}

/* Returned: how many are left, in their order */
static size_t drop_lobes(struct group *g, struct psr_pulscan_peak *to)
{
    size_t n = 0;
    /* The smallest excess of any peak: lines not above it have no noticeable side lobes. */
    double bright = excess(g->s, &g->peak[0]);
    for (size_t k = 1; k < g->n; k++) {
        double here = excess(g->s, &g->peak[k]);
        bright = here < bright ? here : bright;
    }
    g->nline = 0;
    for (size_t k = 0; k < g->n && g->s->z[g->peak[k].z] == 0; k++)
        if (excess(g->s, &g->peak[k]) > bright)
            g->line[g->nline++] = g->peak[k];
    for (size_t k = 0; k < g->n; k++)
        if (g->nline == 0 || !is_lobe(g, &g->peak[k]))
            to[n++] = g->peak[k];
    return n;
}

psr_status psr_pulscan_drop_lobes(const struct psr_pulscan_search *s,
                                  const struct psr_pulscan_lines *lines,
                                  struct psr_pulscan_found *found, psr_err *err)
{
    size_t kept = 0, n = 0;
    struct group g = {.s = s, .fitted = lines};
    if (found->n == 0)
        return PSR_OK;
    g.line = malloc(found->n * sizeof *g.line);
    if (!g.line)
        return psr_fail_nomem(err, "lines", (double)found->n * sizeof *g.line);
    for (size_t k = 0; k < found->n; k += n) {
        g.peak = found->peak + k;
        for (n = 1; k + n < found->n && g.peak[n].spec == g.peak->spec; n++)
            if (g.peak[n].harm != g.peak->harm)
                break;
        g.n = n;
        kept += drop_lobes(&g, found->peak + kept);
    }
    found->n = kept;
    free(g.line);
    return PSR_OK;
}

/* --- checks the description of a boxcar search ------------------------------------------------ */

static psr_status check_input(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->nbin < 16 || d->nbin > (size_t)1 << 40)
        return psr_fail_field(err, PSR_EINVAL, "nbin", "search: %zu bins is outside 16 to 2^40",
                              d->nbin);
    if (d->batch > 1 << 16)
        return psr_fail_field(err, PSR_EINVAL, "batch", "search: a batch of %zu is above 65536",
                              d->batch);
    const struct psr_redden *how = &d->redden;
    if (how->start < 0 || (how->start > 0 && (how->start < 2 || how->end < how->start)))
        return psr_fail_field(err, PSR_EINVAL, "redden",
                              "search: no de-reddening by blocks of %d to %d bins", how->start,
                              how->end);
    return psr_check_resources("search", d->nthread, d->mem_bytes, err);
}

static psr_status check_widths(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->zmax < d->compat || d->zmax > PSR_PULSCAN_MAX_Z)
        return psr_fail_field(err, PSR_EINVAL, "zmax", "search: zmax of %d is outside %d to %d",
                              d->zmax, d->compat, PSR_PULSCAN_MAX_Z);
    if ((size_t)d->zmax >= d->nbin / 2)
        return psr_fail_field(err, PSR_EINVAL, "zmax",
                              "search: zmax of %d is no less than half of %zu bins", d->zmax,
                              d->nbin);
    if (!d->logz && (d->zstep < 0 || d->zstep > PSR_PULSCAN_MAX_Z))
        return psr_fail_field(err, PSR_EINVAL, "zstep", "search: zstep of %d is outside 1 to %d",
                              d->zstep, PSR_PULSCAN_MAX_Z);
    if (d->block > (size_t)1 << 40)
        return psr_fail_field(err, PSR_EINVAL, "block", "search: blocks of %zu bins are above 2^40",
                              d->block);
    if (d->normblock && (d->normblock < 16 || d->normblock > (size_t)1 << 30))
        return psr_fail_field(err, PSR_EINVAL, "normblock",
                              "search: normalisation by %zu bins is outside 16 to 2^30",
                              d->normblock);
    return PSR_OK;
}

static psr_status check_harmonics(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->nnharm < 1 || d->nnharm > PSR_PULSCAN_MAX_HARM)
        return psr_fail_field(err, PSR_EINVAL, "nnharm",
                              "search: %zu harmonic sums is outside 1 to %d", d->nnharm,
                              PSR_PULSCAN_MAX_HARM);
    for (size_t k = 0; k < d->nnharm; k++) {
        int before = k ? d->nharm[k - 1] : 0;
        if (d->nharm[k] <= before || d->nharm[k] > PSR_PULSCAN_MAX_HARM)
            return psr_fail_field(
                err, PSR_EINVAL, "nharm",
                "search: a sum of %d harmonics after one of %d is not in 1 to %d and ascending",
                d->nharm[k], before, PSR_PULSCAN_MAX_HARM);
    }
    return PSR_OK;
}

static psr_status check_bins(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->rlo < 0 || (size_t)d->rlo >= d->nbin)
        return psr_fail_field(err, PSR_EINVAL, "rlo", "search: rlo %lld is outside 0 to %zu",
                              (long long)d->rlo, d->nbin - 1);
    if (d->rhi < 0 || (d->rhi > 0 && d->rhi < d->rlo))
        return psr_fail_field(err, PSR_EINVAL, "rhi", "search: rhi %lld is below rlo %lld",
                              (long long)d->rhi, (long long)d->rlo);
    for (size_t i = 0; i < d->nzap; i++)
        if (d->zap[i].count < 0)
            return psr_fail_field(err, PSR_EINVAL, "zap", "search: %lld bins to zap from bin %lld",
                                  (long long)d->zap[i].count, (long long)d->zap[i].first);
    if (d->compat && (d->nzap || d->rlo > 1 || d->rhi || d->series || d->ntrials != 0))
        return psr_fail_field(
            err, PSR_EINVAL, "compat",
            "search: Pulscan's list is of the whole of a spectrum, with nothing zapped "
            "and its own number of trials");
    return PSR_OK;
}

psr_status psr_pulscan_check(const struct psr_pulscan_desc *d, psr_err *err)
{
    psr_status st;
    if ((st = check_input(d, err)) || (st = check_widths(d, err)) ||
        (st = check_harmonics(d, err)) || (st = check_bins(d, err)))
        return st;
    if (!(fabs(d->sigma) <= 1e4))
        return psr_fail_field(err, PSR_EINVAL, "sigma",
                              "search: sigma of %g is outside -10000 to 10000", d->sigma);
    if (!(d->ntrials >= 0 && d->ntrials <= 1e300))
        return psr_fail_field(err, PSR_EINVAL, "ntrials", "search: %g trials is outside 0 to 1e300",
                              d->ntrials);
    if (d->significance != PSR_PULSCAN_EXACT && d->significance != PSR_PULSCAN_POLY)
        return psr_fail_field(err, PSR_EINVAL, "significance", "search: no significance %d",
                              (int)d->significance);
    return PSR_OK;
}

/* --- checks the description of a boxcar search, drives its backend, and rates its hits -------- */

/* In order of preference for "auto". */
static const struct psr_pulscan_ops *const backends[] = {
#ifdef HAVE_CUDA
    &psr_pulscan_cuda,
#endif
    &psr_pulscan_cpu,
#ifdef HAVE_CUDA
    &psr_pulscan_hybrid,
#endif
};
enum { NBACKEND = sizeof backends / sizeof *backends };

struct psr_pulscan {
    struct psr_pulscan_search search;
    struct psr_significance significance;
    double sigma;
    bool rblock;
    const struct psr_pulscan_ops *ops;
    void *state;
    float **input; /* [batch] memory that the backend has no wish for; NULL where not asked for */
    struct psr_pulscan_found found;
    struct psr_pulscan_lines *lines;
    struct psr_pulscan_hit *hit;
    size_t room; /* hits */
    size_t nspec;
};

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status start_backend(psr_pulscan *p, const char *name, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int b = 0; b < NBACKEND; b++) {
        if (!psr_backend_is_asked(name, backends[b]->name) ||
            (psr_backend_is_any(name) && backends[b]->by_name_only))
            continue;
        p->ops = backends[b];
        st = p->ops->create(&p->state, &p->search, err);
        if (!psr_backend_is_passed(name, st))
            return st;
    }
    return psr_backend_none(st, name, "search", err);
}

static psr_status allocate(psr_pulscan *p, psr_err *err)
{
    size_t batch = p->search.batch;
    p->input = calloc(batch, sizeof *p->input);
    p->found.bad = calloc(batch, sizeof *p->found.bad);
    if (!p->input || !p->found.bad)
        return psr_fail_nomem(err, "a search", 16.0 * (double)batch);
    return PSR_OK;
}

static psr_status create(psr_pulscan **out, const struct psr_pulscan_desc *desc, psr_err *err)
{
    psr_status st = psr_pulscan_check(desc, err);
    if (st)
        return st;
    psr_pulscan *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a search", sizeof *p);
    p->sigma = desc->sigma;
    p->rblock = desc->rblock;
    if ((st = psr_pulscan_resolve(&p->search, &p->significance, desc, err)) ||
        (st = allocate(p, err)) || (st = psr_pulscan_lines_create(&p->lines, &p->search, err)) ||
        (st = start_backend(p, desc->backend, err)))
        psr_pulscan_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_pulscan_create(psr_pulscan **out, const struct psr_pulscan_desc *desc, psr_err *err)
{
    struct psr_pulscan_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "search", err);
    return st ? st : create(out, &d, err);
}

void psr_pulscan_destroy(psr_pulscan *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p->state);
    for (size_t s = 0; p->input && s < p->search.batch; s++)
        free(p->input[s]);
    free(p->input);
    psr_pulscan_lines_destroy(p->lines);
    free(p->found.bad);
    free(p->found.peak);
    free(p->hit);
    psr_pulscan_forget(&p->search);
    free(p);
}

/* --- hits ------------------------------------------------------------------------------------- */

static int64_t block_of(const psr_pulscan *p, const struct psr_pulscan_peak *k)
{
    return (k->first - 1) / p->search.block;
}

PSR_COMPARE(by_place, struct psr_pulscan_peak,
            PSR_THEN(PSR_RISING(spec),
                     PSR_THEN(PSR_RISING(harm), PSR_THEN(PSR_RISING(z), PSR_RISING(first)))));

/* Keeps the best of every spectrum, sum, width and block, the lowest of equal ones. */
static void keep_best(psr_pulscan *p)
{
    struct psr_pulscan_peak *k = p->found.peak;
    size_t n = p->found.n > 0;
    for (size_t i = 1; i < p->found.n; i++) {
        struct psr_pulscan_peak *last = &k[n - 1];
        bool same = last->spec == k[i].spec && last->harm == k[i].harm && last->z == k[i].z &&
                    block_of(p, last) == block_of(p, &k[i]);
        if (!same)
            k[n++] = k[i];
        else if (k[i].power > last->power)
            *last = k[i];
    }
    p->found.n = n;
}

/* The mean position of the fundamental, if harmonics may lie anywhere in the box's bins: for harmonic h
 * in bins h i .. h i + h - 1 it is (h - 1) / 2h above bin i. */
static double middle(const psr_pulscan *p, int64_t first, int nharm, int z)
{
    double up = 0;
    for (int h = 1; h <= nharm; h++)
        up += (h - 1) / (2.0 * h * nharm);
    if (!p->rblock)
        return (double)first + z / 2.0 + up;
    /* The last block is cut where the sum ends, within which its boxes lie. */
    int64_t end = psr_pulscan_length(&p->search, nharm), last = first + p->search.block - 1 + z;
    return (double)(first + (last < end ? last : end - 1)) / 2 + up;
}

/* Pulscan's bin: of the array after DC, halves dropped. */
static double compat_middle(const psr_pulscan *p, int64_t first, int z)
{
    int64_t block = p->search.block;
    int64_t at = p->rblock ? (first - 1) / block * block + block / 2 : first - 1;
    return (double)(at + z / 2);
}

void psr_pulscan_weigh_hit(const psr_pulscan *p, struct psr_pulscan_hit *hit, float power)
{
    const struct psr_significance_box box = {hit->nharm, hit->z, hit->first};
    hit->power = power;
    hit->sigma = psr_significance_sigma(&p->significance, (double)power, &box);
    hit->ln_p = psr_significance_alone(&p->significance, (double)power, &box).ln_sf;
}

struct psr_pulscan_hit psr_pulscan_make_hit(const psr_pulscan *p, const struct psr_pulscan_peak *k)
{
    const int harm = p->search.harm[k->harm], z = p->search.z[k->z];
    struct psr_pulscan_hit hit = {.nharm = harm, .z = z, .first = k->first};
    psr_pulscan_weigh_hit(p, &hit, k->power);
    if (p->rblock)
        hit.first = 1 + block_of(p, k) * p->search.block;
    hit.r = p->search.compat ? compat_middle(p, k->first, z) : middle(p, hit.first, harm, z);
    return hit;
}

/* Spectrum by spectrum, as a hit belongs to the spectrum of its peak. */
static psr_status make_hits(psr_pulscan *p, struct psr_pulscan_result *result, psr_err *err)
{
    psr_status st = psr_reserve(&p->hit, &p->room, p->found.n, sizeof *p->hit, "hits", err);
    if (st)
        return st;
    size_t n = 0, i = 0;
#pragma omp parallel for num_threads(p->search.nthread) if (p->found.n > 1000)
    for (size_t k = 0; k < p->found.n; k++)
        p->hit[k] = psr_pulscan_make_hit(p, &p->found.peak[k]);
    for (uint32_t s = 0; s < p->nspec; s++) {
        size_t first = n;
        for (; i < p->found.n && p->found.peak[i].spec == s; i++)
            if (p->hit[i].sigma > p->sigma)
                p->hit[n++] = p->hit[i];
        result[s] = (struct psr_pulscan_result){
            .hit = n > first ? p->hit + first : NULL,
            .nhit = n - first,
            .bad = p->found.bad[s],
        };
    }
    return PSR_OK;
}

/* Peaks, and the hits that become of them, in the memory that the backend leaves. */
static size_t most_peaks(const psr_pulscan *p)
{
    enum { LEAST = 1 << 20 };
    int64_t left = p->search.mem_bytes - p->ops->bytes(p->state);
    int64_t most = left / (int64_t)(sizeof *p->found.peak + sizeof *p->hit);
    return most > LEAST ? (size_t)most : LEAST;
}

psr_status psr_pulscan_execute(psr_pulscan *p, size_t nspec, const float *const *in,
                               struct psr_pulscan_result *result, psr_err *err)
{
    if (nspec > p->search.batch)
        return psr_fail_field(err, PSR_EINVAL, "nspec",
                              "search: %zu spectra are above the batch of %zu", nspec,
                              p->search.batch);
    p->nspec = 0;
    p->found.n = 0;
    p->found.most = most_peaks(p);
    for (size_t s = 0; s < nspec; s++)
        p->found.bad[s] = -1;
    const struct psr_pulscan_reader reader = {p->ops, p->state};
    psr_status st = p->ops->execute(p->state, nspec, in, &p->found, err);
    if (st)
        return st;
    p->nspec = nspec;
    if (p->found.n > 0)
        qsort(p->found.peak, p->found.n, sizeof *p->found.peak, by_place);
    if (p->search.by_block)
        keep_best(p);
    else if ((st = psr_pulscan_lines_find(p->lines, &reader, &p->found, err)) ||
             (st = psr_pulscan_drop_lobes(&p->search, p->lines, &p->found, err)))
        return st;
    return make_hits(p, result, err);
}

/* --- the rest --------------------------------------------------------------------------------- */

float *psr_pulscan_input(psr_pulscan *p, size_t s)
{
    if (s >= p->search.batch)
        return NULL;
    float *own = p->ops->input(p->state, s);
    if (!own && !p->input[s])
        p->input[s] = calloc(2 * p->search.nbin, sizeof **p->input);
    return own ? own : p->input[s];
}

psr_status psr_pulscan_amplitudes(psr_pulscan *p, size_t s, int64_t first, size_t n, float *x,
                                  psr_err *err)
{
    if (s >= p->nspec)
        return psr_fail(err, PSR_EINVAL, "search: no spectrum %zu among the %zu of the last", s,
                        p->nspec);
    memset(x, 0, 2 * n * sizeof *x);
    int64_t end = first + (int64_t)n, from = first > 1 ? first : 1;
    end = end < (int64_t)p->search.nbin ? end : (int64_t)p->search.nbin;
    if (from >= end)
        return PSR_OK;
    return p->ops->amplitudes(p->state, s, from, (size_t)(end - from), x + 2 * (from - first), err);
}

const struct psr_pulscan_lines *psr_pulscan_lines_of(const psr_pulscan *p)
{
    return p->lines;
}

const struct psr_pulscan_search *psr_pulscan_resolved(const psr_pulscan *p)
{
    return &p->search;
}

double psr_pulscan_least_sigma(const psr_pulscan *p)
{
    return p->sigma;
}

double psr_pulscan_trials(const psr_pulscan *p, int nharm)
{
    return psr_significance_trials(&p->significance, nharm);
}

double psr_pulscan_sigma(const psr_pulscan *p, double power, int nharm, int z, int64_t first)
{
    return psr_significance_sigma(&p->significance, power,
                                  &(struct psr_significance_box){nharm, z, first});
}

void psr_pulscan_describe_sized(const psr_pulscan *p, struct psr_pulscan_info *info, size_t size)
{
    const struct psr_pulscan_search *s = &p->search;
    const struct psr_pulscan_info all = {
        .backend = p->ops->name,
        .normblock = s->normblock,
        .block = (size_t)s->block,
        .nz = s->nz,
        .nblock = (size_t)((psr_pulscan_length(s, s->harm[0]) + s->block - 2) / s->block),
        .bytes = p->ops->bytes(p->state),
    };
    psr_give_desc(info, size, &all, sizeof all);
}
