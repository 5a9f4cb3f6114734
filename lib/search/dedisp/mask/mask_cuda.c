/* Corrects series on a CUDA device for what is masked: its memory, and what is sent there for a block. */
#include "search/dedisp/mask/mask_correction.h"

#include "base/device/cuda_call.h"
#include "base/device/device_internal.h"

#include <dedisp/mask_kernels.h>
#include <stdlib.h>
#include <string.h>

/* Channels and edges of a block on their way, pinned: the next block takes the other one. */
struct outbox {
    void *at;
    size_t bytes;
    cudaEvent_t taken;
};

struct corrector {
    int device;
    cudaStream_t stream; /* of the series, which is not ours */
    size_t nseries, nchan;
    int32_t *d_delay;
    float *d_out;
    size_t stride;
    void *d_list; /* channels, then edges */
    size_t list_bytes;
    struct outbox outbox[2];
    int next;
    int64_t bytes;
};

static void cuda_destroy(void *state)
{
    struct corrector *q = state;
    if (!q)
        return;
    (void)cudaSetDevice(q->device);
    (void)cudaStreamSynchronize(q->stream);
    cudaFree(q->d_delay);
    cudaFree(q->d_out);
    cudaFree(q->d_list);
    for (int k = 0; k < 2; k++) {
        psr_device_unpin(q->outbox[k].at);
        if (q->outbox[k].taken)
            cudaEventDestroy(q->outbox[k].taken);
    }
    free(q);
}

static cudaError_t start(struct corrector *q, const struct psr_mask_device_partition *d)
{
    TRY(cudaSetDevice(q->device));
    for (int k = 0; k < 2; k++)
        TRY(cudaEventCreate(&q->outbox[k].taken));
    return psr_cuda_upload(&q->d_delay, d->delay, q->nseries * q->nchan * sizeof *d->delay,
                           &q->bytes);
}

static psr_status cuda_create(void **state, const struct psr_mask_device_partition *d, psr_err *err)
{
    struct corrector *q = calloc(1, sizeof *q);
    *state = q;
    if (!q)
        return psr_fail_nomem(err, "series on devices", sizeof *q);
    q->device = d->device;
    q->stream = d->stream;
    q->nseries = d->nseries;
    q->nchan = d->nchan;
    cudaError_t e = start(q, d);
    return e ? psr_cuda_fail(d->device, e, "delays of series", err) : PSR_OK;
}

/* Blocks have about the same length, but for the first ones. */
static cudaError_t grow_series(struct corrector *q, size_t n)
{
    if (n <= q->stride)
        return cudaSuccess;
    TRY(cudaFree(q->d_out)); /* waits for what reads there */
    q->d_out = NULL;
    q->stride = (n + 31) / 32 * 32;
    return psr_cuda_take(&q->d_out, q->nseries * q->stride * sizeof *q->d_out, &q->bytes);
}

static cudaError_t grow_list(struct corrector *q, size_t bytes)
{
    if (bytes <= q->list_bytes)
        return cudaSuccess;
    TRY(cudaFree(q->d_list));
    q->d_list = NULL;
    q->list_bytes = 2 * bytes;
    return psr_cuda_take(&q->d_list, q->list_bytes, &q->bytes);
}

static cudaError_t grow_outbox(struct corrector *q, struct outbox *o, size_t bytes)
{
    if (bytes <= o->bytes)
        return cudaSuccess;
    psr_device_unpin(o->at);
    o->at = NULL;
    o->bytes = 2 * bytes;
    return psr_cuda_take_pinned(&o->at, o->bytes, &q->bytes);
}

/* Returned: *d_channel, *d_edge */
static cudaError_t send_list(struct corrector *q, const struct psr_mask_device_chunk *k,
                             const struct psr_mask_device_channel **d_channel,
                             const struct psr_mask_device_edge **d_edge)
{
    struct outbox *o = &q->outbox[q->next];
    const size_t edges = k->nedge * sizeof *k->edge, channels = k->nchannel * sizeof *k->channel;
    *d_channel = NULL;
    *d_edge = NULL;
    if (!k->nedge)
        return cudaSuccess;
    q->next = !q->next;
    TRY(cudaEventSynchronize(o->taken));
    TRY(grow_outbox(q, o, edges + channels));
    TRY(grow_list(q, edges + channels));
    memcpy(o->at, k->edge, edges);
    memcpy((char *)o->at + edges, k->channel, channels);
    *d_edge = q->d_list;
    *d_channel = (const void *)((char *)q->d_list + edges);
    TRY(cudaMemcpyAsync(q->d_list, o->at, edges + channels, cudaMemcpyHostToDevice, q->stream));
    return cudaEventRecord(o->taken, q->stream);
}

static cudaError_t run(struct corrector *q, const struct psr_mask_device_chunk *k)
{
    struct mask_k_job job = {
        .d_in = k->d_in,
        .in_stride = k->stride,
        .nseries = q->nseries,
        .n = k->n,
        .now = k->now,
        .d_delay = q->d_delay,
        .nchan = q->nchan,
        .nchannel = k->nchannel,
        .constant = k->constant,
        .unit = k->unit,
        .level = k->level,
        .variance = k->variance,
    };
    TRY(cudaSetDevice(q->device));
    if (!k->restore)
        TRY(grow_series(q, k->n));
    TRY(send_list(q, k, &job.d_channel, &job.d_edge));
    job.d_out = k->restore ? k->d_in : q->d_out;
    job.out_stride = k->restore ? k->stride : q->stride;
    return k->restore ? mask_k_restore(&job, q->stream) : mask_k_equalise(&job, q->stream);
}

static psr_status cuda_run(void *state, const struct psr_mask_device_chunk *chunk, float **d_out,
                           size_t *stride, psr_err *err)
{
    struct corrector *q = state;
    cudaError_t e = run(q, chunk);
    *d_out = chunk->restore ? chunk->d_in : q->d_out;
    *stride = chunk->restore ? chunk->stride : q->stride;
    return e ? psr_cuda_fail(q->device, e, "masked samples of series", err) : PSR_OK;
}

const struct psr_mask_device_ops psr_mask_device_cuda = {
    .create = cuda_create,
    .run = cuda_run,
    .destroy = cuda_destroy,
};
