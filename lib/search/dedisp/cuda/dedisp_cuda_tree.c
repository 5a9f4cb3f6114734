/* The tree algorithm on a CUDA device.  Its stages are planned: groups of rows share rows of the level
 * below, which stay in shared memory. */
#include "dedisp_cuda.h"

#include "base/tool.h"
#include <stdlib.h>
#include <string.h>

static const char rows_of_tree[] = "the rows of a tree";

enum {
    SPREAD = 4 * TREE_TILE, /* of the delays of a group's rows: tiles at its ends are part empty */
    SLACK = 64,             /* lanes that are read beyond a row: a warp reads whole words */
};

/* A row of the lower level at delays lo to hi, wanted by source "from" of a group. */
struct need {
    int32_t row, lo, hi, from;
};

struct maker {
    const struct psr_merge_tree *tree;
    struct psr_tree_stages *stages;
    struct psr_tree_stage *stage;
    size_t shared;                     /* bytes that a group may take */
    int32_t *node[PSR_MERGE_MAXLEVEL]; /* [nrow] sub-band of each row */
    struct need need[TREE_UPPER * PSR_MERGE_MAXRADIX], made[TREE_UPPER * PSR_MERGE_MAXRADIX];
    size_t nneed, nmade;
};

bool psr_tree_fits_device(uint64_t sample_max, size_t nkept)
{
    return sample_max && sample_max <= UINT32_MAX / nkept;
}

static size_t parts_of(const struct maker *m, int l, int32_t row)
{
    const struct psr_merge_level *at = &m->tree->level[l];
    size_t below = l ? m->tree->level[l - 1].nnode : m->tree->nchan;
    size_t first = (size_t)m->node[l][row] * at->radix;
    return below - first < at->radix ? below - first : at->radix;
}

static psr_status find_nodes(struct maker *m, psr_err *err)
{
    const struct psr_merge_tree *tree = m->tree;
    for (int l = tree->nlevel - 1; l >= 0; l--) {
        const struct psr_merge_level *up = &tree->level[l + 1];
        m->node[l] = calloc(tree->level[l].nrow, sizeof *m->node[l]);
        if (!m->node[l])
            return psr_fail_nomem(err, rows_of_tree, 4.0 * (double)tree->level[l].nrow);
        for (size_t r = 0; l + 1 < tree->nlevel && r < up->nrow; r++)
            for (size_t j = 0; j < parts_of(m, l + 1, (int32_t)r); j++)
                m->node[l][up->part[r * up->radix + j]] =
                    m->node[l + 1][r] * (int32_t)up->radix + (int32_t)j;
    }
    return PSR_OK;
}

/* --- pairs of rows ---------------------------------------------------------------------------- */

/* A source of one or both rows of a pair. */
struct source {
    int32_t row, delay; /* of the input; row -1: an element of shared memory */
    int32_t lo, hi;     /* as in struct psr_tree_input */
    int of;             /* 1: the first row's, 2: the second's, 3: both */
    bool odd;
};

struct sources {
    struct source at[2 * PSR_MERGE_MAXRADIX];
    size_t n;
};

/* Adds a source of row "of", unless the other row has the same. */
static void add_source(struct sources *all, struct source one)
{
    for (size_t k = 0; k < all->n; k++) {
        struct source *have = all->at + k;
        if (have->row != one.row || have->delay != one.delay || have->of == one.of)
            continue;
        have->of |= one.of;
        have->hi = one.hi > have->hi ? one.hi : have->hi;
        return;
    }
    all->at[all->n++] = one;
}

/* Of a row of level l at delays delay to delay + spread. */
static void add_inputs(const struct maker *m, struct sources *all, int of, int l, int32_t row,
                       int32_t delay, int32_t spread, const struct tree_k_group *g)
{
    const struct psr_merge_level *at = &m->tree->level[l];
    for (size_t j = 0; j < parts_of(m, l, row); j++) {
        size_t r = (size_t)row * at->radix + j;
        int32_t d = delay + at->offset[r];
        add_source(all,
                   (struct source){
                       .row = l ? at->part[r] : m->node[0][row] * (int32_t)at->radix + (int32_t)j,
                       .delay = d,
                       .lo = g->v0 + d,
                       .hi = g->hi + d + spread,
                       .of = of,
                       .odd = m->stage->in == TREE_16 && d % 2,
                   });
    }
}

