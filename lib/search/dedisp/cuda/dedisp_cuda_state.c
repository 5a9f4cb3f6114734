/* Holds the data of a plan on a CUDA device: memory, streams, delays. */
#include "base/device/device_internal.h"

#include "dedisp_cuda.h"
#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 256 << 20, /* of spectra, and of output, at once */
    HOST_BYTES = 128 << 20,  /* of output to the host: pinned memory takes long to get */
    STAGE_BYTES = 1 << 30,   /* of stages at once, at most */
};

/* --- buffers ---------------------------------------------------------------------------------- */

static void free_buffers(struct psr_cuda *c)
{
    for (int n = 0; n < 2; n++) {
        struct psr_cuda_buffer *h = c->buffer + n;
        cudaFree(h->d_raw);
        cudaFree(h->d_out);
        psr_device_unpin(h->h_out);
        h->d_raw = NULL;
        h->d_out = h->h_out = NULL;
    }
    cudaFree(c->d_run);
    cudaFree(c->d_sum);
    c->d_run = NULL;
    c->d_sum = NULL;
}

/* Spectra of earlier pieces that are kept beside a piece: sums that are not complete. */
static size_t max_history(const struct psr_dedisp_layout *s)
{
    return (size_t)s->maxpre + s->downsamp;
}

static cudaError_t take_buffer(struct psr_cuda *c, struct psr_cuda_buffer *h)
{
    size_t out = c->s->ndm * ((c->nout_max + 31) / 32 * 32) * sizeof(float);
    TRY(psr_cuda_take(&h->d_raw, (max_history(c->s) + c->piece) * c->row_bytes, &c->bytes));
    TRY(psr_cuda_take(&h->d_out, out, &c->bytes));
    return cudaMemset(h->d_out, 0, out); /* rows are copied to the host with their padding */
}

cudaError_t psr_cuda_pin_output(struct psr_cuda *c)
{
    size_t nout = (c->host_piece / c->s->downsamp + 2 + 31) / 32 * 32;
    for (int n = 0; n < 2; n++)
        if (!c->buffer[n].h_out)
            TRY(psr_cuda_take_pinned(&c->buffer[n].h_out, c->s->ndm * nout * sizeof(float),
                                     &c->bytes));
    return cudaSuccess;
}

static struct cornerturn_k_desc cuda_cornerturn(const struct psr_cuda *c)
{
    const struct psr_dedisp_layout *s = c->s;
    return (struct cornerturn_k_desc){
        .nbit = s->nbit,
        .is_float = s->kind == PSR_FLOAT,
        .bias = psr_dedisp_layout_bias(s),
        .row_bytes = c->row_bytes,
        .nkept = s->nkept,
        .downsamp = s->downsamp,
        .d_chan = c->d_chan,
        .d_pre = c->d_pre,
        .nchan = s->nchan,
        .d_place = c->d_place,
        .maxpre = s->maxpre,
        .nplane = c->plan.nplane,
        .pitch = c->pitch,
        .plane = c->plane,
        .d_sum = c->d_sum,
    };
}

/* Room for what later outputs need and some pieces, so that runs are seldom moved to their start.
 */
static cudaError_t take_buffers(struct psr_cuda *c)
{
    const struct psr_dedisp_layout *s = c->s;
    size_t live = (size_t)s->maxoff + 2, planes = c->plan.nplane ? (size_t)c->plan.nplane : 1;
    c->nout_max = c->piece / s->downsamp + 2;
    c->room = live + live / 4 + 4 * c->nout_max;
    c->pitch = (c->room + DEDISP_BEHIND) * c->sample_bytes + 2 * DEDISP_FRONT;
    c->pitch = (c->pitch + 127) / 128 * 128;
    c->plane = c->pitch * s->nkept;
    TRY(take_buffer(c, c->buffer));
    TRY(take_buffer(c, c->buffer + 1));
    TRY(psr_cuda_take(&c->d_run, planes * c->plane + DEDISP_BEHIND, &c->bytes));
    const struct cornerturn_k_desc cornerturn = cuda_cornerturn(c);
    if (cornerturn_k_sum_bytes(&cornerturn))
        TRY(psr_cuda_take(&c->d_sum, cornerturn_k_sum_bytes(&cornerturn), &c->bytes));
    return cudaMemset(c->d_run, 0, planes * c->plane + DEDISP_BEHIND);
}

static size_t round_piece(double piece)
{
    piece = piece < 1 << 24 ? piece : 1 << 24;
    return piece > 1 ? (size_t)piece : 1;
}

