/* The stream on a CUDA device: spectra go over in pieces, are turned to one run of bytes per
 * channel, and stay there as long as a later output needs them.  Copying in, summing and copying
 * out have a stream each and two buffers each, so that they overlap from piece to piece. */
#include "dedisp_cuda.h"

#include <cornerturn.h>
#include <psrkit/device.h>

#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 128 << 20, /* of spectra, and of output, at once */
    STAGE_BYTES = 1 << 30,   /* of stages at once, at most */
    MAX_TILES = 60000,       /* of 512 samples, in a launch */
    COPY_BYTES = 1 << 20,    /* that a thread copies at once */
};

/* One of two: a piece's spectra and its output, on the host and on the device. */
struct half {
    void *h_raw, *d_raw;
    float *h_out, *d_out;
    cudaEvent_t copied, freed;   /* spectra have come; spectra are not needed any more */
    cudaEvent_t summed, drained; /* output is made; output has gone */
    uint64_t raw_first;          /* spectrum at the start of d_raw */
    size_t nout, pitch;          /* output on its way to the caller, 0: none */
    size_t at;                   /* its place in the caller's */
};

struct cuda {
    const struct psr_sweep *s;
    struct psr_cuda_plan plan;
    size_t row_bytes, sample_bytes; /* of a spectrum; of a sample in a run */

    double *d_dm, *d_law;
    uint32_t *d_row, *d_chan;
    int32_t *d_pre;
    struct dedisp_k_block *d_block;
    struct dedisp_k_group *d_group;
    void *d_stage;
    int *d_fault;

    unsigned char *d_run;   /* [nplane][nkept][pitch] */
    size_t pitch, plane;    /* bytes */
    size_t room;            /* samples of a run */
    size_t piece, nout_max; /* spectra and output samples at once */
    struct half half[2];
    cudaStream_t in, work, out;

    int turn;                      /* half that the next piece uses */
    uint64_t nraw, nturned, ndone; /* spectra taken, samples in the runs so far, samples given */
    uint64_t first;                /* sample at the start of the runs */
    int64_t bytes;
    bool started; /* the device was there */
};

/* --- errors and memory ------------------------------------------------------------------------ */

static psr_status fail_cuda(const struct cuda *c, cudaError_t e, const char *what, psr_err *err)
{
    (void)cudaGetLastError();
    return psr_fail(err, PSR_EDEVICE, "device %d: %s: %s", c->s->device, what,
                    cudaGetErrorString(e));
}

/* Returns from the function with the first call that fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_)                                                                                    \
            return e_;                                                                             \
    } while (0)

static cudaError_t take_device(struct cuda *c, void *to, size_t bytes)
{
    void *p = NULL;
    TRY(cudaMalloc(&p, bytes ? bytes : 1));
    memcpy(to, &p, sizeof p);
    c->bytes += (int64_t)bytes;
    return cudaSuccess;
}

static cudaError_t take_pinned(struct cuda *c, void *to, size_t bytes)
{
    void *p = NULL;
    TRY(cudaMallocHost(&p, bytes ? bytes : 1));
    memcpy(to, &p, sizeof p);
    c->bytes += (int64_t)bytes;
    return cudaSuccess;
}

static cudaError_t upload(struct cuda *c, void *to, const void *from, size_t bytes)
{
    void *p;
    TRY(take_device(c, to, bytes));
    memcpy(&p, to, sizeof p);
    return cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void free_buffers(struct cuda *c)
{
    for (int n = 0; n < 2; n++) {
        struct half *h = c->half + n;
        cudaFree(h->d_raw);
        cudaFree(h->d_out);
        cudaFreeHost(h->h_raw);
        cudaFreeHost(h->h_out);
        h->d_raw = h->h_raw = NULL;
        h->d_out = h->h_out = NULL;
    }
    cudaFree(c->d_run);
    c->d_run = NULL;
}

/* Spectra of earlier pieces that are kept beside a piece: sums that are not complete. */
static size_t max_history(const struct psr_sweep *s)
{
    return (size_t)s->maxpre + s->downsamp;
}

