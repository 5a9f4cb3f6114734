/* Automatic cleaning on a CUDA device: spectra go over as they come, windows of them are cleaned there, and the host
 * decides between steps.
 *
 * All goes through one stream, which is waited for where the host decides: on sums of channels, and on products of
 * sub-bands; so no page-locked memory is written while a copy from it may still run. */
#include "clean_auto_plan.h"

#include "base/device/cuda_call.h"
#include "base/device/device_internal.h"

#include <clean/clean_kernels.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = PSR_AUTO_BLOCKS + 1 };

/* Channels of a thread that decides: it needs some 2 ms for them, and where all cores are busy to wake others takes
 * longer. */
enum { CHANNELS_OF_THREAD = 2048 };

/* What automatic cleaning keeps on a device. */

struct auto_cuda {
    int device;
    cudaStream_t stream;
    bool is_pinned;          /* the plan's band.sum */
    struct clean_k_window w; /* owns its arrays but d_in and d_out */
    struct clean_k_range *d_range;
    float *d_gain, *d_offset, *d_level;
    unsigned char *d_weight;
    unsigned char *d_held, *d_cleaned; /* [in_room] spectra that came, [out_room] and became */
    size_t in_room, out_room;

    /* Page-locked. */
    struct clean_k_range *range; /* [RANGES] */
    float *gain, *offset;        /* [RANGES][nchan] */
    float *level;                /* [nchan] */
    unsigned char *weight;       /* [nchan] */
    uint64_t *s1, *s2;           /* [PSR_AUTO_BLOCKS][nchan] */
    unsigned char *spark;        /* [window] */
    unsigned char *pulse;        /* [window] */
    unsigned char *silent;       /* [window] sparks and bursts */
    float *product;              /* [PSR_AUTO_WIDTHS][ngroup][ngroup] */
    double *centre;              /* [PSR_AUTO_GROUPS] */
    uint32_t *ntile;             /* [PSR_AUTO_WIDTHS] */
};

/* --- automatic cleaning on a CUDA device: memory and the stream ------------------------------- */

static void auto_cuda_destroy(psr_clean_auto *p)
{
    struct auto_cuda *c = p->state;
    (void)cudaSetDevice(c->device);
    if (c->stream)
        (void)cudaStreamSynchronize(c->stream);
    void *const on_device[] = {
        c->d_weight,    c->d_range,  c->d_gain,     c->d_offset,   c->d_level,   c->d_held,
        c->d_cleaned,   c->w.d_s1,   c->w.d_s2,     c->w.d_sum,    c->w.d_spark, c->w.d_pulse,
        c->w.d_tile,    c->w.d_flat, c->w.d_most,   c->w.d_list,   c->w.d_ntile, c->w.d_rate,
        c->w.d_product, c->w.d_mode, c->w.d_median, c->w.d_prefix, c->w.d_less,  c->w.d_centre};
    void *const pinned[] = {c->weight, c->range, c->gain,   c->offset,  c->level,  c->s1,   c->s2,
                            c->spark,  c->pulse, c->silent, c->product, c->centre, c->ntile};
    for (size_t k = 0; k < sizeof on_device / sizeof *on_device; k++)
        cudaFree(on_device[k]);
    for (size_t k = 0; k < sizeof pinned / sizeof *pinned; k++)
        psr_device_unpin(pinned[k]);
    if (c->stream)
        cudaStreamDestroy(c->stream);
    if (c->is_pinned)
        cudaHostUnregister(p->band.sum);
    free(c);
}

static cudaError_t take_channels(struct auto_cuda *c, size_t nchan, int64_t *taken)
{
    const size_t cells = PSR_AUTO_BLOCKS * nchan, values = RANGES * nchan;
    TRY(psr_cuda_take(&c->d_range, RANGES * sizeof *c->d_range, taken));
    TRY(psr_cuda_take(&c->d_gain, values * sizeof *c->d_gain, taken));
    TRY(psr_cuda_take(&c->d_offset, values * sizeof *c->d_offset, taken));
    TRY(psr_cuda_take(&c->d_level, nchan * sizeof *c->d_level, taken));
    TRY(psr_cuda_take(&c->d_weight, nchan, taken));
    TRY(psr_cuda_take_pinned(&c->weight, nchan, taken));
    TRY(psr_cuda_take(&c->w.d_s1, cells * sizeof *c->w.d_s1, taken));
    TRY(psr_cuda_take(&c->w.d_s2, cells * sizeof *c->w.d_s2, taken));
    TRY(psr_cuda_take_pinned(&c->range, RANGES * sizeof *c->range, taken));
    TRY(psr_cuda_take_pinned(&c->gain, values * sizeof *c->gain, taken));
    TRY(psr_cuda_take_pinned(&c->offset, values * sizeof *c->offset, taken));
    TRY(psr_cuda_take_pinned(&c->level, nchan * sizeof *c->level, taken));
    TRY(psr_cuda_take_pinned(&c->s1, cells * sizeof *c->s1, taken));
    return psr_cuda_take_pinned(&c->s2, cells * sizeof *c->s2, taken);
}

