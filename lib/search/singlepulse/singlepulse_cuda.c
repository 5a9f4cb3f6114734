/* The single-pulse search on a CUDA device: a share's rings, and what to do when samples come.
 *
 * A push enqueues everything behind the kernels that make the samples and comes back at once; how
 * many pieces are loud is known, and they are fetched, when the next push begins. */
#include "singlepulse_internal.h"

#include "base/device/cuda_call.h"
#include "base/tool.h"

#include <singlepulse/singlepulse_kernels.h>
#include <stdlib.h>
#include <string.h>

enum {
    PUSH = 16384,       /* samples at once, at least where there is memory */
    PUSH_MOST = 131072, /* and at most */
    /* Pieces of the rings beside those of one push: samples wait for the search, and of the piece
     * before the first of them boxcars reach into the next; figures are those of a window, too. */
    BEHIND = PULSE_TO_SEARCH + 4,
    FIGURES_BEHIND = PULSE_KEPT,
    SPLICES = 1024, /* room for so many, and one more for every so many samples of a push */
    PER_SPLICE = 32,
    LOUD_ROOM = 4096, /* more pieces are fetched some series at a time */
};

struct pulse_cuda {
    int device;
    cudaStream_t stream, fetch; /* the series' own, which is not ours; of copies to the host */
    cudaEvent_t began, searched;
    struct pulse_k_ring ring;
    struct pulse_scale scale;
    int64_t *d_sweep;
    struct pulse_k_splice *d_splice, *splice; /* [nsplice] */
    size_t nsplice;
    float *d_prev; /* [nseries] the last sample that came, before resampling */
    struct pulse_k_stage
        search; /* what was enqueued last; no pieces once that has been collected */
    struct pulse_k_gather gather;
    unsigned *h_count;
    struct pulse_loud *loud; /* [LOUD_ROOM] */
    float *z;                /* [LOUD_ROOM][maxwidth - 1 + length] */
    size_t push;
    int64_t nmeasured, ntied, nramp, nsmooth, nsum, nsearched; /* pieces that have gone so far */
    double busy_ms;
};

/* --- memory ----------------------------------------------------------------------------------- */

static void free_ring(struct pulse_cuda *c)
{
    cudaFree(c->ring.d_x);
    cudaFree(c->ring.d_figure);
    cudaFree(c->ring.d_note);
    c->ring.d_x = NULL;
    c->ring.d_figure = NULL;
    c->ring.d_note = NULL;
}

static cudaError_t take_ring(struct pulse_cuda *c)
{
    struct pulse_k_ring *r = &c->ring;
    size_t length = (size_t)r->length, figure = sizeof *r->d_figure;
    r->npiece = (int32_t)(c->push / length) + BEHIND;
    r->nfigure = (int32_t)(c->push / length) + FIGURES_BEHIND;
    size_t figures = r->nseries * (size_t)r->nfigure;
    TRY(cudaMalloc((void **)&r->d_x, r->nseries * (size_t)r->npiece * length * sizeof *r->d_x));
    TRY(cudaMalloc((void **)&r->d_figure, figures * figure));
    TRY(cudaMalloc((void **)&r->d_note, figures));
    /* Whole structs are copied, with their padding, which must be initialised. */
    return cudaMemsetAsync(r->d_figure, 0, figures * figure, c->stream);
}

/* Rings for pushes as large as there is memory for. */
static cudaError_t make_ring(struct pulse_cuda *c)
{
    cudaError_t e = cudaErrorMemoryAllocation;
    size_t most = c->push < PUSH ? PUSH : c->push < PUSH_MOST ? c->push : PUSH_MOST;
    for (c->push = most; e == cudaErrorMemoryAllocation && c->push >= 64; c->push /= 2) {
        e = take_ring(c);
        if (e != cudaErrorMemoryAllocation)
            break;
        (void)cudaGetLastError();
        free_ring(c);
    }
    c->nsplice = SPLICES + c->push / PER_SPLICE;
    return e ? e : cudaMalloc((void **)&c->d_splice, c->nsplice * sizeof *c->d_splice);
}

/* Of one loud piece, and before it. */
static size_t samples_of_loud(const struct pulse_cuda *c)
{
    return (size_t)c->scale.maxwidth - 1 + (size_t)c->ring.length;
}

