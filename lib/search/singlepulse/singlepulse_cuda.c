/* The single-pulse search on a CUDA device: a share's rings, and what to do when samples come.
 *
 * A push enqueues everything behind the kernels that make the samples and comes back at once; how
 * many hits there are is known, and they are fetched, when the next push begins. */
#include "pulse_device.h"

#include "base/cuda_call.h"

#include <singlepulse_kernels.h>
#include <stdlib.h>
#include <string.h>

enum {
    PUSH = 16384,       /* samples at once, at least where there is memory */
    PUSH_MOST = 131072, /* and at most */
    BEHIND = 12,        /* pieces of a ring beside those of one push */
    SPLICES = 1024,     /* room for so many, and one more for every so many samples of a push */
    PER_SPLICE = 32,
    HIT_ROOM = 1 << 20, /* more hits are fetched some series at a time */
};

struct pulse_cuda {
    int device;
    cudaStream_t stream, fetch; /* the series' own, which is not ours; of copies to the host */
    cudaEvent_t began, searched;
    struct pulse_k_ring ring;
    int64_t *d_sweep;
    struct pulse_k_splice *d_splice, *splice; /* [nsplice] */
    size_t nsplice;
    float *d_prev;                /* [nseries] the last sample that came, before resampling */
    struct pulse_k_search search; /* what was enqueued last; n is 0 once that has been collected */
    struct pulse_k_count *h_count;
    struct pulse_run *run; /* [run_room] */
    struct pulse_device_hit *hit;
    size_t push, run_room;
    int64_t nmeasured, ntied, nramp; /* pieces that have figures, nodes, ramps */
    int64_t nsearched;               /* centres */
    double busy_ms;
};

/* --- memory ----------------------------------------------------------------------------------- */

static void free_ring(struct pulse_cuda *c)
{
    cudaFree(c->ring.d_x);
    cudaFree(c->ring.d_piece);
    cudaFree(c->ring.d_node);
    cudaFree(c->ring.d_ramp);
    cudaFree(c->search.d_run);
    c->ring.d_x = NULL;
    c->ring.d_piece = NULL;
    c->ring.d_node = NULL;
    c->ring.d_ramp = NULL;
    c->search.d_run = NULL;
}

