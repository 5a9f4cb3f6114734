/* Plans the levels of a line of beams for a CUDA device. */
#include "dedisp_beams_rows.h"

#include <stdlib.h>

/* What is wanted of a row: delays lo to hi of its first channel; of which sub-band it is. */
struct wanted {
    int32_t lo, hi, node;
    int64_t at; /* once placed: its element at delay lo */
};

struct maker {
    struct psr_beams_rows *rows;
    const struct psr_dedisp_line *l;
    const struct psr_merge_tree *tree;
    struct wanted *want[PSR_MERGE_MAXLEVEL]; /* [nrow] of the levels below the whole band */
    size_t pitch;
};

size_t psr_beams_kind_bytes(enum beams_k_kind kind)
{
    return kind == BEAMS_8 ? 1 : kind == BEAMS_16 ? 2 : 4;
}

static int32_t offset_of(const struct maker *m, size_t i)
{
    return m->tree->offset[i] + m->l->align[i];
}

/* --- what is wanted --------------------------------------------------------------------------- */

static void widen(struct wanted *w, int32_t lo, int32_t hi, size_t node)
{
    w->lo = lo < w->lo ? lo : w->lo;
    w->hi = hi > w->hi ? hi : w->hi;
    w->node = (int32_t)node;
}

/* The parts of row r of a sub-band of level l, which is wanted at lo to hi. */
static void want_parts(struct maker *m, int l, size_t r, size_t node, int32_t lo, int32_t hi)
{
    const struct psr_merge_level *at = &m->tree->level[l];
    for (size_t j = 0; j < psr_merge_parts_of(m->tree, l, node); j++) {
        size_t n = r * at->radix + j;
        widen(m->want[l - 1] + at->part[n], lo + at->offset[n], hi + at->offset[n],
              node * at->radix + j);
    }
}

static psr_status find_wanted(struct maker *m, psr_err *err)
{
    int top = m->tree->nlevel - 1;
    for (int l = 0; l < top; l++) {
        size_t n = m->tree->level[l].nrow;
        m->want[l] = malloc(n * sizeof *m->want[l]);
        if (!m->want[l])
            return psr_fail_nomem(err, "the rows of a tree", (double)(n * sizeof *m->want[l]));
        for (size_t r = 0; r < n; r++)
            m->want[l][r] = (struct wanted){.lo = INT32_MAX, .hi = INT32_MIN};
    }
    for (size_t i = 0; top && i < m->tree->ndm; i++)
        want_parts(m, top, (size_t)m->tree->row[i], 0, offset_of(m, i), offset_of(m, i));
    for (int l = top - 1; l > 0; l--)
        for (size_t r = 0; r < m->tree->level[l].nrow; r++)
            want_parts(m, l, r, (size_t)m->want[l][r].node, m->want[l][r].lo, m->want[l][r].hi);
    return PSR_OK;
}

/* --- kinds and places ------------------------------------------------------------------------- */

static psr_status set_kinds(struct maker *m, psr_err *err)
{
    uint64_t most = psr_dedisp_layout_sample_max(m->l->layout), store = m->l->lanes.store_bytes;
    if (most > UINT32_MAX / m->tree->nchan)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "backend",
                              "dedispersion: sums of %zu channels of values up to %llu are beyond "
                              "the 32 bits of backend cuda",
                              m->tree->nchan, (unsigned long long)most);
    enum beams_k_kind in = store == 1 ? BEAMS_8 : store == 2 ? BEAMS_16 : BEAMS_32;
    for (int l = 0; l < m->rows->nlevel; l++) {
        size_t width = m->tree->level[l].width;
        uint64_t sum = most * (width < m->tree->nchan ? width : m->tree->nchan);
        m->rows->level[l].in = in;
        in = sum <= UINT8_MAX ? BEAMS_8 : sum <= UINT16_MAX ? BEAMS_16 : BEAMS_32;
        in = l + 1 == m->rows->nlevel ? BEAMS_FLOAT : in;
        m->rows->level[l].out = in;
    }
    return PSR_OK;
}

/* --- rows and sources ------------------------------------------------------------------------- */

static psr_status take_level(struct psr_beams_level *v, size_t nrow, size_t nsource, psr_err *err)
{
    v->row = calloc(nrow, sizeof *v->row);
    v->source = calloc(nsource, sizeof *v->source);
    v->group = calloc(nrow, sizeof *v->group);
    if (v->row && v->source && v->group)
        return PSR_OK;
    return psr_fail_nomem(err, "the rows of a tree", 40.0 * (double)nrow + 8.0 * (double)nsource);
}

/* Parts first .. first + nparts - 1 of row r of a sub-band of level l, at delay row.lo. */
static void put_row(struct maker *m, int l, size_t r, size_t node, size_t first, size_t nparts,
                    struct beams_k_row row)
{
    struct psr_beams_level *v = m->rows->level + l;
    row.src = (uint32_t)v->nsource;
    row.nsrc = (uint32_t)nparts;
    const struct psr_merge_level *at = m->tree->level + l;
    for (size_t j = first; j < first + nparts; j++) {
        size_t n = r * at->radix + j, k = node * at->width + j;
        int32_t delay = row.lo + at->offset[n];
        if (l) {
            const struct wanted *w = m->want[l - 1] + at->part[n];
            v->source[v->nsource++] = w->at + delay - w->lo;
        } else {
            v->source[v->nsource++] = (int64_t)k << 32 | (delay - m->l->least[k]);
        }
    }
    v->row[v->nrow++] = row;
    m->rows->adds += (double)(nparts - 1) * (1 + (double)row.extra / (double)m->l->most);
}

