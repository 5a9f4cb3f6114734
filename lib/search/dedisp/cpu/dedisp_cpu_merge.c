/* Writes programs of the tree algorithm: rows of a sub-band right after those of its parts.
 *
 * A program makes a block of trials for a tile of output samples.  A row is made for the delays at
 * which the block uses it; sub-bands follow each other depth first, so that the rows that are alive
 * are those of one path through the tree and stay near the processor. */
#include "dedisp_cpu.h"

#include "base/tool.h"

#include <stdlib.h>

enum {
    /* Of a program's cost in bytes of registers loaded and stored: a step and a source beside its
     * lanes, a byte of the stream's samples, and an output. */
    COST_STEP = 4096,
    COST_SOURCE = 64,
    COST_SAMPLE = 4,
    COST_OUTPUT = 24,
    SCRATCH_BYTES = 12 << 20, /* beyond the second cache: fewer blocks of trials save more */
};

/* A row at delays lo to hi, wanted by row or trial "from". */
struct need {
    int32_t row, lo, hi, from;
};

struct writer {
    const struct psr_planner *pl;
    const struct psr_merge_tree *tree;
    struct psr_program *program;
    size_t i0, ntrial; /* in order of DM */
    size_t top;        /* bytes of scratch space in use */
};

PSR_COMPARE(by_row_and_delay, struct need, PSR_THEN(PSR_RISING(row), PSR_RISING(lo)));

static size_t lane_bytes(const struct writer *w, int l)
{
    size_t width = w->tree->level[l].width, nchan = w->tree->nchan;
    return (width < nchan ? width : nchan) > w->pl->chunk ? w->pl->total_bytes : w->pl->node_bytes;
}

static int32_t align_of(const struct writer *w, size_t i)
{
    return w->pl->align ? w->pl->align[i] : 0;
}

static void count_cost(struct writer *w, size_t lanes, size_t nsrc, size_t bytes)
{
    struct psr_program *pr = w->program;
    pr->adds += (double)(nsrc - 1) * (double)lanes / (double)w->pl->shape.tile;
    pr->cost += (double)lanes * (double)(nsrc + 1) * (double)bytes;
    pr->cost += COST_STEP + COST_SOURCE * (double)nsrc;
}

/* Joins what is wanted of each row, as long as a tile has no gap, to what is made: at *made, in
 * whole registers.  Returns how many. */
static size_t join_needs(const struct writer *w, struct need *need, size_t n, struct need *made)
{
    const int32_t gap = (int32_t)w->pl->shape.tile;
    size_t nmade = 0;
    qsort(need, n, sizeof *need, by_row_and_delay);
    for (size_t k = 0; k < n; k++) {
        struct need *last = made + nmade - 1;
        if (nmade && last->row == need[k].row && need[k].lo - last->lo <= gap)
            last->hi = need[k].hi > last->hi ? need[k].hi : last->hi;
        else
            made[nmade++] = need[k];
    }
    for (size_t m = 0; m < nmade; m++) {
        int32_t extra = made[m].hi - made[m].lo;
        extra = (extra + PSR_LANE_ROUND - 1) / PSR_LANE_ROUND * PSR_LANE_ROUND;
        made[m].hi = made[m].lo + extra;
    }
    return nmade;
}

/* The samples of a leaf, if the block's trials use them without long gaps. */
static psr_status write_fetch(struct writer *w, size_t k0, psr_err *err)
{
    struct psr_program *pr = w->program;
    size_t end = k0 + PSR_MERGE_LEAF < w->tree->nchan ? k0 + PSR_MERGE_LEAF : w->tree->nchan;
    size_t first = w->tree->order[w->i0], last = w->tree->order[w->i0 + w->ntrial - 1];
    if (k0 >= end)
        return PSR_OK;
    psr_status st = psr_program_reserve(pr, 1 + 3 * (end - k0), err);
    if (st)
        return st;
    size_t head = pr->ncode, n = 0;
    psr_program_put(pr, 0);
    for (size_t k = k0; k < end; k++) {
        int32_t lo = psr_merge_delay(w->tree, first, k) + align_of(w, first);
        int32_t hi = psr_merge_delay(w->tree, last, k) + align_of(w, last);
        int32_t reach = lo < hi ? hi - lo : lo - hi;
        if (reach > 4 * (int32_t)w->pl->shape.tile)
            continue;
        psr_program_put(pr, (int32_t)k);
        psr_program_put(pr, lo < hi ? lo : hi);
        psr_program_put(pr, reach);
        n++;
    }
    pr->code[head] = PSR_STEP_FETCH | (int32_t)n << PSR_STEP_SHIFT;
    return PSR_OK;
}

