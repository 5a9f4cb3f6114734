/* Measures the noise of a series. */
#include "ffa_cpu.h"

#include <math.h>
#include <string.h>

/* --- Sums of a series between the boundaries of several steps, tile by tile, so that samples are read from memory once. */

enum { TILE = 4 * PSR_FFA_BLOCK };

/* Where a step stands. */
struct progress {
    uint64_t at;     /* the next boundary, as in psr_ffa_boundary, before it is shifted */
    uint32_t before; /* prefix sum at the last one */
    size_t done;     /* samples */
};

/* Integers of n samples from x on; n is at most TILE. */
static void round_tile(const struct psr_ffa_loops *loops, const struct psr_ffa_series *series,
                       const float *x, size_t n, int32_t *value)
{
    float some[TILE];
    if (n < TILE) {
        memset(some, 0, sizeof some);
        x = memcpy(some, x, n * sizeof *some);
    }
    loops->round_samples(x, TILE, series->centre, series->scale, value);
}

/* Sets samples in gaps to 0. */
static void clear_gaps(const struct psr_ffa_search *s, size_t first, size_t n, size_t *gap,
                       int32_t *value)
{
    const int64_t begin = (int64_t)first, end = begin + (int64_t)n;
    while (*gap < s->ngap && s->gap[*gap].first + s->gap[*gap].count <= begin)
        ++*gap;
    for (size_t g = *gap; g < s->ngap && s->gap[g].first < end; g++) {
        const int64_t last = s->gap[g].first + s->gap[g].count;
        const int64_t lo = s->gap[g].first > begin ? s->gap[g].first : begin;
        const int64_t hi = last < end ? last : end;
        memset(value + (lo - begin), 0, (size_t)(hi - lo) * sizeof *value);
    }
}

/* Samples of a step that end within the tile: total [n + 1] are prefix sums of samples first .. */
static void sum_tile(const struct psr_ffa_step *k, struct progress *p, const uint32_t *total,
                     size_t first, size_t n, int32_t *sums)
{
    const uint64_t last = (uint64_t)((first + n) / k->granule + 1) << 32;
    uint64_t at = p->at;
    uint32_t before = p->before;
    if (at >= last)
        return;
    size_t end = p->done + (size_t)((last - at + k->advance - 1) / k->advance);
    end = end < k->n ? end : k->n;
    for (size_t j = p->done; j < end; j++, at += k->advance) {
        const uint32_t after = total[(size_t)(at >> 32) * k->granule - first];
        sums[j] = (int32_t)(after - before);
        before = after;
    }
    *p = (struct progress){at, before, end};
}

void psr_ffa_cpu_sum(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                     const float *x, struct psr_ffa_series *series, size_t nstep,
                     const struct psr_ffa_step *step)
{
    struct progress p[PSR_FFA_GROUP];
    int32_t value[TILE];
    uint32_t total[TILE + 1] = {0};
    size_t gap = 0;
    for (size_t i = 0; i < nstep; i++)
        p[i] = (struct progress){step[i].advance + (UINT64_C(1) << 31), 0, 0};
    for (size_t first = 0; first < s->nsamp; first += TILE) {
        const size_t n = s->nsamp - first < TILE ? s->nsamp - first : TILE;
        round_tile(loops, series, x + first, n, value);
        clear_gaps(s, first, n, &gap, value);
        for (size_t i = 0; i < n; i++)
            total[i + 1] = total[i] + (uint32_t)value[i];
        for (size_t i = 0; i < nstep; i++)
            sum_tile(&step[i], &p[i], total, first, n, series->sums + step[i].sums0);
        total[0] = total[n];
    }
}

/* --- measures the noise of a series ----------------------------------------------------------- */

enum { LANES = 16 };

struct moments {
    float mean, var;
};

