/* The fast folding search on a CUDA device.
 *
 * Series are searched by pairs.  The next pair is copied in, and measured, while one is searched; two streams take groups
 * of folds in turn, so that the last thread blocks of one do not keep the device waiting. */
#include "ffa_cuda.h"

#include "base/device/device_internal.h"
#include "base/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2, STREAMS = 2, MOST_HITS = 1 << 20, OLDEST_SM = 70 };

/* A series on its way. */
struct series {
    float *h_x, *d_x; /* [nsamp] */
    float *h_level, *d_level;
    long long *h_bad, *d_bad;
    bool searched;
};

struct slot {
    struct series series[FFA_PAIR];
    uint32_t first; /* of the n series, in the batch */
    size_t n;
    uint32_t *d_prefix;
    float *d_mean, *d_median;
    uint32_t *d_q; /* [nq] of both series */
    void *d_scan;
    struct ffa_k_hit *d_hit;
    unsigned *d_nhit, *h_nhit;
    cudaStream_t stream;
    cudaEvent_t ready, done[STREAMS]; /* samples made, folds done */
    bool busy;
};

struct state {
    const struct psr_ffa_search *s;
    struct psr_ffa_cuda_plan plan;
    bool started;
    size_t scan_bytes;
    float sigma; /* the largest that is not above the threshold */
    struct slot slot[SLOTS];
    cudaStream_t work[STREAMS];
    uint32_t *d_sums[STREAMS][2];
    struct ffa_k_step *d_step;
    struct ffa_k_fold *d_fold;
    uint32_t *d_number;
    char *d_tile;
    float *d_gain;
    struct ffa_k_gap *d_gap; /* [gap_room]; NULL without any, as what follows */
    size_t gap_room;
    uint32_t *d_count;                  /* [nq] numbers of samples, in place of a series */
    uint32_t *d_count_sums[STREAMS][2]; /* and of the sums of a group */
    float *d_snr;                       /* [ntrial] once a periodogram was asked for */
    int *d_width;
    int64_t bytes;
};

static psr_status fail(const struct state *c, cudaError_t e, const char *what, psr_err *err)
{
    if (e != cudaErrorMemoryAllocation)
        return psr_cuda_fail(c->s->device, e, what, err);
    (void)cudaGetLastError();
    return psr_fail(err, PSR_ENOMEM, "device %d: %s: %s", c->s->device, what,
                    cudaGetErrorString(e));
}

/* --- a series to samples ---------------------------------------------------------------------- */

static struct ffa_k_series series_of(const struct state *c, const struct slot *t, size_t p)
{
    const struct series *x = &t->series[p];
    return (struct ffa_k_series){
        .d_x = x->d_x,
        .nsamp = c->s->nsamp,
        .d_gap = c->d_gap,
        .ngap = c->s->ngap,
        .d_level = x->d_level,
        .d_bad = x->d_bad,
        .d_prefix = t->d_prefix,
        .d_scan = t->d_scan,
        .scan_bytes = c->scan_bytes,
        .d_step = c->d_step,
        .nstep = c->s->nstep,
        .nq = c->plan.nq,
        .npart = c->plan.npart,
        .d_mean = t->d_mean,
        .d_median = t->d_median,
        .d_q = (int16_t *)t->d_q + p,
    };
}

/* Copies with all threads: a single one is slower than the bus. */
static void copy_in(const struct state *c, float *to, const float *from)
{
    const size_t n = c->s->nsamp, piece = 1 << 18;
    const int nthread = c->s->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread)
    for (size_t i = 0; i < n; i += piece)
        memcpy(to + i, from + i, (n - i < piece ? n - i : piece) * sizeof *to);
}

/* Whether a device copies from there at the speed of the bus. */
static bool is_pinned(const float *x)
{
    struct cudaPointerAttributes is;
    if (cudaPointerGetAttributes(&is, x) == cudaSuccess)
        return is.type == cudaMemoryTypeHost;
    (void)cudaGetLastError();
    return false;
}

