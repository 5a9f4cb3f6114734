/* The matched search: plan, backends, lists. */
#include "base/base.h"
#include "base/device/device_internal.h"
#include "compat/presto/presto_internal.h"
#include "formats/series/series_internal.h"
#include "run/fourier/fourier_state.h"
#include "search/matched/accel_plan.h"
#include "search/matched/refine/accel_refine.h"
#include "search/matched/response/response.h"

#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In order of preference for "auto". */
static const struct psr_accel_ops *const backends[] = {
#ifdef HAVE_CUDA
    &psr_accel_cuda,
#endif
    &psr_accel_cpu,
};
enum { NBACKEND = sizeof backends / sizeof *backends };

struct psr_accelsearch {
    struct psr_own own;
    struct psr_accel_search search;
    struct psr_presto_search *presto; /* a compatible search, or */
    bool inmem;
    struct psr_presto_list list;
    const struct psr_accel_ops *ops; /* any other */
    void *state;
    struct psr_accel_peaks peaks;
    size_t batch;                        /* >= 1 */
    struct psr_accel_normalise **norm;   /* [batch]; NULL: a compatible search */
    struct psr_accel_hits *hits;         /* [batch] */
    struct psr_accel_measured *measured; /* [batch] */
    struct psr_accel_lines *lines;       /* of the spectrum measured last */
    struct psr_accelsearch_input *good;  /* [batch] those that are searched, */
    size_t *which;                       /* the numbers they came with, */
    int64_t *bad;                        /* and what the backend finds not finite in them */
    psr_rfft *rfft;                      /* where the backend does not transform series */
};

static psr_status start_backend(psr_accelsearch *p, const char *name, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int b = 0; b < NBACKEND; b++) {
        if (!psr_backend_is_asked(name, backends[b]->name))
            continue;
        p->ops = backends[b];
        st = p->ops->create(&p->state, &p->search, p->batch, err);
        if (!psr_backend_is_passed(name, st))
            return st;
    }
    return psr_backend_none(st, name, "search", err);
}

static psr_status start_compat(psr_accelsearch *p, const struct psr_accelsearch_desc *desc,
                               psr_err *err)
{
    struct psr_presto_layout layout;
    if (!psr_backend_is_asked(desc->backend, "cpu"))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "backend",
                              "search: accelsearch's list is made on the CPU");
    psr_presto_layout_make(&layout, &p->search, desc->wmax > 0 || desc->compat_jerk,
                           desc->compat_inmem);
    p->inmem = layout.inmem;
    return psr_presto_search_create(&p->presto, &p->search, &layout, err);
}

static psr_status start_spectra(psr_accelsearch *p, size_t batch, psr_err *err)
{
    const int reach = psr_template_reach(p->search.jmax, p->search.lmax);
    p->batch = batch ? batch : 1;
    p->norm = psr_own(&p->own, p->batch, sizeof *p->norm);
    p->hits = psr_own(&p->own, p->batch, sizeof *p->hits);
    p->measured = psr_own(&p->own, p->batch, sizeof *p->measured);
    p->good = psr_own(&p->own, p->batch, sizeof *p->good);
    p->which = psr_own(&p->own, p->batch, sizeof *p->which);
    p->bad = psr_own(&p->own, p->batch, sizeof *p->bad);
    psr_status st = psr_own_check(&p->own, "spectra", err);
    for (size_t i = 0; i < p->batch && !st && !p->presto; i++)
        st = psr_accel_normalise_create(&p->norm[i], &p->search, reach, err);
    return st || p->presto ? st : psr_accel_lines_create(&p->lines, &p->search, err);
}

static psr_status start(psr_accelsearch *p, const struct psr_accelsearch_desc *desc, psr_err *err)
{
    psr_status st = psr_accel_search_resolve(&p->search, desc, err);
    if (!st && desc->compat)
        st = start_compat(p, desc, err);
    if (!st)
        st = start_spectra(p, desc->batch, err);
    if (st || desc->compat)
        return st;
    st = start_backend(p, desc->backend, err);
    if (!st && desc->series && !(p->ops->transforms && p->ops->transforms(p->state)))
        st = psr_rfft_create(&p->rfft, 2 * (int64_t)desc->nbin, err);
    return st;
}

