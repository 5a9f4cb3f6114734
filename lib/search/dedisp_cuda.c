/* The stream on a CUDA device: spectra go over in pieces, are turned to one run of bytes per
 * channel, and stay there as long as a later output needs them.  Copying in, summing and copying
 * out have a stream each and two buffers each, so that they overlap from piece to piece. */
#include "dedisp_cuda.h"

#include <cornerturn.h>

#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 1 << 20 }; /* that a thread copies at once */

/* --- a piece ---------------------------------------------------------------------------------- */

/* Copies rows of memory with all threads; the caller's memory is not pinned, and a single thread is
 * slower than the bus. */
static void copy_rows(const struct psr_cuda *c, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t bytes, size_t nrow)
{
    const int nthread = c->s->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) if (bytes * nrow > COPY_BYTES)
    for (size_t n = 0; n < nrow; n++)
        memcpy((char *)to + n * to_pitch, (const char *)from + n * from_pitch, bytes);
}

static void copy_bytes(const struct psr_cuda *c, void *to, const void *from, size_t bytes)
{
    size_t whole = bytes / COPY_BYTES, done = whole * COPY_BYTES;
    copy_rows(c, to, COPY_BYTES, from, COPY_BYTES, COPY_BYTES, whole);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

/* Spectra to the device, behind those that the sums begun still need. */
static cudaError_t bring_piece(struct psr_cuda *c, const void *in, size_t n)
{
    struct psr_cuda_half *h = c->half + c->turn, *other = c->half + !c->turn;
    size_t history = (size_t)(c->nraw - c->nturned * c->s->downsamp) * c->row_bytes;
    size_t skip = (size_t)(c->nturned * c->s->downsamp - other->raw_first) * c->row_bytes;
    TRY(cudaEventSynchronize(h->copied));
    copy_bytes(c, h->h_raw, in, n * c->row_bytes);
    TRY(cudaStreamWaitEvent(c->in, h->freed, 0));
    TRY(cudaMemcpyAsync((char *)h->d_raw + history, h->h_raw, n * c->row_bytes,
                        cudaMemcpyHostToDevice, c->in));
    TRY(cudaEventRecord(h->copied, c->in));
    if (history)
        TRY(cudaMemcpyAsync(h->d_raw, (char *)other->d_raw + skip, history,
                            cudaMemcpyDeviceToDevice, c->work));
    TRY(cudaEventRecord(other->freed, c->work));
    h->raw_first = c->nturned * c->s->downsamp;
    c->nraw += n;
    return cudaStreamWaitEvent(c->work, h->copied, 0);
}

/* What later outputs need moves to the start of the runs. */
static cudaError_t make_room(struct psr_cuda *c)
{
    size_t from = (size_t)(c->ndone - c->first) * c->sample_bytes;
    size_t n = (size_t)(c->nturned - c->ndone) * c->sample_bytes;
    size_t planes = c->plan.nplane ? (size_t)c->plan.nplane : 1;
    c->first = c->ndone;
    return cornerturn_k_slide(c->d_run + DEDISP_FRONT, c->pitch, planes * c->s->nkept, from, n,
                              c->work);
}

/* Sums that are complete for every channel go to the runs. */
static cudaError_t turn_piece(struct psr_cuda *c)
{
    const struct psr_sweep *s = c->s;
    uint64_t pre = (uint64_t)s->maxpre, end = c->nraw > pre ? (c->nraw - pre) / s->downsamp : 0;
    const struct cornerturn_k_desc desc = {
        .nbit = s->nbit,
        .is_float = s->kind == PSR_FLOAT,
        .bias = psr_sweep_bias(s),
        .row_bytes = c->row_bytes,
        .nkept = s->nkept,
        .downsamp = s->downsamp,
        .d_chan = c->d_chan,
        .d_pre = c->d_pre,
        .nplane = c->plan.nplane,
        .pitch = c->pitch,
        .plane = c->plane,
    };
    if (end <= c->nturned)
        return cudaSuccess;
    if (end - c->first > c->room)
        TRY(make_room(c));
    TRY(cornerturn_k_turn(&desc, c->half[c->turn].d_raw, 0,
                          c->d_run + DEDISP_FRONT + (c->nturned - c->first) * c->sample_bytes,
                          (size_t)(end - c->nturned), c->work));
    c->nturned = end;
    return cudaSuccess;
}

static size_t count_ready(const struct psr_cuda *c)
{
    uint64_t n = c->nraw / c->s->downsamp, behind = c->s->maxshift + c->ndone;
    return n > behind ? (size_t)(n - behind) : 0;
}

static cudaError_t launch_sums(const struct psr_cuda *c, const struct dedisp_k_io *io)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct dedisp_k_delays delays = psr_cuda_delays(c);
    if (!p->multiply)
        return dedisp_k_gather(io, c->s->ndm, &delays, c->work);
    for (size_t n = 0; n < p->nbatch; n++) {
        size_t b = p->batch[n];
        if (p->nbatch > 1)
            TRY(psr_cuda_aim(c, n));
        TRY(dedisp_k_multiply(io, c->d_block + b, p->batch[n + 1] - b, c->d_stage, p->spread,
                              c->work));
    }
    return cudaSuccess;
}