static cudaError_t make_rest(struct pulse_cuda *c, const struct pulse_partition *s)
{
    TRY(cudaStreamCreateWithFlags(&c->fetch, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&c->began));
    TRY(cudaEventCreate(&c->searched));
    TRY(cudaMalloc((void **)&c->d_sweep, s->nseries * sizeof *c->d_sweep));
    TRY(cudaMalloc((void **)&c->d_prev, s->nseries * sizeof *c->d_prev));
    TRY(cudaMemsetAsync(c->d_prev, 0, s->nseries * sizeof *c->d_prev, c->stream));
    TRY(cudaMalloc((void **)&c->gather.d_loud, LOUD_ROOM * sizeof *c->gather.d_loud));
    TRY(cudaMalloc((void **)&c->gather.d_z, LOUD_ROOM * samples_of_loud(c) * sizeof *c->z));
    TRY(cudaMalloc((void **)&c->gather.d_count, sizeof *c->gather.d_count));
    TRY(cudaMallocHost((void **)&c->h_count, sizeof *c->h_count));
    int64_t *sweep = calloc(s->nseries, sizeof *sweep);
    if (!sweep)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < s->nseries; i++)
        sweep[i] = (int64_t)s->sweep[i];
    cudaError_t e = psr_cuda_send(c->d_sweep, sweep, s->nseries * sizeof *sweep);
    free(sweep);
    return e;
}

static void cuda_destroy(void *state)
{
    struct pulse_cuda *c = state;
    if (!c)
        return;
    (void)cudaSetDevice(c->device);
    (void)cudaStreamSynchronize(c->stream);
    free_ring(c);
    cudaFree(c->d_sweep);
    cudaFree(c->d_splice);
    cudaFree(c->d_prev);
    cudaFree(c->gather.d_loud);
    cudaFree(c->gather.d_z);
    cudaFree(c->gather.d_count);
    cudaFreeHost(c->h_count);
    if (c->began)
        cudaEventDestroy(c->began);
    if (c->searched)
        cudaEventDestroy(c->searched);
    if (c->fetch)
        cudaStreamDestroy(c->fetch);
    free(c->loud);
    free(c->z);
    free(c->splice);
    free(c);
}

static psr_status cuda_create(void **state, const struct pulse_partition *s, psr_err *err)
{
    struct pulse_cuda *c = calloc(1, sizeof *c);
    *state = c;
    if (!c)
        return psr_fail_nomem(err, "a single-pulse search", sizeof *c);
    c->device = s->device;
    c->stream = s->stream;
    c->push = s->block;
    c->ring.nseries = s->nseries;
    c->ring.length = (int32_t)s->length;
    c->scale = *s->scale;
    c->gather.maxwidth = c->scale.maxwidth;
    c->gather.nwidth = c->scale.nwidth;
    c->gather.threshold = s->threshold;
    c->gather.room = LOUD_ROOM;
    cudaError_t e = cudaSetDevice(c->device);
    if (e || (e = make_rest(c, s)) || (e = make_ring(c)))
        return psr_cuda_fail(c->device, e, "memory for the single-pulse search", err);
    c->loud = calloc(LOUD_ROOM, sizeof *c->loud);
    c->z = malloc(LOUD_ROOM * samples_of_loud(c) * sizeof *c->z);
    c->splice = calloc(c->nsplice, sizeof *c->splice);
    if (!c->loud || !c->z || !c->splice)
        return psr_fail_nomem(err, "single-pulse hits",
                              (double)LOUD_ROOM * (double)samples_of_loud(c) * sizeof *c->z);
    return PSR_OK;
}

static size_t cuda_room(const void *state)
{
    const struct pulse_cuda *c = state;
    return c->push;
}

/* --- the search ------------------------------------------------------------------------------- */

/* Copies the samples of a chunk, from number "from" on, into the ring. */
static cudaError_t copy_samples(struct pulse_cuda *c, const struct pulse_chunk *k, size_t from)
{
    const struct pulse_k_ring *r = &c->ring;
    size_t room = (size_t)r->npiece * (size_t)r->length, size = sizeof *k->d_x, n = k->n - from;
    size_t at = (size_t)((k->pos + (int64_t)from) % (int64_t)room), head = room - at;
    head = n < head ? n : head;
    if (head)
        TRY(cudaMemcpy2DAsync(r->d_x + at, room * size, k->d_x + from, k->stride * size,
                              head * size, r->nseries, cudaMemcpyDeviceToDevice, c->stream));
    if (head < n)
        TRY(cudaMemcpy2DAsync(r->d_x, room * size, k->d_x + from + head, k->stride * size,
                              (n - head) * size, r->nseries, cudaMemcpyDeviceToDevice, c->stream));
    return cudaSuccess;
}

