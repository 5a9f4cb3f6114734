/* Searches a pair of spectra on a CUDA device. */
#include "accel_cuda.h"

#include "base/tool.h"

#include <math.h>
#include <stdlib.h>

/* --- verifies the places that the device reports, with the arithmetic of the CPU -------------- */

/* By spectrum, cell and stage, the most promising first. */
PSR_COMPARE(by_cell, struct psr_accel_place,
            PSR_THEN(PSR_RISING(spec),
                     PSR_THEN(PSR_RISING(i), PSR_THEN(PSR_RISING(stage), PSR_FALLING(low)))));

static bool is_same_cell(const struct psr_accel_place *a, const struct psr_accel_place *b)
{
    return a->i == b->i && a->stage == b->stage && a->spec == b->spec;
}

/* The best of places [n] of one cell and stage: none of which another's least is more than the most
 * is it. */
static struct psr_accel_hit look_closely(struct psr_cell_sums *c,
                                         const struct psr_accel_normalise *norm,
                                         const struct psr_accel_place *place, size_t n)
{
    struct psr_accel_hit best = {0};
    psr_cell_sums_move(c, norm, place->i);
    for (size_t k = 0; k < n; k++) {
        const struct psr_accel_place *e = &place[k];
        float sum[PSR_MOST_CELL] = {0};
        if (e->high < place->low)
            continue;
        for (int stage = 0; stage <= e->stage; stage++)
            for (int h = 1; h < 1 << stage || h == 1; h += 2)
                psr_cell_sums_add(c, sum, e->j, e->l, h, stage);
        psr_cell_sums_keep(c, sum, e->j, e->l, e->stage, &best);
    }
    return best;
}

static psr_status look_at_all(const struct psr_accel_search *s,
                              const struct psr_template_bank *bank,
                              const struct psr_accel_normalise *norm,
                              const struct psr_accel_place *place, const size_t *start,
                              size_t ncell, struct psr_accel_hit *best, psr_err *err)
{
    psr_status all = PSR_OK;
#pragma omp parallel num_threads(s->nthread) if (ncell > 1)
    {
        struct psr_cell_sums sums;
        psr_err why;
        psr_status st = psr_cell_sums_create(&sums, s, bank, &why);
#pragma omp for schedule(dynamic)
        for (size_t k = 0; k < ncell; k++)
            if (!st)
                best[k] = look_closely(&sums, norm, place + start[k], start[k + 1] - start[k]);
#pragma omp critical(psr_accel_cuda)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
        psr_cell_sums_clear(&sums);
    }
    return all;
}

static psr_status keep_hits(const struct psr_accel_search *s, const struct psr_accel_hit *best,
                            size_t n, struct psr_accel_hits *hits, psr_err *err)
{
    for (size_t k = 0; k < n; k++) {
        if (!(best[k].power > s->cut[best[k].stage]))
            continue;
        psr_status st = psr_grow(&hits->hit, &hits->room, hits->n, sizeof *hits->hit, "hits", err);
        if (st)
            return st;
        hits->hit[hits->n++] = best[k];
    }
    return PSR_OK;
}

psr_status psr_accel_cuda_settle(const struct psr_accel_search *s,
                                 const struct psr_template_bank *bank,
                                 const struct psr_accel_normalise *norm,
                                 struct psr_accel_place *place, size_t n, int spec,
                                 struct psr_accel_hits *hits, psr_err *err)
{
    qsort(place, n, sizeof *place, by_cell);
    while (n > 0 && place[n - 1].spec > spec)
        n--;
    while (n > 0 && place->spec < spec) {
        place++;
        n--;
    }
    if (n == 0)
        return PSR_OK;
    size_t *start = malloc((n + 1) * sizeof *start);
    struct psr_accel_hit *best = calloc(n, sizeof *best);
    psr_status st = start && best ? PSR_OK : psr_fail_nomem(err, "hits", 48.0 * (double)n);
    if (!st) {
        size_t ncell = 0;
        for (size_t k = 0; k < n; k++)
            if (k == 0 || !is_same_cell(&place[k - 1], &place[k]))
                start[ncell++] = k;
        start[ncell] = n;
        st = look_at_all(s, bank, norm, place, start, ncell, best, err);
        if (!st)
            st = keep_hits(s, best, ncell, hits, err);
    }
    free(start);
    free(best);
    return st;
}

/* --- bounds ----------------------------------------------------------------------------------- */

static struct accel_k_bins bins_of(const struct psr_accel_cuda *c,
                                   const struct psr_accel_slot *slot)
{
    struct accel_k_bins bins = {.nbin = (int64_t)c->s->nbin};
    for (size_t p = 0; p < slot->n; p++)
        bins.d_x[p] = slot->d_x[p];
    return bins;
}

static struct accel_k_strip strip_of(const struct psr_accel_cuda *c, int k)
{
    const struct psr_accel_strip *t = &c->plan.strip[c->plan.whole ? c->s->numharm : k];
    return (struct accel_k_strip){t->jmax, t->lmax, t->origin, t->pitch, t->d_bound};
}

