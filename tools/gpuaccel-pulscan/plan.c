#include "gpuaccel-pulscan.h"

#include <math.h>
#include <psrkit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A GPU copies and searches a batch by quarters, so 256 MiB fill it; more only takes long to
 * page-lock, and leaves less to overlap.  On the CPU one after the other is as fast.  Two batches of
 * long spectra that no plan has room for stay within -mem, or 8 GB. */
static size_t choose_batch(const struct accel_job *j)
{
    static const int64_t most_bytes = INT64_C(1) << 28, long_bytes = INT64_C(8000000000);
    const int64_t each = 8 * j->shape.nbin, room = j->opt.mem_bytes ? j->opt.mem_bytes : long_bytes;
    int64_t fits = most_bytes / each;
    if (fits < 4)
        fits = 4;
    if (!j->opt.boxes && 2 * fits * each > room)
        fits = room > 4 * each ? room / (2 * each) : 1;
    if (j->opt.batch || (int64_t)j->batch_max <= fits)
        fits = (int64_t)j->batch_max;
    return j->npath > 0 && (int64_t)j->npath < fits ? j->npath : (size_t)fits;
}

static struct psr_redden redden_by(const struct accel_options *o, double tobs_s, int64_t endwidth)
{
    return (struct psr_redden){.start = (int)o->startwidth,
                               .end = (int)(o->endwidth ? o->endwidth : endwidth),
                               .stop_bin = o->endfreq_hz * tobs_s};
}

/* Blocks that are not much longer than boxes are wide take drifting signals for noise. */
struct psr_redden accel_redden(const struct accel_options *o, double tobs_s)
{
    return redden_by(o, tobs_s, o->zmax > 3 ? least(30 * o->zmax, ACCEL_ENDWIDTH) : 100);
}

/* As realfft does where it is not told. */
static struct psr_redden redden_before(const struct accel_options *o, double tobs_s)
{
    return redden_by(o, tobs_s, 100);
}

static psr_status describe(struct accel_job *j, struct psr_pulscan_desc *d)
{
    const struct accel_options *o = &j->opt;
    const struct accel_shape *s = &j->shape;
    psr_status st = psr_device_choose(o->device, &d->backend, &d->device, &j->err);
    if (st != PSR_OK)
        return st;
    d->nbin = (size_t)s->nbin;
    d->series = s->series;
    if (s->reddened)
        d->redden = redden_before(o, s->tobs_s);
    else if (o->rednoise)
        d->redden = accel_redden(o, s->tobs_s);
    d->batch = j->batch_now;
    d->zmax = (int)o->zmax;
    d->zstep = (int)o->zstep;
    if (o->zmax == 0) /* a line between two bins has 2/5 of its power in each: boxes of two too */
        d->zmax = d->zstep = 1;
    d->logz = o->logz;
    d->nharm = j->nharm;
    d->nnharm = j->nnharm;
    d->block = (size_t)o->chunkwidth;
    d->rblock = o->rblock;
    d->normblock = (size_t)least(o->normalizechunkwidth, s->nbin);
    if (!o->pulscan) {
        double lo, hi;
        if ((st = accel_range(j, &lo, &hi)) != PSR_OK)
            return st;
        d->rlo = (int64_t)lo;
        d->rhi = least((int64_t)ceil(hi), s->nbin - 1);
    }
    d->zap = j->zap;
    d->nzap = j->nzap;
    d->sigma = o->sigma;
    d->significance = strcmp(o->significance, "poly") ? PSR_PULSCAN_EXACT : PSR_PULSCAN_POLY;
    d->compat = o->pulscan;
    d->nthread = (int)o->ncpus;
    d->mem_bytes = o->mem_bytes;
    return PSR_OK;
}

bool accel_same_shape(const struct accel_shape *a, const struct accel_shape *b)
{
    return a->nbin == b->nbin && a->series == b->series && a->reddened == b->reddened &&
           !(a->tobs_s < b->tobs_s) && !(a->tobs_s > b->tobs_s);
}

