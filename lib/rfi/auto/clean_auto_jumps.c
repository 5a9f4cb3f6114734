/* Automatic cleaning: finds stretches of time in which the level of the whole band differs. */
#include "clean_auto_plan.h"

#include <math.h>
#include <string.h>

static const double jump_cost = 400, edge_limit = 5, edge_share = 0.5, whole_share = 0.5;
enum {
    STRETCH = PSR_AUTO_STRETCH, /* cells */
    AT_END = 2,                 /* the same of those that begin or end with the window */
    BESIDE = 8,                 /* spectra on either side of an edge */
    GAP = 24,                   /* and between those on either side of a window's */
    WINDOW_LEAST = 2 * (GAP + BESIDE)
};

static size_t cell_size(const psr_clean_auto *p)
{
    return p->usual / PSR_AUTO_CELLS;
}

/* --- the band --------------------------------------------------------------------------------- */

/* The sub-bands of a block that count: all bits set; and a sigma of their sum, 0: there are none. */
struct counted {
    int32_t bits[PSR_AUTO_GROUPS];
    double noise;
};

static struct counted find_counted(const psr_clean_auto *p, const struct psr_auto_block *b)
{
    struct counted is = {.noise = 0};
    size_t n = 0;
    for (size_t g = 0; g < p->ngroup && b->ncount; g++) {
        is.bits[g] = b->count[g] ? -1 : 0;
        n += b->count[g];
    }
    is.noise = PSR_AUTO_SIGMA * sqrt((double)n);
    return is;
}

/* In sigmas.  Sums of 2^20 channels of 8 bits fit into 32. */
static double sum_counted(const psr_clean_auto *p, const struct counted *is, size_t t)
{
    const int32_t *row = p->band.sum + t * p->ngroup;
    int32_t sum = 0;
    for (size_t g = 0; g < p->ngroup; g++)
        sum += row[g] & is->bits[g];
    return is->noise > 0 ? (double)sum / is->noise : 0;
}

/* Spectrum t of the whole band, in sigmas. */
static double band_at(const psr_clean_auto *p, size_t t)
{
    const struct counted is = find_counted(p, psr_auto_block_of(p, t));
    return sum_counted(p, &is, t);
}

static double sum_band(const psr_clean_auto *p, size_t from)
{
    double sum = 0;
    for (size_t t = from; t < from + BESIDE; t++)
        sum += band_at(p, t);
    return sum;
}

/* Sums over cells, in fixed point, and spectra that are no sparks. */
static void sum_cells(psr_clean_auto *p)
{
    const size_t size = cell_size(p);
    p->jumps.ncell = p->win.n / size;
    p->jumps.cell_sum[0] = 0;
    p->jumps.cell_good[0] = 0;
    for (size_t i = 0; i < p->jumps.ncell; i++) {
        const struct counted is = find_counted(p, psr_auto_block_of(p, i * size));
        int64_t sum = 0, good = 0;
        for (size_t t = i * size; t < (i + 1) * size; t++) {
            const bool counts = !p->band.spark[t] && !p->band.burst[t] && is.noise > 0;
            sum += counts ? (int64_t)llrint(sum_counted(p, &is, t) * PSR_AUTO_FIXED_ONE) : 0;
            good += counts;
        }
        p->jumps.cell_sum[i + 1] = p->jumps.cell_sum[i] + sum;
        p->jumps.cell_good[i + 1] = p->jumps.cell_good[i] + good;
    }
}

/* --- stretches -------------------------------------------------------------------------------- */

static double height_of(const psr_clean_auto *p, size_t from, size_t to)
{
    const double n = (double)(p->jumps.cell_good[to] - p->jumps.cell_good[from]);
    return n > 0 ? (double)(p->jumps.cell_sum[to] - p->jumps.cell_sum[from]) /
                       (PSR_AUTO_FIXED_ONE * n)
                 : 0;
}

/* What a level of its own explains, in squared sigmas. */
static double gain_of(const psr_clean_auto *p, size_t from, size_t to)
{
    const double height = height_of(p, from, to);
    return height * height * (double)(p->jumps.cell_good[to] - p->jumps.cell_good[from]);
}

/* In cells, from the last to the first.  Returned: their number */
static size_t list_cells(const psr_clean_auto *p, const size_t *start, size_t (*at)[2])
{
    size_t n = 0;
    for (size_t j = p->jumps.ncell; j > 0;) {
        const size_t i = start[j];
        if (i < j) {
            at[n][0] = i;
            at[n++][1] = j;
        }
        j = i < j ? i : j - 1;
    }
    return n;
}