/* Rows from "first" on are adjacent. */
static void group_rows(struct psr_beams_level *v, size_t first)
{
    for (size_t r = first, n; r < v->nrow; r += n) {
        struct beams_k_group *g = v->group + v->ngroup++;
        n = v->nrow - r < BEAMS_ROWS ? v->nrow - r : BEAMS_ROWS;
        *g = (struct beams_k_group){(uint32_t)r, (uint32_t)n, INT32_MAX, INT32_MIN};
        for (const struct beams_k_row *w = v->row + r; w < v->row + r + n; w++) {
            g->lo = w->lo < g->lo ? w->lo : g->lo;
            g->hi = w->lo + w->extra > g->hi ? w->lo + w->extra : g->hi;
        }
    }
}

/* Trial i, or a part of the band, goes to row "to" of the output. */
static void put_output(struct maker *m, size_t i, size_t to, size_t first, size_t nparts)
{
    int top = m->rows->nlevel - 1;
    m->rows->bias[m->rows->level[top].nrow] = m->l->row_bias[to];
    put_row(m, top, (size_t)m->tree->row[i], 0, first, nparts,
            (struct beams_k_row){.at = (int64_t)(to * m->pitch), .lo = offset_of(m, i)});
}

static psr_status make_outputs(struct maker *m, psr_err *err)
{
    int top = m->rows->nlevel - 1;
    struct psr_beams_level *v = m->rows->level + top;
    const struct psr_dedisp_line *l = m->l;
    psr_status st = take_level(v, l->nrow, l->nrow * m->tree->level[top].radix, err);
    m->rows->bias = malloc(l->nrow * sizeof *m->rows->bias);
    if (st || !m->rows->bias)
        return st ? st : psr_fail_nomem(err, "trials", 8.0 * (double)l->nrow);
    for (size_t n = 0; n < m->tree->ndm; n++)
        put_output(m, m->tree->order[n], m->tree->order[n], 0, psr_merge_parts_of(m->tree, top, 0));
    group_rows(v, 0);
    for (size_t b = 0; b < l->nband; b++) {
        size_t first = v->nrow;
        for (size_t n = 0; n < m->tree->ndm; n++)
            if (l->band[b].row[m->tree->order[n]] >= 0)
                put_output(m, m->tree->order[n], (size_t)l->band[b].row[m->tree->order[n]],
                           l->part_band[b].first, l->part_band[b].nparts);
        group_rows(v, first);
    }
    return PSR_OK;
}

psr_status psr_beams_rows_make(struct psr_beams_rows *rows, const struct psr_dedisp_line *l,
                               size_t pitch, psr_err *err)
{
    struct maker m = {.rows = rows, .l = l, .tree = &l->layout->tree, .pitch = pitch};
    *rows = (struct psr_beams_rows){.nlevel = m.tree->nlevel};
    psr_status st = set_kinds(&m, err);
    st = st ? st : find_wanted(&m, err);
    if (!st) {
        for (int i = 0; i + 1 < m.tree->nlevel; i++) {
            int64_t at = BEAMS_SLACK;
            for (size_t r = 0; r < m.tree->level[i].nrow; r++) {
                struct wanted *w = m.want[i] + r;
                int64_t n = w->hi - w->lo + (int64_t)m.l->most;
                w->at = at;
                at += (n + BEAMS_ALIGN - 1) / BEAMS_ALIGN * BEAMS_ALIGN;
            }
            m.rows->level[i].elements = (size_t)at + BEAMS_SLACK;
        }
    }
    for (int n = 0; n + 1 < rows->nlevel && !st; n++) {
        const struct psr_merge_level *at = m.tree->level + n;
        struct psr_beams_level *v = m.rows->level + n;
        st = take_level(v, at->nrow, at->nrow * at->radix, err);
        for (size_t r = 0, first = 0; r < at->nrow && !st; r++) {
            const struct wanted *w = m.want[n] + r;
            size_t node = (size_t)w->node;
            put_row(&m, n, r, node, 0, psr_merge_parts_of(m.tree, n, node),
                    (struct beams_k_row){.at = w->at, .lo = w->lo, .extra = w->hi - w->lo});
            if (r + 1 < at->nrow && m.want[n][r + 1].node == w->node)
                continue;
            group_rows(v, first);
            first = v->nrow;
        }
    }
    st = st ? st : make_outputs(&m, err);
    for (int n = 0; n < PSR_MERGE_MAXLEVEL; n++)
        free(m.want[n]);
    return st;
}

void psr_beams_rows_free(struct psr_beams_rows *rows)
{
    for (int n = 0; n < rows->nlevel; n++) {
        free(rows->level[n].row);
        free(rows->level[n].source);
        free(rows->level[n].group);
    }
    free(rows->bias);
    *rows = (struct psr_beams_rows){0};
}
