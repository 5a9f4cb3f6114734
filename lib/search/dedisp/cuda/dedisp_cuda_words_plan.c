/* The tree algorithm in words of two outputs on a CUDA device: which thread block makes which rows and trials. */
#include "dedisp_cuda.h"

#include "base/tool.h"
#include <stdlib.h>
#include <string.h>

/* --- plans what groups of trials add up, and which rows of the second level they want --------- */

enum {
    APART = WORDS_ROW / 2,   /* of windows of a row that are copied as one */
    WIDEST = 1024,           /* words of a window beside a row */
    BEHIND = 4 * WORDS_HALO, /* bytes of a step that are read and not used */
};

PSR_COMPARE(by_row_and_delay, struct psr_words_need, PSR_THEN(PSR_RISING(row), PSR_RISING(lo)));

/* Sorts by row and delay. */
static void words_sort(struct psr_words_need *need, size_t n)
{
    qsort(need, n, sizeof *need, by_row_and_delay);
}

/* --- what a trial adds up --------------------------------------------------------------------- */

/* Rows of level m->low that row r of a sub-band of level l adds up. */
static void find_parts(struct psr_words_maker *m, int l, size_t node, struct psr_words_part p,
                       size_t t)
{
    const struct psr_merge_level *at = &m->tree->level[l];
    if (l == m->low) {
        m->part[node * WORDS_TRIALS + t] = p;
        return;
    }
    for (size_t j = 0; j < psr_merge_parts_of(m->tree, l, node); j++) {
        size_t r = (size_t)p.row * at->radix + j;
        find_parts(m, l - 1, node * at->radix + j,
                   (struct psr_words_part){at->part[r], p.delay + at->offset[r]}, t);
    }
}

/* --- a step ----------------------------------------------------------------------------------- */

static psr_status add_copy(struct psr_words *w, struct words_k_copy copy, struct psr_words_row want,
                           psr_err *err)
{
    psr_status bad = psr_grow(&w->copy, &w->capacity[4], w->ncopy, sizeof copy, "copies", err);
    if (!bad)
        bad = psr_grow(&w->want, &w->capacity[5], w->ncopy, sizeof want, "copies", err);
    if (bad)
        return bad;
    w->copy[w->ncopy] = copy;
    w->want[w->ncopy++] = want;
    return PSR_OK;
}

/* Copies what needs of the second level want, a tile from lo to hi on, and tells each where it is.
 * Rows of the third level have more words, which nobody uses. */
static psr_status write_copies(struct psr_words_maker *m, psr_err *err)
{
    struct psr_words *w = m->words;
    struct psr_words_need *need = m->need;
    uint32_t to = 0;
    psr_status bad = PSR_OK;
    words_sort(need, m->nneed);
    for (size_t k = 0, end; k < m->nneed && !bad; k = end) {
        int32_t lo = need[k].lo / WORDS_ROUND * WORDS_ROUND, last = need[k].lo, hi = need[k].hi;
        for (end = k; end < m->nneed && need[end].row == need[k].row &&
                      need[end].lo - last <= APART && need[end].lo - lo <= WIDEST;
             end++) {
            last = need[end].lo;
            hi = need[end].hi > hi ? need[end].hi : hi;
            *need[end].source = 4 * (to + (uint32_t)(last - lo));
        }
        uint32_t length = (uint32_t)psr_words_round((size_t)(hi - lo) + WORDS_TILE);
        bad = add_copy(w, (struct words_k_copy){.to = to, .words = length},
                       (struct psr_words_row){need[k].node, need[k].row, lo, hi, 0}, err);
        to += length;
    }
    size_t bytes = sizeof *w->step + 4 * (size_t)to;
    w->load[m->at].n = (uint32_t)(w->ncopy - w->load[m->at].copy);
    w->load[m->at].bytes = (uint32_t)bytes;
    w->room = bytes + BEHIND > w->room ? bytes + BEHIND : w->room;
    return bad;
}

static void add_need(struct psr_words_maker *m, size_t node, int32_t row, int32_t lo, int32_t hi,
                     uint32_t *source)
{
    m->need[m->nneed++] = (struct psr_words_need){node, row, lo, hi, source};
}