static psr_status write_source(struct psr_tree_stage *st, const struct source *one, psr_err *err)
{
    psr_status bad =
        psr_grow(&st->source, &st->room[3], st->nsource, sizeof *st->source, rows_of_tree, err);
    if (!bad && one->row >= 0)
        bad = psr_grow(&st->input, &st->room[4], st->ninput, sizeof *st->input, rows_of_tree, err);
    if (bad)
        return bad;
    if (one->row >= 0)
        st->input[st->ninput++] = (struct psr_tree_input){.source = st->nsource,
                                                          .pair = st->npair,
                                                          .row = one->row,
                                                          .delay = one->delay,
                                                          .lo = one->lo,
                                                          .hi = one->hi};
    st->source[st->nsource++] = one->delay;
    return PSR_OK;
}

/* Sources of both rows, of the first, of the second; even ones first. */
static psr_status write_pair(struct maker *m, const struct sources *all, size_t nrow, size_t lanes,
                             psr_err *err)
{
    static const int of[] = {3, 1, 2};
    struct psr_tree_stage *st = m->stage;
    struct tree_k_pair p = {.row = (uint32_t)st->nrow,
                            .src = (uint32_t)st->nsource,
                            .lanes = (uint32_t)lanes,
                            .nrow = (uint8_t)nrow};
    psr_status bad =
        psr_grow(&st->pair, &st->room[5], st->npair, sizeof *st->pair, rows_of_tree, err);
    for (int c = 0; c < 3; c++)
        for (int odd = 0; odd < 2; odd++)
            for (size_t k = 0; k < all->n && !bad; k++) {
                if (all->at[k].of != of[c] || all->at[k].odd != (bool)odd)
                    continue;
                bad = write_source(st, all->at + k, err);
                if (odd)
                    p.nodd[c]++;
                else
                    p.neven[c]++;
            }
    m->stages->adds += (double)(all->n - nrow) * (double)lanes / TREE_TILE;
    if (!bad)
        st->pair[st->npair++] = p;
    return bad;
}

static psr_status add_row(struct psr_tree_stage *st, struct tree_k_row row, psr_err *err)
{
    psr_status bad = psr_grow(&st->row, &st->room[2], st->nrow, sizeof *st->row, rows_of_tree, err);
    if (!bad)
        st->row[st->nrow++] = row;
    return bad;
}

/* --- a group ---------------------------------------------------------------------------------- */

PSR_COMPARE(by_row_and_delay, struct need, PSR_THEN(PSR_RISING(row), PSR_RISING(lo)));

/* Joins what is wanted of each row as long as there is no gap of a tile. */
static size_t join(struct need *need, size_t n, struct need *made, int32_t gap)
{
    size_t nmade = 0;
    qsort(need, n, sizeof *need, by_row_and_delay);
    for (size_t k = 0; k < n; k++) {
        struct need *last = made + nmade - 1;
        if (nmade && last->row == need[k].row && need[k].lo - last->hi <= gap)
            last->hi = need[k].hi > last->hi ? need[k].hi : last->hi;
        else
            made[nmade++] = need[k];
    }
    return nmade;
}

static size_t lanes_of(const struct need *made)
{
    size_t lanes = TREE_TILE + (size_t)(made->hi - made->lo);
    return (lanes + TREE_ROUND - 1) / TREE_ROUND * TREE_ROUND;
}

/* Delay of an output's row at v = 0: rows between stages are made at their own time. */
static int32_t base_of(const struct maker *m, const struct psr_tree_output *o)
{
    return m->stage->top == m->tree->nlevel - 1 ? o->lo : 0;
}

