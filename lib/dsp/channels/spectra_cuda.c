/* Coded voltages to detected spectra on a CUDA device: what is done with a block.
 *
 * A block goes to the device on a stream of its own while the one before is transformed, and its rows
 * come back on a third. */
#include "spectra_cuda.h"

#include <string.h>

/* --- samples ---------------------------------------------------------------------------------- */

static cudaError_t send(const struct spectra_cuda *c, const struct spectra_cuda_slot *slot,
                        const struct psr_spectra_block *b, const bool *good, size_t n)
{
    if (b->nbytes)
        TRY(cudaMemcpyAsync(slot->d_bytes, b->bytes, b->nbytes, cudaMemcpyHostToDevice, c->copy));
    for (size_t i = 0; i < n && good; i++)
        slot->good[i] = good[i];
    if (n && good)
        TRY(cudaMemcpyAsync(slot->d_good, slot->good, n, cudaMemcpyHostToDevice, c->copy));
    TRY(cudaEventRecord(slot->copied, c->copy));
    return cudaStreamWaitEvent(c->compute, slot->copied, 0);
}

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

/* Adds the spectra of n segments, of which "done" were added before, to the slot's rows. */
static cudaError_t detect(const struct spectra_cuda *c, const psr_spectra *s,
                          const struct spectra_cuda_slot *slot, size_t done, size_t n,
                          bool all_good)
{
    static const enum channelise_k_products what[] = {
        [PSR_DETECT_EACH] = CHANNELISE_K_EACH,
        [PSR_DETECT_COHERENCE] = CHANNELISE_K_COHERENCE,
        [PSR_DETECT_STOKES] = CHANNELISE_K_STOKES,
        [PSR_DETECT_STOKES_CIRCULAR] = CHANNELISE_K_CIRCULAR};
    const bool back = s->shape.nfft > 1;
    const size_t first = done * s->shape.keep, at = s->fill + first;
    const struct channelise_k_spectra d = {.d_v = (const float2 *)(back ? c->d_part : c->d_z),
                                           .d_good = all_good ? NULL : slot->d_good + first,
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
    return channelise_k_detect(&d, c->compute);
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
        TRY(detect(c, s, slot, done, n, !good));
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
    TRY(send(c, slot, b, good, nsegment * s->shape.keep));
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
                                                 .create = psr_spectra_cuda_create,
                                                 .destroy = psr_spectra_cuda_destroy,
                                                 .push = push,
                                                 .collect = collect};
