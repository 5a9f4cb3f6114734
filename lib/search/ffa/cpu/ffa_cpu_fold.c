/* Transforms of a fold, and S/N of its trials. */
#include "ffa_cpu.h"

#include <math.h>
#include <string.h>

/* Rows of bins, stride elements apart. */
struct rows {
    char *data;
    size_t stride;
};

struct transform {
    size_t nbin, stride, element; /* bins; elements from row to row of sums; bytes of an element */
    void (*merge)(const struct psr_ffa_merge *merge);
    void (*sum)(const void *rows, size_t nrow, size_t nbin, void *sums, size_t stride);
};

/* A fold and what its rows are rated with. */
struct rating {
    const struct psr_ffa_loops *loops;
    const struct psr_ffa_widths *widths;
    struct psr_ffa_bounds bounds;   /* gain and loss are those of every rating */
    struct psr_ffa_bounds *counted; /* of profiles whose bins have such numbers of samples: */
    struct psr_ffa_counts *counts_of;
    bool floats;
    size_t nbin;
    double *total, *counts; /* prefix sums of a profile, and of its numbers of samples */
    float unit;             /* 1 / units */
};

static char *skip_rows(const struct transform *t, struct rows r, size_t n)
{
    return r.data + n * r.stride * t->element;
}

/* Rows first .. end - 1 of the sum of nrow rows. */
static void merge_rows(const struct transform *t, const struct rows half[2], bool from_first,
                       size_t nrow, size_t first, size_t end, struct rows out)
{
    const struct psr_ffa_merge merge = {
        .head = half[0].data,
        .tail = half[1].data,
        .out = out.data,
        .head_stride = half[0].stride,
        .tail_stride = half[1].stride,
        .out_stride = out.stride,
        .nbin = t->nbin,
        .nrow = nrow,
        .first = first,
        .end = end,
        .from_first = from_first,
    };
    t->merge(&merge);
}

/* The sum of nrow rows, in out or, if there is nothing to sum, in itself. */
static struct rows transform(const struct transform *t, struct rows in, size_t nrow, char *out,
                             char *spare)
{
    const size_t nh = nrow / 2;
    const struct rows sums = {out, t->stride}, work = {spare, t->stride};
    if (nrow == 1)
        return in;
    if (nrow <= 3) {
        t->sum(in.data, nrow, t->nbin, out, t->stride);
        return sums;
    }
    const struct rows second = {skip_rows(t, in, nh), in.stride};
    const struct rows half[2] = {
        transform(t, in, nh, spare, out),
        transform(t, second, nrow - nh, skip_rows(t, work, nh), skip_rows(t, sums, nh))};
    merge_rows(t, half, false, nrow, 0, nrow, sums);
    return sums;
}

/* The sum of all rows of one side, of which only chunks are made: a tree with the sum at 1 and the halves of node i at
 * 2 i and 2 i + 1.  Sums of leaves, which are sums of rows that fit into the second cache, are made once; those of nodes
 * between, in parts as chunks need them, so that they stay in the first. */
struct tree {
    size_t nleaf;
    size_t nrow[2 * PSR_FFA_LEAVES];
    struct rows sums[2 * PSR_FFA_LEAVES];
};

/* Leaves that fit into half of a second cache of 512 KiB, with what they are made of. */
static size_t count_leaves(const struct transform *t, size_t nrow)
{
    const size_t row = t->stride * t->element;
    size_t n = 2;
    while (n < PSR_FFA_LEAVES && nrow / n * row > 160 * 1024 && nrow / n >= 16)
        n *= 2;
    return n;
}

static void make_tree(struct tree *tree, const struct transform *t, size_t nrow,
                      const struct psr_ffa_side *side)
{
    struct rows in = {side->q, t->nbin}, out = {side->rows, t->stride};
    struct rows part = {side->part, t->stride};
    tree->nleaf = count_leaves(t, nrow);
    tree->nrow[1] = nrow;
    tree->sums[1] = (struct rows){side->chunk, psr_ffa_stride(2 * t->nbin)};
    for (size_t i = 2; i < 2 * tree->nleaf; i++) {
        const size_t above = tree->nrow[i / 2];
        const size_t n = tree->nrow[i] = i % 2 ? above - above / 2 : above / 2;
        if (i < tree->nleaf) {
            tree->sums[i] = part;
            part.data = skip_rows(t, part, PSR_FFA_PART);
            continue;
        }
        tree->sums[i] = transform(t, in, n, out.data, side->spare);
        in.data = skip_rows(t, in, n);
        out.data = skip_rows(t, out, n);
    }
}

