/* Level and scatter of pieces of a series, robust against pulses, and the flattening by them. */
#include "pulse.h"

#include <math.h>
#include <string.h>

enum { LANES = 8, NINE = 9, CLIP_ROUNDS = 3 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t masks __attribute__((vector_size(LANES * sizeof(int32_t))));

static const double CLIP = 3;
/* Variance of a normal variable cut at +-CLIP: 1 - 2 CLIP phi(CLIP) / erf(CLIP / sqrt 2). */
static const double CLIPPED_VARIANCE = 0.97333692466;
static const double SIGMA_PER_MAD = 1.4826022;

/* A piece far noisier than its surroundings is measured by its own scatter; one far quieter is no
 * data.  A pulse of the longest boxcar cannot double the clipped scatter of its piece. */
static const double NOISY = 2, QUIET = 0.25;

size_t psr_pulse_piece_length(size_t maxwidth)
{
    size_t n = PULSE_PIECE_WIDTHS * maxwidth;
    return n < PULSE_PIECE_MIN ? PULSE_PIECE_MIN : (n + 63) / 64 * 64;
}

static void sort_floats(float *x, size_t n)
{
    for (size_t j = 1; j < n; j++) {
        float v = x[j];
        size_t k = j;
        for (; k > 0 && x[k - 1] > v; k--)
            x[k] = x[k - 1];
        x[k] = v;
    }
}

#define ORDER(a, b)                                                                                \
    do {                                                                                           \
        float lo = (a) < (b) ? (a) : (b), hi = (a) < (b) ? (b) : (a);                              \
        (a) = lo, (b) = hi;                                                                        \
    } while (0)

/* out[j] = median of x[j + q m], q = 0..8; out may be x.  Exchanges of Smith's network. */
PSR_CLONES
static void take_medians_of_nine(float *out, const float *x, size_t m)
{
    for (size_t j = 0; j < m; j++) {
        float a = x[j], b = x[j + m], c = x[j + 2 * m], d = x[j + 3 * m], e = x[j + 4 * m],
              f = x[j + 5 * m], g = x[j + 6 * m], h = x[j + 7 * m], i = x[j + 8 * m];
        ORDER(b, c);
        ORDER(e, f);
        ORDER(h, i);
        ORDER(a, b);
        ORDER(d, e);
        ORDER(g, h);
        ORDER(b, c);
        ORDER(e, f);
        ORDER(h, i);
        d = a > d ? a : d;
        f = f < i ? f : i;
        ORDER(e, h);
        g = d > g ? d : g;
        e = b > e ? b : e;
        c = c < f ? c : f;
        e = e < h ? e : h;
        ORDER(e, c);
        e = g > e ? g : e;
        e = e < c ? e : c;
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
    sort_floats(x, n);
    return x[n / 2];
}

PSR_CLONES
static bool are_all_good(const float *x, size_t n)
{
    int32_t bad = 0;
    for (size_t j = 0; j < n; j++)
        bad |= !(fabsf(x[j]) <= PULSE_HUGE);
    return !bad;
}

/* Copies the samples that are numbers and their indices about the middle of x.  Returned: how many.
 */
PSR_CLONES
static size_t gather_good(float *good, float *index, const float *x, size_t n)
{
    float middle = (float)(n - 1) / 2;
    if (are_all_good(x, n)) {
        memcpy(good, x, n * sizeof *x);
        for (size_t j = 0; j < n; j++)
            index[j] = (float)(int32_t)j - middle;
        return n;
    }
    size_t ngood = 0;
    for (size_t j = 0; j < n; j++) {
        good[ngood] = x[j];
        index[ngood] = (float)j - middle;
        ngood += fabsf(x[j]) <= PULSE_HUGE;
    }
    return ngood;
}

/* u -= middle, and its size in size. */
PSR_CLONES
static void subtract(float *restrict u, float *restrict size, size_t n, float middle)
{
    for (size_t j = 0; j < n; j++) {
        float v = u[j] - middle;
        u[j] = v;
        size[j] = fabsf(v);
    }
}

PSR_CLONES
static void multiply(float *u, size_t n, float factor)
{
    for (size_t j = 0; j < n; j++)
        u[j] *= factor;
}

/* The numbers a straight line is fitted from: sums of 1, q, u, qq, qu, uu. */
enum { S_1, S_Q, S_U, S_QQ, S_QU, S_UU, S_COUNT };

struct line {
    double level, slope, limit; /* u = level + slope q, and how far from it a sample may lie */
};

/* Adds up, over n samples (a multiple of LANES), those within the limit of the line. */
PSR_CLONES
static void add_near_line(double sums[S_COUNT], const float *q, const float *u, size_t n,
                          const struct line *line)
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
        sums[S_1] += (double)s1[l];
        sums[S_Q] += (double)sq[l];
        sums[S_U] += (double)su[l];
        sums[S_QQ] += (double)sqq[l];
        sums[S_QU] += (double)squ[l];
        sums[S_UU] += (double)suu[l];
    }
}