/* Rows of the third level, which delays apart by up to WORDS_HALO share. */
static psr_status write_third(struct psr_words_maker *m, size_t node, size_t n, psr_err *err)
{
    const struct psr_merge_level *at = &m->tree->level[m->low];
    struct words_k_step *step = m->words->step + m->at;
    const struct psr_words_part *part = m->part + node * WORDS_TRIALS;
    struct psr_words_need trial[WORDS_TRIALS];
    step->nparts = (uint32_t)psr_merge_parts_of(m->tree, m->low, node);
    for (size_t t = 0; t < n; t++)
        trial[t] = (struct psr_words_need){node, part[t].row, part[t].delay, 0, step->trial + t};
    words_sort(trial, n);
    for (size_t k = 0, end; k < n; k = end) {
        const int32_t lo = trial[k].lo;
        for (end = k; end < n && trial[end].row == trial[k].row && trial[end].lo - lo <= WORDS_HALO;
             end++)
            *trial[end].source = 4 * (step->nrow * WORDS_ROW + (uint32_t)(trial[end].lo - lo));
        for (size_t j = 0; j < step->nparts; j++) {
            size_t r = (size_t)trial[k].row * at->radix + j;
            int32_t d = lo + at->offset[r];
            add_need(m, node * at->radix + j, at->part[r], d, d + trial[end - 1].lo - lo,
                     &step->source[step->nrow][j]);
        }
        step->nrow++;
    }
    m->words->nthird = step->nrow > m->words->nthird ? step->nrow : m->words->nthird;
    m->words->adds += (step->nparts - 1.0) * step->nrow * WORDS_ROW / WORDS_TILE;
    return write_copies(m, err);
}

/* Up to WORDS_PARTS sub-bands of the second level. */
static psr_status write_second(struct psr_words_maker *m, size_t node, size_t n, psr_err *err)
{
    struct words_k_step *step = m->words->step + m->at;
    size_t left = m->tree->level[m->low].nnode - node;
    step->nparts = left < WORDS_PARTS ? (uint32_t)left : WORDS_PARTS;
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < step->nparts; j++) {
            const struct psr_words_part *p = &m->part[(node + j) * WORDS_TRIALS + t];
            add_need(m, node + j, p->row, p->delay, p->delay, &step->source[t][j]);
        }
    return write_copies(m, err);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Steps of n trials. */
static psr_status write_steps(struct psr_words_maker *m, const size_t *trial, size_t n,
                              psr_err *err)
{
    struct psr_words *w = m->words;
    psr_status bad = PSR_OK;
    for (size_t k = 0; k < w->nstep && !bad; k++) {
        size_t at = w->ntrial_group * w->nstep + k;
        bad = psr_grow(&w->load, &w->capacity[6], at, sizeof *w->load, "steps", err);
        if (!bad)
            bad = psr_grow(&w->step, &w->capacity[7], at, sizeof *w->step, "steps", err);
    }
    if (bad)
        return bad;
    for (size_t t = 0; t < n; t++)
        find_parts(m, m->tree->nlevel - 1, 0,
                   (struct psr_words_part){m->tree->row[trial[t]], m->tree->offset[trial[t]]}, t);
    for (size_t k = 0; k < w->nstep && !bad; k++) {
        m->at = w->ntrial_group * w->nstep + k;
        m->nneed = 0;
        w->step[m->at] = (struct words_k_step){0};
        w->load[m->at] = (struct words_k_load){.copy = (uint32_t)w->ncopy};
        bad = w->third ? write_third(m, k, n, err) : write_second(m, k * WORDS_PARTS, n, err);
    }
    w->adds += (double)n * (double)(m->tree->level[m->low].nnode - 1);
    return bad;
}

/* With room for two steps at least. */
static size_t shared_bytes(const struct psr_words *w)
{
    return WORDS_FIRST + 2 * w->room + psr_words_third_bytes(w);
}

/* Steps of a group go round a ring, each to where the ones before it leave room. */
static void place_steps(const struct psr_words *w, struct words_k_load *load)
{
    size_t next = WORDS_FIRST, end = WORDS_FIRST + w->ring;
    for (size_t k = 0; k < w->nstep; k++) {
        size_t at = next + load[k].bytes + BEHIND <= end ? next : WORDS_FIRST;
        next = at + load[k].bytes + BEHIND;
        load[k].at = (uint32_t)at;
        load[k].after = k < WORDS_SLOTS ? 0 : (uint32_t)(k - WORDS_SLOTS + 1);
        for (size_t j = load[k].after; j < k; j++)
            if (load[j].at < next && at < load[j].at + load[j].bytes + BEHIND)
                load[k].after = (uint32_t)j + 1;
    }
}