/* Two searches take one spectrum, and each plan transforms for itself alone. */
bool accel_transforms(const struct accel_job *j)
{
    const struct accel_options *o = &j->opt;
    return o->fftout || o->pulscan || (o->matched && (o->boxes || o->presto || o->rednoise));
}

/* The CPU has nothing to gain from a second plan: it would only share its threads. */
static psr_status create_boxes(struct accel_job *j)
{
    struct psr_pulscan_desc desc = {.size = sizeof desc};
    struct psr_pulscan_info info;
    psr_status st = describe(j, &desc);
    if (st == PSR_OK)
        st = psr_pulscan_create(&j->batch[0].plan, &desc, &j->err);
    if (st != PSR_OK)
        return st;
    psr_pulscan_describe(j->batch[0].plan, &info);
    if (strcmp(info.backend, "cpu") != 0 && j->many) {
        st = psr_pulscan_create(&j->batch[1].plan, &desc, &j->err);
        j->ring.nslot = ACCEL_MAX_BATCHES;
    }
    return st;
}

/* Memory that a device copies fast, if there is one in use. */
static psr_status take_room(struct accel_job *j, struct accel_batch *b)
{
    const size_t bytes = 8 * (size_t)j->shape.nbin * j->batch_now;
    struct psr_accelsearch_info info;
    void *room = NULL;
    psr_accelsearch_describe(j->matched, &info);
    b->pinned = strcmp(info.backend, "cpu") != 0;
    psr_status st = PSR_OK;
    if (b->pinned)
        st = psr_device_pin(&room, bytes, &j->err);
    else if (!(room = malloc(bytes)))
        st = psr_fail_nomem(&j->err, "spectra", (double)bytes);
    b->room = room;
    return st;
}

static psr_status create_matched(struct accel_job *j)
{
    psr_status st = accel_matched_plan(j);
    if (st != PSR_OK || j->opt.boxes)
        return st;
    if (j->batch_now > 1 && j->many)
        j->ring.nslot = ACCEL_MAX_BATCHES;
    for (size_t k = 0; k < j->ring.nslot && st == PSR_OK; k++)
        st = take_room(j, &j->batch[k]);
    return st;
}

static psr_status create_plans(struct accel_job *j)
{
    psr_status st = j->opt.boxes ? create_boxes(j) : PSR_OK;
    return st == PSR_OK && j->opt.matched ? create_matched(j) : st;
}

psr_status accel_plan(struct accel_job *j, struct accel_shape shape)
{
    if ((j->batch[0].plan || j->matched) && accel_same_shape(&shape, &j->shape))
        return PSR_OK;
    accel_plan_release(j);
    j->shape = shape;
    j->batch_now = choose_batch(j);
    psr_read_ring_init(&j->ring, &j->monitor, 1);
    j->ngathered = 0;
    psr_status st = psr_zaplist_bins(&j->zaplist, shape.tobs_s, j->opt.baryv, shape.nbin, &j->zap,
                                     &j->nzap, &j->err);
    if (st == PSR_OK)
        st = create_plans(j);
    if (st == PSR_ENOMEM && strstr(j->err.msg, "the limit is")) {
        const psr_err why = j->err;
        psr_fail(&j->err, st, "%.400s (-mem)", why.msg);
    }
    if (st != PSR_OK)
        accel_plan_release(j);
    return st;
}

psr_status accel_plan_transform(struct accel_job *j)
{
    return j->rfft ? PSR_OK : psr_rfft_create(&j->rfft, 2 * j->shape.nbin, &j->err);
}

void accel_plan_release(struct accel_job *j)
{
    for (int k = 0; k < ACCEL_MAX_BATCHES; k++) {
        struct accel_batch *b = &j->batch[k];
        psr_pulscan_destroy(b->plan);
        if (b->pinned)
            psr_device_unpin(b->room);
        else
            free(b->room);
        b->plan = NULL;
        b->room = NULL;
    }
    psr_accelsearch_destroy(j->matched);
    j->matched = NULL;
    psr_rfft_destroy(j->rfft);
    free(j->zap);
    j->rfft = NULL;
    j->zap = NULL;
    j->nzap = 0;
}