/* Queues the copy of a series and its measurement. */
static cudaError_t send(struct state *c, struct slot *t, size_t p, const float *from)
{
    struct series *x = &t->series[p];
    const struct ffa_k_series k = series_of(c, t, p);
    const size_t nblock = c->s->nsamp / PSR_FFA_BLOCK;
    const bool pinned = is_pinned(from);
    if (!pinned)
        copy_in(c, x->h_x, from);
    TRY(cudaMemcpyAsync(x->d_x, pinned ? from : x->h_x, c->s->nsamp * sizeof *x->d_x,
                        cudaMemcpyHostToDevice, t->stream));
    TRY(cudaMemsetAsync(x->d_bad, 0x7f, sizeof *x->d_bad, t->stream));
    TRY(ffa_k_measure(&k, t->stream));
    TRY(cudaMemcpyAsync(x->h_bad, x->d_bad, sizeof *x->h_bad, cudaMemcpyDeviceToHost, t->stream));
    return cudaMemcpyAsync(x->h_level, x->d_level, 2 * nblock * sizeof *x->h_level,
                           cudaMemcpyDeviceToHost, t->stream);
}

static cudaError_t send_pair(struct state *c, struct slot *t, const float *const *in, size_t first,
                             size_t nseries)
{
    t->first = (uint32_t)first;
    t->n = nseries - first < FFA_PAIR ? nseries - first : FFA_PAIR;
    for (size_t p = 0; p < t->n; p++)
        TRY(send(c, t, p, in[first + p]));
    return cudaSuccess;
}

/* Leaves out levels of blocks that touch a gap: mean, var [nblock].
 * Returned: number of blocks */
static size_t keep_whole(const struct psr_ffa_search *s, float *mean, float *var)
{
    const size_t nblock = s->nsamp / PSR_FFA_BLOCK;
    size_t n = 0, gap = 0;
    for (size_t i = 0; i < nblock; i++) {
        if (!psr_ffa_block_is_whole(s, i * PSR_FFA_BLOCK, &gap))
            continue;
        mean[n] = mean[i];
        var[n++] = var[i];
    }
    return n;
}

/* Queues the samples of a series that was measured, if it can be searched. */
static cudaError_t sample(struct state *c, struct slot *t, size_t p, double *rms, int64_t *bad)
{
    struct series *x = &t->series[p];
    const size_t nblock = c->s->nsamp / PSR_FFA_BLOCK;
    struct ffa_k_series k = series_of(c, t, p);
    struct psr_ffa_noise noise;
    if (*x->h_bad < (long long)c->s->nsamp) {
        *bad = *x->h_bad;
        return cudaSuccess;
    }
    float *mean = x->h_level, *var = mean + nblock;
    if (!psr_ffa_noise(mean, var, c->s->ngap ? keep_whole(c->s, mean, var) : nblock, &noise))
        return cudaSuccess;
    *rms = noise.sigma;
    k.centre = noise.centre;
    k.scale = noise.scale;
    x->searched = true;
    return ffa_k_sample(&k, t->stream);
}

/* Bit k: series k is searched. */
static uint32_t find_searched(const struct slot *t)
{
    uint32_t bits = 0;
    for (int p = 0; p < FFA_PAIR; p++)
        bits |= (uint32_t)t->series[p].searched << p;
    return bits;
}

/* Waits for the measurements, and queues what samples there are. */
static cudaError_t sample_pair(struct state *c, struct slot *t, double *rms, int64_t *bad)
{
    TRY(cudaStreamSynchronize(t->stream));
    TRY(cudaMemsetAsync(t->d_nhit, 0, sizeof *t->d_nhit, t->stream));
    for (int p = 0; p < FFA_PAIR; p++)
        t->series[p].searched = false;
    for (size_t p = 0; p < t->n; p++)
        TRY(sample(c, t, p, &rms[p], &bad[p]));
    return cudaEventRecord(t->ready, t->stream);
}

/* --- folds ------------------------------------------------------------------------------------ */