/* As many trials as shared memory allows: *n of those given. */
static psr_status write_group(struct psr_words_maker *m, const size_t *trial, size_t left,
                              size_t *n, psr_err *err)
{
    struct psr_words *w = m->words;
    const struct psr_words before = *w;
    psr_status bad;
    for (*n = left < WORDS_TRIALS ? left : WORDS_TRIALS;; *n /= 2) {
        w->ncopy = before.ncopy;
        w->room = before.room;
        w->nthird = before.nthird;
        w->adds = before.adds;
        bad = write_steps(m, trial, *n, err);
        if (bad || *n == 1 || shared_bytes(w) <= m->shared)
            break;
    }
    for (size_t t = 0; t < WORDS_TRIALS && !bad; t++) {
        size_t at = w->ntrial_group * WORDS_TRIALS + t;
        bad = psr_grow(&w->trial, &w->capacity[3], at, sizeof *w->trial, "trials", err);
        if (!bad)
            w->trial[at] = t < *n ? (int64_t)(trial[t] - m->first) : -1;
    }
    w->ntrial_group++;
    return bad;
}

psr_status psr_words_plan_trials(struct psr_words_maker *m, size_t ndm, psr_err *err)
{
    const struct psr_merge_tree *tree = m->tree;
    struct psr_words *w = m->words;
    size_t *trial = malloc(ndm * sizeof *trial), n = 0;
    psr_status bad = trial ? PSR_OK : psr_fail_nomem(err, "trials", 8.0 * (double)ndm);
    for (size_t k = 0; k < tree->ndm && !bad; k++)
        if (tree->order[k] >= m->first && tree->order[k] < m->first + ndm)
            trial[n++] = tree->order[k];
    for (size_t k = 0, size; k < n && !bad; k += size)
        bad = write_group(m, trial + k, n - k, &size, err);
    free(trial);
    if (bad)
        return bad;
    w->ring = (m->shared - WORDS_FIRST - psr_words_third_bytes(w)) / 16 * 16;
    w->ring = w->ring > 2 * w->room ? w->ring : 2 * w->room;
    for (size_t g = 0; g < w->ntrial_group; g++)
        place_steps(w, w->load + g * w->nstep);
    return PSR_OK;
}

/* --- which rows of the second level a thread block makes, and of what ------------------------- */

enum {
    SPREAD = 1536, /* of the delays of a group's rows: tiles at its ends are part empty */
    LOWER = PSR_WORDS_UPPER * WORDS_LEAF,
    CHANNELS = WORDS_LEAF * WORDS_LEAF,
};

/* A row of the first level: part j of the sub-band, at delay lo; wanted by rows that are made for
 * v from first to last + half. */
struct lower {
    size_t j;
    int32_t row, lo, first, last;
};

struct window {
    int32_t lo, hi; /* hi < lo: not wanted */
    uint32_t to;
};

/* A group as it is planned.  lower[nlower] are those of nothing: sources that there are not. */
struct plan {
    const struct psr_words_row *made;
    size_t n, nlower, bytes;
    struct lower lower[LOWER + 1];
    uint32_t source[LOWER]; /* of row k and part j at k WORDS_LEAF + j: byte of rows of lower[] */
    struct window window[CHANNELS + 1];
    uint32_t words; /* of all windows */
    bool gaps;      /* some sources are not there */
};

static const struct psr_merge_level *level_of(const struct psr_words_maker *m, int l)
{
    return &m->tree->level[l];
}

/* --- a group ---------------------------------------------------------------------------------- */

static void find_lower(struct psr_words_maker *m, struct plan *p)
{
    const struct psr_words_need *need = m->need;
    p->nlower = 0;
    for (size_t k = 0, end; k < m->nneed; k = end) {
        struct lower *one = p->lower + p->nlower;
        *one = (struct lower){need[k].node, need[k].row, need[k].lo, INT32_MAX, 0};
        for (end = k;
             end < m->nneed && need[end].row == one->row && need[end].lo - one->lo <= WORDS_HALO;
             end++) {
            const struct psr_words_row *of = p->made + need[end].hi;
            one->first = of->lo < one->first ? of->lo : one->first;
            one->last = of->hi > one->last ? of->hi : one->last;
            *need[end].source =
                4 * ((uint32_t)p->nlower * WORDS_ROW + (uint32_t)(need[end].lo - one->lo));
        }
        p->nlower++;
    }
}