static cudaError_t fill_strip(struct psr_accel_cuda *c, const struct psr_accel_slot *slot, int k)
{
    const struct psr_accel_cuda_plan *p = &c->plan;
    const double error = psr_accel_error(p->kind), up = 1 + 0x1p-10; /* halves are rounded */
    const struct accel_k_blocks blocks = {
        .kind = p->kind,
        .bins = bins_of(c, slot),
        .cut = p->cut,
        .first = p->strip[k].block,
        .nblock = p->strip[k].nblock,
        .d_twiddle = c->d_twiddle_float,
        .d_x = c->d_x,
        .d_square = c->d_square,
    };
    const struct accel_k_correlation correlation = {
        .kind = p->kind,
        .cut = p->cut,
        .nblock = p->strip[k].nblock,
        .d_x = c->d_x,
        .d_square = c->d_square,
        .d_twiddle = c->d_twiddle,
        .d_response = c->d_response,
        .bank_jmax = c->s->jmax,
        .bank_lmax = c->s->lmax,
        .strip = strip_of(c, k),
        .scale = (float)(up * (1 + 1 / PSR_ACCEL_SPREAD)),
        .shift = (float)(up * (1 + PSR_ACCEL_SPREAD) * error * error),
    };
    TRY(accel_k_transform(&blocks, c->work));
    return accel_k_correlate(&correlation, c->work);
}

cudaError_t psr_accel_cuda_bound(struct psr_accel_cuda *c, const struct psr_accel_slot *slot,
                                 const struct psr_accel_part *band)
{
    psr_accel_cuda_plan_place(&c->plan, band->first, band->count);
    for (int k = c->plan.whole ? c->s->numharm : 1; k <= c->s->numharm; k++)
        TRY(fill_strip(c, slot, k));
    return cudaSuccess;
}

/* --- places ----------------------------------------------------------------------------------- */

/* A sum of n halves is off by n 2^-11 of it, and the cut itself by as much. */
static float lower_cut(float cut, int stage)
{
    double low = (double)cut * (1 - ((1 << stage) + 2) * 0x1p-11);
    return (float)fmin(low, (double)ACCEL_MOST_CUT);
}

static cudaError_t find_places(struct psr_accel_cuda *c, const struct psr_accel_slot *slot,
                               const struct psr_accel_part *part)
{
    struct accel_k_scan scan = {
        .numharm = c->s->numharm,
        .nstage = c->s->nstage,
        .cell = c->plan.cut.cell,
        .first = part->first,
        .ncell = (uint32_t)part->count,
        .jlo = part->jlo,
        .jhi = part->jhi,
        .llo = part->llo,
        .lhi = part->lhi,
        .d_entry = c->d_entry,
        .cap = PSR_ACCEL_ENTRIES,
        .d_count = slot->d_count,
    };
    for (int k = 1; k <= c->s->numharm; k++)
        scan.strip[k] = strip_of(c, k);
    for (int stage = 0; stage < c->s->nstage; stage++)
        scan.cut[stage] = lower_cut(c->s->cut[stage], stage);
    return accel_k_find(&scan, c->work);
}

static cudaError_t confirm_places(struct psr_accel_cuda *c, const struct psr_accel_slot *slot,
                                  const struct psr_accel_part *part)
{
    struct accel_k_verify verify = {
        .bins = bins_of(c, slot),
        .d_taps = c->d_taps,
        .d_at = c->d_at,
        .d_half = c->d_half,
        .bank_jmax = c->s->jmax,
        .bank_lmax = c->s->lmax,
        .numharm = c->s->numharm,
        .cell = c->plan.cut.cell,
        .first = part->first,
        .ilo = c->s->ilo,
        .ihi = c->s->ihi,
        .d_entry = c->d_entry,
        .d_nentry = slot->d_count,
        .entry_cap = PSR_ACCEL_ENTRIES,
        .d_hit = slot->d_hit,
        .cap = PSR_ACCEL_HITS,
        .d_count = slot->d_count + 1,
    };
    for (int stage = 0; stage < c->s->nstage; stage++)
        verify.cut[stage] = c->s->cut[stage];
    return accel_k_confirm(&verify, c->work);
}

cudaError_t psr_accel_cuda_search(struct psr_accel_cuda *c, struct psr_accel_slot *slot,
                                  const struct psr_accel_part *part)
{
    TRY(cudaMemsetAsync(slot->d_count, 0, 2 * sizeof *slot->d_count, c->work));
    TRY(find_places(c, slot, part));
    TRY(confirm_places(c, slot, part));
    TRY(cudaMemcpyAsync(slot->h_count, slot->d_count, 2 * sizeof *slot->d_count,
                        cudaMemcpyDeviceToHost, c->work));
    return cudaEventRecord(slot->done, c->work);
}

/* --- to the host ------------------------------------------------------------------------------ */