static cudaError_t take_ring(struct pulse_cuda *c)
{
    struct pulse_k_ring *r = &c->ring;
    r->npiece = (int32_t)(c->push / (size_t)r->length) + BEHIND;
    size_t pieces = r->nseries * (size_t)r->npiece;
    /* What the end of the stream leaves to be searched is more than a push. */
    size_t most = c->push + BEHIND * (size_t)r->length;
    c->run_room = r->nseries * pulse_k_tiles(most, c->search.maxwidth);
    TRY(cudaMalloc((void **)&r->d_x, pieces * (size_t)r->length * sizeof *r->d_x));
    TRY(cudaMalloc((void **)&r->d_piece, pieces * sizeof *r->d_piece));
    TRY(cudaMalloc((void **)&r->d_node, pieces * sizeof *r->d_node));
    TRY(cudaMalloc((void **)&r->d_ramp, 2 * pieces * sizeof *r->d_ramp));
    /* Whole structs are read, the gaps in them too. */
    TRY(cudaMemsetAsync(r->d_node, 0, pieces * sizeof *r->d_node, c->stream));
    TRY(cudaMemsetAsync(r->d_ramp, 0, 2 * pieces * sizeof *r->d_ramp, c->stream));
    return cudaMalloc((void **)&c->search.d_run, c->run_room * sizeof *c->search.d_run);
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

static cudaError_t make_rest(struct pulse_cuda *c, const struct pulse_partition *s)
{
    TRY(cudaStreamCreateWithFlags(&c->fetch, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&c->began));
    TRY(cudaEventCreate(&c->searched));
    TRY(cudaMalloc((void **)&c->d_sweep, s->nseries * sizeof *c->d_sweep));
    TRY(cudaMalloc((void **)&c->d_prev, s->nseries * sizeof *c->d_prev));
    TRY(cudaMemsetAsync(c->d_prev, 0, s->nseries * sizeof *c->d_prev, c->stream));
    TRY(cudaMalloc((void **)&c->search.d_hit, HIT_ROOM * sizeof *c->search.d_hit));
    TRY(cudaMalloc((void **)&c->search.d_count, sizeof *c->search.d_count));
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

static void set_search(struct pulse_cuda *c, const struct pulse_partition *s)
{
    int n = 0;
    c->search.maxwidth = (int32_t)s->maxwidth;
    c->search.threshold = s->threshold;
    c->search.hit_room = HIT_ROOM;
#define SET_NORM(width, a, b, searched) c->search.norm[n++] = (float)(1 / sqrt((double)(width)));
    PULSE_RECIPES(SET_NORM)
#undef SET_NORM
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
    cudaFree(c->search.d_hit);
    cudaFree(c->search.d_count);
    cudaFreeHost(c->h_count);
    if (c->began)
        cudaEventDestroy(c->began);
    if (c->searched)
        cudaEventDestroy(c->searched);
    if (c->fetch)
        cudaStreamDestroy(c->fetch);
    free(c->run);
    free(c->hit);
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
    set_search(c, s);
    cudaError_t e = cudaSetDevice(c->device);
    if (e || (e = make_rest(c, s)) || (e = make_ring(c)))
        return psr_cuda_fail(c->device, e, "memory for the single-pulse search", err);
    c->run = calloc(c->run_room, sizeof *c->run);
    c->hit = calloc(HIT_ROOM, sizeof *c->hit);
    c->splice = calloc(c->nsplice, sizeof *c->splice);
    if (!c->run || !c->hit || !c->splice)
        return psr_fail_nomem(err, "single-pulse hits",
                              (double)c->run_room * sizeof *c->run + HIT_ROOM * sizeof *c->hit);
    return PSR_OK;
}

static size_t cuda_room(const void *state)
{
    const struct pulse_cuda *c = state;
    return c->push;
}

/* --- the search ------------------------------------------------------------------------------- */

static cudaError_t copy_samples(struct pulse_cuda *c, const struct pulse_chunk *k)
{
    const struct pulse_k_ring *r = &c->ring;
    size_t room = (size_t)r->npiece * (size_t)r->length, at = (size_t)(k->pos % (int64_t)room);
    size_t head = k->n < room - at ? k->n : room - at, size = sizeof *k->d_x;
    TRY(cudaMemcpy2DAsync(r->d_x + at, room * size, k->d_x, k->stride * size, head * size,
                          r->nseries, cudaMemcpyDeviceToDevice, c->stream));
    if (head < k->n)
        TRY(cudaMemcpy2DAsync(r->d_x, room * size, k->d_x + head, k->stride * size,
                              (k->n - head) * size, r->nseries, cudaMemcpyDeviceToDevice,
                              c->stream));
    return cudaSuccess;
}

/* Where runs of samples go between bins. */
static size_t list_splices(const struct pulse_chunk *k, struct pulse_k_splice *list, size_t room)
{
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
    return n;
}

static cudaError_t splice_samples(struct pulse_cuda *c, const struct pulse_chunk *k)
{
    size_t n = list_splices(k, c->splice, c->nsplice);
    TRY(cudaMemcpyAsync(c->d_splice, c->splice, n * sizeof *c->splice, cudaMemcpyHostToDevice,
                        c->stream));
    TRY(pulse_k_resample(&c->ring, k->d_x, k->stride, c->d_splice, n, c->d_prev, k->pos, k->nout,
                         c->stream));
    return cudaMemcpy2DAsync(c->d_prev, sizeof *c->d_prev, k->d_x + (k->n - 1),
                             k->stride * sizeof *c->d_prev, sizeof *c->d_prev, c->ring.nseries,
                             cudaMemcpyDeviceToDevice, c->stream);
}

static cudaError_t take_samples(struct pulse_cuda *c, const struct pulse_chunk *k)
{
    TRY(k->bin ? splice_samples(c, k) : copy_samples(c, k));
    for (size_t m = 0; m < k->nmask; m++)
        TRY(pulse_k_blank(&c->ring, c->d_sweep, k->mask[m].first,
                          k->mask[m].first + k->mask[m].count, k->pos, (int64_t)k->nout,
                          c->stream));
    return cudaSuccess;
}

/* Figures, nodes and ramps of what the samples before "end" complete. */
static cudaError_t level_pieces(struct pulse_cuda *c, int64_t end, bool ended)
{
    const struct pulse_k_ring *r = &c->ring;
    int64_t whole = end / r->length, rest = end % r->length, last = whole - 1;
    TRY(pulse_k_measure(r, c->nmeasured, (size_t)(whole - c->nmeasured), (size_t)r->length,
                        c->stream));
    c->nmeasured = whole;
    if (ended && rest) {
        TRY(pulse_k_measure(r, whole, 1, (size_t)rest, c->stream));
        last = whole;
    }
    int64_t tied = ended ? last + 1 : whole - PULSE_REACH;
    if (tied > c->ntied) {
        TRY(pulse_k_baseline_nodes(r, c->ntied, (size_t)(tied - c->ntied), last, c->stream));
        c->ntied = tied;
    }
    int64_t ramp = ended ? last + 1 : whole - PULSE_REACH - 1;
    if (ramp > c->nramp) {
        TRY(pulse_k_ramps(r, c->nramp, (size_t)(ramp - c->nramp), last, c->stream));
        c->nramp = ramp;
    }
    return cudaSuccess;
}

static cudaError_t run_search(struct pulse_cuda *c, size_t i0, size_t nseries)
{
    struct pulse_k_search *s = &c->search;
    s->i0 = i0;
    s->nseries = nseries;
    TRY(pulse_k_best(&c->ring, s, c->stream));
    TRY(cudaMemcpyAsync(c->h_count, s->d_count, sizeof *c->h_count, cudaMemcpyDeviceToHost,
                        c->stream));
    return cudaEventRecord(c->searched, c->stream);
}

/* Every centre whose boxcars lie within samples that are flat. */
static cudaError_t search_centres(struct pulse_cuda *c, int64_t end, bool ended)
{
    struct pulse_k_search *s = &c->search;
    int64_t width = s->maxwidth, flat = ended ? end : c->nramp * c->ring.length;
    int64_t upto = ended ? end : flat - (width - width / 2) + 1;
    s->c0 = c->nsearched;
    s->end = flat;
    s->n = upto > c->nsearched ? (size_t)(upto - c->nsearched) : 0;
    c->nsearched += (int64_t)s->n;
    return s->n ? run_search(c, 0, c->ring.nseries) : cudaSuccess;
}

static cudaError_t take_chunk(struct pulse_cuda *c, const struct pulse_chunk *k)
{
    TRY(cudaSetDevice(c->device));
    TRY(cudaEventRecord(c->began, c->stream));
    TRY(take_samples(c, k));
    TRY(level_pieces(c, k->pos + (int64_t)k->nout, false));
    return search_centres(c, k->pos + (int64_t)k->nout, false);
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
    cudaError_t e = cudaSetDevice(c->device);
    if (e || (e = cudaEventRecord(c->began, c->stream)) || (e = level_pieces(c, end, true)) ||
        (e = search_centres(c, end, true)))
        return psr_cuda_fail(c->device, e, "single-pulse search", err);
    return PSR_OK;
}

/* --- hits ------------------------------------------------------------------------------------- */

static int by_series(const void *pa, const void *pb)
{
    const struct pulse_run *a = pa, *b = pb;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static cudaError_t add_time(struct pulse_cuda *c)
{
    float ms;
    TRY(cudaEventElapsedTime(&ms, c->began, c->searched));
    c->busy_ms += (double)ms;
    return cudaSuccess;
}

/* The hits of the next series; all at once where there is room for that. */
static cudaError_t fetch_hits(struct pulse_cuda *c, size_t *from)
{
    const struct pulse_k_search *s = &c->search;
    size_t nseries = c->ring.nseries - *from;
    TRY(cudaSetDevice(c->device));
    TRY(cudaEventSynchronize(c->searched));
    if (!*from)
        TRY(add_time(c));
    if (*from || c->h_count->nhit > HIT_ROOM) {
        size_t some = HIT_ROOM / s->n;
        nseries = nseries < some ? nseries : some;
        TRY(run_search(c, *from, nseries));
        TRY(cudaEventSynchronize(c->searched));
    }
    *from += nseries;
    TRY(cudaMemcpyAsync(c->run, s->d_run, c->h_count->nrun * sizeof *c->run, cudaMemcpyDeviceToHost,
                        c->fetch));
    TRY(cudaMemcpyAsync(c->hit, s->d_hit, c->h_count->nhit * sizeof *c->hit, cudaMemcpyDeviceToHost,
                        c->fetch));
    return cudaStreamSynchronize(c->fetch);
}

static psr_status cuda_collect(void *state, size_t *from, struct pulse_found *found, psr_err *err)
{
    struct pulse_cuda *c = state;
    *found = (struct pulse_found){.run = c->run, .hit = c->hit, .c0 = c->search.c0};
    if (!c->search.n) {
        *from = c->ring.nseries;
        return PSR_OK;
    }
    cudaError_t e = fetch_hits(c, from);
    if (e)
        return psr_cuda_fail(c->device, e, "single-pulse search", err);
    found->nrun = (size_t)c->h_count->nrun;
    qsort(c->run, found->nrun, sizeof *c->run, by_series);
    if (*from == c->ring.nseries)
        c->search.n = 0;
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
