/* The stream on one CUDA device: spectra go over in pieces, are turned to one run of bytes per
 * channel, and stay there as long as a later output needs them.  Copying in, summing and copying
 * out have a stream each and two buffers each, so that they overlap from piece to piece. */
#include "dedisp_cuda.h"

/* --- time ------------------------------------------------------------------------------------- */

cudaError_t psr_cuda_add_time(double *to_ms, cudaEvent_t from, cudaEvent_t until)
{
    float ms;
    TRY(cudaEventSynchronize(until));
    TRY(cudaEventElapsedTime(&ms, from, until));
    *to_ms += (double)ms;
    return cudaSuccess;
}

cudaError_t psr_cuda_account(struct psr_cuda *c, struct psr_cuda_half *h)
{
    if (!h->busy)
        return cudaSuccess;
    h->busy = false;
    TRY(psr_cuda_add_time(&c->copy_in_ms, h->began, h->copied));
    TRY(psr_cuda_add_time(&c->turn_ms, h->taken, h->turned));
    TRY(psr_cuda_add_time(&c->sum_ms, h->turned, h->summed));
    if (h->giving)
        TRY(psr_cuda_add_time(&c->copy_out_ms, h->leaving, h->drained));
    h->giving = false;
    return cudaSuccess;
}

/* --- a piece ---------------------------------------------------------------------------------- */

/* Spectra to the device, behind those that the sums begun still need. */
static cudaError_t bring_piece(struct psr_cuda *c, const struct psr_cuda_source *from, size_t n)
{
    struct psr_cuda_half *h = c->half + c->turn, *other = c->half + !c->turn;
    size_t history = (size_t)(c->nraw - c->nturned * c->s->downsamp) * c->row_bytes;
    size_t skip = (size_t)(c->nturned * c->s->downsamp - other->raw_first) * c->row_bytes;
    TRY(cudaStreamWaitEvent(c->in, h->freed, 0));
    if (from->ready)
        TRY(cudaStreamWaitEvent(c->in, from->ready, 0));
    TRY(cudaEventRecord(h->began, c->in));
    TRY(cudaMemcpyAsync((char *)h->d_raw + history, from->at, n * c->row_bytes,
                        from->ready ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, c->in));
    TRY(cudaEventRecord(h->copied, c->in));
    if (from->behind)
        TRY(cudaStreamWaitEvent(from->behind, h->copied, 0));
    if (history)
        TRY(cudaMemcpyAsync(h->d_raw, (char *)other->d_raw + skip, history,
                            cudaMemcpyDeviceToDevice, c->work));
    TRY(cudaEventRecord(other->freed, c->work));
    h->raw_first = c->nturned * c->s->downsamp;
    c->nraw += n;
    TRY(cudaStreamWaitEvent(c->work, h->copied, 0));
    return cudaEventRecord(h->taken, c->work);
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
    const struct cornerturn_k_desc desc = psr_cuda_turn(c);
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
        size_t nblock[DEDISP_KINDS];
        psr_cuda_plan_batch(p, n, nblock);
        if (p->nbatch > 1)
            TRY(psr_cuda_aim(c, n));
        TRY(dedisp_k_multiply(io, c->d_block + p->batch[n], nblock, p->late, c->d_stage, p->spread,
                              c->work));
    }
    return cudaSuccess;
}

/* The next n outputs. */
static cudaError_t sum_piece(struct psr_cuda *c, size_t n)
{
    const struct psr_sweep *s = c->s;
    struct psr_cuda_half *h = c->half + c->turn;
    h->pitch = (n + 31) / 32 * 32;
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
    TRY(launch_sums(c, &io));
    c->ndone += n;
    return cudaSuccess;
}

cudaError_t psr_cuda_push(struct psr_cuda *c, const struct psr_cuda_source *from, size_t n,
                          size_t *nout)
{
    struct psr_cuda_half *h = c->half + c->turn;
    TRY(cudaSetDevice(c->device));
    TRY(psr_cuda_account(c, h));
    TRY(bring_piece(c, from, n));
    TRY(turn_piece(c));
    TRY(cudaEventRecord(h->turned, c->work));
    *nout = count_ready(c);
    if (*nout)
        TRY(sum_piece(c, *nout));
    TRY(cudaEventRecord(h->summed, c->work));
    h->nout = *nout;
    h->busy = true;
    return cudaSuccess;
}

void psr_cuda_next(struct psr_cuda *c)
{
    c->turn = !c->turn;
}

cudaError_t psr_cuda_drain(struct psr_cuda *c, size_t at)
{
    struct psr_cuda_half *h = c->half + c->turn;
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
