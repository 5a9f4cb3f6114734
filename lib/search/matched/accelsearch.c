/* The matched search: plan, backends, lists. */
#include "accel_measure.h"
#include "accel_plan.h"
#include "base/copy_desc.h"
#include "presto_measure.h"
#include "presto_search.h"
#include "template_bank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In order of preference for "auto". */
static const struct psr_accel_ops *const backends[] = {
    &psr_accel_cpu,
};
enum { NBACKEND = sizeof backends / sizeof *backends };

struct psr_accelsearch {
    struct psr_accel_search search;
    struct psr_presto_search *presto; /* a compatible search, or */
    bool inmem;
    struct psr_presto_list list;
    struct psr_accel_normalise *level; /* any other */
    const struct psr_accel_ops *ops;
    void *state;
    struct psr_accel_hits hits;
    struct psr_accel_peaks peaks;
    struct psr_accel_measured measured;
};

/* "auto" takes the first backend that is there and does such a search; any other failure ends the
 * choice. */
static psr_status start_backend(psr_accelsearch *p, const char *name, psr_err *err)
{
    bool any = !name || !strcmp(name, "auto");
    psr_status st = psr_fail_field(err, PSR_EDEVICE, "backend",
                                   "search: no backend '%s' in this build", any ? "auto" : name);
    for (int b = 0; b < NBACKEND; b++) {
        if (!any && strcmp(name, backends[b]->name) != 0)
            continue;
        p->ops = backends[b];
        st = p->ops->create(&p->state, &p->search, p->level, err);
        if (!any || (st != PSR_EDEVICE && st != PSR_EUNSUPPORTED))
            return st;
    }
    return st;
}

static psr_status start_compat(psr_accelsearch *p, const struct psr_accelsearch_desc *desc,
                               psr_err *err)
{
    struct psr_presto_layout layout;
    if (desc->backend && strcmp(desc->backend, "auto") != 0 && strcmp(desc->backend, "cpu") != 0)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "backend",
                              "search: accelsearch's list is made on the CPU");
    psr_presto_layout_make(&layout, &p->search, desc->wmax > 0 || desc->compat_jerk,
                           desc->compat_inmem);
    p->inmem = layout.inmem;
    return psr_presto_search_create(&p->presto, &p->search, &layout, err);
}

static psr_status start(psr_accelsearch *p, const struct psr_accelsearch_desc *desc, psr_err *err)
{
    psr_status st = psr_accel_search_resolve(&p->search, desc, err);
    if (st)
        return st;
    if (desc->compat)
        return start_compat(p, desc, err);
    const int reach = psr_template_reach(p->search.jmax, p->search.lmax);
    st = psr_accel_normalise_create(&p->level, &p->search, reach, err);
    return st ? st : start_backend(p, desc->backend, err);
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
    psr_accel_normalise_destroy(p->level);
    psr_accel_measured_clear(&p->measured);
    psr_accel_search_forget(&p->search);
    free(p->list.cand);
    free(p->hits.hit);
    free(p->peaks.peak);
    free(p);
}

static psr_status find_peaks(psr_accelsearch *p, const struct psr_accelsearch_input *in,
                             psr_err *err)
{
    psr_status st;
    if (p->presto) {
        st = psr_presto_search_run(p->presto, in, &p->list, err);
        return st ? st : psr_presto_list_sort(&p->list, &p->peaks, err);
    }
    p->hits.n = 0;
    st = psr_accel_normalise_measure(p->level, in, err);
    if (!st)
        st = p->ops->search(p->state, &p->hits, err);
    return st ? st : psr_accel_select(&p->search, &p->hits, &p->peaks, err);
}

static psr_status search(psr_accelsearch *p, const struct psr_accelsearch_input *in,
                         struct psr_accelsearch_result *result, psr_err *err)
{
    psr_status st = find_peaks(p, in, err);
    if (!st && p->search.numharm > 1 && !p->search.keep_harmonics)
        st = psr_accel_drop_harmonics(&p->peaks, &result->nremoved, err);
    if (st)
        return st;
    if (p->search.max && p->peaks.n > p->search.max) {
        result->nleft = p->peaks.n - p->search.max;
        p->peaks.n = p->search.max;
    }
    if (p->presto)
        return psr_presto_measure(&p->measured, &p->search, in, &p->peaks, err);
    return psr_accel_measure(&p->measured, &p->search, p->level, &p->peaks, err);
}

psr_status psr_accelsearch_execute(psr_accelsearch *p, const struct psr_accelsearch_input *in,
                                   struct psr_accelsearch_result *result, psr_err *err)
{
    int64_t bad = psr_spectrum_bad(in->x, 2 * (int64_t)p->search.nbin);
    *result = (struct psr_accelsearch_result){.bad = bad < 0 ? -1 : bad / 2};
    psr_accel_measured_clear(&p->measured);
    if (bad >= 0)
        return PSR_OK;
    psr_status st = search(p, in, result, err);
    result->cand = p->measured.cand;
    result->ncand = p->measured.n;
    return st;
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

void psr_accelsearch_describe(const psr_accelsearch *p, struct psr_accelsearch_info *info)
{
    const struct psr_accel_search *s = &p->search;
    *info = (struct psr_accelsearch_info){
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
}
