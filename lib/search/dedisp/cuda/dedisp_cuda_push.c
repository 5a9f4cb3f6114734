/* The stream on one CUDA device: spectra go over in pieces, are transposed to one run of bytes per
 * channel, and stay there as long as a later output needs them.  Copying in, summing and copying
 * out have streams and two buffers each, so that they overlap from piece to piece; and so do the
 * sums of one piece and the next, which begin where those before leave processors idle.  Turning and
 * what others do with the output come before sums: the next ones wait for them. */
#include "dedisp_cuda.h"

#include <math.h>
#include <string.h>

/* --- copies host memory that devices cannot read at full speed -------------------------------- */

enum { COPY_BYTES = 1 << 20 }; /* that a thread copies at once */

void psr_cuda_copy_rows(int nthread, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t bytes, size_t nrow)
{
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) if (bytes * nrow > COPY_BYTES)
    for (size_t n = 0; n < nrow; n++)
        memcpy((char *)to + n * to_pitch, (const char *)from + n * from_pitch, bytes);
}

void psr_cuda_copy(int nthread, void *to, const void *from, size_t bytes)
{
    size_t whole = bytes / COPY_BYTES, done = whole * COPY_BYTES;
    psr_cuda_copy_rows(nthread, to, COPY_BYTES, from, COPY_BYTES, COPY_BYTES, whole);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

bool psr_cuda_is_pinned(const void *p)
{
    struct cudaPointerAttributes a;
    if (cudaPointerGetAttributes(&a, p) == cudaSuccess)
        return a.type == cudaMemoryTypeHost;
    (void)cudaGetLastError();
    return false;
}

/* --- time ------------------------------------------------------------------------------------- */

cudaError_t psr_cuda_add_time(double *to_ms, cudaEvent_t from, cudaEvent_t until)
{
    float ms;
    TRY(cudaEventSynchronize(until));
    TRY(cudaEventElapsedTime(&ms, from, until));
    *to_ms += (double)ms;
    return cudaSuccess;
}

/* Sums count from when those before were done, which few may overtake. */
static cudaError_t add_sum_time(struct psr_cuda *c, const struct psr_cuda_buffer *h)
{
    double own_ms = 0, after_ms = 0;
    TRY(cudaEventSynchronize(h->earlier));
    TRY(psr_cuda_add_time(&own_ms, h->transposed, h->summed));
    TRY(psr_cuda_add_time(&after_ms, h->earlier, h->summed));
    c->sum_ms += fmax(0, fmin(own_ms, after_ms));
    return cudaSuccess;
}

cudaError_t psr_cuda_account(struct psr_cuda *c, struct psr_cuda_buffer *h)
{
    if (!h->busy)
        return cudaSuccess;
    h->busy = false;
    TRY(psr_cuda_add_time(&c->copy_in_ms, h->began, h->copied));
    TRY(psr_cuda_add_time(&c->cornerturn_ms, h->copied, h->transposed));
    TRY(add_sum_time(c, h));
    if (h->giving)
        TRY(psr_cuda_add_time(&c->copy_out_ms, h->leaving, h->drained));
    h->giving = false;
    return cudaSuccess;
}

/* --- a piece ---------------------------------------------------------------------------------- */

/* Spectra to the device, behind those that the sums begun still need. */
static cudaError_t upload_piece(struct psr_cuda *c, const struct psr_cuda_source *from, size_t n)
{
    struct psr_cuda_buffer *h = c->buffer + c->current, *other = c->buffer + !c->current;
    size_t history = (size_t)(c->nraw - c->ntransposed * c->s->downsamp) * c->row_bytes;
    size_t skip = (size_t)(c->ntransposed * c->s->downsamp - other->raw_first) * c->row_bytes;
    if (history)
        TRY(cudaMemcpyAsync(h->d_raw, (char *)other->d_raw + skip, history,
                            cudaMemcpyDeviceToDevice, c->in));
    if (from->ready)
        TRY(cudaStreamWaitEvent(c->in, from->ready, 0));
    TRY(cudaEventRecord(h->began, c->in));
    TRY(cudaMemcpyAsync((char *)h->d_raw + history, from->at, n * c->row_bytes,
                        from->ready ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, c->in));
    TRY(cudaEventRecord(h->copied, c->in));
    if (from->behind)
        TRY(cudaStreamWaitEvent(from->behind, h->copied, 0));
    h->raw_first = c->ntransposed * c->s->downsamp;
    c->nraw += n;
    return cudaSuccess;
}

/* What later outputs need moves to the start of the runs, once no sums read there. */
static cudaError_t make_room(struct psr_cuda *c)
{
    size_t from = (size_t)(c->ndone - c->first) * c->sample_bytes;
    size_t n = (size_t)(c->ntransposed - c->ndone) * c->sample_bytes;
    size_t planes = c->plan.nplane ? (size_t)c->plan.nplane : 1;
    c->first = c->ndone;
    TRY(cudaStreamWaitEvent(c->in, c->buffer[!c->current].summed, 0));
    return cornerturn_k_slide(c->d_run + DEDISP_FRONT, c->pitch, planes * c->s->nkept, from, n,
                              c->in);
}

/* Sums that are complete for every channel go to the runs. */
static cudaError_t cornerturn_piece(struct psr_cuda *c)
{
    struct psr_cuda_buffer *h = c->buffer + c->current;
    const struct psr_dedisp_layout *s = c->s;
    uint64_t pre = (uint64_t)s->maxpre, end = c->nraw > pre ? (c->nraw - pre) / s->downsamp : 0;
    const struct cornerturn_k_desc desc = psr_cuda_cornerturn(c);
    if (end <= c->ntransposed)
        return cudaSuccess;
    if (end - c->first > c->room)
        TRY(make_room(c));
    TRY(cornerturn_k_turn(&desc, h->d_raw, 0,
                          c->d_run + DEDISP_FRONT + (c->ntransposed - c->first) * c->sample_bytes,
                          (size_t)(end - c->ntransposed), c->in));
    c->ntransposed = end;
    return cudaSuccess;
}

static size_t count_ready(const struct psr_cuda *c)
{
    uint64_t n = c->nraw / c->s->downsamp, behind = c->s->maxshift + c->ndone;
    return n > behind ? (size_t)(n - behind) : 0;
}

static cudaError_t launch_sums(const struct psr_cuda *c, const struct dedisp_k_io *io,
                               cudaStream_t stream)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct dedisp_k_delays delays = psr_cuda_delays(c);
    if (c->words.ngroup)
        return psr_cuda_words_sums(c, io, stream);
    if (c->tree.nstage) {
        /* Rows of the tree are where the sums before may still read theirs. */
        TRY(cudaStreamWaitEvent(stream, c->buffer[!c->current].summed, 0));
        return psr_cuda_tree_sums(c, io, stream);
    }
    if (!p->multiply)
        return dedisp_k_gather(io, c->s->ndm, &delays, stream);
    if (p->nbatch > 1) /* the sums before read other stages there */
        TRY(cudaStreamWaitEvent(stream, c->buffer[!c->current].summed, 0));
    for (size_t n = 0; n < p->nbatch; n++) {
        size_t nblock[DEDISP_KINDS];
        psr_cuda_plan_batch(p, n, nblock);
        if (p->nbatch > 1)
            TRY(psr_cuda_shift_table(c, n, stream));
        TRY(dedisp_k_multiply(io, c->d_block + p->batch[n], nblock, p->late, c->d_stage, p->spread,
                              stream));
    }
    return cudaSuccess;
}