static struct ffa_k_merge merge_of(const struct state *c, const struct slot *t,
                                   const struct psr_ffa_group *g)
{
    const struct psr_ffa_widths *w = &c->s->widths[c->s->step[c->s->fold[g->fold0].step].range];
    return (struct ffa_k_merge){
        .d_fold = c->d_fold + g->fold0,
        .nfold = (uint32_t)g->nfold,
        .rated = find_searched(t),
        .d_q = t->d_q,
        .d_gain = c->d_gain,
        .nwidth = (uint32_t)w->n,
        .sigma = c->sigma,
        .d_hit = t->d_hit,
        .d_nhit = t->d_nhit,
        .cap = MOST_HITS,
        .d_snr = c->d_snr,
        .d_width = c->d_width,
    };
}

/* Queues all sweeps of a group from m->d_q, by way of two buffers. */
static cudaError_t sweep_group(const struct state *c, const struct psr_ffa_group *g,
                               struct ffa_k_merge *m, uint32_t *const sums[2], cudaStream_t stream)
{
    for (size_t i = 0; i < g->nsweep; i++) {
        m->sweep = g->sweep[i];
        m->samples = i == 0;
        m->rate = i + 1 == g->nsweep;
        m->d_block = c->d_number + g->number0[i];
        m->d_first = m->d_block + g->nfold + 1;
        m->d_tile = c->d_tile + g->tile0[i];
        m->nblock = g->nblock[i];
        m->d_from = sums[i % 2];
        m->d_to = sums[(i + 1) % 2];
        TRY(ffa_k_merge_rows(m, stream));
    }
    return cudaSuccess;
}

/* Given: all   NULL: what is above the threshold; else the S/N of every trial of that series */
static cudaError_t fold_group(struct state *c, const struct slot *t, size_t number,
                              const size_t *all)
{
    const struct psr_ffa_group *g = &c->plan.group[number];
    const size_t stream = number % STREAMS;
    struct ffa_k_merge m = merge_of(c, t, g);
    m.keep = c->d_count != NULL;
    if (all) {
        m.d_hit = NULL;
        m.rated = 1u << *all;
    }
    TRY(sweep_group(c, g, &m, c->d_sums[stream], c->work[stream]));
    if (!m.keep)
        return cudaSuccess;
    struct ffa_k_merge counts = m;
    counts.d_q = c->d_count;
    TRY(sweep_group(c, g, &counts, c->d_count_sums[stream], c->work[stream]));
    const float unit = (float)(1 / c->s->step[c->s->fold[g->fold0].step].units);
    return ffa_k_rate_counted(&m, counts.d_to, unit, g->nbin, c->work[stream]);
}

static cudaError_t fold_all(struct state *c, struct slot *t, const size_t *all)
{
    for (int i = 0; i < STREAMS; i++)
        TRY(cudaStreamWaitEvent(c->work[i], t->ready, 0));
    for (size_t g = 0; g < c->plan.ngroup; g++)
        TRY(fold_group(c, t, g, all));
    for (int i = 0; i < STREAMS; i++) {
        TRY(cudaEventRecord(t->done[i], c->work[i]));
        TRY(cudaStreamWaitEvent(t->stream, t->done[i], 0));
    }
    return cudaMemcpyAsync(t->h_nhit, t->d_nhit, sizeof *t->h_nhit, cudaMemcpyDeviceToHost,
                           t->stream);
}

/* --- results ---------------------------------------------------------------------------------- */

static psr_status add_hit(struct psr_ffa_found *found, uint32_t first, const struct ffa_k_hit *h,
                          psr_err *err)
{
    psr_status st = psr_grow(&found->hit, &found->cap, found->n, sizeof *found->hit, "trials", err);
    if (!st)
        found->hit[found->n++] = (struct psr_ffa_hit){first + h->series, h->fold, (size_t)h->trial,
                                                      h->snr, (int)h->width};
    return st;
}

static cudaError_t take_trials(struct state *c)
{
    if (c->d_snr)
        return cudaSuccess;
    TRY(psr_cuda_take(&c->d_snr, c->s->ntrial * sizeof *c->d_snr, &c->bytes));
    return psr_cuda_take(&c->d_width, c->s->ntrial * sizeof *c->d_width, &c->bytes);
}

