/* Automatic cleaning on a CUDA device: memory and the stream. */
#include "clean_auto_cuda.h"

#include "base/device/cuda_call.h"
#include "base/device/device_internal.h"

#include <stdlib.h>

void psr_auto_cuda_destroy(psr_clean_auto *p)
{
    struct auto_cuda *c = p->state;
    (void)cudaSetDevice(c->device);
    if (c->stream)
        (void)cudaStreamSynchronize(c->stream);
    void *const on_device[] = {
        c->d_weight,    c->d_range,  c->d_gain,     c->d_offset,   c->d_level,   c->d_held,
        c->d_cleaned,   c->w.d_s1,   c->w.d_s2,     c->w.d_sum,    c->w.d_spark, c->w.d_pulse,
        c->w.d_tile,    c->w.d_flat, c->w.d_most,   c->w.d_list,   c->w.d_ntile, c->w.d_rate,
        c->w.d_product, c->w.d_mode, c->w.d_median, c->w.d_prefix, c->w.d_less,  c->w.d_centre};
    void *const pinned[] = {c->weight, c->range, c->gain,   c->offset,  c->level,  c->s1,   c->s2,
                            c->spark,  c->pulse, c->silent, c->product, c->centre, c->ntile};
    for (size_t k = 0; k < sizeof on_device / sizeof *on_device; k++)
        cudaFree(on_device[k]);
    for (size_t k = 0; k < sizeof pinned / sizeof *pinned; k++)
        psr_device_unpin(pinned[k]);
    if (c->stream)
        cudaStreamDestroy(c->stream);
    free(c);
}

static cudaError_t take_channels(struct auto_cuda *c, size_t nchan, int64_t *taken)
{
    const size_t cells = PSR_AUTO_BLOCKS * nchan, values = RANGES * nchan;
    TRY(psr_cuda_take(&c->d_range, RANGES * sizeof *c->d_range, taken));
    TRY(psr_cuda_take(&c->d_gain, values * sizeof *c->d_gain, taken));
    TRY(psr_cuda_take(&c->d_offset, values * sizeof *c->d_offset, taken));
    TRY(psr_cuda_take(&c->d_level, nchan * sizeof *c->d_level, taken));
    TRY(psr_cuda_take(&c->d_weight, nchan, taken));
    TRY(psr_cuda_take_pinned(&c->weight, nchan, taken));
    TRY(psr_cuda_take(&c->w.d_s1, cells * sizeof *c->w.d_s1, taken));
    TRY(psr_cuda_take(&c->w.d_s2, cells * sizeof *c->w.d_s2, taken));
    TRY(psr_cuda_take_pinned(&c->range, RANGES * sizeof *c->range, taken));
    TRY(psr_cuda_take_pinned(&c->gain, values * sizeof *c->gain, taken));
    TRY(psr_cuda_take_pinned(&c->offset, values * sizeof *c->offset, taken));
    TRY(psr_cuda_take_pinned(&c->level, nchan * sizeof *c->level, taken));
    TRY(psr_cuda_take_pinned(&c->s1, cells * sizeof *c->s1, taken));
    return psr_cuda_take_pinned(&c->s2, cells * sizeof *c->s2, taken);
}

static cudaError_t take_window(struct auto_cuda *c, size_t window, size_t ngroup, int64_t *taken)
{
    struct clean_k_window *w = &c->w;
    const size_t tiles = (size_t)PSR_AUTO_WIDTHS * PSR_AUTO_TILES, values = window * ngroup,
                 products = PSR_AUTO_WIDTHS * ngroup * ngroup;
    TRY(psr_cuda_take(&w->d_sum, values * sizeof *w->d_sum, taken));
    TRY(psr_cuda_take(&w->d_spark, window, taken));
    TRY(psr_cuda_take(&w->d_pulse, window, taken));
    TRY(psr_cuda_take(&w->d_tile, window * sizeof *w->d_tile, taken));
    TRY(psr_cuda_take(&w->d_most, window * sizeof *w->d_most, taken));
    TRY(psr_cuda_take(&w->d_flat, window * sizeof *w->d_flat, taken));
    TRY(psr_cuda_take(&w->d_list, tiles * sizeof *w->d_list, taken));
    TRY(psr_cuda_take(&w->d_ntile, PSR_AUTO_WIDTHS * sizeof *w->d_ntile, taken));
    TRY(psr_cuda_take(&w->d_rate, tiles * ngroup * sizeof *w->d_rate, taken));
    TRY(psr_cuda_take(&w->d_product, products * sizeof *w->d_product, taken));
    TRY(psr_cuda_take(&w->d_centre, PSR_AUTO_GROUPS * sizeof *w->d_centre, taken));
    TRY(psr_cuda_take(&w->d_mode, values * sizeof *w->d_mode, taken));
    TRY(psr_cuda_take(&w->d_median, values * sizeof *w->d_median, taken));
    TRY(psr_cuda_take(&w->d_prefix, values * sizeof *w->d_prefix, taken));
    TRY(psr_cuda_take(&w->d_less, values * sizeof *w->d_less, taken));
    TRY(psr_cuda_take_pinned(&c->spark, window, taken));
    TRY(psr_cuda_take_pinned(&c->pulse, window, taken));
    TRY(psr_cuda_take_pinned(&c->silent, window, taken));
    TRY(psr_cuda_take_pinned(&c->product, products * sizeof *c->product, taken));
    TRY(psr_cuda_take_pinned(&c->centre, PSR_AUTO_GROUPS * sizeof *c->centre, taken));
    return psr_cuda_take_pinned(&c->ntile, PSR_AUTO_WIDTHS * sizeof *c->ntile, taken);
}

static void describe_window(struct auto_cuda *c, const psr_clean_auto *p)
{
    struct clean_k_window *w = &c->w;
    w->nchan = p->d.nchan;
    w->row_bytes = p->in.row_bytes;
    w->ngroup = p->ngroup;
    w->nbit = p->in.nbit;
    w->is_signed = p->in.kind == PSR_INT;
    w->is_float = p->in.kind == PSR_FLOAT;
    w->window = p->window;
    w->d_range = c->d_range;
    w->d_gain = c->d_gain;
    w->d_offset = c->d_offset;
    w->d_level = c->d_level;
    w->d_weight = c->d_weight;
}

/* The stream comes before those of dedispersion, whose kernels would not leave it a place. */
static cudaError_t start(struct auto_cuda *c, const psr_clean_auto *p)
{
    int64_t taken = 0;
    int lowest, highest;
    TRY(cudaSetDevice(c->device));
    TRY(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    TRY(cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking, highest));
    TRY(take_channels(c, p->d.nchan, &taken));
    TRY(take_window(c, p->window, p->ngroup, &taken));
    describe_window(c, p);
    return cudaSuccess;
}

psr_status psr_auto_cuda_create(psr_clean_auto *p, psr_err *err)
{
    struct psr_device found;
    psr_status st = psr_device_describe(p->d.device, &found, err);
    if (st)
        return st;
    struct auto_cuda *c = calloc(1, sizeof *c);
    p->state = c;
    if (!c)
        return psr_fail_nomem(err, "cleaning", sizeof *c);
    c->device = p->d.device;
    cudaError_t e = start(c, p);
    return e ? psr_cuda_fail(c->device, e, "cleaning", err) : PSR_OK;
}
