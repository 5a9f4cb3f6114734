/* Spectra that several plans take in cross the bus once: a block of them on each device, and the
 * next one coming.  Plans copy their pieces from there, which takes a fortieth of the time. */
#include "base/device/device_internal.h"
#include "dedisp_cuda.h"

#include <stdlib.h>

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

psr_status psr_cuda_block_create(void **block, const struct psr_dedisp_layout *s, psr_err *err)
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

cudaError_t psr_cuda_block_wait(const struct psr_cuda_block *b, size_t *at)
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
    TRY(psr_cuda_block_wait(b, at));
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

psr_status psr_cuda_block_upload(void *block, const void *in, size_t bytes, psr_err *err)
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

bool psr_cuda_block_holds(const struct psr_cuda_block *b, const void *in)
{
    const unsigned char *at = in;
    return b && at >= b->in && at < b->in + b->bytes;
}

struct psr_cuda_source psr_cuda_block_source(const struct psr_cuda_block *b, size_t k,
                                             const void *in)
{
    const struct slot *s = b->place[k].slot + b->current;
    return (struct psr_cuda_source){
        .at = (const unsigned char *)s->d_raw + ((const unsigned char *)in - b->in),
        .ready = s->copied,
        .behind = s->stream,
    };
}

double psr_cuda_block_ms(struct psr_cuda_block *b, size_t k)
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

void psr_cuda_block_destroy(void *block)
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