/* S/N of all trials of a series in a slot. */
static cudaError_t fetch_trials(struct state *c, struct slot *t, size_t p, float *snr, int *width)
{
    TRY(take_trials(c));
    TRY(fold_all(c, t, &p));
    TRY(cudaStreamSynchronize(t->stream));
    TRY(cudaMemcpy(snr, c->d_snr, c->s->ntrial * sizeof *snr, cudaMemcpyDeviceToHost));
    return width
               ? cudaMemcpy(width, c->d_width, c->s->ntrial * sizeof *width, cudaMemcpyDeviceToHost)
               : cudaSuccess;
}

/* More trials are above the threshold than there is room for: all of a series are fetched. */
static psr_status fetch_many(struct state *c, struct slot *t, size_t p, struct psr_ffa_found *found,
                             psr_err *err)
{
    const struct psr_ffa_search *s = c->s;
    float *snr = calloc(s->ntrial, sizeof *snr);
    int *width = calloc(s->ntrial, sizeof *width);
    psr_status st = snr && width ? PSR_OK : psr_fail_nomem(err, "trials", 8.0 * (double)s->ntrial);
    if (!st) {
        const cudaError_t e = fetch_trials(c, t, p, snr, width);
        st = e ? fail(c, e, "trials", err) : PSR_OK;
    }
    for (size_t i = 0; i < s->nfold && !st; i++)
        for (size_t k = s->fold[i].trial0;
             k < s->fold[i].trial0 + s->fold[i].s_hi - s->fold[i].s_lo; k++) {
            const struct ffa_k_hit hit = {k, (uint32_t)i, (uint32_t)width[k], snr[k], (uint32_t)p};
            if ((double)snr[k] > s->sigma && (st = add_hit(found, t->first, &hit, err)))
                break;
        }
    free(snr);
    free(width);
    return st;
}

/* Waits for a slot and takes its trials. */
static psr_status fetch(struct state *c, struct slot *t, struct psr_ffa_found *found, psr_err *err)
{
    if (!t->busy)
        return PSR_OK;
    t->busy = false;
    cudaError_t e = cudaStreamSynchronize(t->stream);
    if (e)
        return fail(c, e, "search", err);
    const size_t n = *t->h_nhit;
    psr_status st = PSR_OK;
    for (size_t p = 0; p < t->n && n > MOST_HITS && !st; p++)
        if (t->series[p].searched)
            st = fetch_many(c, t, p, found, err);
    if (st || n > MOST_HITS)
        return st;
    struct ffa_k_hit *hit = n ? malloc(n * sizeof *hit) : NULL;
    if (n && !hit)
        return psr_fail_nomem(err, "trials", (double)(n * sizeof *hit));
    if (n)
        e = cudaMemcpy(hit, t->d_hit, n * sizeof *hit, cudaMemcpyDeviceToHost);
    st = e ? fail(c, e, "trials", err) : PSR_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = add_hit(found, t->first, &hit[i], err);
    free(hit);
    return st;
}

/* --- the backend ------------------------------------------------------------------------------ */

static psr_status start_pair(struct state *c, struct slot *t, struct psr_ffa_found *found,
                             psr_err *err)
{
    cudaError_t e = sample_pair(c, t, &found->rms[t->first], &found->bad[t->first]);
    const bool some = !e && find_searched(t);
    if (some)
        e = fold_all(c, t, NULL);
    t->busy = some && !e;
    return e ? fail(c, e, "search", err) : PSR_OK;
}

static psr_status search_all(struct state *c, size_t nseries, const float *const *in,
                             struct psr_ffa_found *found, psr_err *err)
{
    struct slot *t = &c->slot[0], *next = &c->slot[1];
    cudaError_t e = cudaSetDevice(c->s->device);
    if (!e && nseries)
        e = send_pair(c, t, in, 0, nseries);
    if (e)
        return fail(c, e, "series", err);
    for (size_t first = 0; first < nseries; first += FFA_PAIR) {
        psr_status st;
        if (psr_is_stopped(&c->s->stop))
            return psr_fail(err, PSR_ESTOPPED, "search: stopped");
        if ((st = start_pair(c, t, found, err)) || (st = fetch(c, next, found, err)))
            return st;
        if (first + FFA_PAIR < nseries && (e = send_pair(c, next, in, first + FFA_PAIR, nseries)))
            return fail(c, e, "series", err);
        struct slot *was = t;
        t = next;
        next = was;
    }
    return nseries ? fetch(c, next, found, err) : PSR_OK;
}