/* What outputs o .. o + n - 1 want of the lower level.  Returns the bytes of shared memory. */
static size_t gather_needs(struct maker *m, const struct psr_tree_output *o, size_t n)
{
    const int l = m->stage->top;
    const struct psr_merge_level *at = &m->tree->level[l];
    size_t lanes = SLACK;
    m->nneed = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < parts_of(m, l, o[k].row); j++) {
            size_t r = (size_t)o[k].row * at->radix + j;
            int32_t d = base_of(m, o + k) + at->offset[r];
            m->need[m->nneed++] =
                (struct need){at->part[r], d, d, (int32_t)(k * PSR_MERGE_MAXRADIX + j)};
        }
    m->nmade = join(m->need, m->nneed, m->made, TREE_TILE / 2);
    for (size_t k = 0; k < m->nmade; k++)
        lanes += lanes_of(m->made + k);
    return lanes * psr_tree_lane_bytes(m->stage->lower);
}

/* Rows r .. r + n - 1 of the lower level, from element "top" of shared memory on. */
static psr_status write_lower_pair(struct maker *m, const struct tree_k_group *g, size_t r,
                                   size_t n, size_t top, psr_err *err)
{
    struct sources all = {0};
    size_t lanes = 0;
    psr_status bad = PSR_OK;
    for (size_t k = 0; k < n; k++) {
        const struct need *made = m->made + r + k;
        add_inputs(m, &all, 1 << k, m->stage->top - 1, made->row, made->lo, made->hi - made->lo, g);
        lanes = lanes_of(made) > lanes ? lanes_of(made) : lanes;
    }
    if ((bad = write_pair(m, &all, n, lanes, err)))
        return bad;
    for (size_t k = 0; k < n && !bad; k++) {
        const struct need *made = m->made + r + k;
        bad = add_row(m->stage,
                      (struct tree_k_row){.at = (int64_t)top, .extra = made->hi - made->lo}, err);
        top += lanes_of(made);
    }
    return bad;
}

/* The lower level's rows; place[from] gets where each need finds its own. */
static psr_status write_lower(struct maker *m, struct tree_k_group *g, int32_t *place, psr_err *err)
{
    struct psr_tree_stage *st = m->stage;
    size_t top = 0, k = 0;
    psr_status bad = PSR_OK;
    g->lower = (uint32_t)st->npair;
    for (size_t r = 0; r < m->nmade && !bad; r += 2) {
        size_t n = m->nmade - r < 2 ? 1 : 2;
        bad = write_lower_pair(m, g, r, n, top, err);
        for (size_t one = r; one < r + n; one++) {
            const struct need *made = m->made + one;
            for (; k < m->nneed && m->need[k].row == made->row && m->need[k].lo <= made->hi; k++)
                place[m->need[k].from] = (int32_t)top + m->need[k].lo - made->lo;
            top += lanes_of(made);
        }
    }
    g->nlower = (uint32_t)st->npair - g->lower;
    size_t bytes = (top + SLACK) * psr_tree_lane_bytes(st->lower);
    st->shared = bytes > st->shared ? bytes : st->shared;
    return bad;
}

static psr_status write_upper_pair(struct maker *m, const struct psr_tree_output *o, size_t n,
                                   const struct tree_k_group *g, const int32_t *place, psr_err *err)
{
    struct psr_tree_stage *st = m->stage;
    bool last = st->top == m->tree->nlevel - 1;
    struct sources all = {0};
    for (size_t k = 0; k < n; k++, place += PSR_MERGE_MAXRADIX) {
        if (!st->two)
            add_inputs(m, &all, 1 << k, st->top, o[k].row, base_of(m, o + k), 0, g);
        for (size_t j = 0; st->two && j < parts_of(m, st->top, o[k].row); j++)
            add_source(&all, (struct source){.row = -1,
                                             .delay = place[j],
                                             .of = 1 << k,
                                             .odd = st->lower == TREE_16 && place[j] % 2});
    }
    psr_status bad = write_pair(m, &all, n, TREE_TILE, err);
    for (size_t k = 0; k < n && !bad; k++)
        bad = add_row(
            st,
            (struct tree_k_row){.at = o[k].at, .lo = last ? 0 : o[k].lo, .hi = last ? 0 : o[k].hi},
            err);
    return bad;
}