/* The next n outputs. */
static cudaError_t sum_piece(struct psr_cuda *c, size_t n)
{
    const struct psr_dedisp_layout *s = c->s;
    struct psr_cuda_buffer *h = c->buffer + c->current;
    h->pitch = (n + 31) / 32 * 32;
    const struct dedisp_k_io io = {
        .d_runs = c->d_run + DEDISP_FRONT,
        .at = (size_t)(c->ndone - c->first),
        .pitch = c->pitch,
        .plane = c->plane,
        .nplane = c->plan.nplane,
        .nkept = s->nkept,
        .d_out = h->d_out,
        .out_pitch = h->pitch,
        .nout = n,
        .d_row = c->d_row,
        .bias = psr_dedisp_layout_offset(s),
        .downsamp = psr_dedisp_layout_divisor(s),
    };
    TRY(launch_sums(c, &io, h->sum));
    c->ndone += n;
    return cudaSuccess;
}

/* The buffer's readers wait for its sums.  The event of its sums before is still wanted, by the
 * other buffer. */
static cudaError_t end_piece(struct psr_cuda *c, size_t nout)
{
    struct psr_cuda_buffer *h = c->buffer + c->current;
    const cudaEvent_t summed = h->spare;
    h->spare = h->summed;
    h->summed = summed;
    h->earlier = c->buffer[!c->current].summed;
    TRY(cudaEventRecord(h->summed, h->sum));
    h->nout = nout;
    h->busy = true;
    return cudaStreamWaitEvent(c->work, h->summed, 0);
}

cudaError_t psr_cuda_push(struct psr_cuda *c, const struct psr_cuda_source *from, size_t n,
                          size_t *nout)
{
    struct psr_cuda_buffer *h = c->buffer + c->current, *other = c->buffer + !c->current;
    TRY(cudaSetDevice(c->device));
    TRY(psr_cuda_account(c, h));
    TRY(cudaEventRecord(other->given, c->work));
    TRY(upload_piece(c, from, n));
    TRY(cornerturn_piece(c));
    TRY(cudaEventRecord(h->transposed, c->in));
    *nout = count_ready(c);
    TRY(cudaStreamWaitEvent(h->sum, h->transposed, 0));
    TRY(cudaStreamWaitEvent(h->sum, h->given, 0));
    if (*nout)
        TRY(sum_piece(c, *nout));
    return end_piece(c, *nout);
}

void psr_cuda_next(struct psr_cuda *c)
{
    c->current = !c->current;
}

cudaError_t psr_cuda_drain(struct psr_cuda *c, size_t at)
{
    struct psr_cuda_buffer *h = c->buffer + c->current;
    h->at = at;
    if (!h->nout)
        return cudaSuccess;
    TRY(cudaSetDevice(c->device));
    TRY(cudaStreamWaitEvent(c->out, h->summed, 0));
    TRY(cudaEventRecord(h->leaving, c->out));
    TRY(cudaMemcpyAsync(h->h_out, h->d_out, c->s->ndm * h->pitch * sizeof(float),
                        cudaMemcpyDeviceToHost, c->out));
    h->giving = true;
    return cudaEventRecord(h->drained, c->out);
}