static cudaError_t take_half(struct cuda *c, struct half *h)
{
    size_t out = c->s->ndm * ((c->nout_max + 31) / 32 * 32) * sizeof(float);
    TRY(take_device(c, &h->d_raw, (max_history(c->s) + c->piece) * c->row_bytes));
    TRY(take_device(c, &h->d_out, out));
    TRY(cudaMemset(h->d_out, 0, out)); /* rows are copied to the host with their padding */
    TRY(take_pinned(c, &h->h_raw, c->piece * c->row_bytes));
    return take_pinned(c, &h->h_out, out);
}

/* Room for what later outputs need and some pieces, so that runs are seldom moved to their start.
 */
static cudaError_t take_buffers(struct cuda *c)
{
    const struct psr_sweep *s = c->s;
    size_t live = (size_t)s->maxoff + 2, planes = c->plan.nplane ? (size_t)c->plan.nplane : 1;
    c->nout_max = c->piece / s->downsamp + 2;
    c->room = live + live / 4 + 4 * c->nout_max;
    c->pitch = (c->room + DEDISP_BEHIND) * c->sample_bytes + 2 * DEDISP_FRONT;
    c->pitch = (c->pitch + 127) / 128 * 128;
    c->plane = c->pitch * s->nkept;
    TRY(take_half(c, c->half));
    TRY(take_half(c, c->half + 1));
    TRY(take_device(c, &c->d_run, planes * c->plane + DEDISP_BEHIND));
    return cudaMemset(c->d_run, 0, planes * c->plane + DEDISP_BEHIND);
}

/* The largest pieces that there is memory for. */
static psr_status make_buffers(struct cuda *c, psr_err *err)
{
    const struct psr_sweep *s = c->s;
    double most = (double)s->mem_bytes / 8 < PIECE_BYTES ? (double)s->mem_bytes / 8 : PIECE_BYTES;
    double in = most / (double)c->row_bytes;
    double out = most / 4 / (double)s->ndm * (double)s->downsamp;
    double piece = in < out ? in : out;
    int64_t before = c->bytes;
    cudaError_t e = cudaErrorMemoryAllocation;
    piece = piece < 1 << 24 ? piece : 1 << 24;
    for (c->piece = piece > 1 ? (size_t)piece : 1; c->piece; c->piece /= 2) {
        e = take_buffers(c);
        if (e != cudaErrorMemoryAllocation)
            break;
        (void)cudaGetLastError();
        free_buffers(c);
        c->bytes = before;
    }
    return e ? fail_cuda(c, e, "samples", err) : PSR_OK;
}

static cudaError_t make_events(struct cuda *c)
{
    TRY(cudaStreamCreateWithFlags(&c->in, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&c->work, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&c->out, cudaStreamNonBlocking));
    for (int n = 0; n < 2; n++) {
        struct half *h = c->half + n;
        cudaEvent_t *const event[] = {&h->copied, &h->freed, &h->summed, &h->drained};
        for (int k = 0; k < 4; k++)
            TRY(cudaEventCreateWithFlags(event[k], cudaEventDisableTiming));
    }
    return cudaSuccess;
}

/* --- what the kernels are told ---------------------------------------------------------------- */

static struct dedisp_k_delays delays_of(const struct cuda *c)
{
    const struct psr_sweep *s = c->s;
    bool tolerant = s->tol && s->algo == PSR_DEDISP_DIRECT;
    return (struct dedisp_k_delays){
        .d_dm = c->d_dm,
        .d_law = c->d_law,
        .frame = psr_sweep_frame(s),
        .tol_group = tolerant ? PSR_TOL_GROUP : 0,
    };
}

static cudaError_t upload_plan(struct cuda *c)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct psr_sweep *s = c->s;
    TRY(upload(c, &c->d_dm, p->dm, s->ndm * sizeof *p->dm));
    TRY(upload(c, &c->d_row, p->row, s->ndm * sizeof *p->row));
    TRY(upload(c, &c->d_law, s->law, s->nkept * sizeof *s->law));
    TRY(upload(c, &c->d_pre, s->pre, s->nkept * sizeof *s->pre));
    TRY(upload(c, &c->d_block, p->block, p->nblock * sizeof *p->block));
    TRY(upload(c, &c->d_group, p->group, p->ngroup * sizeof *p->group));
    TRY(take_device(c, &c->d_stage, p->nstage * dedisp_k_stage_bytes()));
    TRY(take_device(c, &c->d_fault, sizeof *c->d_fault));
    return cudaMemset(c->d_fault, 0, sizeof *c->d_fault);
}