static cudaError_t take_window(struct auto_cuda *c, size_t window, size_t ngroup, int64_t *taken)
{
    struct clean_k_window *w = &c->w;
    const size_t tiles = (size_t)PSR_AUTO_WIDTHS * PSR_AUTO_TILES, values = window * ngroup,
                 products = PSR_AUTO_WIDTHS * ngroup * ngroup;
    TRY(psr_cuda_take(&w->d_sum, values * sizeof *w->d_sum, taken));
    TRY(psr_cuda_take(&w->d_spark, window, taken));
    TRY(psr_cuda_take(&w->d_pulse, window, taken));
    TRY(psr_cuda_take(&w->d_tile, window * sizeof *w->d_tile, taken));
    TRY(psr_cuda_take(&w->d_most, window * sizeof *w->d_most, taken));
    TRY(psr_cuda_take(&w->d_flat, window * sizeof *w->d_flat, taken));
    TRY(psr_cuda_take(&w->d_list, tiles * sizeof *w->d_list, taken));
    TRY(psr_cuda_take(&w->d_ntile, PSR_AUTO_WIDTHS * sizeof *w->d_ntile, taken));
    TRY(psr_cuda_take(&w->d_rate, tiles * ngroup * sizeof *w->d_rate, taken));
    TRY(psr_cuda_take(&w->d_product, products * sizeof *w->d_product, taken));
    TRY(psr_cuda_take(&w->d_centre, PSR_AUTO_GROUPS * sizeof *w->d_centre, taken));
    TRY(psr_cuda_take(&w->d_mode, values * sizeof *w->d_mode, taken));
    TRY(psr_cuda_take(&w->d_median, values * sizeof *w->d_median, taken));
    TRY(psr_cuda_take(&w->d_prefix, values * sizeof *w->d_prefix, taken));
    TRY(psr_cuda_take(&w->d_less, values * sizeof *w->d_less, taken));
    TRY(psr_cuda_take_pinned(&c->spark, window, taken));
    TRY(psr_cuda_take_pinned(&c->pulse, window, taken));
    TRY(psr_cuda_take_pinned(&c->silent, window, taken));
    TRY(psr_cuda_take_pinned(&c->product, products * sizeof *c->product, taken));
    TRY(psr_cuda_take_pinned(&c->centre, PSR_AUTO_GROUPS * sizeof *c->centre, taken));
    return psr_cuda_take_pinned(&c->ntile, PSR_AUTO_WIDTHS * sizeof *c->ntile, taken);
}

static void describe_window(struct auto_cuda *c, const psr_clean_auto *p)
{
    struct clean_k_window *w = &c->w;
    w->nchan = p->d.nchan;
    w->row_bytes = p->in.row_bytes;
    w->ngroup = p->ngroup;
    w->nbit = p->in.nbit;
    w->is_signed = p->in.kind == PSR_INT;
    w->is_float = p->in.kind == PSR_FLOAT;
    w->window = p->window;
    w->d_range = c->d_range;
    w->d_gain = c->d_gain;
    w->d_offset = c->d_offset;
    w->d_level = c->d_level;
    w->d_weight = c->d_weight;
}

/* The stream comes before those of dedispersion, whose kernels would not leave it a place. */
static cudaError_t start(struct auto_cuda *c, const psr_clean_auto *p)
{
    int64_t taken = 0;
    int lowest, highest;
    TRY(cudaSetDevice(c->device));
    TRY(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    TRY(cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking, highest));
    TRY(take_channels(c, p->d.nchan, &taken));
    TRY(take_window(c, p->window, p->ngroup, &taken));
    TRY(cudaHostRegister(p->band.sum, p->window * p->ngroup * sizeof *p->band.sum,
                         cudaHostRegisterDefault));
    c->is_pinned = true;
    describe_window(c, p);
    return cudaSuccess;
}