static cudaError_t splice_samples(struct pulse_cuda *c, const struct pulse_chunk *k)
{
    /* The places of the runs of samples between bins. */
    struct pulse_k_splice *list = c->splice;
    const size_t room = c->nsplice;
    size_t n = 1;
    uint32_t made = 0, taken = 0;
    list[0] = (struct pulse_k_splice){0};
    for (size_t b = 0; b < k->nbin && n + 2 < room; b++) {
        uint32_t at = (uint32_t)(k->bin[b].at - k->at0);
        made += at - taken;
        taken = at;
        if (k->bin[b].step > 0)
            list[n++] = (struct pulse_k_splice){made++, at, 1};
        else
            taken++;
        list[n++] = (struct pulse_k_splice){made, taken, 0};
    }
    TRY(cudaMemcpyAsync(c->d_splice, c->splice, n * sizeof *c->splice, cudaMemcpyHostToDevice,
                        c->stream));
    TRY(pulse_k_resample(&c->ring, k->d_x, k->stride, c->d_splice, n, c->d_prev, k->pos, k->nout,
                         c->stream));
    return cudaMemcpy2DAsync(c->d_prev, sizeof *c->d_prev, k->d_x + (k->n - 1),
                             k->stride * sizeof *c->d_prev, sizeof *c->d_prev, c->ring.nseries,
                             cudaMemcpyDeviceToDevice, c->stream);
}

/* Samples that stay as they are go into the ring as their pieces are measured, but for those of the
 * piece that waits for more.  Returned: *from, where measuring finds them */
static cudaError_t take_samples(struct pulse_cuda *c, const struct pulse_chunk *k,
                                struct pulse_k_source *from)
{
    int64_t end = k->pos + (int64_t)k->nout, whole = end - end % c->ring.length;
    *from = (struct pulse_k_source){0};
    if (!k->bin && !k->nmask) {
        *from = (struct pulse_k_source){.d_x = k->d_x, .stride = k->stride, .pos = k->pos};
        return copy_samples(c, k, whole > k->pos ? (size_t)(whole - k->pos) : 0);
    }
    TRY(k->bin ? splice_samples(c, k) : copy_samples(c, k, 0));
    for (size_t m = 0; m < k->nmask; m++)
        TRY(pulse_k_blank(&c->ring, c->d_sweep, k->mask[m].first,
                          k->mask[m].first + k->mask[m].count, k->pos, (int64_t)k->nout,
                          c->stream));
    return cudaSuccess;
}

/* What a step is to do once pieces up to "last" are measured: the next pieces that have "ahead" of them,
 * or all. */
static struct pulse_k_stage next_stage(int64_t *done, int64_t last, int32_t n, int ahead,
                                       bool ended)
{
    int64_t end = ended ? last + 1 : last + 1 - ahead, from = *done;
    *done = end > from ? end : from;
    return (struct pulse_k_stage){
        .k = from, .npiece = (size_t)(*done - from), .last = last, .n = n};
}

/* Pieces of which the samples before "end" are the last.  Returned: *last, and *n, its samples */
static cudaError_t measure_pieces(struct pulse_cuda *c, const struct pulse_k_source *from,
                                  int64_t end, bool ended, int64_t *last, int32_t *n)
{
    const struct pulse_k_ring *r = &c->ring;
    int64_t whole = end / r->length, rest = end % r->length;
    TRY(pulse_k_measure(r, from, c->nmeasured, (size_t)(whole - c->nmeasured), (size_t)r->length,
                        c->stream));
    c->nmeasured = whole;
    *last = whole - 1;
    *n = r->length;
    if (!ended || !rest)
        return cudaSuccess;
    *last = whole;
    *n = (int32_t)rest;
    return pulse_k_measure(r, from, whole, 1, (size_t)rest, c->stream);
}

static cudaError_t run_gather(struct pulse_cuda *c, size_t i0, size_t nseries)
{
    c->gather.i0 = i0;
    c->gather.nseries = nseries;
    TRY(pulse_k_gather(&c->ring, &c->search, &c->gather, c->stream));
    TRY(cudaMemcpyAsync(c->h_count, c->gather.d_count, sizeof *c->h_count, cudaMemcpyDeviceToHost,
                        c->stream));
    return cudaEventRecord(c->searched, c->stream);
}