/* The largest pieces that there is memory for. */
static psr_status make_buffers(struct psr_cuda *c, int64_t mem_free, psr_err *err)
{
    const struct psr_dedisp_layout *s = c->s;
    int64_t mem = s->mem_bytes / 4 < mem_free / 32 ? s->mem_bytes / 4 : mem_free / 32;
    double most = mem < PIECE_BYTES ? (double)mem : PIECE_BYTES;
    double host = most < HOST_BYTES ? most : HOST_BYTES;
    double in = most / (double)c->row_bytes, per_out = 4 * (double)s->ndm / (double)s->downsamp;
    int64_t before = c->bytes;
    cudaError_t e = cudaErrorMemoryAllocation;
    for (c->piece = round_piece(fmin(in, most / per_out)); c->piece; c->piece /= 2) {
        e = take_buffers(c);
        if (e != cudaErrorMemoryAllocation)
            break;
        (void)cudaGetLastError();
        free_buffers(c);
        c->bytes = before;
    }
    if (!e)
        e = cudaStreamSynchronize(0); /* buffers are cleared there, and used elsewhere */
    size_t host_piece = round_piece(host / per_out);
    c->host_piece = host_piece < c->piece ? host_piece : c->piece;
    return e ? psr_cuda_fail(c->device, e, "samples", err) : PSR_OK;
}

static cudaError_t make_events(struct psr_cuda *c)
{
    int least, first;
    TRY(cudaDeviceGetStreamPriorityRange(&least, &first));
    TRY(cudaStreamCreateWithPriority(&c->in, cudaStreamNonBlocking, first));
    TRY(cudaStreamCreateWithPriority(&c->work, cudaStreamNonBlocking, first));
    TRY(cudaStreamCreateWithFlags(&c->out, cudaStreamNonBlocking));
    for (int n = 0; n < 2; n++) {
        struct psr_cuda_buffer *h = c->buffer + n;
        cudaEvent_t *const event[] = {&h->began, &h->copied, &h->transposed, &h->summed,
                                      &h->spare, &h->given,  &h->leaving,    &h->drained};
        TRY(cudaStreamCreateWithPriority(&h->sum, cudaStreamNonBlocking, least));
        for (size_t k = 0; k < sizeof event / sizeof *event; k++)
            TRY(cudaEventCreate(event[k]));
        TRY(cudaEventRecord(h->summed, h->sum)); /* before the first piece */
    }
    return cudaSuccess;
}

/* --- kernel parameters ------------------------------------------------------------------------ */

static struct dedisp_k_delays cuda_delays(const struct psr_cuda *c)
{
    const struct psr_dedisp_layout *s = c->s;
    bool tolerant = s->tol && s->algo == PSR_DEDISP_DIRECT;
    return (struct dedisp_k_delays){
        .d_dm = c->d_dm,
        .d_coeff = c->d_coeff,
        .frame = psr_dedisp_layout_frame(s),
        .coeff_mid = c->plan.coeff_mid,
        .tol_group = tolerant ? PSR_TOL_GROUP : 0,
    };
}

static cudaError_t upload_plan(struct psr_cuda *c)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct psr_dedisp_layout *s = c->s;
    TRY(psr_cuda_upload(&c->d_dm, p->dm, s->ndm * sizeof *p->dm, &c->bytes));
    TRY(psr_cuda_upload(&c->d_row, p->row, s->ndm * sizeof *p->row, &c->bytes));
    TRY(psr_cuda_upload(&c->d_coeff, s->coeff, s->nkept * sizeof *s->coeff, &c->bytes));
    TRY(psr_cuda_upload(&c->d_pre, s->pre, s->nkept * sizeof *s->pre, &c->bytes));
    TRY(psr_cuda_upload(&c->d_block, p->block, p->nblock * sizeof *p->block, &c->bytes));
    TRY(psr_cuda_upload(&c->d_group, p->group, p->ngroup * sizeof *p->group, &c->bytes));
    TRY(psr_cuda_take(&c->d_stage, p->nstage * dedisp_k_stage_bytes(), &c->bytes));
    TRY(psr_cuda_take(&c->d_fault, sizeof *c->d_fault, &c->bytes));
    return cudaMemset(c->d_fault, 0, sizeof *c->d_fault);
}

/* Which channel of the spectra each kept one is, and the other way round. */
static cudaError_t upload_channels(struct psr_cuda *c)
{
    const struct psr_dedisp_layout *s = c->s;
    uint32_t *chan = calloc(s->nkept, sizeof *chan);
    int32_t *place = malloc(s->nchan * sizeof *place);
    cudaError_t e = chan && place ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t n = 0; !e && n < s->nchan; n++)
        place[n] = -1;
    for (size_t k = 0; !e && k < s->nkept; k++) {
        chan[k] = (uint32_t)s->chan[k];
        place[s->chan[k]] = (int32_t)k;
    }
    if (!e)
        e = psr_cuda_upload(&c->d_chan, chan, s->nkept * sizeof *chan, &c->bytes);
    if (!e)
        e = psr_cuda_upload(&c->d_place, place, s->nchan * sizeof *place, &c->bytes);
    free(chan);
    free(place);
    return e;
}

