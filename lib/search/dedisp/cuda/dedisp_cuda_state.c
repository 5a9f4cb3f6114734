/* Holds the data of a plan on a CUDA device: memory, streams, delays. */
#include "base/device/device_internal.h"
#include "dedisp_cuda.h"

#include <psrkit/device.h>

#include <math.h>
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
    const struct cornerturn_k_desc cornerturn = psr_cuda_cornerturn(c);
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

struct dedisp_k_delays psr_cuda_delays(const struct psr_cuda *c)
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

struct cornerturn_k_desc psr_cuda_cornerturn(const struct psr_cuda *c)
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

cudaError_t psr_cuda_shift_table(const struct psr_cuda *c, size_t batch, cudaStream_t stream)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct dedisp_k_delays delays = psr_cuda_delays(c);
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
        TRY(psr_cuda_shift_table(c, n, c->work));
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