/* Makes p->state, and frees it. */
static psr_status auto_cuda_create(psr_clean_auto *p, psr_err *err)
{
    struct psr_device found;
    psr_status st = psr_device_describe(p->d.device, &found, err);
    if (st)
        return st;
    struct auto_cuda *c = calloc(1, sizeof *c);
    p->state = c;
    if (!c)
        return psr_fail_nomem(err, "cleaning", sizeof *c);
    c->device = p->d.device;
    const int enough = 1 + (int)(p->d.nchan / CHANNELS_OF_THREAD);
    p->nthread = p->nthread < enough ? p->nthread : enough;
    cudaError_t e = start(c, p);
    return e ? psr_cuda_fail(c->device, e, "cleaning", err) : PSR_OK;
}

static psr_status fail(const struct auto_cuda *c, cudaError_t e, psr_err *err)
{
    return psr_cuda_fail(c->device, e, "cleaning", err);
}

/* --- the steps of a window -------------------------------------------------------------------- */

static cudaError_t sum_on_device(struct auto_cuda *c, psr_clean_auto *p)
{
    struct clean_k_window *w = &c->w;
    const size_t bytes = p->win.nblock * p->d.nchan * sizeof *w->d_s1;
    w->d_in = p->win.from;
    w->d_out = p->win.to;
    w->n = p->win.n;
    w->nblock = p->win.nblock;
    w->nrange = p->win.nrange;
    w->size = p->win.size;
    TRY(cudaMemsetAsync(w->d_s1, 0, bytes, c->stream));
    TRY(cudaMemsetAsync(w->d_s2, 0, bytes, c->stream));
    TRY(clean_k_sum(w, c->stream));
    TRY(cudaMemcpyAsync(c->s1, w->d_s1, bytes, cudaMemcpyDeviceToHost, c->stream));
    TRY(cudaMemcpyAsync(c->s2, w->d_s2, bytes, cudaMemcpyDeviceToHost, c->stream));
    return cudaStreamSynchronize(c->stream);
}

