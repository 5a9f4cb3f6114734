/* The CUDA backend: one or more devices in step, each with some of the trials; the spectra come
 * once and go to all. */
#include "dedisp_cuda.h"

#include "base/device/device_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- blocks ----------------------------------------------------------------------------------- */

/* Spectra that several plans take in cross the bus once: a block of them on each device, and the
 * next one coming.  Plans copy their pieces from there, which takes a fortieth of the time. */

/* One of two blocks on one device. */
struct slot {
    void *d_raw;
    size_t room;
    cudaStream_t stream; /* a copy waits there for plans that still read what was here before */
    cudaEvent_t began, copied;
    bool busy; /* events were recorded */
};

struct place {
    int device;
    struct slot slot[2];
    double copy_ms;
};

struct psr_cuda_block {
    struct place *place; /* [n] */
    size_t n;
    int nthread;
    int current;    /* slot of the block */
    void *h_raw[2]; /* for spectra in memory that is not pinned */
    size_t h_room[2];
    const unsigned char *in; /* the caller's [bytes]; 0: there is no block */
    size_t bytes;
};

static cudaError_t start_place(struct place *p, int device)
{
    p->device = device;
    TRY(cudaSetDevice(device));
    for (int n = 0; n < 2; n++) {
        struct slot *s = p->slot + n;
        TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
        TRY(cudaEventCreate(&s->began));
        TRY(cudaEventCreate(&s->copied));
    }
    return cudaSuccess;
}

static psr_status cuda_block_create(void **block, const struct psr_dedisp_layout *s, psr_err *err)
{
    struct psr_cuda_block *b = calloc(1, sizeof *b);
    *block = b;
    if (b)
        b->place = calloc(s->ndevice, sizeof *b->place);
    if (!b || !b->place)
        return psr_fail_nomem(err, "spectra that plans share", (double)s->ndevice * 100);
    b->n = s->ndevice;
    b->nthread = s->nthread;
    for (size_t k = 0; k < b->n; k++) {
        cudaError_t e = start_place(b->place + k, s->device[k]);
        if (e)
            return psr_cuda_fail(s->device[k], e, "start", err);
    }
    return PSR_OK;
}

static cudaError_t account(struct place *p, struct slot *s)
{
    if (!s->busy)
        return cudaSuccess;
    s->busy = false;
    return psr_cuda_add_time(&p->copy_ms, s->began, s->copied);
}

static cudaError_t grow_slot(struct slot *s, size_t bytes)
{
    if (bytes <= s->room)
        return cudaSuccess;
    TRY(cudaStreamSynchronize(s->stream));
    TRY(cudaFree(s->d_raw));
    s->d_raw = NULL;
    s->room = 0;
    TRY(cudaMalloc(&s->d_raw, bytes));
    s->room = bytes;
    return cudaSuccess;
}

/* Waits until devices have what was brought; *at is the one that is waited for. */
static cudaError_t cuda_block_wait(const struct psr_cuda_block *b, size_t *at)
{
    for (size_t k = 0; k < b->n; k++) {
        *at = k;
        TRY(cudaSetDevice(b->place[k].device));
        TRY(cudaEventSynchronize(b->place[k].slot[b->current].copied));
    }
    return cudaSuccess;
}

/* The caller's memory where it is pinned, or a copy. */
static cudaError_t stage_block(struct psr_cuda_block *b, const void *in, size_t bytes,
                               const void **h_in, size_t *at)
{
    int64_t taken = 0;
    *h_in = in;
    if (psr_cuda_is_pinned(in))
        return cudaSuccess;
    TRY(cuda_block_wait(b, at));
    if (bytes > b->h_room[b->current]) {
        psr_device_unpin(b->h_raw[b->current]);
        b->h_raw[b->current] = NULL;
        b->h_room[b->current] = 0;
        TRY(psr_cuda_take_pinned(&b->h_raw[b->current], bytes, &taken));
        b->h_room[b->current] = bytes;
    }
    psr_cuda_copy(b->nthread, b->h_raw[b->current], in, bytes);
    *h_in = b->h_raw[b->current];
    return cudaSuccess;
}