/* The next n outputs, and their way to the host. */
static cudaError_t sum_piece(struct psr_cuda *c, size_t n, size_t at)
{
    const struct psr_sweep *s = c->s;
    struct psr_cuda_half *h = c->half + c->turn;
    h->nout = n;
    h->pitch = (n + 31) / 32 * 32;
    h->at = at;
    const struct dedisp_k_io io = {
        .d_lane = c->d_run + DEDISP_FRONT,
        .at = (size_t)(c->ndone - c->first),
        .pitch = c->pitch,
        .plane = c->plane,
        .nplane = c->plan.nplane,
        .nkept = s->nkept,
        .d_out = h->d_out,
        .out_pitch = h->pitch,
        .nout = n,
        .d_row = c->d_row,
        .bias = psr_sweep_offset(s),
        .downsamp = psr_sweep_divisor(s),
    };
    TRY(cudaStreamWaitEvent(c->work, h->drained, 0));
    TRY(launch_sums(c, &io));
    TRY(cudaEventRecord(h->summed, c->work));
    TRY(cudaStreamWaitEvent(c->out, h->summed, 0));
    TRY(cudaMemcpyAsync(h->h_out, h->d_out, s->ndm * h->pitch * sizeof(float),
                        cudaMemcpyDeviceToHost, c->out));
    c->ndone += n;
    return cudaEventRecord(h->drained, c->out);
}

/* Waits for a piece's output and hands it over. */
static cudaError_t give_piece(struct psr_cuda *c, int turn, float *out, size_t stride)
{
    struct psr_cuda_half *h = c->half + turn;
    if (!h->nout)
        return cudaSuccess;
    TRY(cudaEventSynchronize(h->drained));
    copy_rows(c, out + h->at, stride * sizeof *out, h->h_out, h->pitch * sizeof *out,
              h->nout * sizeof *out, c->s->ndm);
    h->nout = 0;
    return cudaSuccess;
}

static cudaError_t run_pieces(struct psr_cuda *c, const unsigned char *in, size_t nsamp, float *out,
                              size_t stride, size_t *given)
{
    TRY(cudaSetDevice(c->s->device));
    while (nsamp) {
        size_t n = nsamp < c->piece ? nsamp : c->piece;
        TRY(bring_piece(c, in, n));
        TRY(turn_piece(c));
        size_t ready = count_ready(c);
        if (ready)
            TRY(sum_piece(c, ready, *given));
        *given += ready;
        c->turn = !c->turn;
        TRY(give_piece(c, c->turn, out, stride));
        in += n * c->row_bytes;
        nsamp -= n;
    }
    return give_piece(c, !c->turn, out, stride);
}

/* --- the backend ------------------------------------------------------------------------------ */

static psr_status cuda_execute(void *state, const void *in, size_t nsamp, float *out, size_t stride,
                               size_t nout, psr_err *err)
{
    struct psr_cuda *c = state;
    size_t given = 0;
    cudaError_t e = run_pieces(c, in, nsamp, out, stride, &given);
    if (e)
        return psr_cuda_fail(c, e, "dedispersion", err);
    if (given != nout)
        return psr_fail(err, PSR_EINVAL, "dedispersion: gave %zu samples, not %zu", given, nout);
    return PSR_OK;
}

static void cuda_reset(void *state)
{
    struct psr_cuda *c = state;
    (void)cudaSetDevice(c->s->device);
    (void)cudaStreamSynchronize(c->in);
    (void)cudaStreamSynchronize(c->work);
    (void)cudaStreamSynchronize(c->out);
    c->nraw = c->nturned = c->ndone = c->first = 0;
    c->half[0].raw_first = c->half[1].raw_first = 0;
    c->half[0].nout = c->half[1].nout = 0;
}

static void cuda_describe(const void *state, struct psr_dedisp_info *info)
{
    const struct psr_cuda *c = state;
    info->bytes = c->bytes;
}

static void cuda_destroy(void *state)
{
    struct psr_cuda *c = state;
    if (!c)
        return;
    if (c->started)
        psr_cuda_free(c);
    psr_cuda_plan_free(&c->plan);
    free(c);
}

/* Leaves nothing behind where it fails, so that another backend can be tried. */
static psr_status cuda_create(void **state, const struct psr_sweep *s, psr_err *err)
{
    struct psr_cuda *c = calloc(1, sizeof *c);
    *state = NULL;
    if (!c)
        return psr_fail_nomem(err, "a dedispersion plan", sizeof *c);
    c->s = s;
    psr_status st = psr_cuda_start(c, err);
    if (st)
        cuda_destroy(c);
    else
        *state = c;
    return st;
}

const struct psr_dedisp_ops psr_dedisp_cuda = {
    .name = "cuda",
    .block_bytes = 0x1p28,
    .create = cuda_create,
    .execute = cuda_execute,
    .reset = cuda_reset,
    .describe = cuda_describe,
    .destroy = cuda_destroy,
};