static psr_status write_leaf(struct writer *w, size_t node, const struct need *made, size_t nmade,
                             psr_err *err)
{
    struct psr_program *pr = w->program;
    const struct psr_merge_level *at = w->tree->level;
    size_t nparts = psr_merge_parts_of(w->tree, 0, node), k0 = node * at->width;
    int32_t lo = INT32_MAX, hi = INT32_MIN;
    psr_status st = write_fetch(w, k0 + at->width, err);
    if (st || (st = psr_program_reserve(pr, nmade * (3 + 2 * nparts), err)))
        return st;
    for (const struct need *m = made; m < made + nmade; m++) {
        const int32_t *offset = at->offset + (size_t)m->row * at->radix;
        psr_program_put(pr, PSR_STEP_LEAF | (int32_t)nparts << PSR_STEP_SHIFT);
        psr_program_put(pr, m->from);
        psr_program_put(pr, m->hi - m->lo);
        for (size_t j = 0; j < nparts; j++) {
            psr_program_put(pr, (int32_t)(k0 + j));
            psr_program_put(pr, m->lo + offset[j]);
        }
        count_cost(w, w->pl->shape.tile + (size_t)(m->hi - m->lo), nparts, w->pl->node_bytes);
        lo = m->lo < lo ? m->lo : lo;
        hi = m->hi > hi ? m->hi : hi;
    }
    pr->cost += COST_SAMPLE * (double)(w->pl->shape.tile + (size_t)(hi - lo)) * (double)nparts *
                (double)w->pl->store_bytes;
    return PSR_OK;
}

static psr_status write_rows(struct writer *w, int l, size_t nparts, const struct need *made,
                             size_t nmade, const int32_t *place, psr_err *err)
{
    struct psr_program *pr = w->program;
    size_t radix = w->tree->level[l].radix, bytes = lane_bytes(w, l);
    bool wide = bytes != w->pl->node_bytes, below = lane_bytes(w, l - 1) != w->pl->node_bytes;
    int32_t kind = !wide ? PSR_STEP_NODE : below ? PSR_STEP_WIDE : PSR_STEP_WIDEN;
    psr_status st = psr_program_reserve(pr, nmade * (3 + nparts), err);
    for (size_t m = 0; m < nmade && !st; m++) {
        psr_program_put(pr, kind | (int32_t)nparts << PSR_STEP_SHIFT);
        psr_program_put(pr, made[m].from);
        psr_program_put(pr, made[m].hi - made[m].lo);
        for (size_t j = 0; j < nparts; j++)
            psr_program_put(pr, place[m * radix + j]);
        count_cost(w, w->pl->shape.tile + (size_t)(made[m].hi - made[m].lo), nparts, bytes);
    }
    return st;
}

static psr_status write_node(struct writer *w, int l, size_t node, struct need *need, size_t n,
                             int32_t *place, size_t stride, psr_err *err);