static cudaError_t send_block(struct place *p, int current, const void *h_in, size_t bytes)
{
    struct slot *s = p->slot + current;
    TRY(cudaSetDevice(p->device));
    TRY(account(p, s));
    TRY(grow_slot(s, bytes));
    TRY(cudaEventRecord(s->began, s->stream));
    TRY(cudaMemcpyAsync(s->d_raw, h_in, bytes, cudaMemcpyHostToDevice, s->stream));
    s->busy = true;
    return cudaEventRecord(s->copied, s->stream);
}

static psr_status cuda_block_upload(void *block, const void *in, size_t bytes, psr_err *err)
{
    struct psr_cuda_block *b = block;
    const void *h_in;
    b->current = !b->current;
    b->bytes = 0;
    size_t at = 0, next = 0;
    cudaError_t e = stage_block(b, in, bytes, &h_in, &at);
    while (!e && next < b->n) {
        at = next++;
        e = send_block(b->place + at, b->current, h_in, bytes);
    }
    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return PSR_OK;
    }
    if (e)
        return psr_cuda_fail(b->place[at].device, e, "copying spectra", err);
    b->in = in;
    b->bytes = bytes;
    return PSR_OK;
}

static bool cuda_block_holds(const struct psr_cuda_block *b, const void *in)
{
    const unsigned char *at = in;
    return b && at >= b->in && at < b->in + b->bytes;
}

/* Whether the block holds what the caller has at "in"; and then, where its device k has it. */
static struct psr_cuda_source cuda_block_source(const struct psr_cuda_block *b, size_t k,
                                                const void *in)
{
    const struct slot *s = b->place[k].slot + b->current;
    return (struct psr_cuda_source){
        .at = (const unsigned char *)s->d_raw + ((const unsigned char *)in - b->in),
        .ready = s->copied,
        .behind = s->stream,
    };
}

/* What device k has taken to copy so far. */
static double cuda_block_ms(struct psr_cuda_block *b, size_t k)
{
    for (int n = 0; n < 2; n++)
        (void)account(b->place + k, b->place[k].slot + n);
    return b->place[k].copy_ms;
}

static void free_slot(struct slot *s)
{
    if (s->stream)
        (void)cudaStreamSynchronize(s->stream);
    cudaFree(s->d_raw);
    if (s->began)
        cudaEventDestroy(s->began);
    if (s->copied)
        cudaEventDestroy(s->copied);
    if (s->stream)
        cudaStreamDestroy(s->stream);
}

/* As the functions of struct psr_dedisp_ops; where there is no memory for a block, plans take
 * their spectra from the host. */
static void cuda_block_destroy(void *block)
{
    struct psr_cuda_block *b = block;
    if (!b)
        return;
    for (size_t k = 0; k < b->n; k++) {
        (void)cudaSetDevice(b->place[k].device);
        free_slot(b->place[k].slot);
        free_slot(b->place[k].slot + 1);
    }
    psr_device_unpin(b->h_raw[0]);
    psr_device_unpin(b->h_raw[1]);
    free(b->place);
    free(b);
}

static size_t piece_of_all(const struct psr_cuda_set *g)
{
    size_t piece = g->device[0].piece;
    for (size_t k = 1; k < g->n; k++)
        piece = g->device[k].piece < piece ? g->device[k].piece : piece;
    return piece;
}

/* Waits until all devices have taken what lies in a buffer's staging. */
static cudaError_t wait_copied(struct psr_cuda_set *g, int current)
{
    for (g->at = 0; g->at < g->n; g->at++) {
        TRY(cudaSetDevice(g->device[g->at].device));
        TRY(cudaEventSynchronize(g->device[g->at].buffer[current].copied));
    }
    return cudaSuccess;
}

/* How the caller's spectra come to devices. */
enum way { FROM_BLOCK, FROM_PINNED, FROM_COPY };

static enum way choose_way(const struct psr_cuda_set *g, const void *in)
{
    return cuda_block_holds(g->block, in) ? FROM_BLOCK
           : psr_cuda_is_pinned(in)       ? FROM_PINNED
                                          : FROM_COPY;
}