static void find_windows(struct psr_words_maker *m, struct plan *p)
{
    const struct psr_merge_level *at = level_of(m, 0);
    const size_t node = p->made->node * level_of(m, 1)->radix;
    p->gaps = psr_merge_parts_of(m->tree, 1, p->made->node) < WORDS_LEAF;
    for (size_t c = 0; c < CHANNELS; c++)
        p->window[c] = (struct window){INT32_MAX, 0, 0};
    for (const struct lower *r = p->lower; r < p->lower + p->nlower; r++) {
        size_t n = psr_merge_parts_of(m->tree, 0, node + r->j);
        p->gaps |= n < WORDS_LEAF;
        for (size_t c = 0; c < n; c++) {
            struct window *w = p->window + r->j * WORDS_LEAF + c;
            int32_t d = r->lo + at->offset[(size_t)r->row * at->radix + c];
            w->lo = d < w->lo ? d / WORDS_ROUND * WORDS_ROUND : w->lo;
            w->hi = d > w->hi ? d : w->hi;
        }
    }
}

/* A window is read from up to three samples further on. */
static size_t words_of(const struct window *w)
{
    return psr_words_round((size_t)(w->hi - w->lo) + WORDS_CHAN + WORDS_ROUND - 1);
}

/* As many rows of those left as shared memory holds, of one sub-band and not too far apart. */
static void choose_group(struct psr_words_maker *m, struct plan *p, size_t left)
{
    size_t n = 1;
    int32_t lo = p->made->lo, hi = p->made->hi;
    for (; n < left && n < PSR_WORDS_UPPER && p->made[n].node == p->made->node; n++) {
        lo = p->made[n].lo < lo ? p->made[n].lo : lo;
        hi = p->made[n].hi > hi ? p->made[n].hi : hi;
        if (hi - lo > SPREAD)
            break;
    }
    for (p->n = n;; p->n -= p->n > 8 ? p->n / 8 : 1) {
        const struct psr_merge_level *at = level_of(m, 1);
        m->nneed = 0;
        for (size_t k = 0; k < p->n; k++)
            for (size_t j = 0; j < psr_merge_parts_of(m->tree, 1, p->made[k].node); j++) {
                size_t r = (size_t)p->made[k].row * at->radix + j;
                m->need[m->nneed++] = (struct psr_words_need){
                    j, at->part[r], at->offset[r], (int32_t)k, p->source + k * WORDS_LEAF + j};
            }
        words_sort(m->need, m->nneed);
        find_lower(m, p);
        find_windows(m, p);
        /* In shared memory: tables of rows and windows, windows, rows of the first level. */
        size_t nrow = p->nlower + p->gaps + p->n, nchan = CHANNELS + p->gaps;
        p->window[CHANNELS] = (struct window){0, p->gaps ? 0 : -1, 0};
        size_t to = (nrow * sizeof(struct words_k_row) + nchan * sizeof(struct words_k_chan)) / 4;
        for (size_t c = 0; c <= CHANNELS; c++) {
            struct window *w = p->window + c;
            w->to = (uint32_t)to;
            to += w->hi >= w->lo ? words_of(w) : 0;
        }
        p->words = (uint32_t)to;
        p->bytes = 4 * (to + (p->nlower + p->gaps) * WORDS_ROW);
        if (p->bytes <= m->shared || p->n == 1)
            return;
    }
}

/* --- writing it down -------------------------------------------------------------------------- */

static psr_status add_row(struct psr_words *w, struct words_k_row row, psr_err *err)
{
    psr_status bad = psr_grow(&w->row, &w->capacity[0], w->nrow, sizeof row, "rows", err);
    if (!bad)
        w->row[w->nrow++] = row;
    return bad;
}

/* One for each channel, wanted or not, and one of zeros. */
static psr_status write_windows(struct psr_words_maker *m, const struct plan *p, psr_err *err)
{
    struct psr_words *w = m->words;
    const size_t first = p->made->node * CHANNELS;
    psr_status bad = PSR_OK;
    for (size_t c = 0; c < (size_t)CHANNELS + p->gaps && !bad; c++) {
        const struct window *one = p->window + c;
        bool wanted = one->hi >= one->lo, zeros = c == CHANNELS;
        bad = psr_grow(&w->chan, &w->capacity[1], w->nchan, sizeof *w->chan, "channels", err);
        if (!bad)
            w->chan[w->nchan++] = (struct words_k_chan){
                .at = wanted && !zeros ? (int64_t)(first + c) << 32 | one->lo : 0,
                .to = one->to,
                .words = wanted ? (uint32_t)words_of(one) : 0};
    }
    return bad;
}