static double value_of(const struct auto_cuda *c, uint64_t bits)
{
    double x;
    if (clean_k_sums_integers(&c->w))
        return (double)(int64_t)bits;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static psr_status sum(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    cudaError_t e = sum_on_device(c, p);
    for (size_t k = 0; k < p->win.nblock && !e; k++)
        for (size_t i = 0; i < p->d.nchan; i++) {
            p->win.block[k].s1[i] = value_of(c, c->s1[k * p->d.nchan + i]);
            p->win.block[k].s2[i] = value_of(c, c->s2[k * p->d.nchan + i]);
        }
    return e ? fail(c, e, err) : PSR_OK;
}

static cudaError_t quantise_on_device(struct auto_cuda *c, const psr_clean_auto *p)
{
    const size_t bytes = p->d.nchan * sizeof *c->gain;
    TRY(cudaMemcpyAsync(c->d_range, c->range, p->win.nrange * sizeof *c->range,
                        cudaMemcpyHostToDevice, c->stream));
    TRY(cudaMemcpyAsync(c->d_gain, c->gain, p->win.nrange * bytes, cudaMemcpyHostToDevice,
                        c->stream));
    TRY(cudaMemcpyAsync(c->d_offset, c->offset, p->win.nrange * bytes, cudaMemcpyHostToDevice,
                        c->stream));
    TRY(cudaMemcpyAsync(c->d_level, c->level, bytes, cudaMemcpyHostToDevice, c->stream));
    return clean_k_quantise(&c->w, CLEAN_K_PLAIN, c->stream);
}

static psr_status quantise(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    /* What was decided, where copies to the device begin. */
    const size_t nchan = p->d.nchan;
    for (size_t k = 0; k < p->win.nrange; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        c->range[k] = (struct clean_k_range){.first = b->first, .n = b->n, .ncount = b->ncount};
        memcpy(c->range[k].count, b->count, sizeof b->count);
        memcpy(c->gain + k * nchan, b->gain, nchan * sizeof *c->gain);
        memcpy(c->offset + k * nchan, b->offset, nchan * sizeof *c->offset);
    }
    for (size_t i = 0; i < nchan; i++)
        c->level[i] = (float)p->levels.l_now[i];
    cudaError_t e = quantise_on_device(c, p);
    return e ? fail(c, e, err) : PSR_OK;
}

static cudaError_t find_sparks_on_device(struct auto_cuda *c, psr_clean_auto *p)
{
    const size_t values = p->win.n * p->ngroup;
    TRY(cudaMemsetAsync(c->w.d_spark, 0, p->win.n, c->stream));
    TRY(cudaMemsetAsync(c->w.d_pulse, 0, p->win.n, c->stream));
    for (size_t w = 1; !p->d.zerodm && 4 * w <= p->win.size; w *= 2)
        TRY(clean_k_find_sparks(&c->w, w, p->d.clip_sigma, c->stream));
    TRY(cudaMemcpyAsync(c->spark, c->w.d_spark, p->win.n, cudaMemcpyDeviceToHost, c->stream));
    TRY(cudaMemcpyAsync(c->pulse, c->w.d_pulse, p->win.n, cudaMemcpyDeviceToHost, c->stream));
    TRY(cudaMemcpyAsync(p->band.sum, c->w.d_sum, values * sizeof *p->band.sum,
                        cudaMemcpyDeviceToHost, c->stream));
    return cudaStreamSynchronize(c->stream);
}

/* What follows looks at sums on the host: at one run of spectra after another, and one edge. */
static psr_status find_sparks(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    cudaError_t e = find_sparks_on_device(c, p);
    if (e)
        return fail(c, e, err);
    memcpy(p->band.spark, c->spark, p->win.n);
    memcpy(p->band.pulse, c->pulse, p->win.n);
    psr_auto_find_bursts(p);
    return PSR_OK;
}

/* What was decided of spectra, for what is measured. */
static cudaError_t put_marks(struct auto_cuda *c, const psr_clean_auto *p)
{
    memcpy(c->spark, p->band.spark, p->win.n);
    memcpy(c->pulse, p->band.pulse, p->win.n);
    TRY(cudaMemcpyAsync(c->w.d_spark, c->spark, p->win.n, cudaMemcpyHostToDevice, c->stream));
    return cudaMemcpyAsync(c->w.d_pulse, c->pulse, p->win.n, cudaMemcpyHostToDevice, c->stream);
}

static cudaError_t measure_on_device(struct auto_cuda *c, size_t nwidth)
{
    const struct clean_k_window *w = &c->w;
    const size_t products = nwidth * w->ngroup * w->ngroup;
    TRY(clean_k_measure(w, nwidth, c->stream));
    TRY(cudaMemcpyAsync(c->ntile, w->d_ntile, nwidth * sizeof *c->ntile, cudaMemcpyDeviceToHost,
                        c->stream));
    TRY(cudaMemcpyAsync(c->product, w->d_product, products * sizeof *c->product,
                        cudaMemcpyDeviceToHost, c->stream));
    TRY(cudaMemcpyAsync(c->centre, w->d_centre, w->ngroup * sizeof *c->centre,
                        cudaMemcpyDeviceToHost, c->stream));
    return cudaStreamSynchronize(c->stream);
}

static psr_status measure(psr_clean_auto *p, struct psr_auto_products *now,
                          struct psr_auto_scale *one, psr_err *err)
{
    struct auto_cuda *c = p->state;
    const size_t nwidth = psr_auto_count_widths(p), cells = p->ngroup * p->ngroup;
    cudaError_t e = measure_on_device(c, nwidth);
    if (e)
        return fail(c, e, err);
    for (size_t k = 0; k < nwidth; k++) {
        now[k].n = c->ntile[k] < PSR_AUTO_FEWEST ? 0 : c->ntile[k];
        memcpy(now[k].sum, c->product + k * cells, cells * sizeof *c->product);
    }
    if (now->n)
        memcpy(one->middle, c->centre, p->ngroup * sizeof *c->centre);
    return PSR_OK;
}

static psr_status find_offsets(psr_clean_auto *p, const struct psr_auto_modes *m, psr_err *err)
{
    struct auto_cuda *c = p->state;
    /* Nothing is subtracted for what is in a burst, as of sparks. */
    for (size_t t = 0; t < p->win.n; t++)
        c->silent[t] = p->band.spark[t] || p->band.burst[t];
    cudaError_t e =
        cudaMemcpyAsync(c->w.d_spark, c->silent, p->win.n, cudaMemcpyHostToDevice, c->stream);
    if (!e)
        e = clean_k_subtract(&c->w, m, c->stream);
    return e ? fail(c, e, err) : PSR_OK;
}

static psr_status find_jumps(psr_clean_auto *p, bool *some, psr_err *err)
{
    struct auto_cuda *c = p->state;
    const size_t bytes = p->win.n * p->ngroup * sizeof *p->band.sum;
    *some = psr_auto_find_jumps(p);
    cudaError_t e = put_marks(c, p);
    if (!e && *some)
        e = cudaMemcpyAsync(c->w.d_sum, p->band.sum, bytes, cudaMemcpyHostToDevice, c->stream);
    return e ? fail(c, e, err) : PSR_OK;
}

/* In the few windows that have some. */
static cudaError_t add_jumps_on_device(struct auto_cuda *c, psr_clean_auto *p)
{
    const size_t bytes = p->win.n * p->ngroup * sizeof *p->modes.less;
    TRY(cudaMemcpyAsync(p->modes.less, c->w.d_less, bytes, cudaMemcpyDeviceToHost, c->stream));
    TRY(cudaStreamSynchronize(c->stream));
    psr_auto_subtract_steps(p);
    return cudaMemcpyAsync(c->w.d_less, p->modes.less, bytes, cudaMemcpyHostToDevice, c->stream);
}

static psr_status add_jumps(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    cudaError_t e = add_jumps_on_device(c, p);
    return e ? fail(c, e, err) : PSR_OK;
}

/* A sum over a window in order, which a host makes sooner. */
static psr_status find_mean(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    const size_t bytes = p->win.n * p->ngroup * sizeof *p->modes.less;
    psr_auto_find_mean(p);
    cudaError_t e =
        cudaMemcpyAsync(c->w.d_less, p->modes.less, bytes, cudaMemcpyHostToDevice, c->stream);
    return e ? fail(c, e, err) : PSR_OK;
}

static psr_status clear_offsets(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    const size_t bytes = p->win.n * p->ngroup * sizeof *p->modes.less;
    cudaError_t e = cudaMemsetAsync(c->w.d_less, 0, bytes, c->stream);
    return e ? fail(c, e, err) : PSR_OK;
}

static cudaError_t quantise_by_weight(struct auto_cuda *c, const psr_clean_auto *p)
{
    memcpy(c->weight, p->weight, p->d.nchan);
    TRY(cudaMemcpyAsync(c->d_weight, c->weight, p->d.nchan, cudaMemcpyHostToDevice, c->stream));
    return clean_k_quantise(&c->w, CLEAN_K_WEIGHTED, c->stream);
}

static psr_status quantise_less(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    cudaError_t e =
        p->d.weights ? quantise_by_weight(c, p) : clean_k_quantise(&c->w, CLEAN_K_LESS, c->stream);
    return e ? fail(c, e, err) : PSR_OK;
}

static psr_status blank(psr_clean_auto *p, psr_err *err)
{
    struct auto_cuda *c = p->state;
    memcpy(c->spark, p->band.spark, p->win.n);
    cudaError_t e =
        cudaMemcpyAsync(c->w.d_spark, c->spark, p->win.n, cudaMemcpyHostToDevice, c->stream);
    if (!e)
        e = clean_k_blank(&c->w, c->stream);
    return e ? fail(c, e, err) : PSR_OK;
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Room for so many spectra, of which the first "have" stay. */
static cudaError_t grow(struct auto_cuda *c, unsigned char **d, size_t *room, size_t n,
                        size_t row_bytes, size_t have)
{
    void *more;
    if (n <= *room)
        return cudaSuccess;
    TRY(cudaMalloc(&more, n * row_bytes));
    if (have)
        TRY(cudaMemcpyAsync(more, *d, have * row_bytes, cudaMemcpyDeviceToDevice, c->stream));
    TRY(cudaStreamSynchronize(c->stream));
    TRY(cudaFree(*d));
    *d = more;
    *room = n;
    return cudaSuccess;
}

static cudaError_t take_spectra(struct auto_cuda *c, psr_clean_auto *p, const void *in,
                                size_t nsamp)
{
    const size_t row = p->in.row_bytes, room = nsamp + p->window;
    TRY(cudaSetDevice(c->device));
    TRY(grow(c, &c->d_held, &c->in_room, room, row, p->nheld));
    TRY(grow(c, &c->d_cleaned, &c->out_room, room, p->d.nchan, 0));
    if (nsamp)
        TRY(cudaMemcpyAsync(c->d_held + p->nheld * row, in, nsamp * row, cudaMemcpyHostToDevice,
                            c->stream));
    p->nheld += nsamp;
    return cudaSuccess;
}

/* What is left of the spectra goes to their start: fewer than a window, from behind one. */
static cudaError_t keep_rest(struct auto_cuda *c, psr_clean_auto *p, size_t done)
{
    const size_t row = p->in.row_bytes;
    p->nheld -= done;
    if (done && p->nheld)
        TRY(cudaMemcpyAsync(c->d_held, c->d_held + done * row, p->nheld * row,
                            cudaMemcpyDeviceToDevice, c->stream));
    return cudaStreamSynchronize(c->stream);
}

/* Cleans the windows that are complete; at the end what there is. */
static psr_status run(psr_clean_auto *p, const void *in, size_t nsamp, bool end, size_t *nout,
                      psr_err *err)
{
    struct auto_cuda *c = p->state;
    psr_status st = PSR_OK;
    *nout = 0;
    cudaError_t e = take_spectra(c, p, in, nsamp);
    while (!e && !st && *nout < p->nheld && (end || p->nheld - *nout >= p->window)) {
        const size_t left = p->nheld - *nout, n = left < p->window ? left : p->window;
        st = psr_auto_clean_window(p, c->d_held + *nout * p->in.row_bytes, n,
                                   c->d_cleaned + *nout * p->d.nchan, err);
        *nout += n;
    }
    if (!e && !st)
        e = keep_rest(c, p, *nout);
    return e ? fail(c, e, err) : st;
}

static psr_status execute_device(psr_clean_auto *p, const void *in, size_t nsamp, void **d_out,
                                 size_t *nout, psr_err *err)
{
    const struct auto_cuda *c = p->state;
    psr_status st = run(p, in, nsamp, false, nout, err);
    *d_out = c->d_cleaned;
    return st;
}

static psr_status finish_device(psr_clean_auto *p, void **d_out, size_t *nout, psr_err *err)
{
    const struct auto_cuda *c = p->state;
    psr_status st = run(p, NULL, 0, true, nout, err);
    *d_out = c->d_cleaned;
    return st;
}

static psr_status blank_device(psr_clean_auto *p, size_t nsamp, void **d_out, psr_err *err)
{
    struct auto_cuda *c = p->state;
    cudaError_t e = cudaSetDevice(c->device);
    if (!e)
        e = grow(c, &c->d_cleaned, &c->out_room, nsamp, p->d.nchan, 0);
    if (!e)
        e = cudaMemsetAsync(c->d_cleaned, 0, nsamp * p->d.nchan, c->stream);
    if (!e)
        e = cudaStreamSynchronize(c->stream);
    *d_out = c->d_cleaned;
    return e ? fail(c, e, err) : PSR_OK;
}

static psr_status to_host(const psr_clean_auto *p, void *out, size_t nout, psr_err *err)
{
    struct auto_cuda *c = p->state;
    cudaError_t e =
        cudaMemcpyAsync(out, c->d_cleaned, nout * p->d.nchan, cudaMemcpyDeviceToHost, c->stream);
    if (!e)
        e = cudaStreamSynchronize(c->stream);
    return e ? fail(c, e, err) : PSR_OK;
}

static psr_status execute(psr_clean_auto *p, const void *in, size_t nsamp, void *out, size_t *nout,
                          psr_err *err)
{
    psr_status st = run(p, in, nsamp, false, nout, err);
    return st || !*nout ? st : to_host(p, out, *nout, err);
}

static psr_status finish(psr_clean_auto *p, void *out, size_t *nout, psr_err *err)
{
    psr_status st = run(p, NULL, 0, true, nout, err);
    return st || !*nout ? st : to_host(p, out, *nout, err);
}

const struct psr_auto_ops psr_auto_cuda = {
    .name = "cuda",
    .create = auto_cuda_create,
    .destroy = auto_cuda_destroy,
    .sum = sum,
    .quantise = quantise,
    .find_sparks = find_sparks,
    .find_jumps = find_jumps,
    .measure = measure,
    .find_offsets = find_offsets,
    .find_mean = find_mean,
    .clear_offsets = clear_offsets,
    .add_jumps = add_jumps,
    .quantise_less = quantise_less,
    .blank = blank,
    .execute = execute,
    .finish = finish,
    .execute_device = execute_device,
    .finish_device = finish_device,
    .blank_device = blank_device,
};
