/* Plans which rows of the second level a thread block makes, and the rows of the first level and the
 * windows of channels that it makes them from. */
#include "dedisp_cuda.h"

#include "base/tool.h"
#include <stdlib.h>
#include <string.h>

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
        psr_words_sort(m->need, m->nneed);
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

static psr_status write_group(struct psr_words_maker *m, const struct plan *p, psr_err *err)
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
        bad = write_group(m, p, err);
    }
    free(p);
    return bad;
}
