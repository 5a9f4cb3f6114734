/* Forms beams on a CUDA device: voltages are copied in pieces, summed on the half-integer grid, converted
 * to directions and returned as rows.  Copying in, kernels and copying out have a stream each and
 * two buffers each, so that they overlap from piece to piece.
 *
 * Where the channels' sums have different lengths, their rows do not end together, and are returned
 * at the end of the block. */
#include "beam_cuda.h"
#include "base/device/device_internal.h"

#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 1 << 20 }; /* that a thread copies at once */

/* Rows to be returned together: those of samples t0 .. t0 + nt - 1 of the stream. */
struct span {
    uint64_t t0;
    size_t nt, nrow;
    void *out; /* of the first beam */
    size_t stride;
    bool stay; /* on the device, where out is */
};

/* --- a piece ---------------------------------------------------------------------------------- */

static size_t count_rows(const struct psr_beam_work *w, uint64_t t0, size_t nt)
{
    return (size_t)((t0 + nt) / w->tds_min - t0 / w->tds_min);
}

static bool is_locked(const void *memory)
{
    struct cudaPointerAttributes a;
    bool known = cudaPointerGetAttributes(&a, memory) == cudaSuccess;
    (void)cudaGetLastError();
    return known && a.type == cudaMemoryTypeHost;
}

/* The voltages in memory that the device fetches. */
static cudaError_t stage_voltages(struct psr_beam_cuda *c, const uint8_t **in, size_t bytes)
{
    struct psr_beam_buffer *h = c->buffer + c->current;
    if (!h->h_in) {
        const size_t most = c->piece * c->w->nfreq * PSR_BEAM_NPOL * c->w->ndish;
        int64_t taken = 0;
        TRY(psr_beam_cuda_count(c, most));
        TRY(psr_cuda_take_pinned(&h->h_in, most, &taken));
    }
    TRY(cudaEventSynchronize(h->copied));
    /* Copies memory that the device cannot fetch itself; one thread is slower than the bus. */
    const int nthread = c->w->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) if (bytes > COPY_BYTES)
    for (size_t i = 0; i < bytes; i += COPY_BYTES)
        memcpy(h->h_in + i, (*in) + i, bytes - i < COPY_BYTES ? bytes - i : COPY_BYTES);
    *in = h->h_in;
    return cudaSuccess;
}

static cudaError_t upload_voltages(struct psr_beam_cuda *c, const uint8_t *in, size_t nt)
{
    const struct psr_beam_work *w = c->w;
    const size_t nrow = nt * w->nfreq * PSR_BEAM_NPOL;
    struct psr_beam_buffer *h = c->buffer + c->current;
    if (!is_locked(in))
        TRY(stage_voltages(c, &in, nrow * w->ndish));
    TRY(cudaStreamWaitEvent(c->in, h->freed, 0));
    if (c->row == w->ndish)
        TRY(cudaMemcpyAsync(h->d_in, in, nrow * c->row, cudaMemcpyHostToDevice, c->in));
    else
        TRY(cudaMemcpy2DAsync(h->d_in, c->row, in, w->ndish, w->ndish, nrow, cudaMemcpyHostToDevice,
                              c->in));
    TRY(cudaEventRecord(h->copied, c->in));
    return cudaStreamWaitEvent(c->work, h->copied, 0);
}

static cudaError_t launch_form(const struct psr_beam_cuda *c, const struct beam_k_input *in,
                               const struct beam_k_grid *out)
{
    const struct beam_k_tensor tensor = {
        .d_table = c->d_table,
        .d_write = c->d_write,
        .d_read = c->d_read,
        .d_weight = c->d_weight,
        .d_unit = c->d_unit,
        .d_split = c->d_split,
    };
    const struct beam_k_any any = {.d_dish = c->d_dish, .d_gain = c->d_gain, .d_part = c->d_part};
    return c->tensor ? beam_k_form(in, &tensor, out, c->work)
                     : beam_k_form_any(in, &any, out, c->work);
}

/* Sums on the grid of the voltages that have come. */
static cudaError_t form_sums(struct psr_beam_cuda *c, uint64_t t0, size_t nt, const struct span *s)
{
    const struct psr_beam_work *w = c->w;
    struct psr_beam_buffer *h = c->buffer + c->current;
    const bool halves = c->tensor && c->d_grid;
    const struct beam_k_input in = {
        .m = w->m,
        .n = w->n,
        .ndish = c->row,
        .nfreq = w->nfreq,
        .nt = nt,
        .d_in = h->d_in,
        .flip = w->flip,
        .real_low = w->real_low,
        .t0 = t0,
        .d_tds = c->d_tds,
        .tds_min = (uint32_t)w->tds_min,
        .d_begun = c->d_sum[0],
        .d_left = c->d_sum[1],
    };
    const struct beam_k_grid out = {
        .nrow = s->nrow,
        .row_t0 = s->t0,
        .d_float = halves      ? NULL
                   : c->d_grid ? c->d_grid
                               : c->d_beam,
        .d_half = halves ? c->d_grid : NULL,
        .d_bright = c->d_bright,
    };
    TRY(launch_form(c, &in, &out));
    float *before = c->d_sum[0];
    c->d_sum[0] = c->d_sum[1];
    c->d_sum[1] = before;
    return cudaEventRecord(h->freed, c->work);
}

