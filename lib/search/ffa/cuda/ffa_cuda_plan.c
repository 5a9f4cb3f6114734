/* Chooses sweeps over the recursion of folds: how many levels each merges, and how many rows a thread
 * block. */
#include "ffa_cuda.h"

#include "base/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_ALIGN = 8,         /* bins, of the samples of a step */
    SCRATCH_BINS = 8 << 20, /* of a group, about: its sums stay in the second cache */
    THREADS = 512,
    RATING_WARPS = 4, /* that have room for prefix sums, at least */
};

struct limits {
    size_t block, half; /* bytes of a thread block, alone on a multiprocessor or with another one */
};

/* What sweeps of a step are made for: its largest fold. */
struct shape {
    uint32_t nrow, pitch, depth; /* depth: at which nodes are single rows */
    size_t rate;                 /* bytes for prefix sums */
};

static uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

/* Words that a lane takes at once: those which make rows shortest, one where all would make them much longer. */
static uint32_t words_of(uint32_t nbin)
{
    static const uint32_t words[] = {FFA_MAX_WORDS, 9, 8};
    uint32_t best = 1, pitch = round_up(nbin, FFA_LANES) + nbin / 8;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (round_up(nbin, words[i] * FFA_LANES) < pitch) {
            best = words[i];
            pitch = round_up(nbin, best * FFA_LANES);
        }
    return best;
}

static uint32_t pitch_of(uint32_t nbin)
{
    return round_up(nbin, words_of(nbin) * FFA_LANES);
}

static uint32_t rows_at(uint32_t nrow, uint32_t depth)
{
    return depth > 31 ? 1 : (uint32_t)(((uint64_t)nrow + (UINT64_C(1) << depth) - 1) >> depth);
}

/* Rows that a tile needs of the levels below it, at most. */
static void count_rows(struct ffa_k_sweep *w, uint32_t nrow)
{
    const uint64_t whole = rows_at(nrow, w->depth);
    uint64_t need = w->tile < whole ? w->tile : whole, size = whole;
    w->even = (uint32_t)need;
    w->odd = 0;
    w->rows = (uint32_t)need;
    for (uint32_t level = 1; level <= w->levels; level++) {
        const uint64_t half = (size + 1) / 2, most = (need - 1) / 2 + 2;
        need = most < half ? most : half;
        size = half;
        const uint32_t rows = (uint32_t)(need << level < whole ? need << level : whole);
        uint32_t *of = level % 2 ? &w->odd : &w->even;
        *of = rows > *of ? rows : *of;
        w->rows += rows;
    }
}

/* Bytes of a thread block. */
static size_t find_bytes(struct ffa_k_sweep *w, const struct shape *s, bool rate)
{
    count_rows(w, s->nrow);
    const size_t row = s->pitch * sizeof(uint32_t);
    const size_t odd = w->odd * row, sums = rate ? RATING_WARPS * s->rate : 0;
    return ffa_k_merge_bytes(w->rows) + w->even * row + (odd > sums ? odd : sums);
}

/* The largest tile that fits. */
static bool fit_tile(struct ffa_k_sweep *w, const struct shape *s, bool rate, size_t bytes)
{
    uint32_t low = 0, high = rows_at(s->nrow, w->depth) + 1;
    while (high - low > 1) {
        w->tile = (low + high) / 2;
        if (find_bytes(w, s, rate) <= bytes)
            low = w->tile;
        else
            high = w->tile;
    }
    w->tile = low;
    w->shared = low ? find_bytes(w, s, rate) : 0;
    return low > 0;
}

/* A sweep from depth + levels to depth whose tiles load few rows that others load too. */
static bool make_sweep(struct ffa_k_sweep *w, const struct shape *s, size_t bytes)
{
    const uint32_t whole = rows_at(s->nrow, w->depth), wanted = 1u << w->levels;
    return w->levels <= FFA_MAX_LEVELS && fit_tile(w, s, w->depth == 0, bytes) &&
           (w->levels <= 1 || w->tile >= wanted || w->tile >= whole);
}

/* The sweep from the samples: as many levels as a thread block takes with all rows of a node. */
static bool make_lowest(struct ffa_k_sweep *w, const struct shape *s, size_t bytes)
{
    const uint32_t most = s->depth < FFA_MAX_LEVELS ? s->depth : FFA_MAX_LEVELS;
    for (uint32_t levels = most;; levels--) {
        *w = (struct ffa_k_sweep){.depth = s->depth - levels, .levels = levels};
        if (w->depth && fit_tile(w, s, false, bytes) && w->tile >= rows_at(s->nrow, w->depth))
            return true;
        if (levels <= 1)
            return false;
    }
}