/* All steps, as far as the samples before "end" allow. */
static cudaError_t search_pieces(struct pulse_cuda *c, const struct pulse_k_source *from,
                                 int64_t end, bool ended)
{
    const struct pulse_k_ring *r = &c->ring;
    struct pulse_k_stage s;
    int64_t last;
    int32_t n;
    TRY(measure_pieces(c, from, end, ended, &last, &n));
    s = next_stage(&c->ntied, last, n, PULSE_REACH, ended);
    TRY(pulse_k_baseline_nodes(r, &s, c->stream));
    s = next_stage(&c->nramp, last, n, PULSE_TO_RAMP, ended);
    TRY(pulse_k_rest(r, &s, c->stream));
    s = next_stage(&c->nsmooth, last, n, PULSE_TO_SMOOTH, ended);
    TRY(pulse_k_smooth(r, &s, c->stream));
    s = next_stage(&c->nsum, last, n, PULSE_TO_FLATTEN, ended);
    TRY(pulse_k_lengths(r, &s, c->scale.fixed, c->stream));
    TRY(pulse_k_add_up(r, &s, &c->scale, c->stream));
    c->search = next_stage(&c->nsearched, last, n, PULSE_TO_SEARCH, ended);
    TRY(pulse_k_norms(r, &c->search, &c->scale, c->stream));
    return c->search.npiece ? run_gather(c, 0, r->nseries) : cudaSuccess;
}

static cudaError_t take_chunk(struct pulse_cuda *c, const struct pulse_chunk *k)
{
    struct pulse_k_source from;
    TRY(cudaSetDevice(c->device));
    TRY(cudaEventRecord(c->began, c->stream));
    TRY(take_samples(c, k, &from));
    return search_pieces(c, &from, k->pos + (int64_t)k->nout, false);
}

static psr_status cuda_push(void *state, const struct pulse_chunk *chunk, psr_err *err)
{
    struct pulse_cuda *c = state;
    cudaError_t e = take_chunk(c, chunk);
    return e ? psr_cuda_fail(c->device, e, "single-pulse search", err) : PSR_OK;
}

static psr_status cuda_finish(void *state, int64_t end, psr_err *err)
{
    struct pulse_cuda *c = state;
    const struct pulse_k_source none = {0};
    cudaError_t e = cudaSetDevice(c->device);
    if (e || (e = cudaEventRecord(c->began, c->stream)) || (e = search_pieces(c, &none, end, true)))
        return psr_cuda_fail(c->device, e, "single-pulse search", err);
    return PSR_OK;
}

/* --- loud pieces ------------------------------------------------------------------------------ */

PSR_COMPARE(by_series, struct pulse_loud, PSR_THEN(PSR_RISING(series), PSR_RISING(piece)));

static cudaError_t add_time(struct pulse_cuda *c)
{
    float ms;
    TRY(cudaEventElapsedTime(&ms, c->began, c->searched));
    c->busy_ms += (double)ms;
    return cudaSuccess;
}

/* The loud pieces of the next series; all at once where there is room for that. */
static cudaError_t fetch_loud(struct pulse_cuda *c, size_t *from, size_t *n)
{
    size_t nseries = c->ring.nseries - *from;
    TRY(cudaSetDevice(c->device));
    TRY(cudaEventSynchronize(c->searched));
    if (!*from)
        TRY(add_time(c));
    if (*from || *c->h_count > LOUD_ROOM) {
        size_t some = LOUD_ROOM / c->search.npiece;
        nseries = nseries < some ? nseries : some;
        TRY(run_gather(c, *from, nseries));
        TRY(cudaEventSynchronize(c->searched));
    }
    *from += nseries;
    *n = *c->h_count;
    TRY(cudaMemcpyAsync(c->loud, c->gather.d_loud, *n * sizeof *c->loud, cudaMemcpyDeviceToHost,
                        c->fetch));
    TRY(cudaMemcpyAsync(c->z, c->gather.d_z, *n * samples_of_loud(c) * sizeof *c->z,
                        cudaMemcpyDeviceToHost, c->fetch));
    return cudaStreamSynchronize(c->fetch);
}

static psr_status cuda_collect(void *state, size_t *from, struct pulse_found *found, bool *more,
                               psr_err *err)
{
    struct pulse_cuda *c = state;
    *found = (struct pulse_found){.loud = c->loud, .z = c->z};
    *more = false;
    if (!c->search.npiece)
        return PSR_OK;
    cudaError_t e = fetch_loud(c, from, &found->n);
    if (e)
        return psr_cuda_fail(c->device, e, "single-pulse search", err);
    qsort(c->loud, found->n, sizeof *c->loud, by_series);
    *more = *from < c->ring.nseries;
    if (!*more)
        c->search.npiece = 0;
    return PSR_OK;
}

static double cuda_seconds(const void *state)
{
    const struct pulse_cuda *c = state;
    return c->busy_ms * 1e-3;
}

const struct psr_pulse_device_ops psr_pulse_cuda = {
    .create = cuda_create,
    .room = cuda_room,
    .push = cuda_push,
    .finish = cuda_finish,
    .collect = cuda_collect,
    .seconds = cuda_seconds,
    .destroy = cuda_destroy,
};
