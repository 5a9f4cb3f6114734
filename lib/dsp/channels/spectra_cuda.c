/* Coded voltages to detected spectra on a CUDA device: what is done with a block.
 *
 * A block goes to the device on a stream of its own while the one before is transformed, and its rows
 * come back on a third. */
#include "base/device/cuda_call.h"
#include "base/device/device_internal.h"
#include "spectra.h"

#include <dsp/dsp_kernels.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

struct spectra_cuda_slot {
    uint8_t *d_bytes;             /* [block_bytes] */
    unsigned char *d_good, *good; /* [spectra of a block]; good is page-locked */
    float *d_row, *row;           /* [most_rows][nvalue]; row is page-locked */
    cudaEvent_t copied, done, fetched;
};

struct spectra_cuda {
    int device;
    cudaStream_t copy, compute, back; /* to the device, on it, and from it */
    struct channelise_k_coding coding;
    size_t batch;  /* segments of a plane that are transformed at a time */
    size_t njob;   /* of all planes */
    bool direct;   /* transforms read segments where they are */
    size_t stride; /* samples from a plane to the next */
    size_t apart;  /* bins from a job to the next */
    size_t nsum;   /* floats of a transform */
    float *d_x;    /* [nplane][stride] samples */
    float *d_held; /* [nplane][segment] those kept from block to block */
    float *d_y;    /* [njob][nsum]; NULL: direct */
    float *d_z;    /* [njob][apart] complex */
    float *d_part; /* [njob][nbin] complex; NULL: nfft 1 */
    float *d_window, *d_response;
    struct psr_cufft_batch forward, backward;
    struct spectra_cuda_slot slot[PSR_SPECTRA_SLOTS];
    const float *d_last; /* the row that is incomplete */
};

/* Coded voltages to detected spectra on a CUDA device: memory, streams and transforms. */

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

static void spectra_cuda_destroy(psr_spectra *s)
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