/* --- edges ------------------------------------------------------------------------------------ */

static bool is_abrupt(double contrast, double height)
{
    return contrast > edge_limit && contrast > edge_share * fabs(height) * sqrt(BESIDE / 2.0);
}

/* The spectrum near t where the level steps by most; p->win.n if that is not abrupt.
 * Given: height   of the step, sigmas of a spectrum */
static size_t place_edge(const psr_clean_auto *p, size_t t, double height)
{
    const size_t near = cell_size(p), last = p->win.n - BESIDE,
                 from = t > near + BESIDE ? t - near : BESIDE,
                 to = t + near < last ? t + near : last;
    double most = 0;
    size_t at = p->win.n;
    for (size_t k = from; k <= to; k++) {
        const double now =
            copysign(1, height) * (sum_band(p, k) - sum_band(p, k - BESIDE)) / sqrt(2.0 * BESIDE);
        if (now > most) {
            most = now;
            at = k;
        }
    }
    return is_abrupt(most, height) ? at : p->win.n;
}

/* Whether the level at the window's begin is that after a step: in the last window, or between both. */
static bool begins_after_step(const psr_clean_auto *p, double height)
{
    const double contrast =
        copysign(1, height) * (sum_band(p, GAP) - p->jumps.last_sum) / sqrt(2.0 * BESIDE);
    return p->jumps.open || p->levels.hold || is_abrupt(contrast, height);
}

/* An edge that the means of blocks have shown is where cells have it, if spectra do not show it. */
static size_t edge_or_cell(const psr_clean_auto *p, size_t cell, double height)
{
    const size_t t = cell * cell_size(p), at = place_edge(p, t, height);
    return at == p->win.n && p->levels.hold ? t : at;
}

static void measure(const psr_clean_auto *p, struct psr_auto_jump *s)
{
    size_t good = 0;
    for (size_t t = s->first; t < s->end; t++) {
        const struct psr_auto_block *b = psr_auto_block_of(p, t);
        if (p->band.spark[t] || p->band.burst[t] || !b->ncount)
            continue;
        for (size_t g = 0; g < p->ngroup; g++)
            if (b->count[g])
                s->height[g] += (double)p->band.sum[t * p->ngroup + g] /
                                (PSR_AUTO_SIGMA * sqrt((double)b->count[g]));
        good++;
    }
    for (size_t g = 0; g < p->ngroup; g++)
        s->height[g] = good ? s->height[g] / (double)good : 0;
}

/* Stretch k of n, if its edges are abrupt.  Returned: whether they are */
static bool add_jump(psr_clean_auto *p, size_t (*at)[2], size_t n, size_t k)
{
    const size_t first = at[k][0], end = at[k][1];
    const double now = height_of(p, first, end);
    const double before =
        k + 1 < n && at[k + 1][1] == first ? height_of(p, at[k + 1][0], first) : 0;
    const double after = k > 0 && at[k - 1][0] == end ? height_of(p, end, at[k - 1][1]) : 0;
    struct psr_auto_jump s = {.first = first ? edge_or_cell(p, first, now - before) : 0,
                              .end = end < p->jumps.ncell ? edge_or_cell(p, end, after - now)
                                                          : p->win.n};
    if (s.first >= s.end || (end < p->jumps.ncell && s.end == p->win.n) ||
        (!first && !begins_after_step(p, now)))
        return false;
    measure(p, &s);
    p->jumps.jump[p->jumps.njump++] = s;
    return true;
}

/* Whether three quarters of the sub-bands have at least half of the median: what has less is the gain of receivers, and
 * their edges at different times have no delay. */
static bool is_of_whole_band(const struct psr_auto_jump *s, size_t ngroup)
{
    float height[PSR_AUTO_GROUPS];
    size_t n = 0;
    for (size_t g = 0; g < ngroup; g++)
        if (s->height[g] != 0)
            height[n++] = (float)s->height[g];
    if (!n)
        return false;
    const double middle = psr_auto_median_of_few(height, n);
    return middle > 0 ? (double)height[n / 4] > whole_share * middle
                      : (double)height[n - 1 - n / 4] < whole_share * middle;
}

/* What is no step may be a long burst.  Of what begins with the window, the start is in the one before: a slow change
 * of level would seem delayed where receivers' gains move. */
