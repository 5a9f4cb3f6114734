/* Takes spectra to the series of every line of a plan: dedisperses them and restores what cleaning
 * has replaced. */
#include "lines.h"

#include <psrkit/patch.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const psr_dedisp *plan; /* NULL: none */
    psr_patch *patch;       /* NULL where cleaning leaves nothing to add */
    size_t stride;
    bool resident;      /* series stay on devices */
    bool again;         /* the steps of these spectra have been taken */
    int64_t gaps_known; /* spectra up to which the line knows of gaps, of masks */
    int64_t masks_known;
    int64_t ndedispersed, nout; /* samples so far, before and after they are barycentred */
};

struct psr_lines {
    struct psr_lines_desc d;
    void *state;       /* of the dedispersion */
    struct line *line; /* [nline] */
    size_t nline;
    float *series; /* of the line at work */
};

static psr_status create_patch(psr_lines *l, size_t line, psr_err *err)
{
    const struct psr_dedispersion_desc *d = &l->d.dedispersion;
    const struct psr_line *described = &d->trials->line[line];
    struct line *of = &l->line[line];
    if (!of->plan || !d->clean || psr_clean_kind(d->clean) == PSR_FLOAT)
        return PSR_OK;
    return psr_patch_create(&of->patch,
                            &(struct psr_patch_desc){
                                .plan = of->plan,
                                .nchan = d->obs->nchan,
                                .ndm = described->ndm,
                                .downsamp = (size_t)described->downsamp,
                                .largest = psr_clean_largest(d->clean),
                                .nthread = (int)d->ncpus,
                            },
                            err);
}

psr_status psr_lines_create(psr_lines **out, const struct psr_lines_desc *desc, psr_err *err)
{
    size_t nline = desc->dedispersion.trials->nline;
    *out = NULL;
    psr_lines *l = calloc(1, sizeof *l);
    if (l)
        l->line = calloc(nline, sizeof *l->line);
    if (!l || !l->line) {
        free(l);
        return psr_fail_nomem(err, "the lines of a plan", (double)nline * sizeof *l->line);
    }
    l->d = *desc;
    l->nline = nline;
    psr_status st = desc->ops->create(&l->state, &l->d.dedispersion, err);
    for (size_t k = 0; k < nline && !st; k++) {
        l->line[k].plan = desc->ops->plan ? desc->ops->plan(l->state, k) : NULL;
        st = create_patch(l, k, err);
    }
    if (st)
        psr_lines_destroy(l);
    else
        *out = l;
    return st;
}

/* --- before the first block ------------------------------------------------------------------- */

size_t psr_lines_block(const psr_lines *l)
{
    return l->d.ops->block(l->state);
}

bool psr_lines_on_devices(const psr_lines *l)
{
    struct psr_dedisp_info info;
    if (!l->d.ops->run_device)
        return false;
    psr_dedisp_describe(l->line->plan, &info);
    return info.ndevice > 0;
}

size_t psr_lines_nseries(const psr_lines *l, size_t line)
{
    return l->d.ops->nseries(l->state, line);
}

size_t psr_lines_most(const psr_lines *l, size_t line, size_t nsamp)
{
    return l->d.ops->most(l->state, line, nsamp);
}

size_t psr_lines_presto_block(const psr_lines *l, size_t line)
{
    return l->d.ops->presto_block ? l->d.ops->presto_block(l->state, line) : 0;
}

const psr_dedisp *psr_lines_plan(const psr_lines *l, size_t line)
{
    return l->line[line].plan;
}

size_t psr_lines_maxshift(const psr_lines *l, size_t line)
{
    const psr_dedisp *plan = l->line[line].plan;
    return plan ? psr_dedisp_maxshift(plan) : 0;
}

psr_status psr_lines_check_length(const psr_lines *l, size_t line, int64_t nsamp, psr_err *err)
{
    return l->d.ops->check_length ? l->d.ops->check_length(l->state, line, nsamp, err) : PSR_OK;
}

psr_status psr_lines_reserve(psr_lines *l, const size_t *stride, const bool *resident, psr_err *err)
{
    size_t room = 0;
    for (size_t k = 0; k < l->nline; k++) {
        size_t need = psr_lines_nseries(l, k) * stride[k];
        l->line[k].stride = stride[k];
        l->line[k].resident = resident[k];
        room = need > room ? need : room;
    }
    l->series = malloc(room * sizeof *l->series);
    return l->series ? PSR_OK : psr_fail_nomem(err, "a block of data", 4 * (double)room);
}

/* --- for every block -------------------------------------------------------------------------- */

psr_status psr_lines_push(psr_lines *l, const struct psr_block *spectra, psr_err *err)
{
    for (size_t k = 0; k < l->nline; k++)
        l->line[k].again = false;
    return l->d.ops->push(l->state, spectra, err);
}

