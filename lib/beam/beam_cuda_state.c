/* Holds the data of a beam plan on a CUDA device: constants, weights, factors of directions,
 * buffers. */
#include "base/device/device_internal.h"

#include "beam/beam_cuda.h"
#include <inttypes.h>
#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

/* --- slots of shared memory for the voltages of a grid's dishes, without bank conflicts ------- */

/* Dishes are written in rounds of 32, in the order of the input, and read in rounds of 32, in the
 * order of the grid.  A dish is an edge between its two rounds, a bank is a colour, and no round
 * may have a colour twice.  A bipartite graph whose nodes have at most 32 edges has 32 such colours
 * (Koenig), found edge by edge: where the two rounds have no free bank in common, the dishes of a
 * chain exchange two banks. */

enum { BANKS = BEAM_ROUND };

struct side {
    int32_t (*at)[BANKS]; /* dish that a round has in a bank, -1: none */
    int32_t *round;       /* [ndish] -1: not on this side */
};

struct graph {
    struct side side[2]; /* writing, reading */
    int32_t *bank;       /* [ndish] */
    int32_t *chain;      /* [ndish] */
};

static int free_bank(const struct side *s, int32_t round)
{
    int bank = 0;
    while (s->at[round][bank] >= 0)
        bank++;
    return bank;
}

static void set_bank(struct graph *g, int32_t dish, int bank, bool exists)
{
    g->bank[dish] = bank;
    for (int n = 0; n < 2; n++)
        if (g->side[n].round[dish] >= 0)
            g->side[n].at[g->side[n].round[dish]][bank] = exists ? dish : -1;
}

/* Frees bank a of a reading round that has b free. */
static void exchange(struct graph *g, int32_t round, int a, int b)
{
    size_t n = 0;
    int which = 1, bank = a;
    for (int32_t dish; (dish = g->side[which].at[round][bank]) >= 0; n++) {
        g->chain[n] = dish;
        which = !which;
        bank = bank == a ? b : a;
        round = g->side[which].round[dish];
    }
    for (size_t k = 0; k < n; k++)
        set_bank(g, g->chain[k], g->bank[g->chain[k]], false);
    for (size_t k = 0; k < n; k++)
        set_bank(g, g->chain[k], k % 2 ? a : b, true);
}

static void place_dish(struct graph *g, int32_t dish)
{
    int a = free_bank(&g->side[0], g->side[0].round[dish]);
    if (g->side[1].round[dish] >= 0) {
        int b = free_bank(&g->side[1], g->side[1].round[dish]);
        if (g->side[1].at[g->side[1].round[dish]][a] >= 0)
            exchange(g, g->side[1].round[dish], a, b);
    }
    set_bank(g, dish, a, true);
}

/* Dishes in a row of voltages on the device: those of the array, plus dummies to make a multiple of
 * 4. */
static size_t beam_slots_dishes(const struct psr_beam_work *w)
{
    return (w->ndish + 3) / 4 * 4;
}

psr_status psr_beam_slots_make(struct psr_beam_slots *s, const struct beam_k_layout *l,
                               const struct psr_beam_work *w, psr_err *err)
{
    const size_t ndish = beam_slots_dishes(w);
    size_t nwrite = (size_t)l->slots / BANKS, nread = 2 * (size_t)l->words / BANKS;
    size_t ints = 4 * ndish + (nwrite + nread) * BANKS;
    int32_t *memory = malloc(ints * sizeof *memory);
    s->write = calloc((size_t)l->dishes, sizeof *s->write);
    s->read = calloc(2 * (size_t)l->words, sizeof *s->read);
    s->dish = calloc(2 * (size_t)l->words, sizeof *s->dish);
    if (!memory || !s->write || !s->read || !s->dish) {
        free(memory);
        return psr_fail_nomem(err, "places of dishes", (double)ints * sizeof *memory);
    }
    struct graph g = {.bank = memory, .chain = memory + ndish};
    g.side[0].round = g.chain + ndish;
    g.side[1].round = g.side[0].round + ndish;
    g.side[0].at = (int32_t(*)[BANKS])(g.side[1].round + ndish);
    g.side[1].at = g.side[0].at + nwrite;
    for (size_t n = 0; n < nwrite + nread; n++)
        for (int b = 0; b < BANKS; b++)
            g.side[0].at[n][b] = -1;
    /* Which dish is at each place read, and which are written and read together. */
    for (size_t d = 0; d < ndish; d++) {
        g.side[0].round[d] = (int32_t)(d / 4 / BANKS * 4 + d % 4);
        g.side[1].round[d] = -1;
    }
    for (int i = 0; i < 2 * l->words; i++) {
        int32_t place = beam_k_place(w->m, w->n, i / 2, i % 2);
        s->dish[i] = -1;
        for (size_t d = 0; place >= 0 && d < w->ndish; d++)
            if (w->cell[d] == place)
                s->dish[i] = (int32_t)d;
        if (s->dish[i] >= 0)
            g.side[1].round[s->dish[i]] = i / 2 / BANKS * 2 + i % 2;
    }
    for (size_t d = 0; d < ndish; d++)
        if (g.side[1].round[d] >= 0)
            place_dish(&g, (int32_t)d);
    for (size_t d = 0; d < ndish; d++)
        if (g.side[1].round[d] < 0)
            place_dish(&g, (int32_t)d);
    for (size_t d = 0; d < ndish; d++)
        s->write[d] = (uint16_t)(g.side[0].round[d] * BANKS + g.bank[d]);
    for (int i = 0; i < 2 * l->words; i++) {
        int32_t dish = s->dish[i], round = i / 2 / BANKS * 2 + i % 2;
        s->read[i] = dish >= 0 ? s->write[dish] : (uint16_t)free_bank(&g.side[1], round);
    }
    free(memory);
    return PSR_OK;
}