static double add_lanes(double *lane)
{
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

static struct moments measure_block(const struct psr_ffa_loops *loops, const float *x)
{
    double sum[LANES], square[LANES];
    loops->sum_block(x, sum, square);
    const double a = add_lanes(sum), q = add_lanes(square);
    return (struct moments){(float)((double)x[0] + a / PSR_FFA_BLOCK),
                            (float)((q - a * a / PSR_FFA_BLOCK) / (PSR_FFA_BLOCK - 1))};
}

static int64_t find_bad(const struct psr_ffa_loops *loops, const float *x, int64_t from,
                        int64_t end)
{
    if (from >= end || loops->all_finite(x + from, (size_t)(end - from)))
        return -1;
    while (isfinite(x[from]))
        from++;
    return from;
}

/* The lowest sample outside gaps that is not finite; -1. */
static int64_t find_bad_outside(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                                const float *x)
{
    int64_t from = 0, bad = -1;
    for (size_t g = 0; g < s->ngap && bad < 0; g++) {
        bad = find_bad(loops, x, from, s->gap[g].first);
        from = s->gap[g].first + s->gap[g].count;
    }
    return bad >= 0 ? bad : find_bad(loops, x, from, (int64_t)s->nsamp);
}

/* Returned: number of blocks without gaps; mean, var of each */
static size_t measure_blocks(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                             const float *x, float *mean, float *var)
{
    size_t n = 0, g = 0;
    for (size_t i = 0; i + PSR_FFA_BLOCK <= s->nsamp; i += PSR_FFA_BLOCK) {
        if (!psr_ffa_block_is_whole(s, i, &g))
            continue;
        const struct moments m = measure_block(loops, x + i);
        mean[n] = m.mean;
        var[n++] = m.var;
    }
    return n;
}

void psr_ffa_cpu_load(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                      const float *x, struct psr_ffa_series *series)
{
    float *mean = series->level, *var = mean + s->nsamp / PSR_FFA_BLOCK;
    series->rms = 0;
    series->bad = find_bad_outside(s, loops, x);
    if (series->bad >= 0)
        return;
    const size_t n = measure_blocks(s, loops, x, mean, var);
    struct psr_ffa_noise noise;
    if (!psr_ffa_noise(mean, var, n, &noise))
        return;
    series->rms = noise.sigma;
    series->centre = noise.centre;
    series->scale = noise.scale;
}

/* --- samples of one rate ---------------------------------------------------------------------- */

/* --- samples of a step that gaps leave -------------------------------------------------------- */

/* Samples of the series between boundaries j and j + 1 of step k that are in gaps from the g-th on. */
static int64_t count_missing(const struct psr_ffa_search *s, size_t g, int64_t begin, int64_t end)
{
    int64_t missing = 0;
    for (; g < s->ngap && s->gap[g].first < end; g++) {
        const int64_t last = s->gap[g].first + s->gap[g].count;
        const int64_t lo = s->gap[g].first > begin ? s->gap[g].first : begin;
        const int64_t hi = last < end ? last : end;
        missing += hi > lo ? hi - lo : 0;
    }
    return missing;
}

/* Elements 1 where at least half of a sample is outside gaps, else 0: count [k->n].  Sums of samples of
 * which less is missing become those of the whole. */
static void ffa_cpu_count(const struct psr_ffa_search *s, const struct psr_ffa_step *k,
                          int32_t *sums, void *count)
{
    int16_t *words = count;
    float *floats = count;
    size_t g = 0;
    for (size_t j = 0; j < k->n; j++) {
        const int64_t begin = (int64_t)psr_ffa_boundary(k, j);
        const int64_t end = (int64_t)psr_ffa_boundary(k, j + 1);
        while (g < s->ngap && s->gap[g].first + s->gap[g].count <= begin)
            g++;
        const int64_t missing = count_missing(s, g, begin, end), all = end - begin;
        const bool there = 2 * missing <= all;
        if (there && missing)
            sums[j] = (int32_t)(sums[j] * all / (all - missing));
        if (k->floats)
            floats[j] = there;
        else
            words[j] = there;
    }
}

/* Clears samples whose count is 0. */
static void ffa_cpu_clear(const struct psr_ffa_step *k, const void *count, void *q)
{
    for (size_t j = 0; j < k->n; j++)
        if (k->floats)
            ((float *)q)[j] = ((const float *)count)[j] > 0 ? ((float *)q)[j] : 0;
        else
            ((int16_t *)q)[j] = ((const int16_t *)count)[j] ? ((int16_t *)q)[j] : 0;
}

/* --- samples of a step of the ladder: sums less their running median -------------------------- */

static bool is_there(const struct psr_ffa_step *k, const void *count, size_t j)
{
    return !count || (k->floats ? ((const float *)count)[j] > 0 : ((const int16_t *)count)[j] != 0);
}

/* Means of the samples of parts outside gaps; NaN where these are less than half. */
static void average_parts(const struct psr_ffa_step *k, const struct psr_ffa_loops *loops,
                          const int32_t *sums, const void *count, float *mu)
{
    for (size_t r = 0; r < k->nparts && !count; r++)
        mu[r] = (float)(loops->total(sums + r * k->part, k->part) / (double)k->part);
    for (size_t r = 0; r < k->nparts && count; r++) {
        int64_t total = 0;
        size_t n = 0;
        for (size_t j = r * k->part; j < (r + 1) * k->part; j++)
            if (is_there(k, count, j)) {
                total += sums[j];
                n++;
            }
        mu[r] = 2 * n >= k->part ? (float)((double)total / (double)n) : NAN;
    }
}

static void put_in(const struct psr_ffa_loops *loops, float *sorted, size_t *n, float x)
{
    if (isnan(x))
        return;
    const size_t at = loops->count_below(sorted, *n, x);
    memmove(sorted + at + 1, sorted + at, (*n - at) * sizeof *sorted);
    sorted[at] = x;
    (*n)++;
}

static void take_out(const struct psr_ffa_loops *loops, float *sorted, size_t *n, float x)
{
    if (isnan(x))
        return;
    const size_t at = loops->count_below(sorted, *n, x);
    (*n)--;
    memmove(sorted + at, sorted + at + 1, (*n - at) * sizeof *sorted);
}

/* Running medians of mu, where a window has any, else the one before, or the first; sorted has room
 * for a window. */
static void find_medians(const struct psr_ffa_step *k, const struct psr_ffa_loops *loops,
                         const float *mu, float *median, float *sorted)
{
    size_t n = 0, end = 0, none = 0;
    for (size_t r = 0; r < k->nparts; r++) {
        for (; end < k->nparts && end <= r + k->half; end++)
            put_in(loops, sorted, &n, mu[end]);
        if (r > k->half)
            take_out(loops, sorted, &n, mu[r - k->half - 1]);
        if (n)
            median[r] = sorted[(n - 1) / 2];
        else if (r > none)
            median[r] = median[r - 1];
        else
            none++;
    }
    for (size_t r = 0; r < none; r++)
        median[r] = none < k->nparts ? median[none] : 0;
}

/* What a step's samples are made of. */
struct span {
    const struct psr_ffa_step *k;
    const struct psr_ffa_loops *loops;
    const int32_t *sums;
    void *q;
    size_t done; /* samples that are made */
    struct psr_ffa_line line;
};

static void put_floats(const int32_t *sums, size_t n, const struct psr_ffa_line *line, float *out)
{
    uint32_t low = line->low;
    for (size_t i = 0; i < n; i++) {
        const float t = (float)(line->first + 2 * (int)i) * line->w;
        low += line->advance;
        const float base = (line->base + line->slope * t) * line->share[low < line->advance];
        out[i] = ((float)sums[i] - base) * line->scale;
    }
}

/* Samples up to end - 1 above a line. */
static void put_span(struct span *s, size_t end, float base, float slope, int first)
{
    const struct psr_ffa_step *k = s->k;
    const size_t n = end - s->done;
    struct psr_ffa_line *line = &s->line;
    line->base = base;
    line->slope = slope;
    line->first = first;
    line->low = (uint32_t)(s->done * k->advance + (UINT64_C(1) << 31));
    if (k->floats)
        put_floats(s->sums + s->done, n, line, (float *)s->q + s->done);
    else
        s->loops->round_sums(s->sums + s->done, n, line, (int16_t *)s->q + s->done);
    s->done = end;
}

/* Samples above lines between medians: line r begins at the first j with 2 j - (part - 1) >= 2 part r. */
static void put_all(struct span *s, const float *median)
{
    const struct psr_ffa_step *k = s->k;
    put_span(s, k->part / 2, median[0], 0, 0);
    for (size_t r = 0; r + 1 < k->nparts; r++)
        put_span(s, s->done + k->part, median[r], median[r + 1] - median[r],
                 1 - (int)(k->part % 2));
    put_span(s, k->n, median[k->nparts - 1], 0, 0);
}

void psr_ffa_cpu_sample(const struct psr_ffa_search *s, const struct psr_ffa_step *k,
                        const struct psr_ffa_loops *loops, int32_t *sums, struct psr_ffa_room *room)
{
    float *mu = room->part, *median = mu + k->nparts, *sorted = median + k->nparts;
    void *q = room->data.q, *count = s->ngap ? room->count.q : NULL;
    const float v = (float)(1 / k->f), most = (float)((k->advance >> 32) + 1) * (float)k->granule;
    struct span span = {
        .k = k,
        .loops = loops,
        .sums = sums,
        .q = q,
        .line = {.w = k->part ? (float)(1.0 / (2.0 * (double)k->part)) : 0,
                 .scale = (float)(k->units / (PSR_FFA_FINE * sqrt(k->f))),
                 .share = {(most - (float)k->granule) * v, most * v},
                 .advance = (uint32_t)k->advance},
    };
    if (count)
        ffa_cpu_count(s, k, sums, count);
    if (k->part) {
        average_parts(k, loops, sums, count, mu);
        find_medians(k, loops, mu, median, sorted);
        put_all(&span, median);
    } else
        put_span(&span, k->n, 0, 0, 0);
    if (count)
        ffa_cpu_clear(k, count, q);
}
