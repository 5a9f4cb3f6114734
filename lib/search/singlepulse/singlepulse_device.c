/* The single-pulse search of series that lie on devices: loud pieces come back, and what is a pulse in
 * them is settled here. */
#include "singlepulse_internal.h"

#include "base/threads/threads.h"

#include <config.h>
#include <stdlib.h>
#include <string.h>

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_pulse_device_ops *const ops =
#ifdef HAVE_CUDA
    &psr_pulse_cuda;
#else
    NULL;
#endif

static psr_status check_series(const psr_singlepulse *p,
                               const struct psr_device_series *device_series, size_t ndevice_series,
                               size_t nsamp, psr_err *err)
{
    size_t next = 0;
    if (!ops)
        return psr_fail(err, PSR_EDEVICE, "single pulses: psrkit was built without CUDA");
    if (p->ended)
        return psr_fail(err, PSR_EINVAL, "single pulses: samples after the end of the stream");
    if (p->causal || p->late)
        return psr_fail_field(err, PSR_EINVAL, p->causal ? "causal" : "late",
                              "single pulses: a causal search, and late series, are for the host");
    if (p->samples || (p->share && ndevice_series != p->nshare))
        return psr_fail(err, PSR_EINVAL, "single pulses: series have moved within the stream");
    for (size_t k = 0; k < ndevice_series; k++) {
        const struct psr_device_series *s = device_series + k,
                                       *was = p->share ? p->device_series + k : s;
        if (s->first != next || s->nseries < 1 || s->stride < nsamp)
            return psr_fail(
                err, PSR_EINVAL,
                "single pulses: device_series %zu of %zu series from %zu on, stride %zu, must "
                "begin at %zu and hold %zu samples",
                k, s->nseries, s->first, s->stride, next, nsamp);
        if (s->device != was->device || s->nseries != was->nseries || s->stream != was->stream)
            return psr_fail(err, PSR_EINVAL, "single pulses: series have moved within the stream");
        next += s->nseries;
    }
    if (next != p->nseries)
        return psr_fail(err, PSR_EINVAL, "single pulses: device_series of %zu series, must be %zu",
                        next, p->nseries);
    return PSR_OK;
}

static psr_status create_shares(psr_singlepulse *p, const struct psr_device_series *device_series,
                                size_t ndevice_series, psr_err *err)
{
    p->device_series = calloc(ndevice_series, sizeof *p->device_series);
    p->share = calloc(ndevice_series, sizeof *p->share);
    if (!p->device_series || !p->share)
        return psr_fail_nomem(err, "single pulses on devices",
                              (double)ndevice_series * sizeof *p->device_series);
    memcpy(p->device_series, device_series, ndevice_series * sizeof *p->device_series);
    p->nshare = ndevice_series;
    psr_status st = PSR_OK;
    for (size_t k = 0; k < ndevice_series && st == PSR_OK; k++)
        st = ops->create(&p->share[k],
                         &(struct pulse_partition){.device = device_series[k].device,
                                                   .first = device_series[k].first,
                                                   .nseries = device_series[k].nseries,
                                                   .stream = device_series[k].stream,
                                                   .maxwidth = p->maxwidth,
                                                   .length = p->length,
                                                   .scale = &p->scale,
                                                   .block = p->block,
                                                   .threshold = p->threshold,
                                                   .sweep = p->sweep + device_series[k].first},
                         err);
    return st;
}

/* The loud pieces of one series, from number r on. */
static bool choose_series(psr_singlepulse *p, size_t first, const struct pulse_found *f, size_t r)
{
    size_t i = first + f->loud[r].series, each = p->maxwidth - 1 + p->length;
    struct pulse_room *room = &p->bench[psr_thread_number()].room;
    for (; r < f->n && first + f->loud[r].series == i; r++) {
        const struct pulse_loud *l = &f->loud[r];
        if (!psr_pulse_peak_select(&p->series[i].picker, room, l->piece, f->z + l->at * each,
                                   (size_t)l->n, l->norm, i))
            return false;
    }
    return true;
}

static psr_status collect_share(psr_singlepulse *p, size_t k, psr_err *err)
{
    size_t from = 0;
    int failed = 0;
    bool more = true;
    while (more) {
        struct pulse_found found;
        psr_status st = ops->collect(p->share[k], &from, &found, &more, err);
        if (st)
            return st;
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)                                 \
    reduction(|                                                                                    \
              : failed) if (found.n > 64)
        for (size_t r = 0; r < found.n; r++)
            if (r == 0 || found.loud[r].series != found.loud[r - 1].series)
                failed |= !choose_series(p, p->device_series[k].first, &found, r);
        if (failed)
            return psr_fail(err, PSR_ENOMEM, "no memory for single-pulse events");
    }
    return PSR_OK;
}

