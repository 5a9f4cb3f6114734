/* Corrects series on devices for what is masked: what their channels miss is listed here, and the series are
 * added to, or scaled, where they lie. */
#include "search/dedisp/mask/mask_correction.h"

#include "plan/ddplan_internal.h"
#include "search/dedisp/dedisp_internal.h"

#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- edges ------------------------------------------------------------------------------------ */

static psr_status grow_edges(psr_mask_correction *p, size_t more, psr_err *err)
{
    if (p->nedge + more <= p->edge_room)
        return PSR_OK;
    size_t room = 2 * (p->nedge + more);
    psr_status st = psr_resize(&p->edge, room, sizeof *p->edge, "replaced samples", err);
    if (!st)
        st = psr_resize(&p->sorted, room, sizeof *p->sorted, "replaced samples", err);
    p->edge_room = st ? p->edge_room : room;
    return st;
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

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_mask_device_ops *const ops =
#ifdef HAVE_CUDA
    &psr_mask_device_cuda;
#else
    NULL;
#endif

struct psr_mask_device {
    void **share;                     /* [n] */
    struct psr_device_series *series; /* [n] equalised */
    size_t n;
    struct psr_mask_device_channel *channel; /* [nchan] */
    struct psr_mask_device_edge *edge;       /* [edge_room] */
    size_t edge_room;
};

/* --- shares of the series --------------------------------------------------------------------- */

static psr_status create_share(psr_mask_correction *p, size_t k, const struct psr_device_series *in,
                               psr_err *err)
{
    const size_t nchan = p->d.nchan, n = in->nseries * nchan;
    int32_t *delay = malloc(n * sizeof *delay);
    if (!delay)
        return psr_fail_nomem(err, "delays of series on devices", 4 * (double)n);
#pragma omp parallel for schedule(static) num_threads(p->nthread)
    for (size_t i = 0; i < in->nseries; i++)
        for (size_t c = 0; c < nchan; c++)
            delay[i * nchan + c] = (int32_t)psr_mask_delay(p, in->first + i, c);
    psr_status st = ops->create(&p->device->share[k],
                                &(struct psr_mask_device_partition){.device = in->device,
                                                                    .stream = in->stream,
                                                                    .nseries = in->nseries,
                                                                    .nchan = nchan,
                                                                    .delay = delay},
                                err);
    free(delay);
    return st;
}

static psr_status create_shares(psr_mask_correction *p, const struct psr_device_series *in,
                                size_t nin, psr_err *err)
{
    struct psr_mask_device *d = p->device = calloc(1, sizeof *d);
    if (!d)
        return psr_fail_nomem(err, "series on devices", sizeof *d);
    d->n = nin;
    d->share = calloc(nin, sizeof *d->share);
    d->series = calloc(nin, sizeof *d->series);
    d->channel = calloc(p->d.nchan, sizeof *d->channel);
    if (!d->share || !d->series || !d->channel)
        return psr_fail_nomem(err, "series on devices", (double)nin * sizeof *d->series);
    psr_status st = PSR_OK;
    for (size_t k = 0; k < nin && !st; k++)
        st = create_share(p, k, &in[k], err);
    return st;
}

static psr_status check_series(const psr_mask_correction *p, const struct psr_device_series *in,
                               size_t nin, size_t n, psr_err *err)
{
    size_t next = 0;
    if (!ops)
        return psr_fail(err, PSR_EDEVICE, "mask correction: psrkit was built without CUDA");
    for (size_t k = 0; k < nin; k++) {
        if (in[k].first != next || in[k].nseries < 1 || in[k].stride < n)
            return psr_fail(
                err, PSR_EINVAL,
                "mask correction: device_series %zu of %zu series from %zu on, stride %zu, "
                "must begin at %zu and hold %zu samples",
                k, in[k].nseries, in[k].first, in[k].stride, next, n);
        next += in[k].nseries;
    }
    if (next != p->d.ndm || (p->device && nin != p->device->n))
        return psr_fail(
            err, PSR_EINVAL,
            "mask correction: %zu device_series of %zu series, must be as at first, of %zu", nin,
            next, p->d.ndm);
    return PSR_OK;
}

/* --- edges ------------------------------------------------------------------------------------ */

static psr_status grow_list(const psr_mask_correction *p, psr_err *err)
{
    struct psr_mask_device *d = p->device;
    const size_t n = p->nedge + p->d.nchan;
    if (n <= d->edge_room)
        return PSR_OK;
    if (n > UINT32_MAX)
        return psr_fail(err, PSR_EINVAL, "mask correction: %zu steps, must be below %u", n,
                        UINT32_MAX);
    free(d->edge);
    d->edge = malloc(2 * n * sizeof *d->edge);
    d->edge_room = d->edge ? 2 * n : 0;
    return d->edge ? PSR_OK
                   : psr_fail_nomem(err, "replaced samples", 2 * (double)n * sizeof *d->edge);
}

/* Returned: *level, what is missing of the channel before its edges */
static void list_channel(const psr_mask_correction *p, size_t c, int64_t level,
                         struct psr_mask_device_chunk *chunk)
{
    const struct psr_mask_device *d = p->device;
    struct psr_mask_device_channel *to = &d->channel[chunk->nchannel++];
    to->c = (uint32_t)c;
    to->first = (uint32_t)chunk->nedge;
    for (size_t k = p->first[c]; k < p->first[c + 1]; k++) {
        const struct psr_mask_edge *e = &p->edge[k];
        d->edge[chunk->nedge++] = (struct psr_mask_device_edge){e->q, level, e->part, e->whole};
        level += e->whole;
    }
    to->end = (uint32_t)chunk->nedge;
    d->edge[chunk->nedge++] = (struct psr_mask_device_edge){.q = INT64_MAX, .before = level};
}

static psr_status list_edges(const psr_mask_correction *p, struct psr_mask_device_chunk *chunk,
                             psr_err *err)
{
    psr_status st = grow_list(p, err);
    for (size_t c = 0; c < p->d.nchan && !st; c++) {
        int64_t level = p->current[c] * (int64_t)p->d.downsamp;
        for (size_t k = p->first[c]; k < p->first[c + 1]; k++)
            level -= p->edge[k].whole;
        if (p->first[c] == p->first[c + 1])
            chunk->constant += level;
        else
            list_channel(p, c, level, chunk);
    }
    chunk->channel = p->device->channel;
    chunk->edge = p->device->edge;
    return st;
}

/* --- samples ---------------------------------------------------------------------------------- */

static psr_status correct(psr_mask_correction *p, const struct psr_step *step, size_t nstep,
                          const struct psr_mask_noise *noise, const struct psr_device_series *in,
                          size_t nin, size_t n, psr_err *err)
{
    psr_status st = check_series(p, in, nin, n, err);
    if (!st && !p->device)
        st = create_shares(p, in, nin, err);
    if (!st)
        st = psr_mask_take_steps(p, step, nstep, err);
    if (!st) {
        struct psr_mask_device *d = p->device;
        struct psr_mask_device_chunk chunk = {.n = n,
                                              .now = p->ngiven,
                                              .unit = psr_mask_unit(p),
                                              .restore = !noise,
                                              .level = noise ? noise->level : 0,
                                              .variance = noise ? noise->variance : 0};
        st = n ? list_edges(p, &chunk, err) : PSR_OK;
        for (size_t k = 0; k < d->n && !st; k++) {
            d->series[k] = in[k];
            chunk.d_in = in[k].d_x;
            chunk.stride = in[k].stride;
            if (n)
                st = ops->run(d->share[k], &chunk, &d->series[k].d_x, &d->series[k].stride, err);
        }
    }
    if (st)
        return st;
    p->ngiven += (int64_t)n;
    psr_mask_drop_edges(p);
    return PSR_OK;
}

psr_status psr_mask_correction_execute_device(psr_mask_correction *p, const struct psr_step *step,
                                              size_t nstep, const struct psr_device_series *series,
                                              size_t nseries, size_t n, psr_err *err)
{
    if (!psr_mask_correction_touches(p, nstep)) {
        p->ngiven += (int64_t)n;
        return PSR_OK;
    }
    psr_status st = correct(p, step, nstep, NULL, series, nseries, n, err);
    p->off = false;
    for (size_t c = 0; c < p->d.nchan; c++)
        p->off |= p->current[c] != 0;
    return st;
}

psr_status psr_mask_correction_equalise_device(psr_mask_correction *p, const struct psr_step *step,
                                               size_t nstep, const struct psr_mask_noise *noise,
                                               const struct psr_device_series *in, size_t nin,
                                               size_t n, const struct psr_device_series **out,
                                               psr_err *err)
{
    psr_status st = correct(p, step, nstep, noise, in, nin, n, err);
    *out = st ? NULL : p->device->series;
    return st;
}

void psr_mask_device_destroy(struct psr_mask_device *d)
{
    if (!d)
        return;
    for (size_t k = 0; d->share && k < d->n; k++)
        ops->destroy(d->share[k]);
    free(d->share);
    free(d->series);
    free(d->channel);
    free(d->edge);
    free(d);
}