/* The tiles of outputs o .. o + n - 1. */
static void set_window(const struct maker *m, struct tree_k_group *g,
                       const struct psr_tree_output *o, size_t n)
{
    struct psr_tree_stage *st = m->stage;
    if (st->top == m->tree->nlevel - 1)
        return;
    g->v0 = o->lo;
    g->hi = o->hi;
    for (size_t k = 1; k < n; k++) {
        g->v0 = o[k].lo < g->v0 ? o[k].lo : g->v0;
        g->hi = o[k].hi > g->hi ? o[k].hi : g->hi;
    }
    g->v0 = g->v0 / TREE_TILE * TREE_TILE;
    size_t span = (size_t)(g->hi - g->v0);
    st->span = span > st->span ? span : st->span;
}

static psr_status write_group(struct maker *m, const struct psr_tree_output *o, size_t n,
                              psr_err *err)
{
    struct psr_tree_stage *st = m->stage;
    int32_t place[TREE_UPPER * PSR_MERGE_MAXRADIX];
    struct tree_k_group g = {.nrow = (uint32_t)n};
    psr_status bad =
        psr_grow(&st->group, &st->room[1], st->ngroup, sizeof *st->group, rows_of_tree, err);
    if (bad)
        return bad;
    set_window(m, &g, o, n);
    if (st->two) {
        (void)gather_needs(m, o, n);
        bad = write_lower(m, &g, place, err);
    }
    g.upper = (uint32_t)st->npair;
    for (size_t k = 0; k < n && !bad; k += 2)
        bad =
            write_upper_pair(m, o + k, n - k < 2 ? 1 : 2, &g, place + k * PSR_MERGE_MAXRADIX, err);
    g.nupper = (uint32_t)st->npair - g.upper;
    st->group[st->ngroup++] = g;
    return bad;
}

/* --- stages ----------------------------------------------------------------------------------- */

static psr_status add_output(struct psr_tree_stage *st, struct psr_tree_output o, psr_err *err)
{
    psr_status bad =
        psr_grow(&st->output, &st->room[0], st->noutput, sizeof *st->output, rows_of_tree, err);
    if (!bad)
        st->output[st->noutput++] = o;
    return bad;
}

static psr_status add_trials(struct maker *m, struct psr_tree_stage *st, size_t first, size_t ndm,
                             psr_err *err)
{
    const struct psr_merge_tree *tree = m->tree;
    psr_status bad = PSR_OK;
    for (size_t n = 0; n < tree->ndm && !bad; n++) {
        size_t i = tree->order[n];
        if (i >= first && i < first + ndm)
            bad = add_output(st,
                             (struct psr_tree_output){tree->row[i], tree->offset[i],
                                                      tree->offset[i], (int64_t)(i - first)},
                             err);
    }
    return bad;
}

/* What the stage above reads is what this one makes. */
static psr_status add_rows(struct psr_tree_stage *st, const struct psr_tree_stage *above,
                           size_t gap, psr_err *err)
{
    struct need *need = malloc(2 * above->ninput * sizeof *need), *made = need + above->ninput;
    psr_status bad = PSR_OK;
    if (!need)
        return psr_fail_nomem(err, rows_of_tree, 2 * (double)above->ninput * sizeof *need);
    for (size_t k = 0; k < above->ninput; k++) {
        const struct psr_tree_input *in = above->input + k;
        need[k] = (struct need){in->row, in->lo, in->hi, 0};
    }
    size_t n = join(need, above->ninput, made, gap < INT32_MAX ? (int32_t)gap : INT32_MAX);
    for (size_t k = 0; k < n && !bad; k++)
        bad = add_output(st, (struct psr_tree_output){made[k].row, made[k].lo, made[k].hi, 0}, err);
    free(need);
    return bad;
}

static enum tree_k_kind kind_of(const struct psr_dedisp_layout *s, int l)
{
    size_t width = s->tree.level[l].width, nchan = width < s->nkept ? width : s->nkept;
    return psr_dedisp_layout_sample_max(s) * nchan > UINT16_MAX ? TREE_32 : TREE_16;
}

