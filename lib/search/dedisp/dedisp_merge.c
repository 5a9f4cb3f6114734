/* Chooses the rows of tree dedispersion from the trials down. */
#include "dedisp_internal.h"

#include "base/tool.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the level that is chosen, by sub-bands, and by DM within each. */
struct psr_merge_rows {
    size_t n, room[3];
    double *dm, *fraction; /* what the row stands for */
    int32_t *node;
};

/* What becomes of the rows of a level once equal ones are one. */
struct psr_merge_united {
    int32_t *lift;     /* [nrow] what is taken off a row's offsets */
    int32_t *same;     /* [nrow] its new number */
    float *difference; /* [nrow] by new number: limit of the difference within the row */
};

struct psr_merge_builder {
    struct psr_merge_tree *tree;
    const struct psr_merge_desc *d;
    struct psr_merge_rows rows, below;
    int32_t *node[PSR_MERGE_MAXLEVEL]; /* [nrow] */
    float *miss[PSR_MERGE_MAXLEVEL];   /* [nrow][radix] limit of what shifting each part adds to the
                                          difference from exact delays */
    struct psr_merge_united at, under; /* of this level, and the one below */
    int32_t *slot;                     /* [nslot] hash table of rows */
    size_t nslot;
};

static psr_status fail_limit(double need, double limit, psr_err *err);

/* Makes equal rows of tree dedispersion one, from the leaves up. */

size_t psr_merge_parts_of(const struct psr_merge_tree *tree, int l, size_t node)
{
    const struct psr_merge_level *at = &tree->level[l];
    size_t below = l ? tree->level[l - 1].nnode : tree->nchan, first = node * at->radix;
    return below - first < at->radix ? below - first : at->radix;
}

/* Takes the least offset off a row, after its parts have changed so. */
static void lift_row(struct psr_merge_builder *b, int l, size_t r, size_t nparts)
{
    struct psr_merge_level *at = &b->tree->level[l];
    int32_t *offset = at->offset + r * at->radix, *part = l ? at->part + r * at->radix : NULL;
    int32_t least = INT32_MAX;
    for (size_t j = 0; j < nparts; j++) {
        if (l) {
            offset[j] += b->under.lift[part[j]];
            part[j] = b->under.same[part[j]];
        }
        least = offset[j] < least ? offset[j] : least;
    }
    for (size_t j = 0; j < nparts; j++)
        offset[j] -= least;
    b->at.lift[r] = least;
}

/* Adds up what the parts of a row say. */
static void measure_row(struct psr_merge_builder *b, int l, size_t r, size_t nparts)
{
    struct psr_merge_level *at = &b->tree->level[l];
    const int32_t *offset = at->offset + r * at->radix, *part = l ? at->part + r * at->radix : NULL;
    b->at.difference[r] = 0.5F;
    for (size_t j = 0; j < nparts; j++) {
        int32_t extent = offset[j] + (l ? b->tree->level[l - 1].extent[part[j]] : 0);
        float miss = l ? b->miss[l][r * at->radix + j] + b->under.difference[part[j]] : 0;
        at->extent[r] = extent > at->extent[r] ? extent : at->extent[r];
        b->at.difference[r] = miss > b->at.difference[r] ? miss : b->at.difference[r];
    }
}

static uint32_t hash_words(uint32_t h, const int32_t *word, size_t n)
{
    for (size_t j = 0; j < n; j++)
        h = (h ^ (uint32_t)word[j]) * UINT32_C(0x9E3779B1);
    return h ^ h >> 15;
}

static bool same_row(const struct psr_merge_level *at, size_t r, size_t q)
{
    size_t bytes = at->radix * sizeof *at->offset;
    return !memcmp(at->offset + r * at->radix, at->offset + q * at->radix, bytes) &&
           (!at->part || !memcmp(at->part + r * at->radix, at->part + q * at->radix, bytes));
}

