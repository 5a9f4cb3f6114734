/* Robust level and scatter of pieces of a series, and flattening by them. */
#include "singlepulse_internal.h"

#include <math.h>
#include <string.h>

enum { LANES = PULSE_LANES, NINE = PULSE_NINE };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t masks __attribute__((vector_size(LANES * sizeof(int32_t))));

size_t psr_pulse_piece_length(size_t maxwidth)
{
    size_t n = PULSE_PIECE_WIDTHS * maxwidth;
    return n < PULSE_PIECE_MIN ? PULSE_PIECE_MIN : (n + 63) / 64 * 64;
}

/* out[j] = median of x[j + q m], q = 0..8; out may be x. */
PSR_CLONES
static void take_medians_of_nine(float *out, const float *x, size_t m)
{
    for (size_t j = 0; j < m; j++) {
        float a = x[j], b = x[j + m], c = x[j + 2 * m], d = x[j + 3 * m], e = x[j + 4 * m],
              f = x[j + 5 * m], g = x[j + 6 * m], h = x[j + 7 * m], i = x[j + 8 * m];
        PULSE_MEDIAN_OF_NINE(a, b, c, d, e, f, g, h, i);
        out[j] = e;
    }
}

/* A median good enough to start from: of medians of nine, spread over x so that a pulse touches
 * few of each nine.  x [n] is destroyed. */
static float find_rough_median(float *x, size_t n)
{
    while (n >= 4 * NINE) {
        n /= NINE;
        take_medians_of_nine(x, x, n);
    }
    return pulse_take_middle(x, (int)n, 1);
}

PSR_CLONES
static bool are_all_good(const float *x, size_t n)
{
    int32_t bad = 0;
    for (size_t j = 0; j < n; j++)
        bad |= !(fabsf(x[j]) <= PULSE_HUGE);
    return !bad;
}

/* The samples that are finite: x itself, or a copy in room.  Returned: number, in *good */
static size_t find_good(const float **good, float *room, const float *x, size_t n)
{
    size_t ngood = 0;
    *good = x;
    if (are_all_good(x, n))
        return n;
    *good = room;
    for (size_t j = 0; j < n; j++) {
        room[ngood] = x[j];
        ngood += fabsf(x[j]) <= PULSE_HUGE;
    }
    return ngood;
}

/* Indices relative to the middle. */
PSR_CLONES
static void count_from_middle(float *q, size_t n)
{
    float middle = (float)(n - 1) / 2;
    for (size_t j = 0; j < n; j++)
        q[j] = (float)(int32_t)j - middle;
}

/* Absolute differences of x from the middle. */
PSR_CLONES
static void find_sizes(float *restrict size, const float *restrict x, size_t n, float middle)
{
    for (size_t j = 0; j < n; j++)
        size[j] = fabsf(x[j] - middle);
}

/* u = x - middle; NaN becomes infinite. */
PSR_CLONES
static void subtract(float *restrict u, const float *restrict x, size_t n, float middle)
{
    for (size_t j = 0; j < n; j++)
        u[j] = fabsf(x[j]) <= PULSE_HUGE ? x[j] - middle : INFINITY;
}

PSR_CLONES
static void multiply(float *u, size_t n, float factor)
{
    for (size_t j = 0; j < n; j++)
        u[j] *= factor;
}

/* Adds up, over n samples (a multiple of LANES), those within the limit of the line. */
PSR_CLONES
static void add_near_line(double sums[PULSE_S_COUNT], const float *q, const float *u, size_t n,
                          const struct pulse_line *line)
{
    float level = (float)line->level, slope = (float)line->slope, limit = (float)line->limit;
    lanes s1 = {0}, sq = {0}, su = {0}, sqq = {0}, squ = {0}, suu = {0}, one = s1 + 1.0f;
    for (size_t j = 0; j < n; j += LANES) {
        lanes vq, vu;
        memcpy(&vq, q + j, sizeof vq);
        memcpy(&vu, u + j, sizeof vu);
        lanes off = vu - (level + slope * vq);
        masks near_line = (masks)(off <= limit) & (masks)(off >= -limit);
        vq = (lanes)((masks)vq & near_line);
        vu = (lanes)((masks)vu & near_line);
        s1 += (lanes)((masks)one & near_line);
        sq += vq;
        su += vu;
        sqq += vq * vq;
        squ += vq * vu;
        suu += vu * vu;
    }
    for (int l = 0; l < LANES; l++) {
        sums[PULSE_S_1] += (double)s1[l];
        sums[PULSE_S_Q] += (double)sq[l];
        sums[PULSE_S_U] += (double)su[l];
        sums[PULSE_S_QQ] += (double)sqq[l];
        sums[PULSE_S_QU] += (double)squ[l];
        sums[PULSE_S_UU] += (double)suu[l];
    }
}

/* Pads with samples that no finite limit admits, so that whole lanes can be read. */
static size_t pad_to_lanes(float *q, float *u, size_t n)
{
    for (; n % LANES; n++)
        q[n] = 0, u[n] = INFINITY;
    return n;
}

/* Given:     q, u [n] index and value, u scaled so that its scatter is about 1
 * Returned:  the fit; *line, that samples are near to or do not count */
static struct pulse_fit fit_clipped_line(float *q, float *u, size_t n, struct pulse_line *line)
{
    size_t padded = pad_to_lanes(q, u, n);
    struct pulse_fit best = {0};
    *line = (struct pulse_line){0, 0, PULSE_CLIP};
    for (int round = 0; round < PULSE_CLIP_ROUNDS; round++) {
        double sums[PULSE_S_COUNT] = {0};
        add_near_line(sums, q, u, padded, line);
        if (!pulse_refine_line(&best, line, sums))
            break;
    }
    return best;
}