/* Levels 0 and 1, 2 and 3, and so on. */
static void set_stages(struct psr_tree_stages *t, const struct psr_dedisp_layout *s)
{
    int nlevel = s->tree.nlevel;
    for (int l = 0; l < nlevel; l += 2) {
        struct psr_tree_stage *st = &t->stage[t->nstage++];
        st->two = l + 1 < nlevel;
        st->top = st->two ? l + 1 : l;
        st->in = l ? kind_of(s, l - 1) : TREE_BYTES;
        st->lower = kind_of(s, l);
        st->upper = kind_of(s, st->top);
    }
}

/* Plans the stages.
 * Given:    first, ndm   trials of this device
 *           gap   delays further apart than this are made as separate rows
 *           shared   bytes of shared memory that a group may take, at least 40 KB
 * Status:   PSR_ENOMEM.  To be freed after a failure too. */
static psr_status tree_stages_make(struct psr_tree_stages *t, const struct psr_dedisp_layout *s,
                                   size_t first, size_t ndm, size_t gap, size_t shared,
                                   psr_err *err)
{
    struct maker *m = calloc(1, sizeof *m);
    *t = (struct psr_tree_stages){0};
    if (!m)
        return psr_fail_nomem(err, rows_of_tree, sizeof *m);
    m->tree = &s->tree;
    m->stages = t;
    m->shared = shared;
    set_stages(t, s);
    psr_status bad = find_nodes(m, err);
    for (int n = t->nstage - 1; n >= 0 && !bad; n--) {
        bad = n == t->nstage - 1 ? add_trials(m, &t->stage[n], first, ndm, err)
                                 : add_rows(&t->stage[n], &t->stage[n + 1], gap, err);
        if (!bad) {
            struct psr_tree_stage *st = m->stage = &m->stages->stage[n];
            bad = PSR_OK;
            for (size_t k = 0, size; k < st->noutput && !bad; k += size) {
                /* Outputs from o on that a group may have: as many as shared memory holds, and not too far apart. */
                const struct psr_tree_output *o = st->output + k;
                const size_t left = st->noutput - k;
                bool last = m->stage->top == m->tree->nlevel - 1;
                size_t most = left < TREE_UPPER ? left : TREE_UPPER, i = 1;
                int32_t lo = o->lo, hi = o->hi;
                for (; i < most && !last; i++) {
                    lo = o[i].lo < lo ? o[i].lo : lo;
                    hi = o[i].hi > hi ? o[i].hi : hi;
                    if (hi - lo > SPREAD)
                        break;
                }
                i = last ? most : i;
                while (m->stage->two && i > 1 && gather_needs(m, o, i) > m->shared)
                    i -= i > 8 ? i / 8 : 1;
                size = i;
                bad = write_group(m, st->output + k, size, err);
            }
        }
    }
    for (int l = 0; l < PSR_MERGE_MAXLEVEL; l++)
        free(m->node[l]);
    free(m);
    return bad;
}

static void tree_stages_free(struct psr_tree_stages *t)
{
    for (int n = 0; n < t->nstage; n++) {
        free(t->stage[n].output);
        free(t->stage[n].group);
        free(t->stage[n].pair);
        free(t->stage[n].row);
        free(t->stage[n].source);
        free(t->stage[n].input);
    }
    *t = (struct psr_tree_stages){0};
}

/* --- places of rows between stages, and of sources -------------------------------------------- */

static size_t row_elements(const struct tree_k_group *g, size_t n)
{
    size_t ntile = ((size_t)(g->hi - g->v0) + n + TREE_TILE - 1) / TREE_TILE;
    return (ntile * TREE_TILE + 31) / 32 * 32;
}

static size_t stage_elements(const struct psr_tree_stage *st, size_t n)
{
    size_t elements = 4 * TREE_TILE; /* read beyond the last row */
    for (size_t k = 0; k < st->ngroup; k++)
        elements += st->group[k].nrow * row_elements(st->group + k, n);
    return elements;
}