/* The next n spectra in pinned memory: their own, or a copy. */
static cudaError_t stage_spectra(struct psr_cuda_set *g, const void *in, size_t n, enum way way,
                                 const void **h_in)
{
    int current = g->device[0].current;
    size_t row_bytes = g->device[0].row_bytes;
    int64_t taken = 0;
    *h_in = in;
    if (way != FROM_COPY)
        return cudaSuccess;
    if (!g->h_raw[current])
        TRY(psr_cuda_take_pinned(&g->h_raw[current], piece_of_all(g) * row_bytes, &taken));
    TRY(wait_copied(g, current));
    psr_cuda_copy(g->s->nthread, g->h_raw[current], in, n * row_bytes);
    *h_in = g->h_raw[current];
    return cudaSuccess;
}

static struct psr_cuda_source find_source(const struct psr_cuda_set *g, size_t k, const void *h_in,
                                          enum way way)
{
    return way == FROM_BLOCK ? cuda_block_source(g->block, k, h_in)
                             : (struct psr_cuda_source){.at = h_in};
}

/* Waits until the caller's spectra are not needed any more. */
static cudaError_t wait_taken(struct psr_cuda_set *g, int current, enum way way)
{
    if (way == FROM_BLOCK)
        return cuda_block_wait(g->block, &g->at);
    return way == FROM_PINNED ? wait_copied(g, current) : cudaSuccess;
}

/* --- series to the host ----------------------------------------------------------------------- */

/* Waits for the output of a buffer and hands it over. */
static cudaError_t emit_buffer(struct psr_cuda_set *g, int current, float *out, size_t stride)
{
    for (size_t k = 0; k < g->n; k++) {
        struct psr_cuda_buffer *h = g->device[k].buffer + current;
        if (!h->nout)
            continue;
        g->at = k;
        TRY(cudaSetDevice(g->device[k].device));
        TRY(cudaEventSynchronize(h->drained));
        psr_cuda_copy_rows(g->s->nthread, out + g->device_series[k].first * stride + h->at,
                           stride * sizeof *out, h->h_out, h->pitch * sizeof *out,
                           h->nout * sizeof *out, g->device_series[k].nseries);
        h->nout = 0;
    }
    return cudaSuccess;
}

static cudaError_t run_piece(struct psr_cuda_set *g, const void *in, size_t n, enum way way,
                             size_t *given)
{
    const void *h_in;
    size_t ready = 0;
    TRY(stage_spectra(g, in, n, way, &h_in));
    for (size_t k = 0; k < g->n; k++) {
        const struct psr_cuda_source from = find_source(g, k, h_in, way);
        g->at = k;
        TRY(psr_cuda_push(g->device + k, &from, n, &ready));
        TRY(psr_cuda_drain(g->device + k, *given));
        psr_cuda_next(g->device + k);
    }
    *given += ready;
    return cudaSuccess;
}

static cudaError_t run_pieces(struct psr_cuda_set *g, const unsigned char *in, size_t nsamp,
                              float *out, size_t stride, size_t *given)
{
    enum way way = choose_way(g, in);
    size_t piece = g->device[0].host_piece;
    for (size_t k = 1; k < g->n; k++)
        piece = g->device[k].host_piece < piece ? g->device[k].host_piece : piece;
    for (g->at = 0; g->at < g->n; g->at++)
        TRY(psr_cuda_pin_output(g->device + g->at));
    while (nsamp) {
        size_t n = nsamp < piece ? nsamp : piece;
        TRY(run_piece(g, in, n, way, given));
        TRY(emit_buffer(g, g->device->current, out, stride));
        in += n * g->device->row_bytes;
        nsamp -= n;
    }
    TRY(emit_buffer(g, !g->device->current, out, stride));
    TRY(wait_taken(g, 0, way));
    return wait_taken(g, 1, way);
}

/* Blames the device that was worked on; which one is current does not tell, as a lost one may refuse
 * to become that. */