/* Sweep 0 and n - 1 of equal numbers of levels above it. */
static bool make_some(struct ffa_k_sweep *sweep, uint32_t n, const struct shape *s, size_t bytes)
{
    if (n == 1) {
        sweep[0] = (struct ffa_k_sweep){.levels = s->depth};
        return make_sweep(&sweep[0], s, bytes);
    }
    if (!make_lowest(&sweep[0], s, bytes))
        return false;
    for (uint32_t i = n, depth = 0; i-- > 1; depth += sweep[i].levels) {
        sweep[i] = (struct ffa_k_sweep){.depth = depth, .levels = (sweep[0].depth - depth) / i};
        if (!sweep[i].levels || !make_sweep(&sweep[i], s, bytes))
            return false;
    }
    return true;
}

/* As few sweeps as fit, two thread blocks on a multiprocessor if possible.
 * Returned: their number, from the samples up; 0: none fits */
static size_t make_sweeps(struct ffa_k_sweep sweep[FFA_MAX_SWEEPS], const struct shape *s,
                          const struct limits *limits)
{
    for (uint32_t n = 1; n <= FFA_MAX_SWEEPS; n++)
        for (int alone = 0; alone < 2; alone++) {
            if (!make_some(sweep, n, s, alone ? limits->block : limits->half))
                continue;
            for (uint32_t i = 0; i < n; i++)
                sweep[i].threads = alone ? 2 * THREADS : THREADS;
            return n;
        }
    return 0;
}

/* --- folds ------------------------------------------------------------------------------------ */

static struct shape shape_of(const struct psr_ffa_search *s, const struct psr_ffa_step *k)
{
    struct shape shape = {.pitch = 0};
    for (size_t i = k->fold0; i < k->fold0 + k->nfold; i++) {
        const struct psr_ffa_fold *f = &s->fold[i];
        const uint32_t pitch = pitch_of((uint32_t)f->nbin), nrow = (uint32_t)f->nrow;
        shape.pitch = pitch > shape.pitch ? pitch : shape.pitch;
        shape.nrow = nrow > shape.nrow ? nrow : shape.nrow;
    }
    while ((UINT32_C(1) << shape.depth) < shape.nrow)
        shape.depth++;
    shape.rate = ffa_k_rate_bytes(shape.pitch);
    return shape;
}

/* Of a node. */
static uint32_t count_tiles(const struct psr_ffa_fold *f, const struct ffa_k_sweep *w)
{
    const uint32_t rows =
        w->depth ? rows_at((uint32_t)f->nrow, w->depth) : (uint32_t)(f->s_hi - f->s_lo);
    return (rows + w->tile - 1) / w->tile;
}

/* Thread blocks and tiles of each fold of a group, sweep after sweep.  Nodes of one depth have two sizes at most. */
static void number_blocks(struct psr_ffa_cuda_plan *p, const struct psr_ffa_search *s,
                          struct psr_ffa_group *g)
{
    for (size_t i = 0; i < g->nsweep; i++) {
        const struct ffa_k_sweep *w = &g->sweep[i];
        uint32_t *block = p->number + p->nnumber, *tile = block + g->nfold + 1;
        g->number0[i] = p->nnumber;
        p->nnumber += 2 * (g->nfold + 1);
        block[0] = tile[0] = 0;
        for (size_t k = 0; k < g->nfold; k++) {
            const uint32_t n = count_tiles(&s->fold[g->fold0 + k], w);
            block[k + 1] = block[k] + (n << w->depth);
            tile[k + 1] = tile[k] + (w->depth ? 2 * n : n);
        }
        g->nblock[i] = block[g->nfold];
        g->ntile[i] = tile[g->nfold];
        g->tile0[i] = p->tile_bytes;
        p->tile_bytes += g->ntile[i] * ffa_k_tile_bytes(w);
    }
}

static void place_fold(struct psr_ffa_cuda_plan *p, const struct psr_ffa_search *s, size_t i,
                       size_t sums0)
{
    const struct psr_ffa_fold *f = &s->fold[i];
    const struct psr_ffa_step *k = &s->step[f->step];
    float *gain = p->gain + i * 2 * FFA_MAX_WIDTHS;
    p->fold[i] = (struct ffa_k_fold){
        .nbin = (uint32_t)f->nbin,
        .words = words_of((uint32_t)f->nbin),
        .pitch = pitch_of((uint32_t)f->nbin),
        .nrow = (uint32_t)f->nrow,
        .s_lo = (uint32_t)f->s_lo,
        .s_hi = (uint32_t)f->s_hi,
        .number = (uint32_t)i,
        .q0 = p->step[f->step].q0,
        .sums0 = sums0,
        .trial0 = f->trial0,
    };
    psr_ffa_gains(k, f, &s->widths[k->range], gain, gain + FFA_MAX_WIDTHS);
}