static psr_status write_lower(struct psr_words_maker *m, const struct plan *p, psr_err *err)
{
    const struct psr_merge_level *at = level_of(m, 0);
    const size_t node = p->made->node * level_of(m, 1)->radix;
    psr_status bad = PSR_OK;
    for (size_t k = 0; k < p->nlower + p->gaps && !bad; k++) {
        const struct lower *r = p->lower + k;
        struct words_k_row row = {.at = 4 * ((int64_t)p->words + (int64_t)k * WORDS_ROW),
                                  .lo = k < p->nlower ? r->first : INT32_MIN / 2,
                                  .hi = k < p->nlower ? r->last : INT32_MAX / 2};
        size_t n = k < p->nlower ? psr_merge_parts_of(m->tree, 0, node + r->j) : 0;
        for (size_t c = 0; c < WORDS_LEAF; c++) {
            row.source[c] = 4 * p->window[CHANNELS].to;
            if (c >= n)
                continue;
            const struct window *w = p->window + r->j * WORDS_LEAF + c;
            int32_t d = r->lo + at->offset[(size_t)r->row * at->radix + c];
            row.source[c] = 4 * (w->to + (uint32_t)(d - w->lo));
        }
        m->words->adds += (WORDS_LEAF - 1.0) * WORDS_ROW / WORDS_TILE;
        bad = add_row(m->words, row, err);
    }
    return bad;
}

static psr_status write_upper(struct psr_words_maker *m, const struct plan *p, psr_err *err)
{
    size_t nparts = psr_merge_parts_of(m->tree, 1, p->made->node);
    psr_status bad = PSR_OK;
    for (size_t k = 0; k < p->n && !bad; k++) {
        struct words_k_row row = {.lo = p->made[k].lo, .hi = p->made[k].hi};
        for (size_t j = 0; j < WORDS_LEAF; j++)
            row.source[j] = 4 * p->words + (j < nparts ? p->source[k * WORDS_LEAF + j]
                                                       : 4 * (uint32_t)p->nlower * WORDS_ROW);
        m->words->adds += WORDS_LEAF - 1;
        bad = add_row(m->words, row, err);
    }
    return bad;
}

static psr_status write_rows(struct psr_words_maker *m, const struct plan *p, psr_err *err)
{
    struct psr_words *w = m->words;
    struct words_k_group g = {.row = (uint32_t)w->nrow,
                              .nlower = (uint32_t)(p->nlower + p->gaps),
                              .nupper = (uint32_t)p->n,
                              .chan = (uint32_t)w->nchan,
                              .v0 = p->made->lo,
                              .hi = p->made->hi};
    psr_status bad = psr_grow(&w->group, &w->capacity[2], w->ngroup, sizeof g, "groups", err);
    for (size_t k = 0; k < p->n; k++) {
        g.v0 = p->made[k].lo < g.v0 ? p->made[k].lo : g.v0;
        g.hi = p->made[k].hi > g.hi ? p->made[k].hi : g.hi;
    }
    g.v0 = g.v0 / WORDS_LINE * WORDS_LINE;
    if (bad || (bad = write_windows(m, p, err)) || (bad = write_lower(m, p, err)) ||
        (bad = write_upper(m, p, err)))
        return bad;
    g.nchan = (uint32_t)w->nchan - g.chan;
    w->last = (size_t)g.hi > w->last ? (size_t)g.hi : w->last;
    w->shared = p->bytes > w->shared ? p->bytes : w->shared;
    w->group[w->ngroup++] = g;
    return PSR_OK;
}

psr_status psr_words_plan_rows(struct psr_words_maker *m, psr_err *err)
{
    struct psr_words *w = m->words;
    struct plan *p = calloc(1, sizeof *p);
    psr_status bad = p ? PSR_OK : psr_fail_nomem(err, "rows of a tree", sizeof *p);
    for (size_t k = 0; k < w->nmade && !bad; k += p->n) {
        p->made = w->made + k;
        choose_group(m, p, w->nmade - k);
        bad = write_rows(m, p, err);
    }
    free(p);
    return bad;
}