/* The line through the sums, and the position and scatter that go with it. */
struct fit {
    double good, pos, level, slope, sigma;
};

static struct fit fit_line(const double s[S_COUNT])
{
    double n = s[S_1], q = s[S_Q] / n, u = s[S_U] / n;
    double qq = s[S_QQ] - n * q * q, qu = s[S_QU] - n * q * u, uu = s[S_UU] - n * u * u;
    struct fit f = {.good = n, .pos = q, .level = u, .slope = qq > 0 ? qu / qq : 0};
    double rest = uu - f.slope * qu;
    f.sigma = rest > 0 && n > 2 ? sqrt(rest / (n - 2)) : 0;
    return f;
}

/* Pads with samples that no finite limit admits, so that whole lanes can be read. */
static size_t pad_to_lanes(float *q, float *u, size_t n)
{
    for (; n % LANES; n++)
        q[n] = 0, u[n] = INFINITY;
    return n;
}

/* Given:  q, u [n] index and value, u scaled so that its scatter is about 1 */
static struct fit fit_clipped_line(float *q, float *u, size_t n)
{
    size_t padded = pad_to_lanes(q, u, n);
    struct line line = {0, 0, CLIP};
    struct fit best = {0};
    for (int round = 0; round < CLIP_ROUNDS; round++) {
        double sums[S_COUNT] = {0};
        add_near_line(sums, q, u, padded, &line);
        if (sums[S_1] < PULSE_MIN_GOOD / 2)
            break;
        struct fit f = fit_line(sums);
        f.sigma /= sqrt(CLIPPED_VARIANCE);
        if (!(f.sigma > 0))
            break;
        best = f;
        line = (struct line){f.level - f.slope * f.pos, f.slope, CLIP * f.sigma};
    }
    return best;
}

/* More than half of the samples are the same, as in a series of few levels: clipping would leave
 * only those, so all samples count.  u is scaled to at most 1 in size. */
static struct fit fit_whole_line(float *q, float *u, size_t n)
{
    double sums[S_COUNT] = {0};
    struct line line = {0, 0, 2};
    add_near_line(sums, q, u, pad_to_lanes(q, u, n), &line);
    return fit_line(sums);
}

static float find_largest(const float *x, size_t n)
{
    float largest = 0;
    for (size_t j = 0; j < n; j++)
        largest = fabsf(x[j]) > largest ? fabsf(x[j]) : largest;
    return largest;
}

void psr_pulse_measure(struct pulse_piece *out, const float *x, size_t n, int64_t first,
                       float *work)
{
    float *u = work, *q = work + n + LANES, *rough = work + 2 * (n + LANES);
    *out = (struct pulse_piece){0};
    size_t ngood = gather_good(u, q, x, n);
    if (ngood < PULSE_MIN_GOOD)
        return;
    memcpy(rough, u, ngood * sizeof *u);
    float middle = find_rough_median(rough, ngood);
    subtract(u, rough, ngood, middle);
    double scale = SIGMA_PER_MAD * (double)find_rough_median(rough, ngood);
    bool clip = scale > 0;
    scale = clip ? scale : (double)find_largest(u, ngood);
    struct fit f = {.good = (double)ngood};
    if (scale > 1 / (double)PULSE_HUGE) {
        multiply(u, ngood, (float)(1 / scale));
        f = clip ? fit_clipped_line(q, u, ngood) : fit_whole_line(q, u, ngood);
    }
    out->good = f.good;
    out->pos = (double)first + (double)(n - 1) / 2 + f.pos;
    out->level = (double)middle + scale * f.level;
    out->slope = scale * f.slope;
    out->sigma = scale * f.sigma;
}

struct weighted {
    double value, weight;
};