/* Rows first .. end - 1 of the sum of node i. */
static void make_part(const struct tree *tree, const struct transform *t, size_t i, size_t first,
                      size_t end)
{
    const size_t m = tree->nrow[i];
    const bool inner = 2 * i < tree->nleaf;
    for (size_t side = 2 * i; inner && side < 2 * i + 2; side++)
        make_part(tree, t, side, psr_ffa_row(first, tree->nrow[side], m),
                  psr_ffa_row(end - 1, tree->nrow[side], m) + 1);
    merge_rows(t, &tree->sums[2 * i], inner, m, first, end, tree->sums[i]);
}

/* --- S/N -------------------------------------------------------------------------------------- */

static float sum_words(const int16_t *x, size_t nbin, size_t most, int32_t *total)
{
    int32_t sum = total[0] = 0;
    for (size_t i = 0; i < nbin; i++)
        total[i + 1] = sum += x[i];
    for (size_t i = 0; i < most; i++)
        total[nbin + i + 1] = sum + total[i + 1];
    return (float)sum;
}

static float sum_floats(const float *x, size_t nbin, size_t most, double *total)
{
    total[0] = 0;
    for (size_t i = 0; i < nbin + most; i++)
        total[i + 1] = total[i] + (double)x[i < nbin ? i : i - nbin];
    return (float)total[nbin];
}

static float largest_of_floats(const double *total, size_t nbin, size_t w)
{
    double best = total[w] - total[0];
    for (size_t i = 1; i < nbin; i++)
        best = total[i + w] - total[i] > best ? total[i + w] - total[i] : best;
    return (float)best;
}

static struct psr_ffa_score rate_row(const struct rating *r, const void *row)
{
    const size_t nbin = r->nbin, most = (size_t)r->widths->width[r->widths->n - 1];
    int32_t *words = (int32_t *)(void *)r->total;
    struct psr_ffa_score best = {-1e30f, 0};
    const float sum =
        r->floats ? sum_floats(row, nbin, most, r->total) : sum_words(row, nbin, most, words);
    for (size_t i = 0; i < r->widths->n; i++) {
        const size_t w = (size_t)r->widths->width[i];
        const float d = r->floats ? largest_of_floats(r->total, nbin, w)
                                  : (float)r->loops->largest(words, nbin, w);
        const float high = r->bounds.gain[i] * d, low = r->bounds.loss[i] * sum, z = high - low;
        if (z > best.snr)
            best = (struct psr_ffa_score){z, (int)i};
    }
    return best;
}

/* The largest z of boxcars of w bins, with n_j samples in bin j. */
static float rate_counted_floats(const struct rating *r, size_t w)
{
    const double *sum = r->total, *count = r->counts, all = sum[r->nbin], most = count[r->nbin];
    double best = -1e30;
    for (size_t i = 0; i < r->nbin; i++) {
        const double d = sum[i + w] - sum[i], n = count[i + w] - count[i];
        const double z =
            n > 0 && n < most ? (d * most - n * all) / sqrt(n * most * (most - n)) : best;
        best = z > best ? z : best;
    }
    return (float)best;
}

/* As rate_row, of a profile whose bins have different numbers of samples. */
static struct psr_ffa_score rate_counted(const struct rating *r, const void *row, const void *count)
{
    const size_t nbin = r->nbin, most = (size_t)r->widths->width[r->widths->n - 1];
    int32_t *sums = (int32_t *)(void *)r->total, *counts = (int32_t *)(void *)r->counts;
    struct psr_ffa_score best = {-1e30f, 0};
    if (r->floats) {
        sum_floats(row, nbin, most, r->total);
        sum_floats(count, nbin, most, r->counts);
    } else {
        sum_words(row, nbin, most, sums);
        sum_words(count, nbin, most, counts);
    }
    for (size_t i = 0; i < r->widths->n; i++) {
        const size_t w = (size_t)r->widths->width[i];
        const float z = r->floats ? rate_counted_floats(r, w)
                                  : r->loops->rate_counted(sums, counts, nbin, w) * r->unit;
        if (z > best.snr)
            best = (struct psr_ffa_score){z, (int)i};
    }
    return best;
}

/* Digits of the widths to base 3, and a floor that rounding of the bounds does not reach. */
static void find_bounds(struct psr_ffa_bounds *b, const struct psr_ffa_widths *widths, float floor)
{
    const int most = widths->width[widths->n - 1];
    int box = 1;
    b->nlevel = 1;
    b->nwidth = widths->n;
    b->floor = floor - 1e-5f * (1 + (floor < 0 ? -floor : floor));
    for (; b->nlevel < PSR_FFA_LEVELS && 3 * box <= most; b->nlevel++)
        box *= 3;
    for (size_t w = 0; w < widths->n; w++) {
        int left = widths->width[w], size = box;
        for (size_t l = b->nlevel; l-- > 0; size /= 3) {
            b->digit[l][w] = (float)(left / size);
            left %= size;
        }
    }
}