void psr_beam_slots_free(struct psr_beam_slots *s)
{
    free(s->write);
    free(s->read);
    free(s->dish);
}

/* --- constants, weights, factors of directions, buffers --------------------------------------- */

enum {
    PIECE_BYTES = 128 << 20, /* of voltages at once */
    PART_BYTES = 512 << 20,  /* of scratch of the slow path */
    PIECE_MAX = 1 << 15,     /* samples */
    TENSOR_SM = 80,          /* compute capability that the tensor path needs */
};

/* A beam's largest half is 2^13: the factors of a direction do not take it beyond 2^15, and a beam
 * of noise is then above the smallest half with full precision by the number of dishes. */
static const double BRIGHTEST = 8192;

/* --- memory ----------------------------------------------------------------------------------- */

cudaError_t psr_beam_cuda_count(struct psr_beam_cuda *c, size_t bytes)
{
    c->refused = 0;
    if ((int64_t)bytes > c->limit - c->bytes) {
        c->refused = c->bytes + (int64_t)bytes;
        return cudaErrorMemoryAllocation;
    }
    c->bytes += (int64_t)bytes;
    return cudaSuccess;
}

psr_status psr_beam_cuda_fail(const struct psr_beam_cuda *c, cudaError_t e, const char *what,
                              psr_err *err)
{
    if (!c->refused)
        return psr_cuda_fail(c->w->device, e, what, err);
    return psr_fail(err, PSR_ENOMEM,
                    "device %d: %s: %" PRId64
                    " bytes with those there are, above mem_bytes %" PRId64,
                    c->w->device, what, c->refused, c->limit);
}

static cudaError_t take(struct psr_beam_cuda *c, void *to, size_t bytes)
{
    int64_t taken = 0;
    TRY(psr_beam_cuda_count(c, bytes));
    return psr_cuda_take(to, bytes, &taken);
}