static psr_status execute(void *state, size_t nseries, const float *const *in,
                          struct psr_ffa_found *found, psr_err *err)
{
    struct state *c = state;
    psr_status st = search_all(c, nseries, in, found, err);
    for (int i = 0; i < SLOTS; i++) {
        (void)cudaStreamSynchronize(c->slot[i].stream);
        c->slot[i].busy = false;
    }
    for (int i = 0; i < STREAMS; i++)
        (void)cudaStreamSynchronize(c->work[i]);
    return st;
}

static psr_status periodogram(void *state, const float *in, float *snr, int *width, psr_err *err)
{
    struct state *c = state;
    struct slot *t = &c->slot[0];
    double rms = 0;
    int64_t bad = -1;
    cudaError_t e = cudaSetDevice(c->s->device);
    if (!e && !(e = send_pair(c, t, &in, 0, 1)) && !(e = sample_pair(c, t, &rms, &bad)) &&
        find_searched(t))
        e = fetch_trials(c, t, 0, snr, width);
    return e ? fail(c, e, "trials", err) : PSR_OK;
}

static int64_t bytes(const void *state)
{
    return ((const struct state *)state)->bytes;
}

/* --- start and end ---------------------------------------------------------------------------- */

static cudaError_t take_series(struct state *c, struct series *x)
{
    const struct psr_ffa_search *s = c->s;
    const size_t level = 2 * (s->nsamp / PSR_FFA_BLOCK) * sizeof(float);
    TRY(psr_cuda_take_pinned(&x->h_x, s->nsamp * sizeof *x->h_x, &c->bytes));
    TRY(psr_cuda_take_pinned(&x->h_level, level, &c->bytes));
    TRY(psr_cuda_take_pinned(&x->h_bad, sizeof *x->h_bad, &c->bytes));
    TRY(psr_cuda_take(&x->d_x, s->nsamp * sizeof *x->d_x, &c->bytes));
    TRY(psr_cuda_take(&x->d_level, level, &c->bytes));
    return psr_cuda_take(&x->d_bad, sizeof *x->d_bad, &c->bytes);
}

/* Samples begin as 0: those of a series that is missing or not searched must be numbers, but no special ones. */
static cudaError_t take_slot(struct state *c, struct slot *t)
{
    const struct psr_ffa_search *s = c->s;
    const struct psr_ffa_cuda_plan *p = &c->plan;
    TRY(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&t->ready, cudaEventDisableTiming));
    for (int i = 0; i < STREAMS; i++)
        TRY(cudaEventCreateWithFlags(&t->done[i], cudaEventDisableTiming));
    for (int k = 0; k < FFA_PAIR; k++)
        TRY(take_series(c, &t->series[k]));
    TRY(psr_cuda_take_pinned(&t->h_nhit, sizeof *t->h_nhit, &c->bytes));
    TRY(psr_cuda_take(&t->d_nhit, sizeof *t->d_nhit, &c->bytes));
    TRY(psr_cuda_take(&t->d_hit, MOST_HITS * sizeof *t->d_hit, &c->bytes));
    TRY(psr_cuda_take(&t->d_prefix, (s->nsamp + 1) * sizeof *t->d_prefix, &c->bytes));
    TRY(psr_cuda_take(&t->d_scan, c->scan_bytes, &c->bytes));
    TRY(psr_cuda_take(&t->d_mean, p->npart * sizeof *t->d_mean, &c->bytes));
    TRY(psr_cuda_take(&t->d_median, p->npart * sizeof *t->d_median, &c->bytes));
    TRY(psr_cuda_take(&t->d_q, (p->nq + FFA_SLACK) * sizeof *t->d_q, &c->bytes));
    return cudaMemsetAsync(t->d_q, 0, (p->nq + FFA_SLACK) * sizeof *t->d_q, t->stream);
}