static cudaError_t upload_channels(struct cuda *c)
{
    uint32_t *chan = calloc(c->s->nkept, sizeof *chan);
    if (!chan)
        return cudaErrorMemoryAllocation;
    for (size_t k = 0; k < c->s->nkept; k++)
        chan[k] = (uint32_t)c->s->chan[k];
    cudaError_t e = upload(c, &c->d_chan, chan, c->s->nkept * sizeof *chan);
    free(chan);
    return e;
}

static cudaError_t aim_batch(const struct cuda *c, size_t batch)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct dedisp_k_delays delays = delays_of(c);
    size_t b = p->batch[batch];
    return dedisp_k_aim(c->d_stage, c->d_fault, c->d_block + b, p->batch[batch + 1] - b, c->d_group,
                        &delays, c->work);
}

/* All stages are made once, to see that there are such. */
static cudaError_t aim_all(const struct cuda *c)
{
    int fault = 0;
    for (size_t n = 0; n < c->plan.nbatch; n++)
        TRY(aim_batch(c, n));
    TRY(cudaStreamSynchronize(c->work));
    TRY(cudaMemcpy(&fault, c->d_fault, sizeof fault, cudaMemcpyDeviceToHost));
    return fault ? cudaErrorInvalidValue : cudaSuccess;
}

/* --- a piece ---------------------------------------------------------------------------------- */

/* Copies rows of memory with all threads; the caller's memory is not pinned, and a single thread is
 * slower than the bus. */
static void copy_rows(const struct cuda *c, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t bytes, size_t nrow)
{
    const int nthread = c->s->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) if (bytes * nrow > COPY_BYTES)
    for (size_t n = 0; n < nrow; n++)
        memcpy((char *)to + n * to_pitch, (const char *)from + n * from_pitch, bytes);
}