/* Bytes of the rows between stages for n outputs at once. */
static double tree_stages_bytes(const struct psr_tree_stages *t, size_t n)
{
    double bytes = 0;
    for (int k = 0; k + 1 < t->nstage; k++)
        bytes += (double)stage_elements(&t->stage[k], n) *
                 (double)psr_tree_lane_bytes(t->stage[k].upper);
    return bytes;
}

/* Rows of the upper level follow each other in a group, and groups in the output. */
static void place_rows(struct psr_tree_stage *st, size_t n)
{
    int64_t next = 0;
    struct psr_tree_output *o = st->output;
    for (const struct tree_k_group *g = st->group; g < st->group + st->ngroup; g++) {
        struct tree_k_row *row = st->row + st->pair[g->upper].row;
        for (size_t u = 0; u < g->nrow; u++, o++, row++) {
            o->at = row->at = next - g->v0;
            next += (int64_t)row_elements(g, n);
        }
    }
}

static int64_t find_output(const struct psr_tree_stage *st, int32_t row, int32_t delay)
{
    size_t lo = 0, hi = st->noutput;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        const struct psr_tree_output *o = st->output + mid;
        if (o->row < row || (o->row == row && o->lo <= delay))
            lo = mid;
        else
            hi = mid;
    }
    return st->output[lo].at;
}

/* Gives every row between stages its place for up to n outputs at once, and every source its
 * position: of channels with runs of pitch bytes.
 * Returned: elements [nstage]   of the rows that each stage but the last makes */
static void tree_stages_place(struct psr_tree_stages *t, size_t n, size_t pitch, size_t *elements)
{
    for (int k = 0; k < t->nstage; k++) {
        struct psr_tree_stage *st = &t->stage[k];
        const struct psr_tree_input *in = st->input, *end = in + st->ninput;
        for (size_t pair = SIZE_MAX; in < end; pair = in->pair, in++) {
            int64_t at = in->delay + (k ? find_output(&t->stage[k - 1], in->row, in->lo)
                                        : (int64_t)in->row * (int64_t)pitch);
            if (in->pair != pair)
                st->pair[in->pair].base = at / 2 * 2;
            st->source[in->source] = (int32_t)(at - st->pair[in->pair].base);
        }
        elements[k] = 0;
        if (k + 1 == t->nstage)
            continue;
        place_rows(&t->stage[k], n);
        elements[k] = stage_elements(&t->stage[k], n);
    }
}

enum { ROW_BYTES = 1 << 30 }; /* of rows between stages: more outputs at once gain nothing */

/* --- memory ----------------------------------------------------------------------------------- */

/* The most outputs at once, whose rows fit: bytes grow with their number. */
static psr_status choose_chunk(struct psr_cuda *c, int64_t most, psr_err *err)
{
    size_t n = (c->nout_max + TREE_TILE - 1) / TREE_TILE;
    most = most < ROW_BYTES ? most : ROW_BYTES;
    while (n > 1 && tree_stages_bytes(&c->tree, n * TREE_TILE) > (double)most)
        n = n * 7 / 8;
    c->tree_chunk = n * TREE_TILE;
    double need = tree_stages_bytes(&c->tree, c->tree_chunk);
    return need <= (double)most ? PSR_OK : psr_cuda_tree_fail(c, most, need, err);
}

static cudaError_t upload_stage(struct psr_cuda *c, int n, size_t elements)
{
    const struct psr_tree_stage *st = &c->tree.stage[n];
    struct psr_cuda_tree_stage *d = &c->tree_stage[n];
    size_t bytes = elements * psr_tree_lane_bytes(st->upper);
    TRY(psr_cuda_upload(&d->d_group, st->group, st->ngroup * sizeof *st->group, &c->bytes));
    TRY(psr_cuda_upload(&d->d_pair, st->pair, st->npair * sizeof *st->pair, &c->bytes));
    TRY(psr_cuda_upload(&d->d_row, st->row, st->nrow * sizeof *st->row, &c->bytes));
    TRY(psr_cuda_upload(&d->d_source, st->source, st->nsource * sizeof *st->source, &c->bytes));
    if (!bytes)
        return cudaSuccess;
    TRY(psr_cuda_take(&d->d_rows, bytes, &c->bytes));
    TRY(cudaMemset(d->d_rows, 0, bytes)); /* lanes that nobody uses are read too */
    return cudaStreamSynchronize(cudaStreamLegacy);
}

