/* Plans and sums the trials of many beams that sum the same number of samples. */
#include "dedisp_line.h"

#include "base/threads/threads.h"
#include "search/dedisp/dedisp_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- circles of samples ----------------------------------------------------------------------- */

enum {
    MORE = 128, /* lanes, for registers rounded up */
    WHOLE = 64, /* samples: circles are of whole vectors, and of whole sums of the next set */
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* Samples from the oldest one that a trial, or the next set, reads to the latest one. */
static int64_t count_samples(const struct psr_rings *r, size_t k, const struct psr_rings_need *need,
                             const struct psr_rings *next, size_t ratio, size_t next_most)
{
    int64_t n = need->oldest[k] + (int64_t)need->most, skip = r->skip[k];
    if (next) {
        int64_t read = (int64_t)ratio * (next->skip[k] + (int64_t)next_most + 1);
        n = read > n ? read : n;
    }
    n = n - skip + MORE;
    int64_t step = (int64_t)ratio;
    while (step % WHOLE)
        step *= 2;
    return (n + step - 1) / step * step;
}

psr_status psr_rings_create(struct psr_rings *r, size_t nchan, size_t store_bytes,
                            const struct psr_rings_need *need, const struct psr_rings *next,
                            size_t ratio, size_t next_most, bool arrive, psr_err *err)
{
    *r = (struct psr_rings){.nchan = nchan, .store_bytes = store_bytes};
    r->size = calloc(2 * nchan, sizeof *r->size);
    r->at = calloc(nchan, sizeof *r->at);
    if (!r->size || !r->at)
        return psr_fail_nomem(err, "samples of channels", 16.0 * (double)nchan);
    r->skip = r->size + nchan;
    for (size_t k = 0; k < nchan; k++) {
        int64_t skip = arrive ? 0 : need->youngest[k];
        int64_t limit = next ? (int64_t)ratio * next->skip[k] : skip;
        r->skip[k] = (int32_t)(skip < limit ? skip : limit);
        int64_t size = count_samples(r, k, need, next, ratio, next_most);
        if (size > 1 << 30)
            return psr_fail_field(err, PSR_EINVAL, "dm",
                                  "dedispersion: a channel keeps %lld samples, more than 2^30",
                                  (long long)size);
        r->size[k] = (int32_t)size;
        r->at[k] = r->lanes;
        r->lanes += (size_t)size + PSR_RING_PAD;
        r->lanes = (r->lanes + 63) / 64 * 64;
    }
    return PSR_OK;
}

static void rings_destroy(struct psr_rings *r)
{
    free(r->size);
    free(r->at);
    *r = (struct psr_rings){0};
}

double psr_rings_bytes(const struct psr_rings *r)
{
    return (double)r->lanes * (double)r->store_bytes;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int64_t place_of(int64_t sample, int32_t size)
{
    int64_t at = sample % size;
    return at < 0 ? at + size : at;
}

static unsigned char *start_of(const struct psr_rings *r, void *memory, size_t k)
{
    return (unsigned char *)memory + r->at[k] * r->store_bytes;
}

/* Repeats the first samples behind the last. */
static void repeat_start(const struct psr_rings *r, unsigned char *ring, size_t k)
{
    memcpy(ring + (size_t)r->size[k] * r->store_bytes, ring, PSR_RING_PAD * r->store_bytes);
}

void psr_rings_clear(const struct psr_rings *r, void *memory, uint32_t blank, int nthread)
{
    if (!blank) {
        memset(memory, 0, r->lanes * r->store_bytes);
        return;
    }
#pragma omp parallel for num_threads(nthread)
    for (size_t k = 0; k < r->nchan; k++) {
        unsigned char *ring = start_of(r, memory, k);
        for (int32_t n = 0; n < r->size[k] + PSR_RING_PAD; n++)
            memcpy(ring + (size_t)n * r->store_bytes, &blank, r->store_bytes);
    }
}

void psr_rings_push(const struct psr_rings *r, void *memory, const void *lane, size_t stride,
                    int64_t first, size_t n, int nthread)
{
    const size_t bytes = r->store_bytes;
#pragma omp parallel for num_threads(nthread)
    for (size_t k = 0; k < r->nchan; k++) {
        unsigned char *ring = start_of(r, memory, k);
        const unsigned char *from = (const unsigned char *)lane + k * stride * bytes;
        size_t at = (size_t)place_of(first, r->size[k]), room = (size_t)r->size[k] - at;
        size_t part = n < room ? n : room;
        memcpy(ring + at * bytes, from, part * bytes);
        memcpy(ring, from + part * bytes, (n - part) * bytes);
        repeat_start(r, ring, k);
    }
}

/* name: n sums of "ratio" samples. */
#define DEFINE_SUMS(name, FROM, TO)                                                                \
    static void name(void *to, const void *from, size_t n, size_t ratio)                           \
    {                                                                                              \
        TO *restrict sum = to;                                                                     \
        const FROM *restrict x = from;                                                             \
        if (ratio == 2)                                                                            \
            for (size_t q = 0; q < n; q++)                                                         \
                sum[q] = (TO)((TO)x[2 * q] + (TO)x[2 * q + 1]);                                    \
        else                                                                                       \
            for (size_t q = 0; q < n; q++) {                                                       \
                TO all = 0;                                                                        \
                for (size_t u = 0; u < ratio; u++)                                                 \
                    all = (TO)(all + x[q * ratio + u]);                                            \
                sum[q] = all;                                                                      \
            }                                                                                      \
    }

DEFINE_SUMS(sums_8_8, uint8_t, uint8_t)
DEFINE_SUMS(sums_8_16, uint8_t, uint16_t)
DEFINE_SUMS(sums_8_32, uint8_t, uint32_t)
DEFINE_SUMS(sums_16_16, uint16_t, uint16_t)
DEFINE_SUMS(sums_16_32, uint16_t, uint32_t)
DEFINE_SUMS(sums_32_32, uint32_t, uint32_t)

typedef void (*sum_function)(void *to, const void *from, size_t n, size_t ratio);

static sum_function choose_sums(size_t from, size_t to)
{
    if (from == 1)
        return to == 1 ? sums_8_8 : to == 2 ? sums_8_16 : sums_8_32;
    if (from == 2)
        return to == 2 ? sums_16_16 : sums_16_32;
    return sums_32_32;
}

void psr_rings_sum(const struct psr_rings *r, void *memory, const struct psr_rings *from,
                   const void *from_memory, size_t ratio, int64_t first, size_t n, int nthread)
{
    sum_function sums = choose_sums(from->store_bytes, r->store_bytes);
#pragma omp parallel for num_threads(nthread)
    for (size_t k = 0; k < r->nchan; k++) {
        unsigned char *ring = start_of(r, memory, k);
        const unsigned char *source =
            (const unsigned char *)from_memory + from->at[k] * from->store_bytes;
        int64_t q = first - r->skip[k], end = q + (int64_t)n;
        while (q < end) {
            int64_t to = place_of(q, r->size[k]), x = place_of(q * (int64_t)ratio, from->size[k]);
            int64_t room = r->size[k] - to, have = (from->size[k] - x) / (int64_t)ratio;
            int64_t part = end - q < room ? end - q : room;
            part = part < have ? part : have;
            sums(ring + (size_t)to * r->store_bytes, source + (size_t)x * from->store_bytes,
                 (size_t)part, ratio);
            q += part;
        }
        repeat_start(r, ring, k);
    }
}

/* Where the sums of a tile find channel k, if output sample 0 takes sample "sample" at delay
 * "least". */
static struct psr_ring rings_at(const struct psr_rings *r, const void *memory, size_t k,
                                int64_t sample, int32_t least)
{
    return (struct psr_ring){
        .base = (const unsigned char *)memory + r->at[k] * r->store_bytes,
        .size = r->size[k],
        .head = (int32_t)place_of(sample, r->size[k]),
        .least = least,
    };
}

/* --- how far the delays of each channel reach over the trials of a tree ----------------------- */

/* A row is used at delays least to most. */
struct reach {
    int32_t least, most;
    int32_t node;
};

static void widen(struct reach *r, int32_t least, int32_t most)
{
    r->least = least < r->least ? least : r->least;
    r->most = most > r->most ? most : r->most;
}

static struct reach *take_reach(size_t n, psr_err *err)
{
    struct reach *r = malloc((n ? n : 1) * sizeof *r);
    for (size_t k = 0; r && k < n; k++)
        r[k] = (struct reach){INT32_MAX, INT32_MIN, 0};
    if (!r)
        (void)psr_fail_nomem(err, "the rows of a tree", (double)n * sizeof *r);
    return r;
}

/* The least and the largest delay of each channel at any trial, if align[i] is added to those of
 * trial i.
 * Returned: least, most [nchan]
 * Status:   PSR_ENOMEM */
static psr_status merge_reach(const struct psr_merge_tree *tree, const int32_t *align,
                              int32_t *least, int32_t *most, psr_err *err)
{
    struct reach *row = take_reach(tree->level[tree->nlevel - 1].nrow, err);
    for (size_t i = 0; row && i < tree->ndm; i++) {
        int32_t at = tree->offset[i] + align[i];
        widen(row + tree->row[i], at, at);
    }
    for (int l = tree->nlevel - 1; row && l >= 0; l--) {
        struct reach *below = take_reach(l ? tree->level[l - 1].nrow : tree->nchan, err);
        if (below) {
            /* What the rows of level l, or of the leaves, make of their parts. */
            const struct psr_merge_level *at = &tree->level[l];
            for (size_t r = 0; r < at->nrow; r++) {
                size_t node = (size_t)row[r].node;
                for (size_t j = 0; j < psr_merge_parts_of(tree, l, node); j++) {
                    size_t n = r * at->radix + j, part = node * at->radix + j;
                    struct reach *to = below + (l ? (size_t)at->part[n] : part);
                    to->node = (int32_t)part;
                    widen(to, row[r].least + at->offset[n], row[r].most + at->offset[n]);
                }
            }
        }
        free(row);
        row = below;
    }
    for (size_t k = 0; row && k < tree->nchan; k++) {
        least[k] = row[k].least;
        most[k] = row[k].most;
    }
    psr_status st = row ? PSR_OK : PSR_ENOMEM;
    free(row);
    return st;
}

/* --- delays ----------------------------------------------------------------------------------- */

/* Every trial ends with the latest sample of its last channel; aligned ones with that of the longest sweep. */
static psr_status align_trials(struct psr_dedisp_line *l, bool aligned, psr_err *err)
{
    size_t nkept = l->layout->nkept, maxshift = psr_dedisp_maxshift(l->plan);
    l->align = psr_own(&l->own, l->ndm, sizeof *l->align);
    l->least = psr_own(&l->own, 4 * nkept, sizeof *l->least);
    l->ring = psr_own(&l->own, nkept, sizeof *l->ring);
    psr_status st = psr_own_check(&l->own, "delays", err);
    if (st)
        return st;
    l->largest = l->least + nkept;
    l->youngest = l->largest + nkept;
    l->oldest = l->youngest + nkept;
    for (size_t i = 0; i < l->ndm; i++)
        l->align[i] = aligned ? 0 : (int32_t)(maxshift - psr_dedisp_shift(l->plan, i));
    st = merge_reach(&l->layout->tree, l->align, l->least, l->largest, err);
    for (size_t k = 0; k < nkept && !st; k++) {
        l->youngest[k] = (int32_t)maxshift - l->largest[k];
        l->oldest[k] = (int32_t)maxshift - l->least[k];
    }
    return st;
}

/* --- sub-bands -------------------------------------------------------------------------------- */

/* Channels of the parts of the whole band. */
static size_t part_width(const struct psr_merge_tree *tree)
{
    return tree->nlevel > 1 ? tree->level[tree->nlevel - 2].width : tree->nchan;
}

static double sweep_of(const struct psr_dedisp_layout *s, const struct psr_dedisp_line_band *b)
{
    return (1 / s->coeff[b->k0 + b->nkept - 1] - 1 / s->coeff[b->k0]) / s->dt_s;
}

static psr_status add_band(struct psr_dedisp_line *l, size_t first, size_t nparts, psr_err *err)
{
    size_t width = part_width(&l->layout->tree), nkept = l->layout->nkept;
    struct psr_dedisp_line_band *b = l->band + l->nband;
    size_t end = (first + nparts) * width < nkept ? (first + nparts) * width : nkept;
    *b = (struct psr_dedisp_line_band){.k0 = first * width, .nkept = end - first * width};
    l->nband++;
    /* Trials between which the delay changes by a sample over the sub-band. */
    const struct psr_dedisp_layout *s = l->layout;
    double sweep = sweep_of(s, b), last = 0;
    b->trial = psr_own(&l->own, l->ndm, sizeof *b->trial);
    b->row = psr_own(&l->own, l->ndm, sizeof *b->row);
    b->first_row = l->nrow;
    for (size_t i = 0; b->row && i < l->ndm; i++) {
        b->row[i] = -1;
        if (i && (s->dm[i] - last) * sweep < 1)
            continue;
        last = s->dm[i];
        b->trial[b->ndm++] = i;
        b->row[i] = (int32_t)l->nrow++;
    }
    psr_status st = psr_own_check(&l->own, "trials", err);
    l->part_band[l->nband - 1] =
        (struct psr_merge_part_band){.first = first, .nparts = nparts, .row = b->row};
    return st;
}

/* Halves, quarters and so on, of the parts rounded up, in steps of half their width. */
static psr_status make_bands(struct psr_dedisp_line *l, size_t nhalve, psr_err *err)
{
    const struct psr_merge_tree *tree = &l->layout->tree;
    size_t n = psr_merge_parts_of(tree, tree->nlevel - 1, 0), was = n;
    l->nrow = l->ndm;
    if (tree->nlevel < 2 || !nhalve)
        return PSR_OK;
    l->band = psr_own(&l->own, nhalve * 2 * n, sizeof *l->band);
    l->part_band = psr_own(&l->own, nhalve * 2 * n, sizeof *l->part_band);
    psr_status st = psr_own_check(&l->own, "sub-bands", err);
    for (size_t h = 1; h <= nhalve && !st; h++) {
        size_t wide = (n + ((size_t)1 << h) - 1) >> h, step = wide > 1 ? wide / 2 : 1, first = 0;
        if (wide == was)
            break;
        for (; first + wide < n && !st; first += step)
            st = add_band(l, first, wide, err);
        st = st ? st : add_band(l, n - wide, wide, err);
        was = wide;
    }
    return st;
}

/* What makes signed samples unsigned goes off again. */
static psr_status make_bias(struct psr_dedisp_line *l, psr_err *err)
{
    double each = (double)l->layout->sample_bias * (double)l->layout->downsamp;
    l->row_bias = psr_own(&l->own, l->nrow, sizeof *l->row_bias);
    if (!l->row_bias)
        return psr_own_check(&l->own, "trials", err);
    for (size_t i = 0; i < l->ndm; i++)
        l->row_bias[i] = each * (double)l->layout->nkept;
    for (const struct psr_dedisp_line_band *b = l->band; b < l->band + l->nband; b++)
        for (size_t i = 0; i < b->ndm; i++)
            l->row_bias[b->first_row + i] = each * (double)b->nkept;
    return PSR_OK;
}

/* --- programs --------------------------------------------------------------------------------- */

psr_status psr_dedisp_line_program(struct psr_dedisp_line *l, psr_err *err)
{
    struct psr_planner *pl = &l->planner;
    psr_planner_begin(pl, l->layout, &l->lanes);
    pl->align = l->align;
    pl->longest = (l->most + PSR_LANE_ROUND - 1) / PSR_LANE_ROUND * PSR_LANE_ROUND;
    pl->band = l->part_band;
    pl->nband = l->nband;
    psr_status st = psr_merge_choose(pl, err);
    if (st)
        return st;
    l->nprogram = (l->ndm + pl->shape.ntrial - 1) / pl->shape.ntrial;
    l->program = psr_own(&l->own, l->nprogram, sizeof *l->program);
    if (!l->program)
        return psr_own_check(&l->own, "dedispersion programs", err);
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(l->layout->nthread) reduction(+ : failed)
    for (size_t n = 0; n < l->nprogram; n++)
        failed += psr_merge_program(pl, n * pl->shape.ntrial, l->program + n, NULL) != PSR_OK;
    if (failed)
        return psr_fail_nomem(err, "dedispersion programs", psr_dedisp_line_bytes(l));
    for (size_t n = 0; n < l->nprogram; n++)
        l->adds += l->program[n].adds;
    return PSR_OK;
}

psr_status psr_dedisp_line_create(struct psr_dedisp_line *l,
                                  const struct psr_dedisp_beams_desc *desc, size_t downsamp,
                                  size_t *trial, size_t ndm, size_t most, psr_err *err)
{
    *l = (struct psr_dedisp_line){.downsamp = downsamp, .ndm = ndm, .most = most, .trial = trial};
    double *dm = malloc(l->ndm * sizeof *dm);
    if (!dm)
        return psr_fail_nomem(err, "trials", 8.0 * (double)l->ndm);
    for (size_t i = 0; i < l->ndm; i++)
        dm[i] = desc->dm[l->trial[i]];
    struct psr_dedisp_desc d = {
        .size = sizeof d,
        .nchan = desc->nchan,
        .freq_mhz = desc->freq_mhz,
        .tsamp_s = desc->tsamp_s,
        .nbit = desc->nbit,
        .kind = desc->kind,
        .downsamp = l->downsamp,
        .dmconst = desc->dmconst,
        .ndm = l->ndm,
        .dm = dm,
        .keep = desc->keep,
        .algo = PSR_DEDISP_TREE,
        .nthread = desc->nthread,
        .mem_bytes = desc->mem_bytes,
        .smear = desc->smear,
    };
    psr_status st = psr_dedisp_create_layout(&l->plan, &d, l->downsamp, 16, err);
    free(dm);
    if (st)
        return st;
    l->layout = psr_dedisp_layout(l->plan);
    l->freq_mhz = psr_own(&l->own, l->layout->nkept, sizeof *l->freq_mhz);
    if (!l->freq_mhz)
        return psr_own_check(&l->own, "channels", err);
    for (size_t k = 0; k < l->layout->nkept; k++)
        l->freq_mhz[k] = desc->freq_mhz[l->layout->chan[k]];
    l->lanes = psr_lanes_for(psr_dedisp_layout_sample_max(l->layout), l->layout->nkept);
    if ((st = align_trials(l, desc->aligned, err)) || (st = make_bands(l, desc->nhalve, err)))
        return st;
    return make_bias(l, err);
}

void psr_dedisp_line_destroy(struct psr_dedisp_line *l)
{
    for (size_t n = 0; l->program && n < l->nprogram; n++)
        free(l->program[n].code);
    rings_destroy(&l->rings);
    psr_dedisp_destroy(l->plan);
    free(l->trial);
    free(l->out);
    psr_own_free(&l->own);
    *l = (struct psr_dedisp_line){0};
}

double psr_dedisp_line_bytes(const struct psr_dedisp_line *l)
{
    double bytes = l->layout->tree.bytes;
    for (size_t n = 0; n < l->nprogram; n++)
        bytes += 4.0 * (double)l->program[n].room;
    for (size_t b = 0; b < l->nband; b++)
        bytes += 12.0 * (double)l->ndm;
    bytes += 40.0 * (double)l->layout->nkept + 12.0 * (double)l->ndm + 8.0 * (double)l->nrow;
    return bytes;
}

size_t psr_dedisp_line_scratch(const struct psr_dedisp_line *l)
{
    size_t lanes = 0;
    for (size_t n = 0; n < l->nprogram; n++)
        lanes = l->program[n].scratch > lanes ? l->program[n].scratch : lanes;
    return (lanes + 256) * l->lanes.node_bytes;
}

/* --- sums ------------------------------------------------------------------------------------- */

static void run_tile(const struct psr_dedisp_line *l, const struct psr_program *program,
                     void *scratch, size_t t, size_t n)
{
    struct psr_tile tile = {
        .program = program,
        .ring = l->ring,
        .first = (int32_t)t,
        .nsamp = n,
        .length = (n + PSR_LANE_ROUND - 1) / PSR_LANE_ROUND * PSR_LANE_ROUND,
        .scratch = scratch,
        .out = l->out + t,
        .out_stride = l->most,
        .row_bias = l->row_bias,
        .downsamp = psr_dedisp_layout_divisor(l->layout),
    };
    l->lanes.run(&tile);
}

void psr_dedisp_line_run(struct psr_dedisp_line *l, const void *memory, void *const *scratch,
                         int64_t first, size_t n)
{
    size_t tile = l->planner.shape.tile, ntile = (n + tile - 1) / tile;
    int64_t maxshift = (int64_t)psr_dedisp_maxshift(l->plan);
    for (size_t k = 0; k < l->layout->nkept; k++)
        l->ring[k] = rings_at(&l->rings, memory, k, first - maxshift + l->least[k], l->least[k]);
#pragma omp parallel for schedule(dynamic) num_threads(l->layout->nthread)
    for (size_t item = 0; item < l->nprogram * ntile; item++) {
        size_t t = item / l->nprogram * tile, left = n - t;
        run_tile(l, l->program + item % l->nprogram, scratch[psr_thread_number()], t,
                 left < tile ? left : tile);
    }
}
