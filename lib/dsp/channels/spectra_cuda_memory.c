/* Coded voltages to detected spectra on a CUDA device: memory, streams and transforms. */
#include "spectra_cuda.h"

#include "base/device/device_internal.h"
#include "channelise_plan.h"
#include <psrkit/device.h>

#include <stdlib.h>

/* Planes that transforms read where they are, a call each. */
enum { DIRECT_PLANES = 4 };

static void destroy_slot(struct spectra_cuda_slot *slot)
{
    void *const on_device[] = {slot->d_bytes, slot->d_good, slot->d_row};
    cudaEvent_t const events[] = {slot->copied, slot->done, slot->fetched};
    for (size_t k = 0; k < sizeof on_device / sizeof *on_device; k++)
        cudaFree(on_device[k]);
    for (size_t k = 0; k < sizeof events / sizeof *events; k++)
        if (events[k])
            cudaEventDestroy(events[k]);
    psr_device_unpin(slot->good);
    psr_device_unpin(slot->row);
}

void psr_spectra_cuda_destroy(psr_spectra *s)
{
    struct spectra_cuda *c = s->state;
    if (!c)
        return;
    cudaStream_t const streams[] = {c->copy, c->compute, c->back};
    (void)cudaSetDevice(c->device);
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        if (streams[k])
            (void)cudaStreamSynchronize(streams[k]);
    psr_cufft_batch_close(&c->forward);
    psr_cufft_batch_close(&c->backward);
    void *const on_device[] = {c->d_x,
                               c->d_held,
                               c->d_y,
                               c->d_z,
                               c->d_part,
                               c->d_window,
                               c->d_response,
                               c->coding.d_value,
                               c->coding.d_plane_bits,
                               c->coding.d_plane_group};
    for (size_t k = 0; k < sizeof on_device / sizeof *on_device; k++)
        cudaFree(on_device[k]);
    for (int k = 0; k < PSR_SPECTRA_SLOTS; k++)
        destroy_slot(c->slot + k);
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        if (streams[k])
            cudaStreamDestroy(streams[k]);
    free(c);
    s->state = NULL;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* Batches are always full, so that every segment gets the same transform. */
static void choose_batch(struct spectra_cuda *c, const psr_spectra *s)
{
    c->batch = s->batch;
    c->njob = c->batch * s->nplane;
    c->direct = s->ntap == 1 && s->nplane <= DIRECT_PLANES;
    const size_t segments = (s->most_segments + c->batch - 1) / c->batch * c->batch;
    const size_t reach = (segments - 1) * s->shape.step + s->shape.segment;
    const size_t most = s->shape.segment + s->d.block;
    c->stride = (reach > most ? reach : most) + 1;
    c->stride = (c->stride + 3) / 4 * 4; /* planes begin at whole words of 16 bytes */
}

static void choose_sizes(struct spectra_cuda *c, const psr_spectra *s)
{
    c->nsum = s->shape.segment / s->ntap * s->ndim;
    c->apart = s->nbin + s->real;
    choose_batch(c, s);
    c->forward = (struct psr_cufft_batch){.real = s->real,
                                          .n = s->shape.segment / s->ntap,
                                          .in_apart = c->direct ? s->shape.step : c->nsum / s->ndim,
                                          .out_apart = c->apart,
                                          .count = c->direct ? c->batch : c->njob};
    c->backward = (struct psr_cufft_batch){.n = s->shape.nfft,
                                           .in_apart = s->shape.nfft,
                                           .out_apart = s->shape.nfft,
                                           .count = c->njob * s->n};
}

/* --- memory ----------------------------------------------------------------------------------- */

static cudaError_t take_coding(struct spectra_cuda *c, psr_spectra *s)
{
    const struct baseband_layout *l = s->d.layout;
    const struct baseband_coding *from = s->d.coding;
    const size_t element = l->ndim * (size_t)from->nbit;
    const size_t bytes = s->nplane * sizeof(size_t), first = s->d.pol < 0 ? 0 : (size_t)s->d.pol;
    struct channelise_k_coding *k = &c->coding;
    *k = (struct channelise_k_coding){
        .nbit = from->nbit,
        .is_offset = from->code == BASEBAND_OFFSET,
        .is_float = from->code == BASEBAND_FLOAT,
        .high_first = from->high_first,
        .scale = from->scale > 0 ? from->scale : 1,
        .shift = from->shift,
        .in_turns = l->frame_nsamp == SIZE_MAX && s->nplane == l->nplane &&
                    l->sample_bits == s->nplane * element,
        .sample_bits = l->sample_bits,
        .frame_bytes = l->frame_bytes,
        .ngroup = l->ngroup,
        .frame_nsamp = l->frame_nsamp < UINT32_MAX ? (uint32_t)l->frame_nsamp : UINT32_MAX,
        .nplane = s->nplane,
        .ndim = l->ndim};
    size_t *list = malloc(2 * bytes);
    if (!list)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < s->nplane; i++) {
        const size_t plane = i / s->npol * s->d.npol + first + i % s->npol;
        list[i] = l->plane_bits[plane];
        k->in_turns &= list[i] == i * element;
        list[s->nplane + i] = l->plane_group[plane];
    }
    cudaError_t e = psr_cuda_upload(&k->d_plane_bits, list, bytes, &s->bytes);
    if (!e)
        e = psr_cuda_upload(&k->d_plane_group, list + s->nplane, bytes, &s->bytes);
    if (!e)
        e = psr_cuda_upload(&k->d_value, from->value, sizeof from->value, &s->bytes);
    free(list);
    return e;
}