static cudaError_t upload(struct psr_beam_cuda *c, void *to, const void *from, size_t bytes)
{
    int64_t taken = 0;
    TRY(psr_beam_cuda_count(c, bytes));
    return psr_cuda_upload(to, from, bytes, &taken);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Bytes on the grid of one row of all channels. */
static size_t grid_row_bytes(const struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    size_t each = c->tensor ? 2 : sizeof(float);
    return w->pattern == PSR_BEAM_GRID ? 0 : w->nfreq * 4 * w->m * w->n * each;
}

/* Refined sums; 0 where there are none. */
static size_t fine_row_bytes(const struct psr_beam_cuda *c)
{
    return c->tensor && c->w->pattern == PSR_BEAM_POINTS ? 2 * grid_row_bytes(c) : 0;
}

struct beam_k_lines psr_beam_cuda_lines(const struct psr_beam_cuda *c, size_t nrow, bool levels)
{
    const struct psr_beam_work *w = c->w;
    if (c->tensor && w->pattern == PSR_BEAM_POINTS)
        return beam_k_points_lines(w->nbeam, nrow, levels);
    if (c->tensor && w->pattern == PSR_BEAM_PRODUCT)
        return beam_k_product_lines(w->n_ns, w->n_ew, nrow, levels);
    return beam_k_product_lines(1, w->nbeam, nrow, false);
}

/* Intensities of so many rows, as floats or as levels, whichever takes more. */
static size_t beam_bytes(const struct psr_beam_cuda *c, size_t rows)
{
    const struct beam_k_lines x = psr_beam_cuda_lines(c, rows, false);
    const struct beam_k_lines y = psr_beam_cuda_lines(c, rows, true);
    const size_t floats = x.count * x.length * sizeof(float), levels = y.count * y.length;
    return c->w->nfreq * (floats > levels ? floats : levels);
}

static size_t given_bytes(const struct psr_beam_cuda *c, size_t rows)
{
    return rows * c->w->nfreq * c->w->nbeam * sizeof(float);
}

static size_t room_bytes(const struct psr_beam_cuda *c, size_t rows)
{
    return rows * (grid_row_bytes(c) + fine_row_bytes(c)) + beam_bytes(c, rows) +
           2 * given_bytes(c, rows);
}

static void drop_room(struct psr_beam_cuda *c)
{
    cudaFree(c->d_grid);
    cudaFree(c->d_fine);
    cudaFree(c->d_beam);
    cudaFree(c->buffer[0].d_rows);
    cudaFree(c->buffer[1].d_rows);
    c->d_grid = c->d_fine = c->d_beam = c->buffer[0].d_rows = c->buffer[1].d_rows = NULL;
    c->bytes -= c->rows_bytes;
    c->rows = 0;
    c->rows_bytes = 0;
}

cudaError_t psr_beam_cuda_make_room(struct psr_beam_cuda *c, size_t rows)
{
    int64_t taken = 0;
    if (rows <= c->rows)
        return cudaSuccess;
    drop_room(c);
    TRY(psr_beam_cuda_count(c, room_bytes(c, rows)));
    c->rows_bytes = (int64_t)room_bytes(c, rows);
    if (grid_row_bytes(c))
        TRY(psr_cuda_take(&c->d_grid, rows * grid_row_bytes(c), &taken));
    if (fine_row_bytes(c))
        TRY(psr_cuda_take(&c->d_fine, rows * fine_row_bytes(c), &taken));
    TRY(psr_cuda_take(&c->d_beam, beam_bytes(c, rows), &taken));
    TRY(psr_cuda_take(&c->buffer[0].d_rows, given_bytes(c, rows), &taken));
    TRY(psr_cuda_take(&c->buffer[1].d_rows, given_bytes(c, rows), &taken));
    c->rows = rows;
    return cudaSuccess;
}

/* What pieces of n samples take: voltages twice, also in page-locked memory of the host where the
 * caller's is not, scratch of the slow path, and rows. */
static double piece_bytes(const struct psr_beam_cuda *c, size_t n)
{
    const struct psr_beam_work *w = c->w;
    const double sample = 2 * (double)w->nfreq * PSR_BEAM_NPOL * (double)(c->row + w->ndish);
    const double part = c->tensor ? 0 : (double)beam_k_any_bytes(w->m, w->n, w->nfreq);
    return (double)n * (sample + part) + (double)room_bytes(c, n / w->tds_min + 1);
}

/* Samples at once that leave half of the memory to the caller's blocks, if there are any. */
static size_t choose_piece(const struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    const double sample = (double)w->nfreq * PSR_BEAM_NPOL * (double)c->row;
    const double part = c->tensor ? 0 : (double)beam_k_any_bytes(w->m, w->n, w->nfreq);
    double most = fmin(PIECE_BYTES / sample, PIECE_MAX);
    if (part > 0)
        most = fmin(most, PART_BYTES / part);
    size_t n = most > 1 ? (size_t)most : 1;
    while (n > 1 && piece_bytes(c, n) > (double)c->limit / 2 - (double)c->bytes)
        n -= n / 16 + 1;
    return n ? n : 1;
}

static cudaError_t make_sums(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    const size_t sums = w->nfreq * 4 * w->m * w->n * sizeof(float);
    const size_t split = c->tensor ? beam_k_split_bytes(w->m, w->n, w->nfreq) : 0;
    TRY(take(c, &c->d_sum[0], sums));
    TRY(take(c, &c->d_sum[1], sums));
    return split ? take(c, &c->d_split, split) : cudaSuccess;
}

static cudaError_t make_buffers(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    const size_t sample = w->nfreq * PSR_BEAM_NPOL * c->row;
    for (int n = 0; n < 2; n++) {
        TRY(take(c, &c->buffer[n].d_in, c->piece * sample));
        if (c->row > w->ndish) /* bytes beyond the dishes are read, and weighted with 0 */
            TRY(cudaMemsetAsync(c->buffer[n].d_in, 0, c->piece * sample, c->work));
    }
    if (!c->tensor)
        TRY(take(c, &c->d_part, c->piece * beam_k_any_bytes(w->m, w->n, w->nfreq)));
    return psr_beam_cuda_make_room(c, c->piece / w->tds_min + 1);
}

/* --- directions and quantising ---------------------------------------------------------------- */

/* Memory for the factors of an axis. */
static cudaError_t take_axis(struct psr_beam_cuda *c, struct beam_k_axis *axis, size_t n,
                             size_t ndir)
{
    const size_t nfreq = c->w->nfreq;
    *axis = (struct beam_k_axis){.n = n, .ndir = ndir};
    TRY(take(c, &axis->d_theta, nfreq * ndir * sizeof(double)));
    if (c->tensor)
        return take(c, &axis->d_left, beam_k_left_bytes(n, ndir, nfreq));
    return take(c, &axis->d_factor, nfreq * 2 * n * ndir * sizeof(float));
}

/* Memory for arbitrary beams of the tensor path. */
static cudaError_t take_beams(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    const size_t tiles = beam_k_tiles(w->n, w->nbeam), places = w->nfreq * tiles * BEAM_TILE;
    struct beam_k_beams *b = &c->beams;
    *b = (struct beam_k_beams){.m = w->m, .n = w->n, .nbeam = w->nbeam, .tiles = tiles};
    TRY(take(c, &b->d_ns, w->nfreq * w->nbeam * sizeof(double)));
    TRY(take(c, &b->d_ew, w->nfreq * w->nbeam * sizeof(double)));
    TRY(take(c, &b->d_first, w->nfreq * (w->n + 1) * sizeof *b->d_first));
    TRY(take(c, &b->d_beam, places * sizeof *b->d_beam));
    TRY(take(c, &b->d_taps, places * 4 * BEAM_QUAD));
    TRY(take(c, &b->d_factor, places * 4 * w->m));
    TRY(take(c, &c->d_refine, beam_k_refine_table_bytes(w->n)));
    return beam_k_make_refine_table(w->n, c->d_refine, c->work);
}

static cudaError_t take_directions(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    if (w->pattern == PSR_BEAM_GRID)
        return cudaSuccess;
    if (c->tensor && w->pattern == PSR_BEAM_POINTS) {
        TRY(take_beams(c));
    } else {
        TRY(take_axis(c, &c->ns, w->m, w->n_ns));
        TRY(take_axis(c, &c->ew, w->n, w->n_ew));
    }
    return psr_beam_cuda_point(c);
}

static cudaError_t send_directions(const struct psr_beam_cuda *c, const double *const *d_theta,
                                   const double *theta, size_t ndir)
{
    void *to;
    memcpy(&to, d_theta, sizeof to);
    return psr_cuda_send(to, theta, c->w->nfreq * ndir * sizeof *theta);
}

cudaError_t psr_beam_cuda_point(struct psr_beam_cuda *c)
{
    const struct psr_beam_work *w = c->w;
    const bool tiles = c->beams.d_beam;
    TRY(cudaSetDevice(w->device));
    TRY(send_directions(c, tiles ? &c->beams.d_ns : &c->ns.d_theta, w->theta_ns, w->n_ns));
    TRY(send_directions(c, tiles ? &c->beams.d_ew : &c->ew.d_theta, w->theta_ew, w->n_ew));
    if (tiles) {
        TRY(beam_k_make_beams(&c->beams, w->nfreq, c->work));
    } else {
        TRY(beam_k_make_factors(&c->ns, w->nfreq, c->work));
        TRY(beam_k_make_factors(&c->ew, w->nfreq, c->work));
    }
    return cudaStreamSynchronize(c->work);
}

cudaError_t psr_beam_cuda_quantise(struct psr_beam_cuda *c)
{
    const size_t bytes = c->w->nfreq * sizeof(float);
    TRY(cudaSetDevice(c->w->device));
    if (c->w->nbit == 32)
        return cudaSuccess;
    TRY(psr_cuda_send(c->d_offset, c->w->offset, bytes));
    return psr_cuda_send(c->d_scale, c->w->scale, bytes);
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
    cudaError_t e = upload(c, &c->d_unit, unit, w->nfreq * sizeof *unit);
    if (!e)
        e = upload(c, &c->d_bright, unit + w->nfreq, w->nfreq * sizeof *unit);
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
    cudaError_t e = upload(c, &c->d_tds, tds, w->nfreq * sizeof *tds);
    free(tds);
    TRY(e);
    TRY(take(c, &c->d_offset, w->nfreq * sizeof(float)));
    TRY(take(c, &c->d_scale, w->nfreq * sizeof(float)));
    if (!w->weight)
        return cudaSuccess;
    return upload(c, &c->d_gain, w->weight, w->nfreq * 4 * w->ndish * sizeof(float));
}

/* The slow path: which dish is at each place. */
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
    cudaError_t e = upload(c, &c->d_dish, dish, n * sizeof *dish);
    free(dish);
    return e;
}

