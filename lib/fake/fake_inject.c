/* Adds signals to samples that exist. */
#include "fake_internal.h"

#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "base/tool.h"
#include "formats/spectra/unpack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE = 64,        /* channels that a thread takes at a time: whole bytes of any type */
    PIECES = 16,      /* of a block, whose scatters are compared */
    LEAST = 64,       /* spectra of a piece */
    KEEP = 1024,      /* a block that is shorter goes by the one before */
    LEVELS = 16,      /* of 4 bits */
    DITHER = 1 << 24, /* streams of random numbers, one for each channel */
    FEW_BITS = 4,
    BYTES_MOST = 1 << 16, /* spectra of bytes whose squares fit 32 bits */
};

static psr_status make_room(psr_fake *p, size_t n, psr_err *err)
{
    struct psr_fake_onto *o = &p->onto;
    const size_t nchan = p->frame.obs.nchan, room = n * (size_t)p->nthread;
    if (!o->scatter) {
        o->scatter = calloc(nchan, sizeof *o->scatter);
        o->gained = calloc(nchan * LEVELS, sizeof *o->gained);
        o->alive = calloc(nchan, sizeof *o->alive);
        o->measured_end = -1;
    }
    if (n > o->room) {
        free(o->column);
        free(o->word);
        o->column = calloc(room, sizeof *o->column);
        o->word = calloc(room, sizeof *o->word);
        o->room = n;
    }
    if (o->scatter && o->gained && o->alive && o->column && o->word)
        return PSR_OK;
    return psr_fail_nomem(err, "signals to add", (double)room * 8 + (double)nchan * LEVELS * 4);
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* Channels of a tile, over a piece. */
struct tile {
    size_t first, n, row_bytes;
    double sum[TILE], squares[TILE];
    int64_t count[TILE][LEVELS]; /* over the block */
};

/* Whole tiles of the most frequent type. */
PSR_CLONES static void inject_sum_bytes(const uint8_t *restrict rows, size_t row_bytes, size_t n,
                                        double *restrict sum, double *restrict squares)
{
    uint32_t s[TILE] = {0}, q[TILE] = {0};
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < TILE; c++) {
            const uint32_t x = rows[r * row_bytes + c];
            s[c] += x;
            q[c] += x * x;
        }
    for (size_t c = 0; c < TILE; c++) {
        sum[c] = (double)s[c];
        squares[c] = (double)q[c];
    }
}

/* Returned: variances of the piece [TILE], NaN where a value is not a number */
static void measure_piece(const struct psr_fake_onto *o, struct tile *t, const uint8_t *rows,
                          size_t n, double *variance)
{
    double x[TILE];
    memset(t->sum, 0, sizeof t->sum);
    memset(t->squares, 0, sizeof t->squares);
    const bool bytes = o->nbit == 8 && o->kind == PSR_UINT && t->n == TILE && n <= BYTES_MOST;
    if (bytes)
        inject_sum_bytes(rows + t->first, t->row_bytes, n, t->sum, t->squares);
    for (size_t r = 0; r < n && !bytes; r++) {
        psr_row_unpack(x, rows + r * t->row_bytes + t->first * (size_t)o->nbit / 8, t->n, o->nbit,
                       o->kind);
        for (size_t c = 0; c < t->n; c++) {
            t->sum[c] += x[c];
            t->squares[c] += x[c] * x[c];
        }
        for (size_t c = 0; o->nbit <= FEW_BITS && c < t->n; c++)
            t->count[c][(int)x[c]]++;
    }
    for (size_t c = 0; c < t->n; c++) {
        const double mean = t->sum[c] / (double)n, all = t->squares[c] - mean * t->sum[c];
        variance[c] = all > 1e-13 * t->squares[c] ? all / (double)(n - 1) : 0 * all;
    }
}

PSR_COMPARE_VALUES(compare, double);