static void copy_bytes(const struct cuda *c, void *to, const void *from, size_t bytes)
{
    size_t whole = bytes / COPY_BYTES, done = whole * COPY_BYTES;
    copy_rows(c, to, COPY_BYTES, from, COPY_BYTES, COPY_BYTES, whole);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

/* Spectra to the device, behind those that the sums begun still need. */
static cudaError_t bring_piece(struct cuda *c, const void *in, size_t n)
{
    struct half *h = c->half + c->turn, *other = c->half + !c->turn;
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
static cudaError_t make_room(struct cuda *c)
{
    size_t from = (size_t)(c->ndone - c->first) * c->sample_bytes;
    size_t n = (size_t)(c->nturned - c->ndone) * c->sample_bytes;
    size_t planes = c->plan.nplane ? (size_t)c->plan.nplane : 1;
    c->first = c->ndone;
    return cornerturn_k_slide(c->d_run + DEDISP_FRONT, c->pitch, planes * c->s->nkept, from, n,
                              c->work);
}

/* Sums that are complete for every channel go to the runs. */
static cudaError_t turn_piece(struct cuda *c)
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

static size_t count_ready(const struct cuda *c)
{
    uint64_t n = c->nraw / c->s->downsamp, behind = c->s->maxshift + c->ndone;
    return n > behind ? (size_t)(n - behind) : 0;
}

static cudaError_t launch_sums(const struct cuda *c, const struct dedisp_k_io *io)
{
    const struct psr_cuda_plan *p = &c->plan;
    const struct dedisp_k_delays delays = delays_of(c);
    if (!p->multiply)
        return dedisp_k_gather(io, c->s->ndm, &delays, c->work);
    for (size_t n = 0; n < p->nbatch; n++) {
        size_t b = p->batch[n];
        if (p->nbatch > 1)
            TRY(aim_batch(c, n));
        TRY(dedisp_k_multiply(io, c->d_block + b, p->batch[n + 1] - b, c->d_stage, p->spread,
                              c->work));
    }
    return cudaSuccess;
}

/* The next n outputs, and their way to the host. */
static cudaError_t sum_piece(struct cuda *c, size_t n, size_t at)
{
    const struct psr_sweep *s = c->s;
    struct half *h = c->half + c->turn;
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
        .bias = (double)psr_sweep_bias(s) * (double)s->downsamp * (double)s->nkept,
        .downsamp = (double)s->downsamp,
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
static cudaError_t give_piece(struct cuda *c, int turn, float *out, size_t stride)
{
    struct half *h = c->half + turn;
    if (!h->nout)
        return cudaSuccess;
    TRY(cudaEventSynchronize(h->drained));
    copy_rows(c, out + h->at, stride * sizeof *out, h->h_out, h->pitch * sizeof *out,
              h->nout * sizeof *out, c->s->ndm);
    h->nout = 0;
    return cudaSuccess;
}

static cudaError_t run_pieces(struct cuda *c, const unsigned char *in, size_t nsamp, float *out,
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
    struct cuda *c = state;
    size_t given = 0;
    cudaError_t e = run_pieces(c, in, nsamp, out, stride, &given);
    if (e)
        return fail_cuda(c, e, "dedispersion", err);
    if (given != nout)
        return psr_fail(err, PSR_EINVAL, "dedispersion: gave %zu samples, not %zu", given, nout);
    return PSR_OK;
}

static void cuda_reset(void *state)
{
    struct cuda *c = state;
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
    const struct cuda *c = state;
    info->bytes = c->bytes;
}

/* Whatever there is of it. */
static void free_device(struct cuda *c)
{
    (void)cudaSetDevice(c->s->device);
    (void)cudaDeviceSynchronize();
    free_buffers(c);
    void *const device[] = {c->d_dm,    c->d_law,   c->d_row,   c->d_chan, c->d_pre,
                            c->d_block, c->d_group, c->d_stage, c->d_fault};
    for (size_t n = 0; n < sizeof device / sizeof *device; n++)
        cudaFree(device[n]);
    for (int n = 0; n < 2; n++) {
        const struct half *h = c->half + n;
        const cudaEvent_t event[] = {h->copied, h->freed, h->summed, h->drained};
        for (int k = 0; k < 4; k++)
            if (event[k])
                cudaEventDestroy(event[k]);
    }
    const cudaStream_t stream[] = {c->in, c->work, c->out};
    for (int n = 0; n < 3; n++)
        if (stream[n])
            cudaStreamDestroy(stream[n]);
}

static void cuda_destroy(void *state)
{
    struct cuda *c = state;
    if (!c)
        return;
    if (c->started)
        free_device(c);
    psr_cuda_plan_free(&c->plan);
    free(c);
}

static psr_status start(struct cuda *c, psr_err *err)
{
    struct psr_device device;
    int max_spread;
    psr_status st = psr_device_describe(c->s->device, &device, err);
    if (st)
        return st;
    cudaError_t e = cudaSetDevice(c->s->device);
    c->started = !e;
    if (e || (e = dedisp_k_max_spread(&max_spread)) || (e = make_events(c)))
        return fail_cuda(c, e, "start", err);
    int64_t stages = device.mem_free / 8 < STAGE_BYTES ? device.mem_free / 8 : STAGE_BYTES;
    st = psr_cuda_plan_make(&c->plan, c->s, max_spread, (size_t)stages / dedisp_k_stage_bytes(),
                            err);
    if (st)
        return st;
    c->sample_bytes = c->plan.nplane ? 1 : sizeof(float);
    c->row_bytes = (c->s->nchan * (size_t)c->s->nbit + 7) / 8;
    if ((e = upload_plan(c)) || (e = upload_channels(c)) || (e = aim_all(c)))
        return fail_cuda(c, e, "delays", err);
    return make_buffers(c, err);
}

/* Leaves nothing behind where it fails, so that another backend can be tried. */
static psr_status cuda_create(void **state, const struct psr_sweep *s, psr_err *err)
{
    struct cuda *c = calloc(1, sizeof *c);
    *state = NULL;
    if (!c)
        return psr_fail_nomem(err, "a dedispersion plan", sizeof *c);
    c->s = s;
    psr_status st = start(c, err);
    if (st)
        cuda_destroy(c);
    else
        *state = c;
    return st;
}

const struct psr_dedisp_ops psr_dedisp_cuda = {
    .name = "cuda",
    .create = cuda_create,
    .execute = cuda_execute,
    .reset = cuda_reset,
    .describe = cuda_describe,
    .destroy = cuda_destroy,
};
