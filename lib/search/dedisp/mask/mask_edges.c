/* Steps of masked samples, as the edges that trials meet. */

#include "mask_correction_plan.h"
#include "plan/ddplan_internal.h"
#include "search/dedisp/dedisp_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static psr_status grow_edges(psr_mask_correction *p, size_t more, psr_err *err)
{
    if (p->nedge + more <= p->edge_room)
        return PSR_OK;
    size_t room = 2 * (p->nedge + more);
    struct psr_mask_edge *edge = realloc(p->edge, room * sizeof *edge);
    p->edge = edge ? edge : p->edge;
    struct psr_mask_edge *sorted = edge ? realloc(p->sorted, room * sizeof *sorted) : NULL;
    p->sorted = sorted ? sorted : p->sorted;
    if (!sorted)
        return psr_fail_nomem(err, "replaced samples", 2 * (double)room * sizeof *edge);
    p->edge_room = room;
    return PSR_OK;
}

static psr_status add_edge(psr_mask_correction *p, const struct psr_step *s, psr_err *err)
{
    double value = (double)s->value;
    if (s->c >= p->d.nchan || !(fabs(value) <= p->d.largest))
        return psr_fail(err, PSR_EINVAL,
                        "mask correction: value %g of channel %zu, must be within %g, of %zu",
                        value, s->c, p->d.largest, p->d.nchan);
    if (p->d.keep && !p->d.keep[s->c])
        return PSR_OK;
    int64_t fixed = llround(ldexp(value, p->shift)), ds = (int64_t)p->d.downsamp;
    int64_t delta = fixed - p->current[s->c], t = s->t - psr_dedisp_predelay(p->d.plan, s->c);
    t = t > 0 ? t : 0;
    p->current[s->c] = fixed;
    p->edge[p->nedge++] = (struct psr_mask_edge){
        .c = (uint32_t)s->c, .q = t / ds, .part = delta * (ds - t % ds), .whole = delta * ds};
    return PSR_OK;
}

psr_status psr_mask_take_steps(psr_mask_correction *p, const struct psr_step *step, size_t nstep,
                               psr_err *err)
{
    psr_status st = grow_edges(p, nstep, err);
    for (size_t k = 0; k < nstep && !st; k++)
        st = add_edge(p, step + k, err);
    if (!st) {
        /* By channel; in each they have come by time. */
        size_t *next = p->first + 1;
        struct psr_mask_edge *sorted = p->sorted;
        memset(p->first, 0, (p->d.nchan + 2) * sizeof *p->first);
        for (size_t k = 0; k < p->nedge; k++)
            next[p->edge[k].c + 1]++;
        for (size_t c = 0; c < p->d.nchan; c++)
            next[c + 1] += next[c];
        for (size_t k = 0; k < p->nedge; k++)
            sorted[next[p->edge[k].c]++] = p->edge[k];
        p->sorted = p->edge;
        p->edge = sorted;
    }
    return st;
}

int64_t psr_mask_delay(const psr_mask_correction *p, size_t i, size_t c)
{
    const double pre = (double)psr_dedisp_predelay(p->d.plan, c);
    return psr_dedisp_delay(p->d.plan, i, c) - psr_round(pre / (double)p->d.downsamp);
}

double psr_mask_unit(const psr_mask_correction *p)
{
    return ldexp(1, -p->shift) / (double)p->d.downsamp;
}

/* Late trials meet them up to the longest sweep after. */
void psr_mask_drop_edges(psr_mask_correction *p)
{
    const bool late = psr_dedisp_layout(p->d.plan)->align != NULL;
    const int64_t latest = late ? (int64_t)psr_dedisp_maxshift(p->d.plan) : 0;
    size_t kept = 0;
    for (size_t k = 0; k < p->nedge; k++)
        if (p->edge[k].q + 1 + latest >= p->ngiven)
            p->edge[kept++] = p->edge[k];
    p->nedge = kept;
}

bool psr_mask_correction_touches(const psr_mask_correction *p, size_t nstep)
{
    return nstep || p->nedge || p->off;
}