static void judge_stretch(psr_clean_auto *p, size_t (*at)[2], size_t n, size_t k)
{
    const size_t size = cell_size(p);
    if (!at[k][0] && !p->jumps.burst_open)
        return;
    struct psr_auto_run r = {.first = at[k][0] * size, .end = at[k][1] * size};
    struct psr_auto_jump s = {.first = r.first, .end = r.end};
    measure(p, &s);
    if (!is_of_whole_band(&s, p->ngroup))
        return;
    psr_auto_widen_run(&r, k + 1 < n ? at[k + 1][1] * size : 0, k ? at[k - 1][0] * size : p->win.n);
    (void)psr_auto_judge_run(p, &r);
}

/* --- what to subtract ------------------------------------------------------------------------- */

/* From the channels of a sub-band. */
static double less_of(const psr_clean_auto *p, const struct psr_auto_jump *s, size_t t, size_t g)
{
    const struct psr_auto_block *b = psr_auto_block_of(p, t);
    const bool counts = b->ncount && b->count[g];
    return counts ? PSR_AUTO_SIGMA * s->height[g] / sqrt((double)b->count[g]) : 0;
}

static void take_out(psr_clean_auto *p, const struct psr_auto_jump *s)
{
    const size_t G = p->ngroup;
    for (size_t t = s->first; t < s->end; t++)
        for (size_t g = 0; g < G; g++) {
            const double count = (double)p->win.block[t / p->usual].count[g];
            p->band.sum[t * G + g] -= (int32_t)lrint(less_of(p, s, t, g) * count);
        }
}

void psr_auto_subtract_steps(psr_clean_auto *p)
{
    const size_t G = p->ngroup;
    for (size_t k = 0; k < p->jumps.njump; k++)
        for (size_t t = p->jumps.jump[k].first; t < p->jumps.jump[k].end; t++)
            for (size_t g = 0; g < G; g++)
                p->modes.less[t * G + g] += (float)less_of(p, &p->jumps.jump[k], t, g);
}

/* The end of a stream that is too short to look for edges: what the last window ended with goes on. */
static void go_on(psr_clean_auto *p)
{
    struct psr_auto_jump s = {.first = 0, .end = p->win.n};
    double sum = 0;
    if (!p->jumps.open)
        return;
    for (size_t t = 0; t < p->win.n; t++)
        sum += band_at(p, t);
    if (sum * sum < jump_cost * (double)p->win.n)
        return;
    measure(p, &s);
    p->jumps.jump[p->jumps.njump++] = s;
}

/* Looks for stretches, from the last to the first. */
static void find_stretches(psr_clean_auto *p)
{
    size_t start[PSR_AUTO_MOST_CELLS + 1], at[PSR_AUTO_JUMPS][2];
    bool open = false, added[PSR_AUTO_JUMPS];
    sum_cells(p);
    /* The segmentation that explains most, by dynamic programming over ends. */
    double best[PSR_AUTO_MOST_CELLS + 1];
    best[0] = 0;
    for (size_t j = 1; j <= p->jumps.ncell; j++) {
        best[j] = best[j - 1];
        start[j] = j;
        for (size_t i = 0; i < j; i++) {
            const size_t least = i == 0 || j == p->jumps.ncell ? AT_END : STRETCH;
            const double now = j - i < least ? 0 : best[i] + gain_of(p, i, j) - jump_cost;
            if (now > best[j]) {
                best[j] = now;
                start[j] = i;
            }
        }
    }
    const size_t n = list_cells(p, start, at);
    for (size_t k = 0; k < n; k++) {
        added[k] = add_jump(p, at, n, k);
        open = open || (added[k] && at[k][1] == p->jumps.ncell);
    }
    for (size_t k = 0; k < n; k++)
        if (!added[k])
            judge_stretch(p, at, n, k);
    p->jumps.burst_open = p->band.burst[p->win.n - 1];
    /* What was held here is the level of the next window. */
    p->jumps.open = open && !p->levels.hold;
}

bool psr_auto_find_jumps(psr_clean_auto *p)
{
    p->jumps.njump = 0;
    if (p->win.size != p->usual) {
        p->jumps.open = p->jumps.burst_open = false;
        p->jumps.last_sum = 0;
        return false;
    }
    if (p->win.n < WINDOW_LEAST)
        go_on(p);
    else
        find_stretches(p);
    for (size_t k = 0; k < p->jumps.njump; k++)
        take_out(p, &p->jumps.jump[k]);
    /* Without steps: one may end beyond it, and a little before the window. */
    if (p->win.n >= WINDOW_LEAST)
        p->jumps.last_sum = sum_band(p, p->win.n - GAP - BESIDE);
    return p->jumps.njump > 0;
}