static psr_status fetch(struct psr_accel_cuda *c, const struct psr_accel_slot *slot,
                        const struct psr_accel_part *part, psr_err *err)
{
    const size_t n = slot->h_count[1];
    if (n == 0)
        return PSR_OK;
    struct accel_k_hit *hit = malloc(n * sizeof *hit);
    if (!hit)
        return psr_fail_nomem(err, "hits", (double)n * sizeof *hit);
    cudaError_t e = cudaMemcpy(hit, slot->d_hit, n * sizeof *hit, cudaMemcpyDeviceToHost);
    psr_status st = e ? psr_accel_cuda_fail(c, e, "hits", err) : PSR_OK;
    for (size_t k = 0; k < n && !st; k++) {
        const struct accel_k_hit *h = &hit[k];
        st = psr_grow(&c->place, &c->place_room, c->nplace, sizeof *c->place, "hits", err);
        if (!st)
            c->place[c->nplace++] = (struct psr_accel_place){
                .i = (part->first + h->entry.cell) * c->plan.cut.cell,
                .j = h->entry.j,
                .l = h->entry.l,
                .stage = h->entry.stage,
                .spec = h->entry.spec,
                .high = h->high,
                .low = h->low,
            };
    }
    free(hit);
    return st;
}

static bool overflows(const struct psr_accel_slot *slot)
{
    return slot->h_count[0] > PSR_ACCEL_ENTRIES || slot->h_count[1] > PSR_ACCEL_HITS;
}

static psr_status search_by_halves(struct psr_accel_cuda *c, struct psr_accel_slot *slot,
                                   struct psr_accel_part part, psr_err *err)
{
    /* Halves a part; one cell, drift and jerk never has too many places. */
    struct psr_accel_part rest = part;
    if (part.count > 1) {
        part.count /= 2;
        rest.first += part.count;
        rest.count -= part.count;
    } else if (part.llo < part.lhi) {
        part.lhi = part.llo + (part.lhi - part.llo) / 2;
        rest.llo = part.lhi + 1;
    } else {
        part.jhi = part.jlo + (part.jhi - part.jlo) / 2;
        rest.jlo = part.jhi + 1;
    }
    const struct psr_accel_part half[2] = {part, rest};
    psr_status st = PSR_OK;
    for (int k = 0; k < 2 && !st; k++) {
        cudaError_t e = psr_accel_cuda_search(c, slot, &half[k]);
        if (!e)
            e = cudaEventSynchronize(slot->done);
        if (e)
            return psr_accel_cuda_fail(c, e, "search", err);
        st = overflows(slot) ? search_by_halves(c, slot, half[k], err)
                             : fetch(c, slot, &half[k], err);
    }
    return st;
}

struct psr_accel_part psr_accel_cuda_band(const struct psr_accel_cuda *c, int64_t first)
{
    const int64_t left = c->plan.end - first;
    return (struct psr_accel_part){first,       left < c->plan.band ? left : c->plan.band,
                                   -c->s->jmax, c->s->jmax,
                                   -c->s->lmax, c->s->lmax};
}

static psr_status start_band(struct psr_accel_cuda *c, struct psr_accel_slot *slot, int64_t first,
                             psr_err *err)
{
    const struct psr_accel_part part = psr_accel_cuda_band(c, first);
    cudaError_t e = psr_accel_cuda_bound(c, slot, &part);
    if (!e)
        e = psr_accel_cuda_search(c, slot, &part);
    return e ? psr_accel_cuda_fail(c, e, "search", err) : PSR_OK;
}

/* Where there were too many places at once, bounds may be another pair's by now: they are made
 * again. */
static psr_status end_band(struct psr_accel_cuda *c, struct psr_accel_slot *slot, int64_t first,
                           psr_err *err)
{
    const struct psr_accel_part part = psr_accel_cuda_band(c, first);
    cudaError_t e = cudaEventSynchronize(slot->done);
    if (!e && !overflows(slot))
        return fetch(c, slot, &part, err);
    if (!e)
        e = psr_accel_cuda_bound(c, slot, &part);
    return e ? psr_accel_cuda_fail(c, e, "search", err) : search_by_halves(c, slot, part, err);
}

/* Places of the pair before are collected by now where there are more bands than one. */
psr_status psr_accel_cuda_launch(struct psr_accel_cuda *c, struct psr_accel_slot *slot,
                                 psr_err *err)
{
    psr_status st = start_band(c, slot, c->plan.first, err);
    if (c->plan.band >= c->plan.end - c->plan.first)
        return st;
    c->nplace = 0;
    for (int64_t first = c->plan.first; !st;) {
        st = end_band(c, slot, first, err);
        first += c->plan.band;
        if (st || first >= c->plan.end)
            break;
        st = start_band(c, slot, first, err);
    }
    return st;
}

psr_status psr_accel_cuda_collect(struct psr_accel_cuda *c, struct psr_accel_slot *slot,
                                  psr_err *err)
{
    if (c->plan.band < c->plan.end - c->plan.first)
        return PSR_OK;
    c->nplace = 0;
    return end_band(c, slot, c->plan.first, err);
}