static psr_status collect_all(psr_singlepulse *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < p->nshare && st == PSR_OK; k++)
        st = collect_share(p, k, err);
    return st;
}

static size_t room_of_all(const psr_singlepulse *p, size_t n)
{
    for (size_t k = 0; k < p->nshare; k++) {
        size_t room = ops->room(p->share[k]);
        n = n < room ? n : room;
    }
    return n;
}

/* The next samples of a block, with the bins added to or removed from them. */
struct part {
    size_t at, n;
    const struct psr_resample_bin *bin;
    size_t nbin, nout;
};

/* The bins that fall into the part, and the length that it has with them. */
static void count_bins(struct part *q, size_t nbin)
{
    q->nout = q->n;
    for (q->nbin = 0; q->nbin < nbin && q->bin[q->nbin].at < q->at + q->n; q->nbin++)
        q->nout += (size_t)q->bin[q->nbin].step; /* -1 wraps back */
}

/* Samples "at" and after it, as many as leave room for bins that are added. */
static struct part next_part(const psr_singlepulse *p, size_t at, size_t nsamp,
                             const struct psr_resample_bin *bin, size_t nbin)
{
    size_t room = room_of_all(p, SIZE_MAX), left = nsamp - at;
    struct part q = {.at = at, .n = left < room ? left : room};
    while (nbin && bin->at < at)
        bin++, nbin--;
    q.bin = bin;
    for (count_bins(&q, nbin); q.nout > room; count_bins(&q, nbin))
        q.n -= (q.nout - room + 1) / 2; /* a sample and its bin are two */
    return q;
}

psr_status psr_singlepulse_execute_device(psr_singlepulse *p,
                                          const struct psr_device_series *device_series,
                                          size_t ndevice_series, size_t nsamp,
                                          const struct psr_resample_bin *bin, size_t nbin,
                                          psr_err *err)
{
    psr_status st = check_series(p, device_series, ndevice_series, nsamp, err);
    if (st == PSR_OK && !p->share)
        st = create_shares(p, device_series, ndevice_series, err);
    for (size_t at = 0; at < nsamp && st == PSR_OK;) {
        const struct part q = next_part(p, at, nsamp, bin, nbin);
        st = collect_all(p, err);
        for (size_t k = 0; k < p->nshare && st == PSR_OK; k++)
            st = ops->push(p->share[k],
                           &(struct pulse_chunk){.d_x = device_series[k].d_x + q.at,
                                                 .stride = device_series[k].stride,
                                                 .n = q.n,
                                                 .pos = p->pos,
                                                 .bin = q.bin,
                                                 .nbin = q.nbin,
                                                 .at0 = q.at,
                                                 .nout = q.nout,
                                                 .mask = p->mask,
                                                 .nmask = p->nmask},
                           err);
        p->pos += (int64_t)q.nout;
        psr_pulse_forget_masks(p);
        at += q.n;
    }
    return st;
}

psr_status psr_pulse_finish_partitions(psr_singlepulse *p, psr_err *err)
{
    psr_status st = collect_all(p, err);
    for (size_t k = 0; k < p->nshare && st == PSR_OK; k++)
        st = ops->finish(p->share[k], p->pos, err);
    if (st == PSR_OK)
        st = collect_all(p, err);
    for (size_t i = 0; i < p->nseries && st == PSR_OK; i++)
        if (!psr_pulse_settle(&p->series[i].picker, &p->bench->room, i) ||
            !psr_pulse_prune(&p->series[i].picker))
            st = psr_fail(err, PSR_ENOMEM, "no memory for single-pulse events");
    return st;
}

double psr_singlepulse_device_seconds(const psr_singlepulse *p)
{
    double most = 0;
    for (size_t k = 0; k < p->nshare; k++) {
        double s = ops->seconds(p->share[k]);
        most = s > most ? s : most;
    }
    return most;
}

void psr_pulse_free_partitions(psr_singlepulse *p)
{
    for (size_t k = 0; p->share && k < p->nshare; k++)
        ops->destroy(p->share[k]);
    free(p->share);
    free(p->device_series);
}