static psr_status fail(const struct psr_cuda_set *g, cudaError_t e, psr_err *err)
{
    const size_t k = g->at < g->n ? g->at : 0;
    return psr_cuda_fail(g->s->device[k], e, "dedispersion", err);
}

/* Whole stretches of every block.  Thread blocks of the next piece follow as those of the last one
 * end, so it is no matter how many come at once. */
static size_t cuda_suit(const void *state, size_t nsamp)
{
    const struct psr_cuda_set *g = state;
    const struct psr_cuda *c = g->device;
    const struct psr_cuda_plan *p = &c->plan;
    const size_t span = DEDISP_SAMPLES_OF(p->nwide ? DEDISP_WIDE : DEDISP_NARROW);
    const size_t most = nsamp < c->piece ? nsamp : c->piece, ds = c->s->downsamp;
    const size_t whole = (most / ds + p->late) / span * span;
    return p->multiply && whole > p->late ? (whole - p->late) * ds : nsamp;
}

static psr_status cuda_execute(void *state, const void *in, size_t nsamp, float *out, size_t stride,
                               size_t nout, psr_err *err)
{
    struct psr_cuda_set *g = state;
    size_t given = 0;
    cudaError_t e = run_pieces(g, in, nsamp, out, stride, &given);
    if (e)
        return fail(g, e, err);
    if (given != nout)
        return psr_fail(err, PSR_EINVAL, "dedispersion: gave %zu samples, not %zu", given, nout);
    return PSR_OK;
}

/* --- series that stay ------------------------------------------------------------------------- */

static cudaError_t run_resident(struct psr_cuda_set *g, const void *in, size_t n, size_t *nout)
{
    const void *h_in;
    enum way way = choose_way(g, in);
    int current = g->device->current;
    TRY(stage_spectra(g, in, n, way, &h_in));
    for (size_t k = 0; k < g->n; k++) {
        struct psr_cuda *c = g->device + k;
        const struct psr_cuda_source from = find_source(g, k, h_in, way);
        g->at = k;
        TRY(psr_cuda_push(c, &from, n, nout));
        g->device_series[k].d_x = c->buffer[current].d_out;
        g->device_series[k].stride = c->buffer[current].pitch;
        psr_cuda_next(c);
    }
    return wait_taken(g, current, way);
}

static psr_status cuda_execute_device(void *state, const void *in, size_t nsamp, size_t *taken,
                                      const struct psr_device_series **device_series,
                                      size_t *ndevice_series, size_t *nout, psr_err *err)
{
    struct psr_cuda_set *g = state;
    size_t piece = piece_of_all(g);
    *taken = nsamp < piece ? nsamp : piece;
    *device_series = g->device_series;
    *ndevice_series = g->n;
    cudaError_t e = run_resident(g, in, *taken, nout);
    return e ? fail(g, e, err) : PSR_OK;
}

/* --- the backend ------------------------------------------------------------------------------ */

static void reset_device(struct psr_cuda *c)
{
    (void)cudaSetDevice(c->device);
    (void)cudaStreamSynchronize(c->in);
    (void)cudaStreamSynchronize(c->buffer[0].sum);
    (void)cudaStreamSynchronize(c->buffer[1].sum);
    (void)cudaStreamSynchronize(c->work);
    (void)cudaStreamSynchronize(c->out);
    c->nraw = c->ntransposed = c->ndone = c->first = 0;
    c->buffer[0].raw_first = c->buffer[1].raw_first = 0;
    c->buffer[0].nout = c->buffer[1].nout = 0;
}

