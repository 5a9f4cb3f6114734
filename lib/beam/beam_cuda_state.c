/* What a plan for beams holds on a CUDA device: constants, weights, factors of directions, room. */
#include "beam_cuda.h"
#include "beam_cuda_slots.h"

#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 128 << 20, /* of voltages at once */
    PART_BYTES = 512 << 20,  /* of scratch of the slow path */
    PIECE_MAX = 1 << 15,     /* samples */
    TENSOR_SM = 80,          /* compute capability that the tensor path needs */
};

/* A beam's largest half is 2^13: the factors of a direction do not take it beyond 2^15, and a beam
 * of noise is then above the smallest half with full precision by the number of dishes. */
static const double BRIGHTEST = 8192;

/* --- rows ------------------------------------------------------------------------------------- */

/* Bytes on the grid of one row of all channels. */
static size_t grid_row_bytes(const struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    size_t each = c->tensor ? 2 : sizeof(float);
    return w->pattern == PSR_BEAM_GRID ? 0 : w->nfreq * 4 * w->m * w->n * each;
}

static void drop_room(struct psr_beam_cuda *c)
{
    cudaFree(c->d_grid);
    cudaFree(c->d_beam);
    cudaFree(c->half[0].d_rows);
    cudaFree(c->half[1].d_rows);
    c->d_grid = c->d_beam = c->half[0].d_rows = c->half[1].d_rows = NULL;
    c->bytes -= c->rows_bytes;
    c->rows = 0;
    c->rows_bytes = 0;
}

cudaError_t psr_beam_cuda_make_room(struct psr_beam_cuda *c, size_t rows)
{
    const size_t row = c->w->nfreq * c->w->nbeam * sizeof(float);
    if (rows <= c->rows)
        return cudaSuccess;
    drop_room(c);
    int64_t before = c->bytes;
    if (grid_row_bytes(c))
        TRY(psr_cuda_take(&c->d_grid, rows * grid_row_bytes(c), &c->bytes));
    TRY(psr_cuda_take(&c->d_beam, rows * row, &c->bytes));
    TRY(psr_cuda_take(&c->half[0].d_rows, rows * row, &c->bytes));
    TRY(psr_cuda_take(&c->half[1].d_rows, rows * row, &c->bytes));
    c->rows = rows;
    c->rows_bytes = c->bytes - before;
    return cudaSuccess;
}

/* Samples at once that keep voltages, scratch and rows within what there is. */
static size_t choose_piece(const struct psr_beam_cuda *c, int64_t mem_free)
{
    const struct psr_beam_work *w = c->w;
    const double sample = (double)w->nfreq * PSR_BEAM_NPOL * (double)c->row;
    const double part = c->tensor ? 0 : (double)beam_k_any_bytes(w->m, w->n, w->nfreq);
    const double row =
        (double)grid_row_bytes(c) + 3 * (double)w->nfreq * (double)w->nbeam * sizeof(float);
    double most = (double)(w->mem_bytes < mem_free ? w->mem_bytes : mem_free) / 2;
    double n = (most - row) / (2 * sample + part + row / (double)w->tds_min);
    n = fmin(fmin(n, PIECE_BYTES / sample), PIECE_MAX);
    if (part > 0)
        n = fmin(n, PART_BYTES / part);
    return n > 1 ? (size_t)n : 1;
}

static cudaError_t make_buffers(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    const size_t sample = w->nfreq * PSR_BEAM_NPOL * c->row;
    const size_t sums = w->nfreq * 4 * w->m * w->n * sizeof(float);
    TRY(psr_cuda_take(&c->half[0].d_in, c->piece * sample, &c->bytes));
    TRY(psr_cuda_take(&c->half[1].d_in, c->piece * sample, &c->bytes));
    TRY(psr_cuda_take(&c->d_sum[0], sums, &c->bytes));
    TRY(psr_cuda_take(&c->d_sum[1], sums, &c->bytes));
    if (!c->tensor)
        TRY(psr_cuda_take(&c->d_part, c->piece * beam_k_any_bytes(w->m, w->n, w->nfreq),
                          &c->bytes));
    return psr_beam_cuda_make_room(c, c->piece / w->tds_min + 1);
}

/* --- directions and quantising ---------------------------------------------------------------- */

/* Memory for what a kernel wants of an axis. */
static cudaError_t take_axis(struct psr_beam_cuda *c, struct beam_k_axis *axis, size_t n,
                             size_t ndir, bool scale)
{
    const size_t nfreq = c->w->nfreq;
    *axis = (struct beam_k_axis){.n = n, .ndir = ndir};
    TRY(psr_cuda_take(&axis->d_theta, nfreq * ndir * sizeof(double), &c->bytes));
    if (!c->tensor)
        return psr_cuda_take(&axis->d_factor, nfreq * 2 * n * ndir * sizeof(float), &c->bytes);
    if (scale)
        return psr_cuda_take(&axis->d_scale, beam_k_scale_bytes(n, ndir, nfreq), &c->bytes);
    return psr_cuda_take(&axis->d_left, beam_k_left_bytes(n, ndir, nfreq), &c->bytes);
}