/* Writes all parts of rows at level l; place [nmade][radix] gets where they are. */
static psr_status write_parts(struct writer *w, int l, size_t node, const struct need *made,
                              size_t nmade, int32_t *place, psr_err *err)
{
    const struct psr_merge_level *at = &w->tree->level[l];
    psr_status st = PSR_OK;
    struct need *part = malloc(nmade * sizeof *part);
    if (!part)
        return psr_fail_nomem(err, "a dedispersion program", (double)nmade * sizeof *part);
    for (size_t j = 0; j < psr_merge_parts_of(w->tree, l, node) && !st; j++) {
        for (size_t m = 0; m < nmade; m++) {
            size_t r = (size_t)made[m].row * at->radix + j;
            part[m] = (struct need){at->part[r], made[m].lo + at->offset[r],
                                    made[m].hi + at->offset[r], (int32_t)m};
        }
        st = write_node(w, l - 1, node * at->radix + j, part, nmade, place + j, at->radix, err);
    }
    free(part);
    return st;
}

/* Writes the rows that are wanted of a sub-band; place[from * stride] gets where each is. */
static psr_status write_node(struct writer *w, int l, size_t node, struct need *need, size_t n,
                             int32_t *place, size_t stride, psr_err *err)
{
    struct need *made = malloc(n * sizeof *made);
    int32_t *below = malloc(n * w->tree->level[l].radix * sizeof *below);
    psr_status st = PSR_OK;
    if (made && below) {
        size_t nmade = join_needs(w, need, n, made);
        /* Gives each row made its lanes, in .from, and each that wants one its place. */
        size_t m = 0, k = 0, bytes = lane_bytes(w, l);
        for (; m < nmade; m++) {
            size_t lanes = w->pl->shape.tile + (size_t)(made[m].hi - made[m].lo);
            /* An odd number of cache lines, so that the same sample of neighbouring rows does
             * not fall into the same set of a cache. */
            size_t at = w->top / bytes;
            w->top += (((lanes * bytes + 63) / 64) | 1) * 64;
            size_t most = (w->top + w->pl->node_bytes - 1) / w->pl->node_bytes;
            w->program->scratch = most > w->program->scratch ? most : w->program->scratch;
            made[m].from = (int32_t)at;
            for (;
                 k < n && need[k].row == made[m].row &&
                 (m + 1 == nmade || made[m + 1].row != need[k].row || need[k].lo < made[m + 1].lo);
                 k++)
                place[(size_t)need[k].from * stride] = made[m].from + need[k].lo - made[m].lo;
        }
        size_t top = w->top;
        if (!l)
            st = write_leaf(w, node, made, nmade, err);
        else if (!(st = write_parts(w, l, node, made, nmade, below, err)))
            st = write_rows(w, l, psr_merge_parts_of(w->tree, l, node), made, nmade, below, err);
        w->top = top;
    } else {
        st = psr_fail_nomem(err, "a dedispersion program", 50.0 * (double)n);
    }
    free(made);
    free(below);
    return st;
}

static void put_sum(struct writer *w, bool wide, int32_t row, const int32_t *place, size_t nsrc)
{
    struct psr_program *pr = w->program;
    psr_program_put(pr, (wide ? PSR_STEP_OUTW : PSR_STEP_OUT) | (int32_t)nsrc << PSR_STEP_SHIFT);
    psr_program_put(pr, row);
    for (size_t j = 0; j < nsrc; j++)
        psr_program_put(pr, place[j]);
    count_cost(w, w->pl->shape.tile, nsrc, w->pl->total_bytes);
    pr->cost += COST_OUTPUT * (double)w->pl->shape.tile;
}

static psr_status write_trials(struct writer *w, size_t nsrc, size_t radix, bool wide,
                               const int32_t *place, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t n = 0; n < w->ntrial && !st; n++, place += radix) {
        size_t i = w->tree->order[w->i0 + n];
        st = psr_program_reserve(w->program, (1 + w->pl->nband) * (2 + nsrc), err);
        if (st)
            break;
        put_sum(w, wide, (int32_t)i, place, nsrc);
        for (const struct psr_merge_part_band *b = w->pl->band; b < w->pl->band + w->pl->nband; b++)
            if (b->row[i] >= 0)
                put_sum(w, wide, b->row[i], place + b->first, b->nparts);
    }
    return st;
}