static cudaError_t upload_slots(struct psr_beam_cuda *c, const struct psr_beam_slots *s)
{
    const struct beam_k_layout *l = &c->layout;
    const size_t words = (size_t)l->words, nfreq = c->w->nfreq;
    TRY(upload_ranges(c));
    TRY(upload(c, &c->d_write, s->write, (size_t)l->dishes * sizeof *s->write));
    TRY(upload(c, &c->d_read, s->read, 2 * words * sizeof *s->read));
    TRY(upload(c, &c->d_dish, s->dish, 2 * words * sizeof *s->dish));
    TRY(take(c, &c->d_table, (size_t)l->tables * sizeof *c->d_table));
    TRY(beam_k_make_tables(c->w->m, c->w->n, c->d_table, c->work));
    TRY(take(c, &c->d_weight, nfreq * 2 * words * 8));
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
            st = psr_beam_cuda_fail(c, e, "weights", err);
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
        struct psr_beam_buffer *h = c->buffer + n;
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
        return psr_fail_field(err, st, why.field, "beams on CUDA: %s", why.msg);
    cudaError_t e = cudaSetDevice(w->device);
    c->started = !e;
    if (e || (e = make_events(c)))
        return psr_beam_cuda_fail(c, e, "start", err);
    c->layout = beam_k_find_layout(w->m, w->n);
    c->tensor = c->layout.words && device.sm >= TENSOR_SM && w->ndish <= (size_t)c->layout.dishes;
    c->row = c->tensor ? beam_slots_dishes(w) : w->ndish;
    c->even = w->tds_min == w->tds_max;
    c->limit = w->mem_bytes < device.mem_free ? w->mem_bytes : device.mem_free;
    if ((st = place_dishes(c, err)))
        return st;
    if ((e = take_directions(c)) || (e = make_sums(c)))
        return psr_beam_cuda_fail(c, e, "directions and sums", err);
    c->piece = choose_piece(c);
    if ((e = make_buffers(c)) || (e = cudaStreamSynchronize(c->work)))
        return psr_beam_cuda_fail(c, e, "voltages and beams", err);
    return PSR_OK;
}