/* Makes the stages of a batch. */
static cudaError_t cuda_shift_table(const struct psr_cuda *c, size_t batch, cudaStream_t stream)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct dedisp_k_delays delays = cuda_delays(c);
    size_t nblock[DEDISP_KINDS];
    psr_cuda_plan_batch(p, batch, nblock);
    return dedisp_k_shift_table(c->d_stage, c->d_fault, c->d_block + p->batch[batch], nblock,
                                c->d_group, &delays, stream);
}

/* All stages are made once, to see that there are such. */
static cudaError_t set_shift_tables(const struct psr_cuda *c)
{
    int fault = 0;
    for (size_t n = 0; n < c->plan.nbatch; n++)
        TRY(cuda_shift_table(c, n, c->work));
    TRY(cudaStreamSynchronize(c->work));
    TRY(cudaMemcpy(&fault, c->d_fault, sizeof fault, cudaMemcpyDeviceToHost));
    return fault ? cudaErrorInvalidValue : cudaSuccess;
}

/* --- start and end -----------------------------------------------------------------------------
 */

psr_status psr_cuda_start(struct psr_cuda *c, psr_err *err)
{
    struct psr_device device;
    int max_spread[DEDISP_KINDS];
    psr_err why;
    psr_status st = psr_device_describe(c->device, &device, &why);
    if (st)
        return psr_fail_field(err, st, why.field, "dedispersion on CUDA: %s", why.msg);
    cudaError_t e = cudaSetDevice(c->device);
    c->started = !e;
    if (e || (e = dedisp_k_max_spread(max_spread)) || (e = make_events(c)))
        return psr_cuda_fail(c->device, e, "start", err);
    int64_t stages = device.mem_free / 8 < STAGE_BYTES ? device.mem_free / 8 : STAGE_BYTES;
    st = psr_cuda_plan_make(&c->plan, c->s, max_spread, (size_t)stages / dedisp_k_stage_bytes(),
                            err);
    if (st)
        return st;
    c->sample_bytes = c->plan.nplane ? 1 : sizeof(float);
    c->row_bytes = (c->s->nchan * (size_t)c->s->nbit + 7) / 8;
    if ((e = upload_plan(c)) || (e = upload_channels(c)) || (e = set_shift_tables(c)))
        return psr_cuda_fail(c->device, e, "delays", err);
    if ((st = make_buffers(c, device.mem_free, err)) || c->s->algo != PSR_DEDISP_TREE)
        return st;
    return psr_cuda_tree_start(c, device.mem_free, err);
}

void psr_cuda_free(struct psr_cuda *c)
{
    (void)cudaSetDevice(c->device);
    (void)cudaDeviceSynchronize();
    free_buffers(c);
    psr_cuda_tree_free(c);
    void *const device[] = {c->d_dm,    c->d_coeff, c->d_row,   c->d_chan,  c->d_pre,
                            c->d_place, c->d_block, c->d_group, c->d_stage, c->d_fault};
    for (size_t n = 0; n < sizeof device / sizeof *device; n++)
        cudaFree(device[n]);
    for (int n = 0; n < 2; n++) {
        const struct psr_cuda_buffer *h = c->buffer + n;
        const cudaEvent_t event[] = {h->began, h->copied, h->transposed, h->summed,
                                     h->spare, h->given,  h->leaving,    h->drained};
        for (size_t k = 0; k < sizeof event / sizeof *event; k++)
            if (event[k])
                cudaEventDestroy(event[k]);
    }
    const cudaStream_t stream[] = {c->in, c->work, c->out, c->buffer[0].sum, c->buffer[1].sum};
    for (size_t n = 0; n < sizeof stream / sizeof *stream; n++)
        if (stream[n])
            cudaStreamDestroy(stream[n]);
}

/* The stream on one CUDA device: spectra go over in pieces, are transposed to one run of bytes per
 * channel, and stay there as long as a later output needs them.  Copying in, summing and copying
 * out have streams and two buffers each, so that they overlap from piece to piece; and so do the
 * sums of one piece and the next, which begin where those before leave processors idle.  Turning and
 * what others do with the output come before sums: the next ones wait for them. */

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
    const struct cornerturn_k_desc desc = cuda_cornerturn(c);
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
    const struct dedisp_k_delays delays = cuda_delays(c);
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
            TRY(cuda_shift_table(c, n, stream));
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