/* More than half of the samples are the same, as in a series of few levels: clipping would leave
 * only those, so all samples count.  u is scaled to at most 1 in size. */
static struct pulse_fit fit_whole_line(float *q, float *u, size_t n, struct pulse_line *line)
{
    double sums[PULSE_S_COUNT] = {0};
    struct pulse_fit fit;
    *line = (struct pulse_line){0, 0, 2};
    add_near_line(sums, q, u, pad_to_lanes(q, u, n), line);
    pulse_fit_line(&fit, sums);
    return fit;
}

static float find_largest(const float *x, size_t n, float middle)
{
    float largest = 0;
    for (size_t j = 0; j < n; j++)
        largest = fabsf(x[j] - middle) > largest ? fabsf(x[j] - middle) : largest;
    return largest;
}

/* How samples were scaled: to (x - middle) factor, and where the line through them lies. */
struct scaling {
    float middle, factor;
    struct pulse_line line;
    double scale; /* 1 / factor */
};

/* Mean of the samples of a part that lie near the line; not a number where they are too few.
 * Given:  q, u [n], a part's; a multiple of LANES of q can be read */
PSR_CLONES
static double find_part_level(const float *q, const float *u, size_t n, size_t part,
                              const struct scaling *s)
{
    float level = (float)s->line.level, slope = (float)s->line.slope, limit = (float)s->line.limit;
    lanes sum = {0}, count = {0}, one = count + 1.0f, vq, vu;
    for (size_t j = 0; j < n; j += LANES) {
        memcpy(&vq, q + j, sizeof vq);
        vu = one * INFINITY;
        if (n - j >= LANES)
            memcpy(&vu, u + j, sizeof vu);
        else
            memcpy(&vu, u + j, (n - j) * sizeof *u);
        lanes off = vu - (level + slope * vq);
        masks near_line = (masks)(off <= limit) & (masks)(off >= -limit);
        sum += (lanes)((masks)vu & near_line);
        count += (lanes)((masks)one & near_line);
    }
    double total = 0, good = 0;
    for (int l = 0; l < LANES; l++) {
        total += (double)sum[l];
        good += (double)count[l];
    }
    return pulse_part_level(total, good, (double)part, (double)s->middle, s->scale);
}

void psr_pulse_measure(struct pulse_piece *out, double level[PULSE_PARTS], const float *x, size_t n,
                       size_t length, int64_t first, float *work)
{
    float *u = work, *q = work + n + LANES, *rough = q;
    const float *good;
    struct scaling s;
    *out = (struct pulse_piece){0};
    for (int p = 0; p < PULSE_PARTS; p++)
        level[p] = NAN;
    size_t ngood = find_good(&good, u, x, n);
    if (ngood < PULSE_MIN_GOOD)
        return;
    memcpy(rough, good, ngood * sizeof *rough);
    s.middle = find_rough_median(rough, ngood);
    find_sizes(rough, good, ngood, s.middle);
    s.scale = PULSE_SIGMA_PER_MAD * (double)find_rough_median(rough, ngood);
    bool clip = s.scale > 0;
    s.scale = clip ? s.scale : (double)find_largest(good, ngood, s.middle);
    struct pulse_fit f = {.good = (double)ngood};
    if (s.scale > 1 / (double)PULSE_HUGE) {
        s.factor = (float)(1 / s.scale);
        subtract(u, x, n, s.middle);
        multiply(u, n, s.factor);
        count_from_middle(q, n);
        f = clip ? fit_clipped_line(q, u, n, &s.line) : fit_whole_line(q, u, n, &s.line);
        size_t part = length / PULSE_PARTS;
        for (size_t p = 0, at = 0; p < PULSE_PARTS && at < n; p++, at += part)
            level[p] = find_part_level(q + at, u + at, n - at < part ? n - at : part, part, &s);
    }
    pulse_set_piece(out, &f, (double)s.middle, s.scale, first, (int64_t)n);
}

PSR_CLONES
static void flatten_samples(float *x, size_t n, double level, double step, double scale,
                            double scale_step)
{
    for (size_t j = 0; j < n; j++)
        x[j] = pulse_flatten_sample(x[j], (double)(int32_t)j, level, step, scale, scale_step);
}

/* Subtracts the line from one level to the next; the samples begin "at" after its start. */
PSR_CLONES
static void correct_samples(float *z, size_t n, float level, float slope, int32_t at)
{
    for (size_t j = 0; j < n; j++)
        z[j] = pulse_correct_sample(z[j], level, slope, at + (int32_t)j);
}

static void correct_piece(float *z, size_t n, size_t length, const float edge[PULSE_EDGES])
{
    size_t part = length / PULSE_PARTS, half = part / 2;
    for (size_t e = 0, t = 0; t < n; e++) {
        size_t end = half + e * part < n ? half + e * part : n;
        float slope = pulse_edge_slope(edge[e], edge[e + 1], (int32_t)part);
        correct_samples(z + t, end - t, edge[e], slope, e ? 0 : (int32_t)half);
        t = end;
    }
}

void psr_pulse_flatten(float *x, size_t n, size_t length, const struct pulse_figures *f)
{
    size_t half = n < length / 2 ? n : length / 2;
    const struct pulse_ramp *r = f->ramp;
    if (r->dead) {
        for (size_t j = 0; j < n; j++)
            x[j] = -INFINITY;
        return;
    }
    flatten_samples(x, half, r[0].level, r[0].step, r[0].scale, r[0].scale_step);
    flatten_samples(x + half, n - half, r[1].level, r[1].step, r[1].scale, r[1].scale_step);
    if (f->length)
        correct_piece(x, n, length, f->smooth[f->length - 1]);
}