void psr_beam_cuda_free(struct psr_beam_cuda *c)
{
    (void)cudaSetDevice(c->w->device);
    (void)cudaDeviceSynchronize();
    drop_room(c);
    const void *const device[] = {
        c->d_tds,        c->d_unit,       c->d_bright,       c->d_gain,     c->d_dish,
        c->d_table,      c->d_write,      c->d_read,         c->d_weight,   c->d_offset,
        c->d_scale,      c->d_sum[0],     c->d_sum[1],       c->d_part,     c->d_split,
        c->ns.d_theta,   c->ns.d_left,    c->ns.d_factor,    c->ew.d_theta, c->ew.d_left,
        c->ew.d_factor,  c->d_refine,     c->beams.d_ns,     c->beams.d_ew, c->beams.d_first,
        c->beams.d_beam, c->beams.d_taps, c->beams.d_factor,
    };
    for (size_t n = 0; n < sizeof device / sizeof *device; n++) {
        void *p;
        memcpy(&p, device + n, sizeof p);
        cudaFree(p);
    }
    for (int n = 0; n < 2; n++) {
        const struct psr_beam_buffer *h = c->buffer + n;
        const cudaEvent_t event[] = {h->copied, h->freed, h->given, h->drained, c->done[n]};
        cudaFree(h->d_in);
        psr_device_unpin(h->h_in);
        for (int k = 0; k < 5; k++)
            if (event[k])
                cudaEventDestroy(event[k]);
    }
    const cudaStream_t stream[] = {c->in, c->work, c->out};
    for (int n = 0; n < 3; n++)
        if (stream[n])
            cudaStreamDestroy(stream[n]);
}