static cudaError_t take_directions(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    if (w->pattern == PSR_BEAM_GRID)
        return cudaSuccess;
    TRY(take_axis(c, &c->ns, w->m, w->n_ns, w->pattern == PSR_BEAM_POINTS));
    TRY(take_axis(c, &c->ew, w->n, w->n_ew, false));
    return psr_beam_cuda_point(c);
}

static cudaError_t point_axis(struct psr_beam_cuda *c, struct beam_k_axis *axis,
                              const double *theta)
{
    void *to;
    memcpy(&to, &axis->d_theta, sizeof to);
    TRY(cudaMemcpy(to, theta, c->w->nfreq * axis->ndir * sizeof *theta, cudaMemcpyHostToDevice));
    return beam_k_make_factors(axis, c->w->nfreq, c->work);
}

cudaError_t psr_beam_cuda_point(struct psr_beam_cuda *c)
{
    TRY(cudaSetDevice(c->w->device));
    TRY(point_axis(c, &c->ns, c->w->theta_ns));
    TRY(point_axis(c, &c->ew, c->w->theta_ew));
    return cudaStreamSynchronize(c->work);
}

cudaError_t psr_beam_cuda_quantise(struct psr_beam_cuda *c)
{
    const size_t bytes = c->w->nfreq * sizeof(float);
    TRY(cudaSetDevice(c->w->device));
    if (c->w->nbit == 32)
        return cudaSuccess;
    TRY(cudaMemcpy(c->d_offset, c->w->offset, bytes, cudaMemcpyHostToDevice));
    return cudaMemcpy(c->d_scale, c->w->scale, bytes, cudaMemcpyHostToDevice);
}

/* --- weights and constants -------------------------------------------------------------------- */

/* A power of two that the weights of channel f do not exceed, and what takes its brightest possible
 * sum to the largest half. */
static void find_range(const struct psr_beam_work *w, size_t f, float *unit, float *bright)
{
    double most = 0, power = 0;
    int exponent;
    for (size_t pol = 0; pol < PSR_BEAM_NPOL; pol++) {
        double sum = 0;
        for (size_t d = 0; d < w->ndish; d++) {
            const float *x = w->weight ? w->weight + 2 * ((2 * f + pol) * w->ndish + d) : NULL;
            double modulus = w->cell[d] < 0 ? 0 : x ? hypot((double)x[0], (double)x[1]) : 1;
            most = fmax(most, modulus);
            sum += modulus;
        }
        power += 128 * sum * sum; /* the largest voltage is -8 - 8i */
    }
    (void)frexp(most, &exponent);
    *unit = most > 0 ? (float)ldexp(1, exponent) : 1;
    *bright = power > 0 ? (float)(BRIGHTEST / (power * (double)w->tds[f])) : 1;
}

static cudaError_t upload_ranges(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    float *unit = malloc(2 * w->nfreq * sizeof *unit);
    if (!unit)
        return cudaErrorMemoryAllocation;
    for (size_t f = 0; f < w->nfreq; f++)
        find_range(w, f, unit + f, unit + w->nfreq + f);
    cudaError_t e = psr_cuda_upload(&c->d_unit, unit, w->nfreq * sizeof *unit, &c->bytes);
    if (!e)
        e = psr_cuda_upload(&c->d_bright, unit + w->nfreq, w->nfreq * sizeof *unit, &c->bytes);
    free(unit);
    return e;
}

static cudaError_t upload_channels(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    uint32_t *tds = malloc(w->nfreq * sizeof *tds);
    if (!tds)
        return cudaErrorMemoryAllocation;
    for (size_t f = 0; f < w->nfreq; f++)
        tds[f] = (uint32_t)w->tds[f];
    cudaError_t e = psr_cuda_upload(&c->d_tds, tds, w->nfreq * sizeof *tds, &c->bytes);
    free(tds);
    TRY(e);
    TRY(psr_cuda_take(&c->d_offset, w->nfreq * sizeof(float), &c->bytes));
    TRY(psr_cuda_take(&c->d_scale, w->nfreq * sizeof(float), &c->bytes));
    if (!w->weight)
        return cudaSuccess;
    return psr_cuda_upload(&c->d_gain, w->weight, w->nfreq * 4 * w->ndish * sizeof(float),
                           &c->bytes);
}

/* The slow path: which dish stands at each place. */
static cudaError_t upload_places(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    const size_t n = w->m * w->n;
    int32_t *dish = malloc(n * sizeof *dish);
    if (!dish)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < n; i++)
        dish[i] = -1;
    for (size_t d = 0; d < w->ndish; d++)
        if (w->cell[d] >= 0)
            dish[w->cell[d]] = (int32_t)d;
    cudaError_t e = psr_cuda_upload(&c->d_dish, dish, n * sizeof *dish, &c->bytes);
    free(dish);
    return e;
}