static cudaError_t refine_sums(const struct psr_beam_cuda *c, size_t nrow)
{
    const struct psr_beam_work *w = c->w;
    const struct beam_k_finer finer = {
        .m = w->m,
        .n = w->n,
        .nfreq = w->nfreq,
        .nrow = nrow,
        .d_table = c->d_refine,
        .d_half = c->d_grid,
        .d_fine = c->d_fine,
    };
    return beam_k_refine(&finer, c->work);
}

/* From the grid to directions. */
static cudaError_t steer_sums(const struct psr_beam_cuda *c, size_t nrow)
{
    const struct psr_beam_work *w = c->w;
    const bool product = w->pattern == PSR_BEAM_PRODUCT;
    const struct beam_k_steer steer = {
        .m = w->m,
        .n = w->n,
        .nfreq = w->nfreq,
        .nrow = nrow,
        .d_half = !c->tensor ? NULL
                  : product  ? c->d_grid
                             : c->d_fine,
        .d_float = c->tensor ? NULL : c->d_grid,
        .d_bright = c->d_bright,
        .beams = &c->beams,
        .d_ns = c->tensor ? c->ns.d_left : c->ns.d_factor,
        .d_ew = c->tensor ? c->ew.d_left : c->ew.d_factor,
        .n_ns = w->n_ns,
        .n_ew = w->n_ew,
        .nbit = psr_beam_cuda_levels(c) ? w->nbit : 32,
        .d_offset = c->d_offset,
        .d_scale = c->d_scale,
        .d_beam = c->d_beam,
    };
    if (w->pattern == PSR_BEAM_GRID)
        return cudaSuccess;
    if (!c->tensor)
        return beam_k_steer_any(&steer, product, c->work);
    if (product)
        return beam_k_product(&steer, c->work);
    TRY(refine_sums(c, nrow));
    return beam_k_points(&steer, c->work);
}

static cudaError_t launch_emit(const struct psr_beam_cuda *c, const struct span *s, void *d_out,
                               size_t stride)
{
    const struct psr_beam_work *w = c->w;
    const bool levels = psr_beam_cuda_levels(c);
    const struct beam_k_rows rows = {
        .nfreq = w->nfreq,
        .nrow = s->nrow,
        .stride = stride,
        .lines = psr_beam_cuda_lines(c, s->nrow, levels),
        .levels = levels,
        .d_beam = c->d_beam,
        .t0 = s->t0,
        .nt = s->nt,
        .d_tds = c->d_tds,
        .nbit = w->nbit,
        .d_offset = c->d_offset,
        .d_scale = c->d_scale,
        .d_out = d_out,
    };
    return beam_k_emit(&rows, c->work);
}

/* Makes rows, where they stay or to be copied to the host. */
static cudaError_t emit_rows(struct psr_beam_cuda *c, const struct span *s)
{
    const struct psr_beam_work *w = c->w;
    struct psr_beam_buffer *h = c->buffer + c->current;
    const size_t row = w->nfreq * (size_t)w->nbit / 8;
    if (!s->nrow)
        return cudaSuccess;
    TRY(steer_sums(c, s->nrow));
    if (s->stay)
        return launch_emit(c, s, s->out, s->stride);
    TRY(cudaStreamWaitEvent(c->work, h->drained, 0));
    TRY(launch_emit(c, s, h->d_rows, s->nrow));
    TRY(cudaEventRecord(h->given, c->work));
    TRY(cudaStreamWaitEvent(c->out, h->given, 0));
    TRY(cudaMemcpy2DAsync(s->out, s->stride * row, h->d_rows, s->nrow * row, s->nrow * row,
                          w->nbeam, cudaMemcpyDeviceToHost, c->out));
    return cudaEventRecord(h->drained, c->out);
}

/* --- a block ---------------------------------------------------------------------------------- */

static cudaError_t run_pieces(struct psr_beam_cuda *c, const uint8_t *in, struct span all)
{
    const struct psr_beam_work *w = c->w;
    const size_t row = w->nfreq * (size_t)w->nbit / 8;
    c->refused = 0;
    TRY(cudaSetDevice(w->device));
    if (!c->even)
        TRY(psr_beam_cuda_make_room(c, all.nrow));
    for (size_t t = 0, n; t < all.nt; t += n) {
        n = all.nt - t < c->piece ? all.nt - t : c->piece;
        struct span s = all;
        if (c->even) {
            s.t0 = all.t0 + t;
            s.nt = n;
            s.nrow = count_rows(w, s.t0, n);
            s.out = (char *)all.out + count_rows(w, all.t0, t) * row;
        }
        TRY(upload_voltages(c, in + t * w->nfreq * PSR_BEAM_NPOL * w->ndish, n));
        TRY(form_sums(c, all.t0 + t, n, &s));
        if (c->even || t + n == all.nt)
            TRY(emit_rows(c, &s));
        c->current = !c->current;
    }
    const cudaEvent_t done = c->done[c->nblock++ % 2];
    TRY(cudaEventRecord(done, c->work));
    TRY(cudaStreamWaitEvent(c->out, done, 0));
    return cudaEventRecord(done, c->out);
}