/* Makes equal rows of a sub-band, r0 .. r1 - 1, one.  Returns the rows kept so far. */
static size_t unite_node(struct psr_merge_builder *b, int l, size_t r0, size_t r1, size_t kept)
{
    struct psr_merge_level *at = &b->tree->level[l];
    size_t mask = 2;
    while (mask < 2 * (r1 - r0))
        mask *= 2;
    mask--;
    memset(b->slot, 0xff, (mask + 1) * sizeof *b->slot);
    for (size_t r = r0; r < r1; r++) {
        uint32_t h = hash_words(1, at->offset + r * at->radix, at->radix);
        size_t s = (at->part ? hash_words(h, at->part + r * at->radix, at->radix) : h) & mask;
        while (b->slot[s] >= 0 && !same_row(at, r, (size_t)b->slot[s]))
            s = (s + 1) & mask;
        if (b->slot[s] < 0) {
            b->slot[s] = (int32_t)kept;
            /* Moves row r to the place of the q-th that is kept. */
            const size_t q = kept++;
            size_t bytes = at->radix * sizeof *at->offset;
            memmove(at->offset + q * at->radix, at->offset + r * at->radix, bytes);
            if (at->part)
                memmove(at->part + q * at->radix, at->part + r * at->radix, bytes);
            at->extent[q] = at->extent[r];
            b->at.difference[q] = b->at.difference[r];
        }
        size_t q = (size_t)b->slot[s];
        b->at.difference[q] = fmaxf(b->at.difference[q], b->at.difference[r]);
        b->at.same[r] = (int32_t)q;
    }
    return kept;
}

static void merge_united_clear(struct psr_merge_united *u)
{
    free(u->lift);
    free(u->same);
    free(u->difference);
    *u = (struct psr_merge_united){0};
}

static psr_status start_united(struct psr_merge_builder *b, size_t nrow, psr_err *err)
{
    size_t nslot = 4;
    merge_united_clear(&b->under);
    b->under = b->at;
    b->at.lift = malloc(nrow * sizeof *b->at.lift);
    b->at.same = malloc(nrow * sizeof *b->at.same);
    b->at.difference = malloc(nrow * sizeof *b->at.difference);
    while (nslot < 4 * nrow)
        nslot *= 2;
    if (nslot > b->nslot) {
        free(b->slot);
        b->slot = malloc(nslot * sizeof *b->slot);
        b->nslot = nslot;
    }
    if (b->at.lift && b->at.same && b->at.difference && b->slot)
        return PSR_OK;
    return psr_fail_nomem(err, "the rows of a tree", 28.0 * (double)nrow);
}

enum {
    MAX_FRACTION = 8, /* of a sample at which rows of one DM begin */
    PULSE = 2,        /* samples, of a pulse that counts as unsmeared */
};

/* --- the shape -------------------------------------------------------------------------------- */

static size_t first_channel(const struct psr_merge_tree *tree, int l, size_t node)
{
    return node * tree->level[l].width;
}

static psr_status take(struct psr_merge_builder *b, void *array, size_t n, size_t size,
                       psr_err *err)
{
    b->tree->bytes += (double)n * (double)size;
    if (b->tree->bytes > b->d->bytes)
        return fail_limit(b->tree->bytes, b->d->bytes, err);
    void *got = calloc(n ? n : 1, size);
    if (!got)
        return psr_fail_nomem(err, "the rows of a tree", (double)n * (double)size);
    memcpy(array, &got, sizeof got);
    return PSR_OK;
}

/* --- memory ----------------------------------------------------------------------------------- */