static void sort_weighted(struct weighted *v, int n)
{
    for (int j = 1; j < n; j++) {
        struct weighted x = v[j];
        int k = j;
        for (; k > 0 && v[k - 1].value > x.value; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* Mean of the middle half of the weight. */
static double take_midmean(struct weighted *v, int n)
{
    sort_weighted(v, n);
    double total = 0, sum = 0, at = 0;
    for (int j = 0; j < n; j++)
        total += v[j].weight;
    for (int j = 0; j < n; j++) {
        double from = fmax(at, 0.25 * total), to = fmin(at + v[j].weight, 0.75 * total);
        if (to > from)
            sum += (to - from) * v[j].value;
        at += v[j].weight;
    }
    return sum / (0.5 * total);
}

/* The pieces a..b together, but for those of more than a limiting scatter. */
struct stretch {
    int pieces;
    double good, pos, level, sigma;
    const struct pulse_piece *one; /* the last of them */
};

static struct stretch join_pieces(const struct pulse_piece *ring, int64_t a, int64_t b,
                                  double limit)
{
    struct weighted level[PULSE_RING], sigma[PULSE_RING];
    struct stretch s = {0};
    for (int64_t k = a; k <= b; k++) {
        const struct pulse_piece *p = &ring[k % PULSE_RING];
        if (!(p->good > 0) || !(p->sigma > 0) || p->sigma > limit)
            continue;
        level[s.pieces] = (struct weighted){p->level, p->good};
        sigma[s.pieces++] = (struct weighted){p->sigma, p->good};
        s.good += p->good;
        s.pos += p->good * p->pos;
        s.one = p;
    }
    if (s.pieces == 0)
        return s;
    s.pos /= s.good;
    s.level = take_midmean(level, s.pieces);
    s.sigma = take_midmean(sigma, s.pieces);
    return s;
}

void psr_pulse_knot(struct pulse_knot *out, const struct pulse_piece *ring, int64_t k, int64_t last,
                    size_t length)
{
    int64_t a = k > PULSE_REACH ? k - PULSE_REACH : 0;
    int64_t b = k + PULSE_REACH < last ? k + PULSE_REACH : last;
    struct stretch all = join_pieces(ring, a, b, INFINITY);
    *out = (struct pulse_knot){.pos = ((double)k + 0.5) * (double)length - 0.5};
    if (all.pieces == 0)
        return;
    /* Half data and half filling, or a storm: its level says nothing of its neighbours'. */
    double noisy = NOISY * all.sigma;
    struct stretch left = join_pieces(ring, a, (a + b) / 2, noisy);
    struct stretch right = join_pieces(ring, (a + b + 1) / 2, b, noisy);
    all = join_pieces(ring, a, b, noisy);
    out->known = true;
    out->sigma = all.sigma;
    if (left.pieces && right.pieces && right.pos - left.pos >= 0.75 * (double)length) {
        out->slope = (right.level - left.level) / (right.pos - left.pos);
        out->level = left.level + out->slope * (out->pos - left.pos);
    } else {
        out->slope = all.pieces == 1 ? all.one->slope : 0;
        out->level = all.level + out->slope * (out->pos - all.pos);
    }
    const struct pulse_piece *own = &ring[k % PULSE_RING];
    out->dead = own->good > 0 && own->sigma < QUIET * all.sigma;
    if (own->sigma > noisy)
        out->sigma = own->sigma;
}

/* z[j] = (x[j] - level - step j) (scale + scale_step j). */
PSR_CLONES
static void flatten_samples(float *restrict z, const float *restrict x, size_t n, double level,
                            double step, double scale, double scale_step)
{
    for (size_t j = 0; j < n; j++) {
        double t = (double)(int32_t)j;
        float v = (float)(((double)x[j] - (level + step * t)) * (scale + scale_step * t));
        v = v < PULSE_HUGE ? v : PULSE_HUGE;
        v = v > -PULSE_HUGE ? v : -PULSE_HUGE;
        z[j] = fabsf(x[j]) <= PULSE_HUGE ? v : -INFINITY;
    }
}

void psr_pulse_flatten(float *z, const float *x, size_t n, int64_t first,
                       const struct pulse_knot *a, const struct pulse_knot *b)
{
    double scale = 1 / a->sigma, scale_step = 0, step = a->slope;
    if (b->pos > a->pos) {
        step = (b->level - a->level) / (b->pos - a->pos);
        scale_step = (1 / b->sigma - scale) / (b->pos - a->pos);
    }
    double before = (double)first - a->pos;
    flatten_samples(z, x, n, a->level + step * before, step, scale + scale_step * before,
                    scale_step);
}