static cudaError_t upload_slots(struct psr_beam_cuda *c, const struct psr_beam_slots *s)
{
    const struct beam_k_layout *l = &c->layout;
    const size_t words = (size_t)l->words, nfreq = c->w->nfreq;
    TRY(upload_ranges(c));
    TRY(psr_cuda_upload(&c->d_write, s->write, (size_t)l->dishes * sizeof *s->write, &c->bytes));
    TRY(psr_cuda_upload(&c->d_read, s->read, 2 * words * sizeof *s->read, &c->bytes));
    TRY(psr_cuda_upload(&c->d_dish, s->dish, 2 * words * sizeof *s->dish, &c->bytes));
    TRY(psr_cuda_take(&c->d_table, (size_t)l->tables * sizeof *c->d_table, &c->bytes));
    TRY(beam_k_make_tables(c->w->m, c->w->n, c->d_table, c->work));
    TRY(psr_cuda_take(&c->d_weight, nfreq * 2 * words * 8, &c->bytes));
    const struct beam_k_weights weights = {
        .d_gain = c->d_gain,
        .d_dish = c->d_dish,
        .d_unit = c->d_unit,
        .real_low = c->w->real_low,
        .d_packed = c->d_weight,
    };
    return beam_k_pack_weights(&weights, nfreq, c->w->ndish, l->words, c->work);
}

static psr_status place_dishes(struct psr_beam_cuda *c, psr_err *err)
{
    struct psr_beam_slots slots = {0};
    psr_status st = PSR_OK;
    cudaError_t e;
    if (c->tensor)
        st = psr_beam_slots_make(&slots, &c->layout, c->w, err);
    if (!st) {
        e = upload_channels(c);
        if (!e)
            e = c->tensor ? upload_slots(c, &slots) : upload_places(c);
        if (e)
            st = psr_cuda_fail(c->w->device, e, "weights", err);
    }
    psr_beam_slots_free(&slots);
    return st;
}

/* --- start and end ---------------------------------------------------------------------------- */

static cudaError_t make_events(struct psr_beam_cuda *c)
{
    TRY(cudaStreamCreateWithFlags(&c->in, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&c->work, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&c->out, cudaStreamNonBlocking));
    for (int n = 0; n < 2; n++) {
        struct psr_beam_half *h = c->half + n;
        cudaEvent_t *const event[] = {&h->copied, &h->freed, &h->given, &h->drained};
        for (int k = 0; k < 4; k++)
            TRY(cudaEventCreateWithFlags(event[k], cudaEventDisableTiming));
        TRY(cudaEventCreateWithFlags(&c->done[n], cudaEventDisableTiming));
    }
    return cudaSuccess;
}

psr_status psr_beam_cuda_start(struct psr_beam_cuda *c, psr_err *err)
{
    const struct psr_beam_work *w = c->w;
    struct psr_device device;
    psr_err why;
    psr_status st = psr_device_describe(w->device, &device, &why);
    if (st)
        return psr_fail(err, st, "beams on CUDA: %s", why.msg);
    cudaError_t e = cudaSetDevice(w->device);
    c->started = !e;
    if (e || (e = make_events(c)))
        return psr_cuda_fail(c->w->device, e, "start", err);
    c->layout = beam_k_find_layout(w->m, w->n);
    c->tensor = c->layout.words && device.sm >= TENSOR_SM && w->ndish <= (size_t)c->layout.dishes;
    c->row = c->tensor ? psr_beam_slots_dishes(w) : w->ndish;
    c->even = w->tds_min == w->tds_max;
    c->piece = choose_piece(c, device.mem_free);
    if ((st = place_dishes(c, err)))
        return st;
    if ((e = take_directions(c)))
        return psr_cuda_fail(c->w->device, e, "directions", err);
    if ((e = make_buffers(c)) || (e = cudaStreamSynchronize(c->work)))
        return psr_cuda_fail(c->w->device, e, "voltages and beams", err);
    return PSR_OK;
}

void psr_beam_cuda_free(struct psr_beam_cuda *c)
{
    (void)cudaSetDevice(c->w->device);
    (void)cudaDeviceSynchronize();
    drop_room(c);
    const void *const device[] = {
        c->d_tds,      c->d_unit,    c->d_bright,   c->d_gain,      c->d_dish,     c->d_table,
        c->d_write,    c->d_read,    c->d_weight,   c->d_offset,    c->d_scale,    c->d_sum[0],
        c->d_sum[1],   c->d_part,    c->ns.d_theta, c->ns.d_left,   c->ns.d_scale, c->ns.d_factor,
        c->ew.d_theta, c->ew.d_left, c->ew.d_scale, c->ew.d_factor,
    };
    for (size_t n = 0; n < sizeof device / sizeof *device; n++) {
        void *p;
        memcpy(&p, device + n, sizeof p);
        cudaFree(p);
    }
    for (int n = 0; n < 2; n++) {
        const struct psr_beam_half *h = c->half + n;
        const cudaEvent_t event[] = {h->copied, h->freed, h->given, h->drained, c->done[n]};
        cudaFree(h->d_in);
        cudaFreeHost(h->h_in);
        for (int k = 0; k < 5; k++)
            if (event[k])
                cudaEventDestroy(event[k]);
    }
    const cudaStream_t stream[] = {c->in, c->work, c->out};
    for (int n = 0; n < 3; n++)
        if (stream[n])
            cudaStreamDestroy(stream[n]);
}