static bool find_news(const struct psr_span *span, size_t n, int64_t *known, struct psr_span *news)
{
    for (size_t k = 0; k < n; k++) {
        int64_t first = span[k].first, end = first + span[k].count;
        if (end <= *known)
            continue;
        first = first > *known ? first : *known;
        *news = (struct psr_span){first, end - first};
        *known = end;
        return true;
    }
    return false;
}

bool psr_lines_next_gap(psr_lines *l, size_t line, const struct psr_block *b, struct psr_span *gap)
{
    struct line *of = &l->line[line];
    int64_t ds = l->d.dedispersion.trials->line[line].downsamp;
    if (!find_news(b->gap, b->ngap, &of->gaps_known, gap) &&
        !find_news(b->masked, b->nmasked, &of->masks_known, gap))
        return false;
    int64_t first = gap->first / ds, end = (gap->first + gap->count + ds - 1) / ds;
    *gap = (struct psr_span){first, end - first};
    return true;
}

/* Where a resumed run has left out the trial of the longest sweep, the others could have more
 * samples than they had with it. */
static size_t take_bound(const psr_lines *l, size_t line, size_t n)
{
    struct line *of = &l->line[line];
    int64_t most = l->d.dedispersion.trials->line[line].most;
    if (most >= 0 && (int64_t)n > most - of->ndedispersed)
        n = (size_t)(most - of->ndedispersed);
    of->ndedispersed += (int64_t)n;
    return n;
}

static psr_status run_on_host(psr_lines *l, size_t line, const struct psr_block *spectra,
                              struct psr_block *series, psr_err *err)
{
    struct line *of = &l->line[line];
    size_t n;
    psr_status st = l->d.ops->run(l->state, line, l->series, of->stride, &n, err);
    if (!st && of->patch)
        st = psr_patch_execute(of->patch, spectra->step, spectra->nstep, l->series, of->stride, n,
                               err);
    series->series = l->series;
    series->stride = of->stride;
    series->n = take_bound(l, line, n);
    return st;
}

/* Fetches series where there is something to restore. */
static psr_status patch_slabs(psr_lines *l, struct line *of, const struct psr_block *spectra,
                              const struct psr_block *b, psr_err *err)
{
    size_t nstep = of->again ? 0 : spectra->nstep;
    if (!psr_patch_touches(of->patch, nstep))
        return psr_patch_execute(of->patch, NULL, 0, NULL, 0, b->n, err);
    psr_status st = psr_slab_fetch(b->slab, b->nslab, b->n, l->series, of->stride, err);
    if (!st)
        st = psr_patch_execute(of->patch, spectra->step, nstep, l->series, of->stride, b->n, err);
    if (!st)
        st = psr_slab_store(b->slab, b->nslab, b->n, l->series, of->stride, err);
    return st;
}

static psr_status run_on_devices(psr_lines *l, size_t line, const struct psr_block *spectra,
                                 struct psr_block *series, bool *left, psr_err *err)
{
    struct line *of = &l->line[line];
    size_t nleft;
    psr_status st = l->d.ops->run_device(l->state, line, series, &nleft, err);
    *left = nleft > 0;
    if (!st && of->patch)
        st = patch_slabs(l, of, spectra, series, err);
    of->again = true;
    return st;
}

psr_status psr_lines_run(psr_lines *l, size_t line, const struct psr_block *spectra,
                         struct psr_block *series, bool *left, psr_err *err)
{
    *series = (struct psr_block){0};
    *left = false;
    return l->line[line].resident ? run_on_devices(l, line, spectra, series, left, err)
                                  : run_on_host(l, line, spectra, series, err);
}

void psr_lines_count(psr_lines *l, size_t line, struct psr_block *series)
{
    struct line *of = &l->line[line];
    int64_t wanted = l->d.numout - of->nout;
    if (l->d.numout && (int64_t)series->n > wanted)
        series->n = (size_t)wanted;
    series->first = of->nout;
    of->nout += (int64_t)series->n;
}

bool psr_lines_is_resident(const psr_lines *l, size_t line)
{
    return l->line[line].resident;
}

int64_t psr_lines_nout(const psr_lines *l, size_t line)
{
    return l->line[line].nout;
}

bool psr_lines_is_full(const psr_lines *l, size_t line)
{
    return l->d.numout && l->line[line].nout >= l->d.numout;
}

bool psr_lines_are_full(const psr_lines *l)
{
    bool full = true;
    for (size_t k = 0; k < l->nline; k++)
        full &= psr_lines_is_full(l, k);
    return full;
}

void psr_lines_destroy(psr_lines *l)
{
    if (!l)
        return;
    l->d.ops->destroy(l->state);
    for (size_t k = 0; k < l->nline; k++)
        psr_patch_destroy(l->line[k].patch);
    free(l->line);
    free(l->series);
    free(l);
}