static psr_status create(psr_accelsearch **out, const struct psr_accelsearch_desc *desc,
                         psr_err *err)
{
    psr_status st = psr_accelsearch_check(desc, err);
    if (st)
        return st;
    psr_accelsearch *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a search", sizeof *p);
    st = start(p, desc, err);
    if (st)
        psr_accelsearch_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_accelsearch_create(psr_accelsearch **out, const struct psr_accelsearch_desc *desc,
                                  psr_err *err)
{
    struct psr_accelsearch_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "search", err);
    return st ? st : create(out, &d, err);
}

void psr_accelsearch_destroy(psr_accelsearch *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p->state);
    psr_presto_search_destroy(p->presto);
    for (size_t i = 0; p->norm && p->hits && p->measured && i < p->batch; i++) {
        psr_accel_normalise_destroy(p->norm[i]);
        psr_accel_measured_clear(&p->measured[i]);
        free(p->hits[i].hit);
    }
    psr_accel_lines_destroy(p->lines);
    psr_own_free(&p->own);
    psr_rfft_destroy(p->rfft);
    psr_accel_search_forget(&p->search);
    free(p->list.cand);
    free(p->peaks.peak);
    free(p);
}

/* Of the k-th spectrum that was searched. */
static psr_status find_peaks(psr_accelsearch *p, size_t k, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!p->presto) {
        st = psr_accel_lines_subtract(p->lines, p->norm[k], p->ops->bank(p->state), &p->hits[k],
                                      err);
        return st ? st : psr_accel_select(&p->search, &p->hits[k], &p->peaks, err);
    }
    st = psr_presto_search_run(p->presto, &p->good[k], &p->list, err);
    return st ? st : psr_presto_list_sort(&p->list, &p->peaks, err);
}

static psr_status measure(psr_accelsearch *p, size_t k, struct psr_accelsearch_result *result,
                          psr_err *err)
{
    psr_status st = find_peaks(p, k, err);
    if (!st && p->search.numharm > 1 && !p->search.keep_harmonics)
        st = psr_accel_drop_harmonics(&p->peaks, &result->nremoved, err);
    if (!st && !p->presto)
        st = psr_accel_add_hidden(&p->search, p->lines, p->norm[k], p->ops->bank(p->state),
                                  &p->hits[k], &p->peaks, err);
    if (st)
        return st;
    if (p->search.max && p->peaks.n > p->search.max) {
        result->nleft = p->peaks.n - p->search.max;
        p->peaks.n = p->search.max;
    }
    struct psr_accel_measured *m = &p->measured[k];
    st = p->presto ? psr_presto_refine(m, &p->search, &p->good[k], &p->peaks, err)
                   : psr_accel_refine(m, &p->search, p->norm[k], p->lines, &p->peaks, err);
    result->cand = m->cand;
    result->ncand = m->n;
    return st;
}

static int64_t bad_of(const psr_accelsearch *p, int64_t place)
{
    return place < 0 || p->search.series ? place : place / 2;
}

/* Selects the spectra that can be searched, or all if the backend finds that out.
 * Returned: how many */
static size_t gather_good(psr_accelsearch *p, size_t n, const struct psr_accelsearch_input *in,
                          struct psr_accelsearch_result *result)
{
    const bool check = p->presto || !p->ops->checks || !p->ops->checks(p->state);
    size_t ngood = 0;
#pragma omp parallel for num_threads(p->search.nthread) if (check)
    for (size_t i = 0; i < n; i++) {
        int64_t bad = check ? psr_spectrum_bad(in[i].x, 2 * (int64_t)p->search.nbin) : -1;
        result[i] = (struct psr_accelsearch_result){.bad = bad_of(p, bad)};
    }
    for (size_t i = 0; i < n; i++)
        if (result[i].bad < 0) {
            p->bad[ngood] = -1;
            p->which[ngood] = i;
            p->good[ngood++] = in[i];
        }
    return ngood;
}

/* Refines what was found while a device continues to search. */
struct found {
    psr_accelsearch *p;
    struct psr_accelsearch_result *result;
};