static psr_status fail_limit(double need, double limit, psr_err *err)
{
    char want[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    return psr_fail_field(err, PSR_ENOMEM, "mem_bytes",
                          "dedispersion: memory of %s is below the %s that the rows of a tree take",
                          psr_size_text(have, limit), psr_size_text(want, need));
}

static psr_status take_level(struct psr_merge_builder *b, int l, size_t nrow, psr_err *err)
{
    struct psr_merge_level *at = &b->tree->level[l];
    psr_status st;
    at->nrow = nrow;
    if (nrow > INT32_MAX)
        return fail_limit((double)nrow * (double)at->radix * 8, b->d->bytes, err);
    if ((l && (st = take(b, &at->part, nrow * at->radix, sizeof *at->part, err))) ||
        (st = take(b, &at->offset, nrow * at->radix, sizeof *at->offset, err)) ||
        (st = take(b, &at->extent, nrow, sizeof *at->extent, err)))
        return st;
    return l ? take(b, &b->miss[l], nrow * at->radix, sizeof *b->miss[l], err) : PSR_OK;
}

static psr_status add_row(struct psr_merge_rows *rows, double dm, double fraction, size_t node,
                          psr_err *err)
{
    psr_status st;
    const char *what = "the rows of a tree";
    if ((st = psr_grow(&rows->dm, &rows->room[0], rows->n, sizeof *rows->dm, what, err)) ||
        (st = psr_grow(&rows->fraction, &rows->room[1], rows->n, sizeof *rows->fraction, what,
                       err)) ||
        (st = psr_grow(&rows->node, &rows->room[2], rows->n, sizeof *rows->node, what, err)))
        return st;
    rows->dm[rows->n] = dm;
    rows->fraction[rows->n] = fraction;
    rows->node[rows->n++] = (int32_t)node;
    return PSR_OK;
}

static void free_rows(struct psr_merge_rows *rows)
{
    free(rows->dm);
    free(rows->fraction);
    free(rows->node);
    *rows = (struct psr_merge_rows){0};
}

/* --- from the trials down --------------------------------------------------------------------- */

/* A sub-band as a part: how far its channels reach. */
struct span {
    double first, last, mean; /* slopes */
    double width;             /* of its channels, mean */
};

static struct span span_of(const struct psr_merge_builder *b, int l, size_t node)
{
    const struct psr_merge_desc *d = b->d;
    size_t k0 = first_channel(b->tree, l, node), k1 = first_channel(b->tree, l, node + 1);
    struct span s = {.first = d->slope[k0]};
    k1 = k1 < d->nchan ? k1 : d->nchan;
    for (size_t k = k0; k < k1; k++) {
        s.mean += d->slope[k];
        s.width += d->width[k];
    }
    s.mean /= (double)(k1 - k0);
    s.width /= (double)(k1 - k0);
    s.last = d->slope[k1 - 1];
    return s;
}

/* How coarse rows may be at a DM: fractions of a sample at which they begin, and the change of
 * delay over the sub-band, in samples, over which trials share one. */
struct coarseness {
    int64_t nfraction;
    double step;
};

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Rows r0 .. r1 - 1 of a sub-band share a DM in one of its parts. */
struct group {
    int l;
    size_t j, r0, r1, node; /* j: which part, node: its number */
    struct span of, part;
    double dm;
    struct coarseness c;
};

/* The next group begins at g->r0.  DM 0 keeps delays of 0. */
static void find_group(const struct psr_merge_builder *b, struct group *g, size_t end)
{
    double low = b->rows.dm[g->r0], span = g->part.last - g->part.first;
    /* Variances add: of a pulse, a sample and its rounding, the smearing within a channel, and
     * of what each level does.  A fraction is off by up to half of one, uniformly: 1/12 of its
     * square.  A step is off by half of it at either end of the sub-band at the worst DM: 1/144
     * of its square.  Of the ways to spend what the tolerance leaves, that with fewest rows is
     * taken. */
    double chan = low * g->part.width, f = b->d->tolerance;
    double unavoidable = (PULSE * PULSE + 2 + chan * chan) / 12;
    double left = (f * f - 1) * unavoidable / (double)(b->tree->nlevel - 1);
    struct coarseness best = {MAX_FRACTION, 0};
    for (int64_t n = 1; n <= MAX_FRACTION; n++) {
        double rest = left - 1 / (12.0 * (double)(n * n));
        double step = rest > 0 ? 12 * sqrt(rest) : 0;
        if (step * (double)best.nfraction > best.step * (double)n)
            best = (struct coarseness){n, step};
    }
    best.step = best.step > 0 ? best.step : 12 * sqrt(left) / 2;
    g->c = best;
    double reach = low > 0 ? g->c.step : g->c.step / 2;
    for (g->r1 = g->r0 + 1; g->r1 < end; g->r1++)
        if ((b->rows.dm[g->r1] - low) * span > reach)
            break;
    g->dm = low > 0 ? (low + b->rows.dm[g->r1 - 1]) / 2 : 0;
}

/* The rows of all parts of one sub-band, whose own rows are r0 .. r1 - 1. */
static psr_status split_node(struct psr_merge_builder *b, int l, size_t node, size_t r0, size_t r1,
                             psr_err *err)
{
    struct group g = {.l = l, .of = span_of(b, l, node)};
    for (g.j = 0; g.j < psr_merge_parts_of(b->tree, l, node); g.j++) {
        g.node = node * b->tree->level[l].radix + g.j;
        g.part = span_of(b, l - 1, g.node);
        for (g.r0 = r0; g.r0 < r1; g.r0 = g.r1) {
            find_group(b, &g, r1);
            struct psr_merge_level *at = &b->tree->level[g.l];
            int32_t made[MAX_FRACTION];
            double half = fmax(g.part.mean - g.part.first, g.part.last - g.part.mean);
            memset(made, 0xff, sizeof made);
            for (size_t r = g.r0; r < g.r1; r++) {
                double dm = b->rows.dm[r];
                /* The middles of the part and of its row fall together. */
                double x = b->rows.fraction[r] + dm * (g.part.first - g.of.first) +
                           (dm - g.dm) * (g.part.mean - g.part.first);
                int64_t n = (int64_t)floor(x * (double)g.c.nfraction + 0.5);
                int64_t whole = floor_divide(n, g.c.nfraction), f = n - whole * g.c.nfraction;
                if (made[f] < 0) {
                    made[f] = (int32_t)b->below.n;
                    psr_status st =
                        add_row(&b->below, g.dm, (double)f / (double)g.c.nfraction, g.node, err);
                    if (st)
                        return st;
                }
                at->part[r * at->radix + g.j] = made[f];
                at->offset[r * at->radix + g.j] = (int32_t)whole;
                b->miss[g.l][r * at->radix + g.j] =
                    (float)(fabs((double)n / (double)g.c.nfraction - x) + fabs(dm - g.dm) * half);
            }
        }
    }
    return PSR_OK;
}

static psr_status split_level(struct psr_merge_builder *b, int l, psr_err *err)
{
    psr_status st = take_level(b, l, b->rows.n, err);
    for (size_t r0 = 0, r1; r0 < b->rows.n && !st; r0 = r1) {
        for (r1 = r0; r1 < b->rows.n && b->rows.node[r1] == b->rows.node[r0]; r1++)
            ;
        st = split_node(b, l, (size_t)b->rows.node[r0], r0, r1, err);
    }
    b->node[l] = b->rows.node;
    b->rows.node = NULL;
    free_rows(&b->rows);
    b->rows = b->below;
    b->below = (struct psr_merge_rows){0};
    return st;
}

static psr_status round_channels(struct psr_merge_builder *b, psr_err *err)
{
    struct psr_merge_level *at = &b->tree->level[0];
    psr_status st = take_level(b, 0, b->rows.n, err);
    for (size_t r = 0; r < b->rows.n && !st; r++) {
        size_t node = (size_t)b->rows.node[r], k0 = first_channel(b->tree, 0, node);
        for (size_t j = 0; j < psr_merge_parts_of(b->tree, 0, node); j++) {
            double slope = b->d->slope[k0 + j] - b->d->slope[k0];
            double x = b->rows.fraction[r] + b->rows.dm[r] * slope;
            at->offset[r * at->radix + j] = (int32_t)floor(x + 0.5);
        }
    }
    b->node[0] = b->rows.node;
    b->rows.node = NULL;
    return st;
}

struct ranked {
    double dm;
    size_t i;
};

PSR_COMPARE(by_rising_dm, struct ranked, PSR_THEN(PSR_RISING(dm), PSR_RISING(i)));

static psr_status rank_trials(struct psr_merge_builder *b, psr_err *err)
{
    struct psr_merge_tree *tree = b->tree;
    struct ranked *rank = malloc(b->d->ndm * sizeof *rank);
    if (!rank)
        return psr_fail_nomem(err, "trials", (double)b->d->ndm * sizeof *rank);
    for (size_t i = 0; i < b->d->ndm; i++)
        rank[i] = (struct ranked){b->d->dm[i], i};
    qsort(rank, b->d->ndm, sizeof *rank, by_rising_dm);
    for (size_t i = 0; i < b->d->ndm; i++)
        tree->order[i] = rank[i].i;
    free(rank);
    return PSR_OK;
}

/* One row of the whole band for each DM. */
static psr_status start_rows(struct psr_merge_builder *b, psr_err *err)
{
    struct psr_merge_tree *tree = b->tree;
    psr_status st;
    if ((st = take(b, &tree->order, b->d->ndm, sizeof *tree->order, err)) ||
        (st = take(b, &tree->row, b->d->ndm, sizeof *tree->row, err)) ||
        (st = take(b, &tree->offset, b->d->ndm, sizeof *tree->offset, err)) ||
        (st = take(b, &tree->difference, b->d->ndm, sizeof *tree->difference, err)) ||
        (st = rank_trials(b, err)))
        return st;
    for (size_t n = 0; n < b->d->ndm && !st; n++) {
        size_t i = tree->order[n];
        double x = b->d->dm[i] * b->d->slope[0], whole = floor(x + 0.5);
        if (!n || b->d->dm[i] != b->rows.dm[b->rows.n - 1])
            st = add_row(&b->rows, b->d->dm[i], x - whole, 0, err);
        tree->row[i] = (int32_t)b->rows.n - 1;
        tree->offset[i] = (int32_t)whole;
    }
    return st;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Within the delays of the exact sum if possible: from 0 to that of the bottom of the band. */
static void settle_trial(struct psr_merge_builder *b, size_t i)
{
    struct psr_merge_tree *tree = b->tree;
    int32_t was = tree->row[i], whole = tree->offset[i] + b->at.lift[was], to = whole;
    tree->row[i] = b->at.same[was];
    int32_t extent = tree->level[tree->nlevel - 1].extent[tree->row[i]];
    double last = floor(b->d->dm[i] * b->d->slope_low + 0.5);
    to = (double)to + extent > last ? (int32_t)last - extent : to;
    to = to < 0 ? 0 : to;
    tree->offset[i] = to;
    tree->difference[i] = (double)b->at.difference[tree->row[i]] + abs(to - whole);
}

static psr_status build(struct psr_merge_builder *b, psr_err *err)
{
    struct psr_merge_tree *tree = b->tree;
    psr_status st = start_rows(b, err);
    for (int l = tree->nlevel - 1; l >= 0 && !st; l--)
        st = l ? split_level(b, l, err) : round_channels(b, err);
    for (int l = 0; l < tree->nlevel && !st; l++) {
        struct psr_merge_level *at = &b->tree->level[l];
        size_t nrow = at->nrow, kept = 0;
        st = start_united(b, nrow, err);
        for (size_t r0 = 0, r1; r0 < nrow && !st; r0 = r1) {
            size_t nparts = psr_merge_parts_of(b->tree, l, (size_t)b->node[l][r0]);
            for (r1 = r0; r1 < nrow && b->node[l][r1] == b->node[l][r0]; r1++) {
                lift_row(b, l, r1, nparts);
                measure_row(b, l, r1, nparts);
            }
            kept = unite_node(b, l, r0, r1, kept);
        }
        at->nrow = kept;
    }
    for (size_t i = 0; i < tree->ndm && !st; i++)
        settle_trial(b, i);
    return st;
}

psr_status psr_merge_create(struct psr_merge_tree *tree, const struct psr_merge_desc *desc,
                            psr_err *err)
{
    struct psr_merge_builder b = {.tree = tree, .d = desc};
    *tree = (struct psr_merge_tree){.nchan = desc->nchan, .ndm = desc->ndm};
    /* Leaves, then eights and fours while the band is far from whole: a few more parts at the top cost
     * less than a level, which also rounds once more. */
    size_t radix = PSR_MERGE_LEAF, below = desc->nchan, width = 1;
    for (int l = 0; l == 0 || below > 1; l++) {
        struct psr_merge_level *at = &tree->level[tree->nlevel++];
        at->radix = radix;
        at->width = width *= radix;
        at->nnode = below = (below + radix - 1) / radix;
        radix = below <= PSR_MERGE_MAXRADIX ? below : l == 0 ? 8 : 4;
    }
    psr_status st = build(&b, err);
    free_rows(&b.rows);
    free_rows(&b.below);
    merge_united_clear(&b.at);
    merge_united_clear(&b.under);
    free(b.slot);
    for (int l = 0; l < PSR_MERGE_MAXLEVEL; l++) {
        free(b.miss[l]);
        free(b.node[l]);
    }
    return st;
}

void psr_merge_destroy(struct psr_merge_tree *tree)
{
    for (int l = 0; l < PSR_MERGE_MAXLEVEL; l++) {
        free(tree->level[l].part);
        free(tree->level[l].offset);
        free(tree->level[l].extent);
    }
    free(tree->order);
    free(tree->row);
    free(tree->offset);
    free(tree->difference);
    *tree = (struct psr_merge_tree){0};
}

/* --- delays ----------------------------------------------------------------------------------- */

int32_t psr_merge_delay(const struct psr_merge_tree *tree, size_t i, size_t k)
{
    size_t r = (size_t)tree->row[i];
    int32_t delay = tree->offset[i];
    for (int l = tree->nlevel - 1; l >= 0; l--) {
        const struct psr_merge_level *at = &tree->level[l];
        size_t j = k % at->width / (l ? tree->level[l - 1].width : 1);
        delay += at->offset[r * at->radix + j];
        r = l ? (size_t)at->part[r * at->radix + j] : 0;
    }
    return delay;
}

int32_t psr_merge_last(const struct psr_merge_tree *tree, size_t i)
{
    return tree->offset[i] + tree->level[tree->nlevel - 1].extent[tree->row[i]];
}