static void cuda_reset(void *state)
{
    struct psr_cuda_set *g = state;
    for (size_t k = 0; k < g->n; k++)
        reset_device(g->device + k);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void cuda_describe(void *state, struct psr_dedisp_info *info)
{
    struct psr_cuda_set *g = state;
    info->ndevice = g->n;
    if (g->s->algo == PSR_DEDISP_TREE)
        info->adds_planned = 0;
    for (size_t k = 0; k < g->n; k++) {
        struct psr_cuda *c = g->device + k;
        for (int n = 0; n < 2; n++)
            (void)psr_cuda_account(c, c->buffer + n);
        double copy_in_ms = c->copy_in_ms;
        if (g->block)
            copy_in_ms += cuda_block_ms(g->block, k);
        info->bytes += c->bytes;
        info->adds_planned += c->tree.adds + c->words.adds;
        info->copy_in_s = larger(info->copy_in_s, copy_in_ms * 1e-3);
        info->cornerturn_s = larger(info->cornerturn_s, c->cornerturn_ms * 1e-3);
        info->sum_s = larger(info->sum_s, c->sum_ms * 1e-3);
        info->copy_out_s = larger(info->copy_out_s, c->copy_out_ms * 1e-3);
    }
}

static void cuda_destroy(void *state)
{
    struct psr_cuda_set *g = state;
    if (!g)
        return;
    for (size_t k = 0; g->device && k < g->n; k++) {
        if (g->device[k].started)
            psr_cuda_free(g->device + k);
        psr_cuda_plan_free(&g->device[k].plan);
    }
    psr_device_unpin(g->h_raw[0]);
    psr_device_unpin(g->h_raw[1]);
    free(g->device);
    free(g->part);
    free(g->device_series);
    free(g);
}

/* The trials of device k, and the device itself. */
static psr_status start_device(struct psr_cuda_set *g, size_t k, psr_err *err)
{
    const struct psr_dedisp_layout *s = g->s;
    struct psr_dedisp_layout *part = g->part + k;
    size_t first = k * s->ndm / g->n, end = (k + 1) * s->ndm / g->n;
    *part = *s;
    part->dm = s->dm + first;
    part->ndm = end - first;
    part->mem_bytes = s->mem_bytes / (int64_t)g->n;
    g->device[k].s = part;
    g->device[k].device = s->device[k];
    g->device[k].first_trial = first;
    psr_status st = psr_cuda_start(g->device + k, err);
    g->device_series[k] = (struct psr_device_series){.backend = "cuda",
                                                     .device = s->device[k],
                                                     .first = first,
                                                     .nseries = part->ndm,
                                                     .stream = g->device[k].work};
    return st;
}

/* Leaves nothing behind where it fails, so that another backend can be tried. */
static psr_status cuda_create(void **state, const struct psr_dedisp_layout *s, psr_err *err)
{
    struct psr_cuda_set *g = calloc(1, sizeof *g);
    *state = NULL;
    if (!g)
        return psr_fail_nomem(err, "a dedispersion plan", sizeof *g);
    g->s = s;
    g->n = s->ndevice < s->ndm ? s->ndevice : s->ndm;
    g->device = calloc(g->n, sizeof *g->device);
    g->part = calloc(g->n, sizeof *g->part);
    g->device_series = calloc(g->n, sizeof *g->device_series);
    psr_status st = PSR_OK;
    if (!g->device || !g->part || !g->device_series)
        st = psr_fail_nomem(err, "a dedispersion plan", (double)g->n * sizeof *g->device);
    for (size_t k = 0; k < g->n && st == PSR_OK; k++)
        st = start_device(g, k, err);
    if (st)
        cuda_destroy(g);
    else
        *state = g;
    return st;
}

static void cuda_attach(void *state, void *block)
{
    struct psr_cuda_set *g = state;
    g->block = block;
}

static bool cuda_present(void)
{
    return psr_device_count(NULL) > 0;
}

const struct psr_dedisp_ops psr_dedisp_cuda = {
    .name = "cuda",
    .block_bytes = 0x1p28,
    .sums_itself = true,
    .makes_tree = psr_tree_fits_device,
    .present = cuda_present,
    .create = cuda_create,
    .suit = cuda_suit,
    .execute = cuda_execute,
    .execute_device = cuda_execute_device,
    .share = cuda_block_create,
    .attach = cuda_attach,
    .upload = cuda_block_upload,
    .unshare = cuda_block_destroy,
    .reset = cuda_reset,
    .describe = cuda_describe,
    .destroy = cuda_destroy,
};