static cudaError_t take_tables(struct spectra_cuda *c, psr_spectra *s)
{
    const psr_channelise *p = s->d.channels;
    const size_t window = s->shape.segment * sizeof *p->window;
    const size_t response = 2 * s->nchan * s->shape.nfft * sizeof *p->response;
    if (p->window)
        TRY(psr_cuda_upload(&c->d_window, p->window, window, &s->bytes));
    if (p->response)
        TRY(psr_cuda_upload(&c->d_response, p->response, response, &s->bytes));
    return take_coding(c, s);
}

static cudaError_t take_slot(struct spectra_cuda *c, psr_spectra *s, struct spectra_cuda_slot *slot)
{
    const size_t spectra = s->most_segments * s->shape.keep;
    const size_t row = s->most_rows * s->nvalue * sizeof *slot->row;
    (void)c;
    TRY(psr_cuda_take(&slot->d_bytes, s->d.block_bytes, &s->bytes));
    TRY(psr_cuda_take(&slot->d_good, spectra, &s->bytes));
    TRY(psr_cuda_take(&slot->d_row, row, &s->bytes));
    int64_t on_host = 0;
    TRY(psr_cuda_take_pinned(&slot->good, spectra, &on_host));
    TRY(psr_cuda_take_pinned(&slot->row, row, &on_host));
    TRY(cudaEventCreateWithFlags(&slot->copied, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&slot->done, cudaEventDisableTiming));
    return cudaEventCreateWithFlags(&slot->fetched, cudaEventDisableTiming | cudaEventBlockingSync);
}

static cudaError_t take_memory(struct spectra_cuda *c, psr_spectra *s)
{
    const size_t sample = s->nplane * s->ndim * sizeof *c->d_x;
    TRY(psr_cuda_take(&c->d_x, c->stride * sample, &s->bytes));
    /* transforms of segments that a batch does not have are of these */
    TRY(cudaMemset(c->d_x, 0, c->stride * sample));
    TRY(psr_cuda_take(&c->d_held, s->shape.segment * sample, &s->bytes));
    if (!c->direct)
        TRY(psr_cuda_take(&c->d_y, c->njob * c->nsum * sizeof *c->d_y, &s->bytes));
    TRY(psr_cuda_take(&c->d_z, 2 * c->njob * c->apart * sizeof *c->d_z, &s->bytes));
    if (s->shape.nfft > 1)
        TRY(psr_cuda_take(&c->d_part, 2 * c->njob * s->nbin * sizeof *c->d_part, &s->bytes));
    TRY(take_tables(c, s));
    for (int k = 0; k < PSR_SPECTRA_SLOTS; k++)
        TRY(take_slot(c, s, c->slot + k));
    return cudaStreamSynchronize(cudaStreamLegacy);
}

/* --- create ----------------------------------------------------------------------------------- */

static cudaError_t make_streams(struct spectra_cuda *c)
{
    TRY(cudaSetDevice(c->device));
    TRY(cudaStreamCreateWithFlags(&c->copy, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&c->compute, cudaStreamNonBlocking));
    return cudaStreamCreateWithFlags(&c->back, cudaStreamNonBlocking);
}

psr_status psr_spectra_cuda_create(psr_spectra *s, psr_err *err)
{
    struct psr_device found;
    psr_status st = psr_device_describe(s->d.device, &found, err);
    if (st)
        return st;
    struct spectra_cuda *c = calloc(1, sizeof *c);
    s->state = c;
    if (!c)
        return psr_fail_nomem(err, "spectra", sizeof *c);
    c->device = s->d.device;
    choose_sizes(c, s);
    cudaError_t e = make_streams(c);
    if (!e)
        e = take_memory(c, s);
    if (e) {
        if (e != cudaErrorMemoryAllocation)
            return psr_cuda_fail(s->d.device, e, "channels", err);
        (void)cudaGetLastError();
        return psr_fail_field(
            err, PSR_ENOMEM, "block",
            "device %d: channels: no memory for blocks of %zu samples beyond %.3g MB: "
            "use a smaller block",
            s->d.device, s->d.block, (double)s->bytes / 1e6);
    }
    st = psr_cufft_batch_open(&c->forward, c->compute, err);
    if (!st && s->shape.nfft > 1)
        st = psr_cufft_batch_open(&c->backward, c->compute, err);
    return st;
}