/* Rows are merged alike for all series. */
static cudaError_t make_tiles(struct state *c)
{
    TRY(psr_cuda_take(&c->d_tile, c->plan.tile_bytes, &c->bytes));
    for (const struct psr_ffa_group *g = c->plan.group; g < c->plan.group + c->plan.ngroup; g++)
        for (size_t i = 0; i < g->nsweep; i++) {
            const uint32_t *d_block = c->d_number + g->number0[i];
            const struct ffa_k_tiles t = {
                .sweep = g->sweep[i],
                .rate = i + 1 == g->nsweep,
                .d_fold = c->d_fold + g->fold0,
                .d_first = d_block + g->nfold + 1,
                .nfold = (uint32_t)g->nfold,
                .ntile = g->ntile[i],
                .d_tile = c->d_tile + g->tile0[i],
            };
            TRY(ffa_k_make_tiles(&t, c->work[0]));
        }
    return cudaStreamSynchronize(c->work[0]);
}

/* Room for so many gaps, a power of two. */
static cudaError_t take_gaps(struct state *c)
{
    const size_t each = sizeof *c->d_gap;
    if (c->s->ngap <= c->gap_room)
        return cudaSuccess;
    cudaFree(c->d_gap);
    c->d_gap = NULL;
    c->bytes -= (int64_t)(c->gap_room * each);
    c->gap_room = 0;
    size_t room = 1;
    while (room < c->s->ngap)
        room *= 2;
    TRY(psr_cuda_take(&c->d_gap, room * each, &c->bytes));
    c->gap_room = room;
    return cudaSuccess;
}

static cudaError_t send_gaps(struct state *c)
{
    const struct psr_ffa_search *s = c->s;
    struct ffa_k_gap *gap = malloc(s->ngap * sizeof *gap);
    if (!gap)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < s->ngap; i++)
        gap[i] = (struct ffa_k_gap){(uint64_t)s->gap[i].first, (uint64_t)s->gap[i].count,
                                    i ? gap[i - 1].before + gap[i - 1].count : 0};
    cudaError_t e = take_gaps(c);
    if (!e)
        e = psr_cuda_send(c->d_gap, gap, s->ngap * sizeof *gap);
    free(gap);
    return e;
}

/* Which samples there are is the same for all series. */
static cudaError_t count_samples(struct state *c)
{
    const size_t bytes = (c->plan.nq + FFA_SLACK) * sizeof *c->d_count;
    TRY(send_gaps(c));
    TRY(cudaMemsetAsync(c->d_count, 0, bytes, c->work[0]));
    const struct ffa_k_series k = series_of(c, &c->slot[0], 0);
    TRY(ffa_k_count(&k, c->d_count, c->work[0]));
    return cudaStreamSynchronize(c->work[0]);
}

static cudaError_t make_counts(struct state *c)
{
    for (int i = 0; i < STREAMS; i++)
        for (int k = 0; k < 2; k++)
            TRY(psr_cuda_take(&c->d_count_sums[i][k], c->plan.sums * sizeof(uint32_t), &c->bytes));
    TRY(psr_cuda_take(&c->d_count, (c->plan.nq + FFA_SLACK) * sizeof *c->d_count, &c->bytes));
    return count_samples(c);
}

static psr_status replace_gaps(void *state, psr_err *err)
{
    struct state *c = state;
    cudaError_t e = cudaSetDevice(c->s->device);
    if (!e)
        e = cudaDeviceSynchronize();
    if (!e)
        e = count_samples(c);
    return e ? fail(c, e, "gaps", err) : PSR_OK;
}