/* Bounds of boxcars over a profile less its mean, whose bins have so many samples: z is d / (units sqrt(n (M - n) / M)),
 * with n samples of M; a bin is rounded by half a unit.
 * Returned: false   there is none: a boxcar may have no sample, or all */
static bool bound_counted(const struct rating *r, struct psr_ffa_counts of)
{
    struct psr_ffa_bounds *b = r->counted;
    const float all = (float)of.all;
    if (!memcmp(&of, r->counts_of, sizeof of))
        return b->floor > 0;
    *r->counts_of = of;
    b->floor = 0;
    for (size_t i = 0; i < r->widths->n; i++) {
        const float w = (float)r->widths->width[i];
        const float few = fmaxf(w * (float)of.least, 1), many = w * (float)of.most;
        const float least = fminf(few * (all - few), many * (all - many));
        const float gain = least > 0 ? r->unit * sqrtf(all / least) : 0;
        const float room = r->bounds.floor - 0.51f * w * gain;
        if (!(gain > 0) || !(room > 0))
            return false;
        b->gain[i] = gain / room;
    }
    b->floor = 1 - 1e-4f;
    return true;
}

/* Whether z of a profile with counts may exceed the floor. */
static bool may_exceed_counted(const struct rating *r, const void *row, const void *count)
{
    int16_t *centred = (int16_t *)(void *)r->counts, *scratch = (int16_t *)(void *)r->total;
    if (r->floats || !(r->bounds.floor > 0))
        return true;
    const struct psr_ffa_counts of = r->loops->centre(row, count, r->nbin, centred);
    return !bound_counted(r, of) || r->loops->may_exceed(centred, r->nbin, r->counted, scratch);
}

/* --- folds ------------------------------------------------------------------------------------ */

/* Scores of shifts first .. end - 1, whose profiles are in chunks. */
static void rate_chunk(const struct transform *t, const struct rating *r, const struct rows *data,
                       const struct rows *count, size_t n, struct psr_ffa_score *score, bool *used)
{
    for (size_t i = 0; i < n; i++) {
        void *row = skip_rows(t, *data, i);
        int16_t *scratch = (int16_t *)(void *)r->total;
        const void *counts = count ? skip_rows(t, *count, i) : NULL;
        used[i] = counts ? may_exceed_counted(r, row, counts)
                         : r->floats || r->loops->may_exceed(row, t->nbin, &r->bounds, scratch);
        if (used[i])
            score[i] = counts ? rate_counted(r, row, counts) : rate_row(r, row);
    }
}

void psr_ffa_cpu_fold(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                      const struct psr_ffa_fold *fold, float floor, struct psr_ffa_room *room,
                      void (*use)(void *ctx, size_t i, struct psr_ffa_score score), void *ctx)
{
    const struct psr_ffa_step *k = &s->step[fold->step];
    const struct transform t = {.nbin = (size_t)fold->nbin,
                                .stride = psr_ffa_stride((size_t)fold->nbin),
                                .element = k->floats ? sizeof(float) : sizeof(int16_t),
                                .merge = k->floats ? loops->merge_floats : loops->merge_words,
                                .sum = k->floats ? loops->sum_floats : loops->sum_words};
    struct rating r = {.loops = loops,
                       .widths = &s->widths[k->range],
                       .floats = k->floats,
                       .nbin = t.nbin,
                       .total = room->data.total,
                       .counts = room->count.total,
                       .unit = (float)(1 / k->units)};
    struct psr_ffa_score score[PSR_FFA_CHUNK];
    bool used[PSR_FFA_CHUNK];
    psr_ffa_gains(k, fold, r.widths, r.bounds.gain, r.bounds.loss);
    find_bounds(&r.bounds, r.widths, floor);
    struct psr_ffa_bounds counted = r.bounds;
    struct psr_ffa_counts counts_of = {-1, -1, -1};
    memset(counted.loss, 0, sizeof counted.loss);
    r.counted = &counted;
    r.counts_of = &counts_of;
    struct tree data, count;
    make_tree(&data, &t, fold->nrow, &room->data);
    if (s->ngap)
        make_tree(&count, &t, fold->nrow, &room->count);
    for (size_t first = fold->s_lo; first < fold->s_hi; first += PSR_FFA_CHUNK) {
        const size_t end = first + PSR_FFA_CHUNK < fold->s_hi ? first + PSR_FFA_CHUNK : fold->s_hi;
        make_part(&data, &t, 1, first, end);
        if (s->ngap)
            make_part(&count, &t, 1, first, end);
        rate_chunk(&t, &r, &data.sums[1], s->ngap ? &count.sums[1] : NULL, end - first, score,
                   used);
        for (size_t i = first; i < end; i++)
            if (used[i - first])
                use(ctx, i - fold->s_lo, score[i - first]);
    }
}
