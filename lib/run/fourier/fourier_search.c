/* Searches a batch of spectra, and merges and measures what is found. */
#include "fourier_state.h"

#include "accelsearch_internal.h"
#include "base/clock.h"
#include "search/matched/response/accel_internal.h"
#include "search/pulscan/pulscan_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- the search ------------------------------------------------------------------------------- */

static psr_status search_boxes(struct psr_fourier_slot *slot, size_t n, psr_err *err)
{
    const float **x = calloc(n, sizeof *x);
    if (!x)
        return psr_fail_nomem(err, "a batch", (double)n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = slot->in[i].x;
    psr_status st = psr_pulscan_execute(slot->boxes, n, x, slot->found, err);
    free(x);
    return st;
}

static psr_status search_matched(struct psr_fourier *f, struct psr_fourier_slot *slot, size_t n,
                                 psr_err *err)
{
    struct psr_accelsearch_input *in = calloc(n, sizeof *in);
    if (!in)
        return psr_fail_nomem(err, "a batch", (double)n * sizeof *in);
    for (size_t i = 0; i < n; i++)
        in[i] = (struct psr_accelsearch_input){slot->in[i].x, slot->in[i].photons, slot->in[i].x};
    psr_status st = psr_accelsearch_execute_batch(f->matched, n, in, slot->matched, err);
    free(in);
    return st;
}

psr_status psr_fourier_execute(psr_fourier *f, size_t slot, size_t n, struct psr_fourier_input *in,
                               psr_err *err)
{
    struct psr_fourier_slot *s = &f->slot[slot];
    s->in = in;
    if (n == 0)
        return PSR_OK;
    return s->boxes ? search_boxes(s, n, err) : search_matched(f, s, n, err);
}

static psr_status check_finite(const struct psr_fourier *f, const struct psr_fourier_input *in,
                               int64_t bad, psr_err *err)
{
    if (bad < 0)
        return PSR_OK;
    return psr_fail(err, PSR_EFORMAT, "%s: %s %lld is no finite number", in->name,
                    f->shape.series ? "sample" : "bin", (long long)bad);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* The boxes' candidates. */
static psr_status list_boxes(const struct psr_fourier *f, struct psr_fourier_slot *slot, size_t i,
                             struct psr_fourier_result *r, psr_err *err)
{
    const struct psr_fourier_desc *d = &f->d;
    const struct psr_pulscan_result *found = &slot->found[i];
    struct psr_pulscan_cand *cand = NULL;
    size_t n = 0;
    const struct psr_pulscan_merge_desc merge = {.size = sizeof merge,
                                                 .keep_harmonics = d->noharmremove,
                                                 .max = (size_t)d->maxcands,
                                                 .plan = d->rblock ? NULL : slot->boxes,
                                                 .spec = i};
    const struct psr_refine_desc measure = {.size = sizeof measure,
                                            .zmax = (int)d->zmax,
                                            .boxes_only = d->rblock,
                                            .zap = f->zap,
                                            .nzap = f->nzap,
                                            .nthread = (int)d->nthread};
    psr_status st =
        psr_pulscan_merge(found->hit, found->nhit, &merge, &cand, &n, &r->left_out, err);
    if (!st)
        st = psr_candidate_refine(&r->measured, slot->boxes, i, cand, n, &measure, err);
    r->ncand += d->confirm ? 0 : n;
    r->list.cand = r->measured.cand;
    r->list.ncand = r->measured.n;
    free(cand);
    return st;
}

/* Spectra that boxes have searched are whitened only now. */
static psr_status search_one(struct psr_fourier *f, struct psr_fourier_slot *slot, size_t i,
                             struct psr_fourier_result *r, psr_err *err)
{
    double since_s = psr_seconds();
    struct psr_fourier_input *from = &slot->in[i];
    psr_status st = psr_fourier_whiten_spectrum(f, from, err);
    const struct psr_accelsearch_input in = {.x = from->x, .photons = from->photons};
    if (!st)
        st = psr_accelsearch_execute(f->matched, &in, &slot->matched[i], err);
    psr_charge(&r->search_s, &since_s);
    return st;
}

/* The matched search's next spectrum takes the memory of the harmonics of this one. */
static psr_status keep_harmonics(struct psr_fourier_result *r, psr_err *err)
{
    size_t n = 0;
    for (size_t k = 0; k < r->list.ncand; k++)
        n += (size_t)r->joined[k].nharm;
    struct psr_accel_harm *to = r->harm = malloc((n + 1) * sizeof *to);
    if (!to)
        return psr_fail_nomem(err, "harmonics", (double)n * sizeof *to);
    for (struct psr_accel_cand *c = r->joined; c < r->joined + r->list.ncand; c++) {
        memcpy(to, c->harm, (size_t)c->nharm * sizeof *to);
        c->harm = to;
        to += c->nharm;
    }
    return PSR_OK;
}

/* Of the matched search's candidates, those around boxes. */
static psr_status list_confirmed(const struct psr_fourier *f, const struct psr_fourier_slot *slot,
                                 size_t i, struct psr_fourier_result *r, psr_err *err)
{
    const size_t most = (size_t)f->d.maxcands;
    size_t n;
    psr_status st = psr_accelsearch_join(&slot->matched[i], NULL, 0, &r->joined, &n, err);
    if (!st)
        st = psr_fourier_confirm(&slot->found[i], r->joined, &n, err);
    if (st)
        return st;
    r->left_out = most > 0 && n > most ? n - most : 0;
    r->list.cand = r->joined;
    r->list.ncand = n - r->left_out;
    r->ncand += r->list.ncand;
    return keep_harmonics(r, err);
}

/* The matched search's candidates, and behind them those of boxes. */
static psr_status add_matched(struct psr_fourier *f, struct psr_fourier_slot *slot, size_t i,
                              struct psr_fourier_result *r, psr_err *err)
{
    const struct psr_accelsearch_result *found = &slot->matched[i];
    psr_status st = slot->boxes ? search_one(f, slot, i, r, err) : PSR_OK;
    if (!st)
        st = check_finite(f, &slot->in[i], found->bad, err);
    if (st || f->d.confirm)
        return st ? st : list_confirmed(f, slot, i, r, err);
    r->left_out += found->nleft;
    r->ncand += found->ncand;
    r->list.cand = found->cand;
    r->list.ncand = found->ncand;
    if (!slot->boxes)
        return PSR_OK;
    st = psr_accelsearch_join(found, r->measured.cand, r->measured.n, &r->joined, &r->list.ncand,
                              err);
    r->list.cand = r->joined;
    return st ? st : keep_harmonics(r, err);
}

static psr_status make_list(struct psr_fourier *f, struct psr_fourier_slot *slot, size_t i,
                            struct psr_fourier_result *r, psr_err *err)
{
    psr_status st = PSR_OK;
    if (slot->boxes) {
        r->hit = slot->found[i].hit;
        r->nhit = slot->found[i].nhit;
        st = check_finite(f, &slot->in[i], slot->found[i].bad, err);
    }
    if (!st && slot->boxes && !f->d.pulscan)
        st = list_boxes(f, slot, i, r, err);
    if (!st && slot->boxes) {
        r->ncand += f->d.pulscan ? r->nhit : 0;
        psr_fourier_find_red_noise(f, (size_t)(slot - f->slot), i, r);
    }
    return !st && f->matched ? add_matched(f, slot, i, r, err) : st;
}

psr_status psr_fourier_list(psr_fourier *f, size_t slot, size_t i, struct psr_fourier_result *r,
                            psr_err *err)
{
    *r = (struct psr_fourier_result){
        .list = {.tobs_s = f->shape.tobs_s, .jerk = f->d.matched && f->d.wmax > 0}};
    psr_status st = make_list(f, &f->slot[slot], i, r, err);
    if (st)
        psr_fourier_result_clear(r);
    return st;
}

void psr_fourier_result_clear(struct psr_fourier_result *r)
{
    psr_measured_clear(&r->measured);
    free(r->joined);
    free(r->harm);
    *r = (struct psr_fourier_result){.nhit = 0};
}