static psr_status measure_found(void *ctx, size_t k, psr_err *err)
{
    const struct found *f = ctx;
    struct psr_accelsearch_result *result = &f->result[f->p->which[k]];
    result->bad = bad_of(f->p, f->p->bad[k]);
    return result->bad < 0 ? measure(f->p, k, result, err) : PSR_OK;
}

static psr_status search_good(psr_accelsearch *p, size_t n, struct psr_accelsearch_result *result,
                              psr_err *err)
{
    struct found found = {p, result};
    const struct psr_accel_batch b = {n, p->good, p->norm, p->hits, p->bad, measure_found, &found};
    psr_status st = PSR_OK;
    if (n == 0)
        return st;
    if (p->rfft)
        st = psr_accel_series_transform(&p->search, p->rfft, n, p->good, err);
    if (!p->presto)
        return st ? st : p->ops->search(p->state, &b, err);
    for (size_t k = 0; k < n && !st; k++)
        st = measure_found(&found, k, err);
    return st;
}

psr_status psr_accelsearch_execute_batch(psr_accelsearch *p, size_t n,
                                         const struct psr_accelsearch_input *in,
                                         struct psr_accelsearch_result *result, psr_err *err)
{
    if (n > p->batch)
        return psr_fail(err, PSR_EINVAL, "search: %zu spectra, and the plan is for %zu", n,
                        p->batch);
    for (size_t i = 0; i < p->batch; i++) {
        psr_accel_measured_clear(&p->measured[i]);
        p->hits[i].n = 0;
    }
    return search_good(p, gather_good(p, n, in, result), result, err);
}

psr_status psr_accelsearch_execute(psr_accelsearch *p, const struct psr_accelsearch_input *in,
                                   struct psr_accelsearch_result *result, psr_err *err)
{
    return psr_accelsearch_execute_batch(p, 1, in, result, err);
}

static bool is_near_any(const struct psr_accel_cand *cand, size_t n, double r)
{
    for (size_t k = 0; k < n; k++)
        if (fabs(cand[k].r.value - r) < PSR_ACCEL_CLOSEST)
            return true;
    return false;
}

psr_status psr_accelsearch_join(const struct psr_accelsearch_result *matched,
                                const struct psr_accel_cand *other, size_t nother,
                                struct psr_accel_cand **all, size_t *n, psr_err *err)
{
    struct psr_accel_cand *cand = malloc((matched->ncand + nother + 1) * sizeof *cand);
    *all = cand;
    *n = 0;
    if (!cand)
        return psr_fail_nomem(err, "candidates", (double)(matched->ncand + nother) * sizeof *cand);
    for (size_t k = 0; k < matched->ncand; k++)
        cand[(*n)++] = matched->cand[k];
    for (size_t k = 0; k < nother; k++)
        if (!is_near_any(matched->cand, matched->ncand, other[k].r.value))
            cand[(*n)++] = other[k];
    return PSR_OK;
}

/* --- the rest --------------------------------------------------------------------------------- */

static int stage_of(const psr_accelsearch *p, int nharm)
{
    int stage = 0;
    while (stage + 1 < p->search.nstage && 1 << stage < nharm)
        stage++;
    return stage;
}

double psr_accelsearch_trials(const psr_accelsearch *p, int nharm)
{
    return p->search.trials[stage_of(p, nharm)];
}

double psr_accelsearch_threshold(const psr_accelsearch *p, int nharm)
{
    return (double)p->search.cut[stage_of(p, nharm)];
}

void psr_accelsearch_describe_sized(const psr_accelsearch *p, struct psr_accelsearch_info *info,
                                    size_t size)
{
    const struct psr_accel_search *s = &p->search;
    const struct psr_accelsearch_info all = {
        .backend = p->presto ? "cpu" : p->ops->name,
        .zmax = PSR_STEP_Z * s->jmax,
        .wmax = PSR_STEP_W * s->lmax,
        .rlo = s->rlo,
        .rhi = s->rhi,
        .ntemplate = (2 * (size_t)s->jmax + 1) * (2 * (size_t)s->lmax + 1),
        .inmem = p->inmem,
        .bytes =
            (int64_t)(p->presto ? psr_presto_search_bytes(p->presto) : p->ops->bytes(p->state)),
    };
    psr_give_desc(info, size, &all, sizeof all);
}