psr_status psr_cuda_tree_start(struct psr_cuda *c, int64_t mem_free, psr_err *err)
{
    size_t elements[PSR_MERGE_MAXLEVEL];
    size_t shared, shared_words;
    int64_t most = c->s->mem_bytes / 4 < mem_free / 4 ? c->s->mem_bytes / 4 : mem_free / 4;
    cudaError_t e = tree_k_shared(&shared);
    if (!e)
        e = words_k_shared(&shared_words);
    if (e)
        return psr_cuda_fail(c->device, e, "shared memory", err);
    if (c->pitch > INT32_MAX / PSR_MERGE_LEAF)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "dm",
            "dedispersion: device %d: delays need runs of %zu samples, beyond the "
            "%d of the tree algorithm",
            c->device, c->room, INT32_MAX / PSR_MERGE_LEAF);
    if (shared_words && psr_words_fit(c->s))
        return psr_cuda_words_start(c, most, c->nout_max + TREE_TILE, shared_words, err);
    psr_status st = tree_stages_make(&c->tree, c->s, c->first_trial, c->s->ndm,
                                     c->nout_max + TREE_TILE, shared, err);
    if (st || (st = choose_chunk(c, most, err)))
        return st;
    tree_stages_place(&c->tree, c->tree_chunk, c->pitch, elements);
    for (int n = 0; n < c->tree.nstage && !e; n++)
        e = upload_stage(c, n, elements[n]);
    return e ? psr_cuda_fail(c->device, e, "rows of a tree", err) : PSR_OK;
}

void psr_cuda_tree_free(struct psr_cuda *c)
{
    for (int n = 0; n < c->tree.nstage; n++) {
        struct psr_cuda_tree_stage *d = &c->tree_stage[n];
        cudaFree(d->d_group);
        cudaFree(d->d_pair);
        cudaFree(d->d_row);
        cudaFree(d->d_source);
        cudaFree(d->d_rows);
    }
    tree_stages_free(&c->tree);
    psr_cuda_words_free(c);
}

/* --- sums ------------------------------------------------------------------------------------- */

cudaError_t psr_cuda_tree_sums(const struct psr_cuda *c, const struct dedisp_k_io *io,
                               cudaStream_t stream)
{
    for (size_t t0 = 0; t0 < io->nout; t0 += c->tree_chunk) {
        size_t left = io->nout - t0, n = left < c->tree_chunk ? left : c->tree_chunk;
        for (int k = 0; k < c->tree.nstage; k++) {
            const struct psr_tree_stage *st = &c->tree.stage[k];
            const struct psr_cuda_tree_stage *d = &c->tree_stage[k];
            const struct tree_k_stage stage = {
                .in = st->in,
                .lower = st->lower,
                .upper = st->upper,
                .last = k + 1 == c->tree.nstage,
                .d_group = d->d_group,
                .ngroup = st->ngroup,
                .ntile = (st->span + n + TREE_TILE - 1) / TREE_TILE,
                .d_pair = d->d_pair,
                .d_row = d->d_row,
                .d_source = d->d_source,
                .shared = st->shared,
                .d_in = k ? c->tree_stage[k - 1].d_rows : io->d_runs,
                .at = k ? 0 : io->at + t0,
                .plane = io->plane,
                .nplane = io->nplane,
                .d_rows = d->d_rows,
                .d_out = io->d_out + t0,
                .out_pitch = io->out_pitch,
                .n = n,
                .bias = io->bias,
                .downsamp = io->downsamp,
            };
            TRY(tree_k_run(&stage, stream));
        }
    }
    return cudaSuccess;
}