static cudaError_t take_all(struct state *c)
{
    const struct psr_ffa_search *s = c->s;
    const struct psr_ffa_cuda_plan *p = &c->plan;
    TRY(ffa_k_scan_bytes(s->nsamp, &c->scan_bytes));
    TRY(psr_cuda_upload(&c->d_step, p->step, s->nstep * sizeof *p->step, &c->bytes));
    TRY(psr_cuda_upload(&c->d_fold, p->fold, s->nfold * sizeof *p->fold, &c->bytes));
    TRY(psr_cuda_upload(&c->d_number, p->number, p->nnumber * sizeof *p->number, &c->bytes));
    TRY(psr_cuda_upload(&c->d_gain, p->gain, s->nfold * 2 * FFA_MAX_WIDTHS * sizeof *p->gain,
                        &c->bytes));
    for (int i = 0; i < STREAMS; i++) {
        TRY(cudaStreamCreateWithFlags(&c->work[i], cudaStreamNonBlocking));
        for (int k = 0; k < 2; k++)
            TRY(psr_cuda_take(&c->d_sums[i][k], p->sums * sizeof(uint32_t), &c->bytes));
    }
    for (int i = 0; i < SLOTS; i++)
        TRY(take_slot(c, &c->slot[i]));
    if (s->ngap)
        TRY(make_counts(c));
    return make_tiles(c);
}

static void free_slot(struct slot *t)
{
    void *const d[] = {t->d_nhit, t->d_hit, t->d_prefix, t->d_scan, t->d_mean, t->d_median, t->d_q};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        cudaFree(d[i]);
    psr_device_unpin(t->h_nhit);
    for (struct series *x = t->series; x < t->series + FFA_PAIR; x++) {
        void *const on_device[] = {x->d_x, x->d_level, x->d_bad}, *const pinned[] = {
                                                                      x->h_x, x->h_level, x->h_bad};
        for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
            cudaFree(on_device[i]);
            psr_device_unpin(pinned[i]);
        }
    }
    if (t->stream)
        cudaStreamDestroy(t->stream);
    if (t->ready)
        cudaEventDestroy(t->ready);
    for (int i = 0; i < STREAMS; i++)
        if (t->done[i])
            cudaEventDestroy(t->done[i]);
}

static void free_device(struct state *c)
{
    cudaSetDevice(c->s->device);
    for (int i = 0; i < SLOTS; i++)
        free_slot(&c->slot[i]);
    for (int i = 0; i < STREAMS; i++) {
        cudaFree(c->d_sums[i][0]);
        cudaFree(c->d_sums[i][1]);
        cudaFree(c->d_count_sums[i][0]);
        cudaFree(c->d_count_sums[i][1]);
        if (c->work[i])
            cudaStreamDestroy(c->work[i]);
    }
    cudaFree(c->d_step);
    cudaFree(c->d_fold);
    cudaFree(c->d_number);
    cudaFree(c->d_tile);
    cudaFree(c->d_gain);
    cudaFree(c->d_gap);
    cudaFree(c->d_count);
    cudaFree(c->d_snr);
    cudaFree(c->d_width);
}

static void destroy(void *state)
{
    struct state *c = state;
    if (c->started)
        free_device(c);
    psr_ffa_cuda_plan_free(&c->plan);
    free(c);
}

static psr_status start(struct state *c, psr_err *err)
{
    psr_status st = psr_cuda_check_sm(c->s->device, OLDEST_SM, err);
    if (st)
        return st;
    cudaError_t e = cudaSetDevice(c->s->device);
    if (e)
        return fail(c, e, "search", err);
    c->started = true;
    if ((st = psr_ffa_cuda_plan_make(&c->plan, c->s, err)))
        return st;
    e = take_all(c);
    return e ? fail(c, e, "memory", err) : PSR_OK;
}

/* Leaves nothing behind where it fails, so that another backend can be tried. */
static psr_status create(void **state, const struct psr_ffa_search *s, psr_err *err)
{
    struct state *c = calloc(1, sizeof *c);
    *state = NULL;
    if (!c)
        return psr_fail_nomem(err, "a search", sizeof *c);
    c->s = s;
    c->sigma = (float)s->sigma;
    if ((double)c->sigma > s->sigma)
        c->sigma = nextafterf(c->sigma, -INFINITY);
    psr_status st = start(c, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

const struct psr_ffa_ops psr_ffa_cuda = {"cuda",       create, execute, periodogram,
                                         replace_gaps, bytes,  destroy};