static psr_status add_groups(struct psr_ffa_cuda_plan *p, const struct psr_ffa_search *s,
                             const struct psr_ffa_step *k, const struct limits *limits,
                             size_t *room, psr_err *err)
{
    const struct shape shape = shape_of(s, k);
    struct psr_ffa_group like = {.nbin = shape.pitch};
    like.nsweep = make_sweeps(like.sweep, &shape, limits);
    if (!like.nsweep)
        return psr_fail(err, PSR_EUNSUPPORTED, "search: profiles of %u bins do not fit the device",
                        shape.pitch);
    for (size_t i = k->fold0; i < k->fold0 + k->nfold;) {
        psr_status st = psr_grow(&p->group, room, p->ngroup, sizeof *p->group, "folds", err);
        if (st)
            return st;
        struct psr_ffa_group *g = &p->group[p->ngroup++];
        size_t sums = 0;
        *g = like;
        g->fold0 = i;
        for (; i < k->fold0 + k->nfold && (!g->nfold || sums < SCRATCH_BINS); i++, g->nfold++) {
            place_fold(p, s, i, sums);
            sums += (size_t)p->fold[i].pitch * p->fold[i].nrow;
        }
        p->sums = sums > p->sums ? sums : p->sums;
        number_blocks(p, s, g);
    }
    return PSR_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */

static void place_steps(struct psr_ffa_cuda_plan *p, const struct psr_ffa_search *s)
{
    for (size_t i = 0; i < s->nstep; i++) {
        const struct psr_ffa_step *k = &s->step[i];
        p->step[i] = (struct ffa_k_step){
            .advance = k->advance,
            .granule = k->granule,
            .n = k->n,
            .q0 = p->nq,
            .part0 = p->npart,
            .part = (uint32_t)k->part,
            .nparts = (uint32_t)k->nparts,
            .half = (uint32_t)k->half,
            .w = k->part ? (float)(1.0 / (2.0 * (double)k->part)) : 0,
            .v = (float)(1 / k->f),
            .scale = (float)(k->units / (PSR_FFA_FINE * sqrt(k->f))),
        };
        p->nq += (k->n + STEP_ALIGN - 1) / STEP_ALIGN * STEP_ALIGN;
        p->npart += k->nparts;
    }
}

static bool has_widths(const struct psr_ffa_widths *w)
{
    bool same = w->n <= FFA_MAX_WIDTHS;
    for (size_t i = 0; i < w->n && same; i++)
        same = w->width[i] == ffa_k_width((int)i);
    return same;
}

static psr_status check(const struct psr_ffa_search *s, psr_err *err)
{
    for (size_t r = 0; r < s->nrange; r++)
        if (!has_widths(&s->widths[r]))
            return psr_fail_field(err, PSR_EUNSUPPORTED, "ducymax",
                                  "search: %zu widths, at most %d on devices", s->widths[r].n,
                                  FFA_MAX_WIDTHS);
    for (size_t i = 0; i < s->nstep; i++)
        if (s->step[i].floats)
            return psr_fail_field(err, PSR_EUNSUPPORTED, "floats",
                                  "search: %zu rows of floats are folded on the CPU only",
                                  s->fold[s->step[i].fold0].nrow);
    return PSR_OK;
}

psr_status psr_ffa_cuda_plan_make(struct psr_ffa_cuda_plan *p, const struct psr_ffa_search *s,
                                  psr_err *err)
{
    struct limits limits;
    size_t room = 0;
    psr_status st = check(s, err);
    if (st)
        return st;
    const cudaError_t e = ffa_k_limits(&limits.block, &limits.half);
    if (e)
        return psr_cuda_fail(s->device, e, "search", err);
    p->step = calloc(s->nstep, sizeof *p->step);
    p->fold = calloc(s->nfold, sizeof *p->fold);
    p->gain = calloc(s->nfold, 2 * FFA_MAX_WIDTHS * sizeof *p->gain);
    /* A group has a number more than folds in each sweep, of blocks and of tiles. */
    p->number = calloc(4 * s->nfold, FFA_MAX_SWEEPS * sizeof *p->number);
    if (!p->step || !p->fold || !p->gain || !p->number)
        return psr_fail_nomem(err, "a search", 400.0 * (double)s->nfold);
    place_steps(p, s);
    for (size_t i = 0; i < s->nstep && !st; i++)
        st = add_groups(p, s, &s->step[i], &limits, &room, err);
    return st;
}

void psr_ffa_cuda_plan_free(struct psr_ffa_cuda_plan *p)
{
    free(p->group);
    free(p->fold);
    free(p->number);
    free(p->gain);
    free(p->step);
}