/* The median of those that are numbers; of variances of noise it is below the mean (Wilson and Hilferty). */
static double find_scatter(double *variance, size_t n, size_t nrow)
{
    const double degrees = (double)nrow - 1, bias = pow(1 - 2 / (9 * degrees), 3);
    size_t good = 0;
    for (size_t k = 0; k < n; k++)
        if (isfinite(variance[k]))
            variance[good++] = variance[k];
    if (!good)
        return 0;
    qsort(variance, good, sizeof *variance, compare);
    const double median = (variance[(good - 1) / 2] + variance[good / 2]) / 2;
    return sqrt(median / (good > 2 ? bias : 1));
}

/* What an addition of 1, 2, .. levels gains in the mean where levels end: gained[k] of k. */
static void find_gains(const int64_t *count, int nbit, size_t n, float *gained)
{
    const int top = (1 << nbit) - 1;
    double below = 0, sum = 0; /* the share of samples with room for k + 1 levels */
    for (int l = 0; l < top; l++)
        below += (double)count[l] / (double)n;
    gained[0] = 0;
    for (int k = 1; k <= top; k++) {
        sum += below;
        below -= (double)count[top - k] / (double)n;
        gained[k] = (float)sum;
    }
}

static void measure_tile(struct psr_fake_onto *o, size_t first, size_t nchan, size_t row_bytes,
                         const uint8_t *rows, size_t n)
{
    struct tile t = {
        .first = first, .n = nchan - first < TILE ? nchan - first : TILE, .row_bytes = row_bytes};
    const size_t fit = n / LEAST,
                 npiece = fit < 1        ? 1
                          : fit < PIECES ? fit
                                         : PIECES,
                 each = n / npiece;
    double variance[PIECES][TILE], one[PIECES];
    for (size_t k = 0; k < npiece; k++)
        measure_piece(o, &t, rows + k * each * row_bytes, each, variance[k]);
    for (size_t c = 0; c < t.n; c++) {
        for (size_t k = 0; k < npiece; k++)
            one[k] = variance[k][c];
        o->scatter[first + c] = each > 1 ? (float)find_scatter(one, npiece, each) : 0;
        o->alive[first + c] = o->scatter[first + c] > 0;
        if (o->nbit <= FEW_BITS)
            find_gains(t.count[c], o->nbit, each * npiece, o->gained + (first + c) * LEVELS);
    }
}

static void measure(psr_fake *p, const uint8_t *rows, int64_t first, size_t n)
{
    struct psr_fake_onto *o = &p->onto;
    const size_t nchan = p->frame.obs.nchan, row_bytes = psr_row_bytes(nchan, o->nbit);
    const bool keep = n < KEEP && o->measured_end == first;
    o->measured_end = first + (int64_t)n;
    if (keep)
        return;
#pragma omp parallel for schedule(static) num_threads(p->nthread)
    for (size_t c = 0; c < nchan; c += TILE)
        measure_tile(o, c, nchan, row_bytes, rows, n);
    o->nalive = 0;
    for (size_t c = 0; c < nchan; c++)
        o->nalive += o->alive[c];
}

/* --- scale ------------------------------------------------------------------------------------ */