/* --- the backend ------------------------------------------------------------------------------ */

static psr_status fail_block(const struct psr_beam_cuda *c, cudaError_t e, psr_err *err)
{
    (void)cudaDeviceSynchronize(); /* from here on nothing uses the caller's memory */
    return psr_beam_cuda_fail(c, e, "beams", err);
}

static psr_status execute(void *state, const uint8_t *in, size_t nt, uint64_t t0,
                          const struct psr_beam_out *out, size_t nrow, psr_err *err)
{
    struct psr_beam_cuda *c = state;
    const struct span all = {.t0 = t0,
                             .nt = nt,
                             .nrow = nrow,
                             .out = out->rows,
                             .stride = out->stride,
                             .stay = out->on_device};
    cudaError_t e = run_pieces(c, in, all);
    return e ? fail_block(c, e, err) : PSR_OK;
}

static psr_status wait(void *state, size_t left, psr_err *err)
{
    struct psr_beam_cuda *c = state;
    cudaError_t e = cudaSetDevice(c->w->device);
    if (!e)
        e = cudaEventSynchronize(c->done[(c->nblock - 1 - left) % 2]);
    return e ? fail_block(c, e, err) : PSR_OK;
}

static psr_status point(void *state, psr_err *err)
{
    struct psr_beam_cuda *c = state;
    cudaError_t e = psr_beam_cuda_point(c);
    return e ? psr_cuda_fail(c->w->device, e, "directions", err) : PSR_OK;
}

static psr_status quantise(void *state, psr_err *err)
{
    struct psr_beam_cuda *c = state;
    cudaError_t e = psr_beam_cuda_quantise(c);
    return e ? psr_cuda_fail(c->w->device, e, "quantising", err) : PSR_OK;
}

static void reset(void *state)
{
    struct psr_beam_cuda *c = state; /* a sum that begins takes nothing from what was carried */
    (void)cudaSetDevice(c->w->device);
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
}

/* Enough pieces for copies and kernels to overlap. */
static size_t block(const void *state)
{
    const struct psr_beam_cuda *c = state;
    const struct psr_beam_work *w = c->w;
    const double sample = (double)w->nfreq * PSR_BEAM_NPOL * (double)w->ndish;
    const double rows = (double)w->nfreq * (double)w->nbeam * sizeof(float) / (double)w->tds_min;
    double most = (double)w->mem_bytes / 2 / (sample + rows);
    size_t n = c->even ? 4 * c->piece : c->piece;
    n = most < (double)n ? (size_t)most : n;
    n = n > w->tds_max ? n - n % w->tds_max : n;
    return n ? n : 1;
}

static int64_t bytes(const void *state)
{
    return ((const struct psr_beam_cuda *)state)->bytes;
}

static void destroy(void *state)
{
    struct psr_beam_cuda *c = state;
    if (!c)
        return;
    if (c->started)
        psr_beam_cuda_free(c);
    free(c);
}

static psr_status create(void **state, const struct psr_beam_work *w, psr_err *err)
{
    struct psr_beam_cuda *c = calloc(1, sizeof *c);
    *state = NULL;
    if (!c)
        return psr_fail_nomem(err, "beams", sizeof *c);
    c->w = w;
    psr_status st = psr_beam_cuda_start(c, err);
    if (st)
        destroy(c);
    else
        *state = c;
    return st;
}

static psr_status alloc(int device, size_t size, void **memory, psr_err *err)
{
    cudaError_t e = cudaSetDevice(device);
    *memory = NULL;
    return e ? psr_cuda_fail(device, e, "page-locked memory", err)
             : psr_device_pin(memory, size, err);
}

static psr_status alloc_device(int device, size_t size, void **memory, psr_err *err)
{
    int64_t taken = 0;
    cudaError_t e = cudaSetDevice(device);
    *memory = NULL;
    e = e ? e : psr_cuda_take(memory, size, &taken);
    if (e != cudaErrorMemoryAllocation)
        return e ? psr_cuda_fail(device, e, "rows", err) : PSR_OK;
    (void)cudaGetLastError();
    return psr_fail_nomem(err, "rows on a device", (double)size);
}

static void free_device(void *memory)
{
    cudaFree(memory);
}

const struct psr_beam_ops psr_beam_cuda = {
    .name = "cuda",
    .create = create,
    .point = point,
    .quantise = quantise,
    .execute = execute,
    .wait = wait,
    .reset = reset,
    .block = block,
    .bytes = bytes,
    .destroy = destroy,
    .alloc = alloc,
    .free = psr_device_unpin,
    .alloc_device = alloc_device,
    .free_device = free_device,
};