/* The whole band, whose rows go out at once. */
static psr_status write_band(struct writer *w, struct need *need, int32_t *place, psr_err *err)
{
    int l = w->tree->nlevel - 1;
    psr_status st;
    for (size_t n = 0; n < w->ntrial; n++) {
        size_t i = w->tree->order[w->i0 + n];
        int32_t at = w->tree->offset[i] + align_of(w, i);
        need[n] = (struct need){w->tree->row[i], at, at, (int32_t)n};
    }
    if (!l) {
        st = write_node(w, 0, 0, need, w->ntrial, place, 1, err);
        return st ? st : write_trials(w, 1, 1, false, place, err);
    }
    st = write_parts(w, l, 0, need, w->ntrial, place, err);
    if (st)
        return st;
    return write_trials(w, psr_merge_parts_of(w->tree, l, 0), w->tree->level[l].radix,
                        lane_bytes(w, l - 1) != w->pl->node_bytes, place, err);
}

psr_status psr_merge_program(const struct psr_planner *pl, size_t i0, struct psr_program *program,
                             psr_err *err)
{
    const struct psr_merge_tree *tree = &pl->layout->tree;
    size_t left = tree->ndm - i0, ntrial = left < pl->shape.ntrial ? left : pl->shape.ntrial;
    struct writer w = {.pl = pl, .tree = tree, .program = program, .i0 = i0, .ntrial = ntrial};
    program->ncode = program->scratch = 0;
    program->adds = program->cost = 0;
    struct need *need = malloc(ntrial * sizeof *need);
    int32_t *place = malloc(ntrial * tree->level[tree->nlevel - 1].radix * sizeof *place);
    psr_status st = need && place
                        ? write_band(&w, need, place, err)
                        : psr_fail_nomem(err, "a dedispersion program", 80.0 * (double)ntrial);
    free(need);
    free(place);
    return st;
}

/* Of one trial and sample, from the middle one of the blocks of trials. */
static psr_status cost_of_shape(const struct psr_planner *pl, double *cost, psr_err *err)
{
    struct psr_program program = {0};
    size_t ntrial = pl->shape.ntrial, nblock = (pl->layout->ndm + ntrial - 1) / ntrial;
    size_t i0 = (nblock - 1) / 2 * ntrial;
    size_t left = pl->layout->ndm - i0, n = left < ntrial ? left : ntrial;
    psr_status st = psr_merge_program(pl, i0, &program, err);
    *cost = program.cost / (double)(n * pl->shape.tile);
    double room = (double)pl->layout->mem_bytes / (8 * (double)pl->layout->nthread);
    room = room < SCRATCH_BYTES ? room : SCRATCH_BYTES;
    double bytes = (double)program.scratch * (double)pl->node_bytes;
    *cost *= bytes > room ? 2 * bytes / room : 1;
    free(program.code);
    return st;
}

psr_status psr_merge_choose(struct psr_planner *pl, psr_err *err)
{
    static const size_t blocks[] = {16, 32, 64, 128, 256, 512}, tiles[] = {512, 1024, 2048};
    size_t longest = pl->longest ? pl->longest : tiles[2];
    const size_t nblocks = sizeof blocks / sizeof *blocks, ntiles = sizeof tiles / sizeof *tiles;
    size_t ndm = pl->layout->ndm;
    struct psr_tree_shape best = {0};
    double least = 0;
    for (size_t b = 0; b < nblocks && (!b || blocks[b - 1] < ndm); b++)
        for (size_t t = 0; t < ntiles; t++) {
            size_t nblock = (ndm + blocks[b] - 1) / blocks[b];
            double cost;
            if (t && tiles[t - 1] >= longest)
                break;
            pl->shape = (struct psr_tree_shape){.ntrial = (ndm + nblock - 1) / nblock,
                                                .tile = tiles[t] < longest ? tiles[t] : longest};
            psr_status st = cost_of_shape(pl, &cost, err);
            if (st)
                return st;
            if (!best.tile || cost < least) {
                best = pl->shape;
                least = cost;
            }
        }
    pl->shape = best;
    return PSR_OK;
}