/* Brings a signal to the S/N that is asked for, in the channels that vary. */
static psr_status scale(psr_fake *p, size_t i, psr_err *err)
{
    struct psr_fake_part *part = &p->part[i];
    struct psr_fake_truth *t = &part->truth;
    if (part->scaled)
        return PSR_OK;
    psr_status st = psr_fake_describe(p, i, t, err);
    if (st)
        return st;
    const double snr = t->snr_boxcar * sqrt(fmax(t->pulses, 0));
    const double factor = part->desc.snr <= 0 ? 1 : snr > 0 ? part->desc.snr / snr : 0;
    for (size_t c = 0; c < p->frame.obs.nchan; c++)
        part->ready.fluence[c] *= factor;
    part->peak *= factor;
    t->peak *= factor;
    t->snr_single *= factor;
    t->snr_folded *= factor;
    t->snr_boxcar *= factor;
    part->scaled = true;
    return PSR_OK;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* What must be added for a gain of x in the mean. */
static float make_up(const float *gained, int nbit, float x)
{
    const int top = (1 << nbit) - 1;
    int k = 0;
    while (k < top && gained[k + 1] < x)
        k++;
    if (k == top)
        return (float)top;
    const float rise = gained[k + 1] - gained[k];
    return (float)k + (rise > 0 ? (x - gained[k]) / rise : 1);
}

static void add_column(const psr_fake *p, size_t c, const struct psr_fake_column *from,
                       uint32_t *word, uint8_t *rows)
{
    const struct psr_fake_onto *o = &p->onto;
    const size_t row_bytes = psr_row_bytes(p->frame.obs.nchan, o->nbit), bit = c * (size_t)o->nbit;
    const int64_t n = from->high - from->low;
    psr_rng_words(p->seed, DITHER + (uint32_t)c, (uint64_t)from->low, (size_t)n, word);
    for (int64_t k = 0; k < n; k++) {
        const int64_t t = from->low - from->first + k;
        float x = from->x[t] * o->scatter[c];
        uint8_t *at = rows + (size_t)t * row_bytes + bit / 8;
        const float random = (float)(word[k] >> 8) * 0x1p-24F;
        if (x == 0)
            continue;
        if (o->nbit <= FEW_BITS && x > 0)
            x = make_up(o->gained + c * LEVELS, o->nbit, x);
        if (o->nbit < 8) {
            const unsigned shift = (unsigned)(bit % 8);
            const unsigned top = (1u << o->nbit) - 1;
            const float value = floorf((float)(*at >> shift & top) + x + random);
            const unsigned level = value > 0 ? value < (float)top ? (unsigned)value : top : 0;
            *at = (uint8_t)((*at & ~(top << shift)) | level << shift);
        } else {
            /* Adds x to a sample of a byte and more, rounded by a random number from 0 to 1; packing rounds to the nearest. */
            double value;
            psr_row_unpack(&value, at, 1, o->nbit, o->kind);
            value += (double)x + (o->kind == PSR_FLOAT ? 0 : (double)random - 0.5);
            psr_row_pack(at, &value, 1, o->nbit, o->kind);
        }
    }
}

/* All signals of a channel. */
static void add_channel(psr_fake *p, const size_t *active, size_t nactive, size_t c, int64_t first,
                        size_t n, uint8_t *rows)
{
    struct psr_fake_onto *o = &p->onto;
    const size_t at = (size_t)psr_thread_number() * o->room;
    struct psr_fake_column to = {.x = o->column + at,
                                 .stride = 1,
                                 .nif = 1,
                                 .first = first,
                                 .n = (int64_t)n,
                                 .low = first + (int64_t)n,
                                 .high = first};
    for (size_t k = 0; k < nactive; k++) {
        const struct psr_fake_ready *ready = &p->part[active[k]].ready;
        struct psr_fake_cursor cursor = psr_fake_find_pulse(p, ready, c, first);
        psr_fake_add_pulses(p, ready, c, &cursor, &to);
    }
    if (to.low >= to.high)
        return;
    if (o->scatter[c] > 0)
        add_column(p, c, &to, o->word + at, rows);
    memset(to.x + (to.low - first), 0, (size_t)(to.high - to.low) * sizeof *to.x);
}

psr_status psr_fake_inject(psr_fake *p, int nbit, enum psr_kind kind, int64_t first, size_t n,
                           uint8_t *rows, psr_err *err)
{
    size_t nactive = 0, *active = malloc((p->npart + 1) * sizeof *active);
    if (!active)
        return psr_fail_nomem(err, "signals", (double)p->npart * sizeof *active);
    p->onto.is_set = true;
    p->onto.nbit = nbit;
    p->onto.kind = kind;
    psr_status st = psr_fake_find_active(p, first, n, active, &nactive, err);
    if (!st && nactive)
        st = make_room(p, n, err);
    if (!st && nactive)
        measure(p, rows, first, n);
    for (size_t k = 0; k < nactive && !st; k++)
        st = scale(p, active[k], err);
    if (!st && nactive) {
        const size_t nchan = p->frame.obs.nchan;
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
        for (size_t tile = 0; tile < nchan; tile += TILE)
            for (size_t c = tile; c < tile + TILE && c < nchan; c++)
                add_channel(p, active, nactive, c, first, n, rows);
    }
    free(active);
    return st;
}