static void choose_sizes(struct spectra_cuda *c, const psr_spectra *s)
{
    c->nsum = s->shape.segment / s->ntap * s->ndim;
    c->apart = s->nbin + s->real;
    /* Batches are always full, so that every segment gets the same transform. */
    c->batch = s->batch;
    c->njob = c->batch * s->nplane;
    c->direct = s->ntap == 1 && s->nplane <= DIRECT_PLANES;
    const size_t segments = (s->most_segments + c->batch - 1) / c->batch * c->batch;
    const size_t reach = (segments - 1) * s->shape.step + s->shape.segment;
    const size_t most = s->shape.segment + s->d.block;
    c->stride = (reach > most ? reach : most) + 1;
    c->stride = (c->stride + 3) / 4 * 4; /* planes begin at whole words of 16 bytes */
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

/* Make s->state, and free it (spectra_cuda.c). */
static psr_status spectra_cuda_create(psr_spectra *s, psr_err *err)
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

/* --- samples ---------------------------------------------------------------------------------- */

/* Floats of the block behind those that were kept. */
static cudaError_t unpack(const struct spectra_cuda *c, const psr_spectra *s,
                          const struct spectra_cuda_slot *slot, const struct psr_spectra_block *b)
{
    size_t at = s->nheld;
    TRY(channelise_k_move(c->d_held, s->nheld * s->ndim, c->d_x, c->stride * s->ndim,
                          s->nheld * s->ndim, s->nplane, c->compute));
    for (size_t i = 0; i < b->nrun; i++) {
        const struct psr_spectra_run *from = b->run + i;
        const bool flags = from->flags != SIZE_MAX;
        const struct channelise_k_run run = {
            .d_bytes = from->missing ? NULL : slot->d_bytes + from->byte,
            .d_present = flags ? slot->d_bytes + from->flags : NULL,
            .from = (uint32_t)from->from,
            .n = (uint32_t)from->n,
            .d_to = c->d_x + at * s->ndim,
            .stride = c->stride};
        TRY(channelise_k_unpack(&c->coding, &run, c->compute));
        at += from->n;
    }
    return cudaSuccess;
}

static cudaError_t keep_rest(const struct spectra_cuda *c, const psr_spectra *s, size_t from,
                             size_t n)
{
    return channelise_k_move(c->d_x + from * s->ndim, c->stride * s->ndim, c->d_held, n * s->ndim,
                             n * s->ndim, s->nplane, c->compute);
}

/* --- spectra ---------------------------------------------------------------------------------- */

/* Bins of the segments from "first" on. */
static cudaError_t transform(const struct spectra_cuda *c, const psr_spectra *s, size_t first)
{
    float *x = c->d_x + first * s->shape.step * s->ndim;
    const struct channelise_k_taps taps = {.d_x = x,
                                           .d_window = c->d_window,
                                           .d_y = c->d_y,
                                           .stride = c->stride * s->ndim,
                                           .step = s->shape.step * s->ndim,
                                           .nsum = c->nsum,
                                           .ndim = s->ndim,
                                           .ntap = s->ntap,
                                           .nplane = s->nplane,
                                           .nsegment = c->batch};
    if (!c->direct) {
        TRY(channelise_k_weigh(&taps, c->compute));
        return psr_cufft_batch_execute(&c->forward, c->d_y, c->d_z, -1);
    }
    for (size_t k = 0; k < s->nplane; k++)
        TRY(psr_cufft_batch_execute(&c->forward, x + k * taps.stride,
                                    c->d_z + 2 * k * c->batch * c->apart, -1));
    return cudaSuccess;
}

static cudaError_t transform_back(const struct spectra_cuda *c, const psr_spectra *s)
{
    const struct channelise_k_bins bins = {.d_z = (const float2 *)c->d_z,
                                           .d_response = (const float2 *)c->d_response,
                                           .d_part = (float2 *)c->d_part,
                                           .apart = c->apart,
                                           .nbin = s->nbin,
                                           .nfft = s->shape.nfft,
                                           .npol = s->npol,
                                           .njob = c->njob,
                                           .nsegment = c->batch,
                                           .real = s->real,
                                           .scale = 1 / (float)s->nbin};
    TRY(channelise_k_take(&bins, c->compute));
    return psr_cufft_batch_execute(&c->backward, c->d_part, c->d_part, 1);
}

/* Batches of which no spectrum is good are not transformed: detection passes over what is there. */
static cudaError_t make_rows(struct spectra_cuda *c, const psr_spectra *s,
                             const struct spectra_cuda_slot *slot, size_t nsegment,
                             const bool *good)
{
    const size_t keep = s->shape.keep;
    const size_t row = s->nvalue * sizeof *slot->d_row;
    if (s->fill)
        TRY(cudaMemcpyAsync(slot->d_row, c->d_last, row, cudaMemcpyDeviceToDevice, c->compute));
    for (size_t done = 0; done < nsegment; done += c->batch) {
        const size_t left = nsegment - done, n = left < c->batch ? left : c->batch;
        const bool any = !good || memchr(good + done * keep, true, n * keep * sizeof *good);
        if (any)
            TRY(transform(c, s, done));
        if (any && s->shape.nfft > 1)
            TRY(transform_back(c, s));
        /* Adds the spectra of n segments, of which "done" were added before, to the slot's rows. */
        static const enum channelise_k_products what[] = {
            [PSR_DETECT_EACH] = CHANNELISE_K_EACH,
            [PSR_DETECT_COHERENCE] = CHANNELISE_K_COHERENCE,
            [PSR_DETECT_STOKES] = CHANNELISE_K_STOKES,
            [PSR_DETECT_STOKES_CIRCULAR] = CHANNELISE_K_CIRCULAR};
        const bool back = s->shape.nfft > 1;
        const size_t first = done * s->shape.keep, at = s->fill + first;
        const struct channelise_k_spectra d = {.d_v = (const float2 *)(back ? c->d_part : c->d_z),
                                               .d_good = good ? slot->d_good + first : NULL,
                                               .d_row = slot->d_row + at / s->d.tsum * s->nvalue,
                                               .apart = back ? s->nbin : c->apart,
                                               .nfft = s->shape.nfft,
                                               .early = s->shape.early,
                                               .keep = s->shape.keep,
                                               .nsegment = c->batch,
                                               .npol = s->npol,
                                               .nchan = s->nchan,
                                               .n = s->n,
                                               .nspectrum = n * s->shape.keep,
                                               .fill = at % s->d.tsum,
                                               .tsum = s->d.tsum,
                                               .fsum = s->d.fsum,
                                               .real = s->real,
                                               .upper = s->upper,
                                               .scale = back ? 1 : 1 / (float)s->nbin,
                                               .what = what[s->d.what]};
        TRY(channelise_k_detect(&d, c->compute));
    }
    return cudaSuccess;
}

/* --- a block ---------------------------------------------------------------------------------- */

static cudaError_t queue(struct spectra_cuda *c, psr_spectra *s, int k,
                         const struct psr_spectra_block *b, size_t nsegment, const bool *good)
{
    struct spectra_cuda_slot *slot = c->slot + k;
    const size_t nrow = s->slot[k].nrow, used = nsegment * s->shape.step;
    TRY(cudaSetDevice(c->device));
    const size_t n = nsegment * s->shape.keep;
    if (b->nbytes)
        TRY(cudaMemcpyAsync(slot->d_bytes, b->bytes, b->nbytes, cudaMemcpyHostToDevice, c->copy));
    for (size_t i = 0; i < n && good; i++)
        slot->good[i] = good[i];
    if (n && good)
        TRY(cudaMemcpyAsync(slot->d_good, slot->good, n, cudaMemcpyHostToDevice, c->copy));
    TRY(cudaEventRecord(slot->copied, c->copy));
    TRY(cudaStreamWaitEvent(c->compute, slot->copied, 0));
    TRY(unpack(c, s, slot, b));
    TRY(make_rows(c, s, slot, nsegment, good));
    TRY(keep_rest(c, s, used, s->nheld + b->nsamp - used));
    c->d_last = slot->d_row + nrow * s->nvalue;
    TRY(cudaEventRecord(slot->done, c->compute));
    TRY(cudaStreamWaitEvent(c->back, slot->done, 0));
    if (nrow)
        TRY(cudaMemcpyAsync(slot->row, slot->d_row, nrow * s->nvalue * sizeof *slot->row,
                            cudaMemcpyDeviceToHost, c->back));
    return cudaEventRecord(slot->fetched, c->back);
}

static psr_status push(psr_spectra *s, int k, const struct psr_spectra_block *b, size_t nsegment,
                       const bool *good, psr_err *err)
{
    cudaError_t e = queue(s->state, s, k, b, nsegment, good);
    return e ? psr_cuda_fail(s->d.device, e, "channels", err) : PSR_OK;
}

static psr_status collect(psr_spectra *s, int k, float **x, psr_err *err)
{
    const struct spectra_cuda *c = s->state;
    cudaError_t e = cudaEventSynchronize(c->slot[k].fetched);
    *x = c->slot[k].row;
    return e ? psr_cuda_fail(s->d.device, e, "channels", err) : PSR_OK;
}

const struct psr_spectra_ops psr_spectra_cuda = {.name = "cuda",
                                                 .create = spectra_cuda_create,
                                                 .destroy = spectra_cuda_destroy,
                                                 .push = push,
                                                 .collect = collect};
