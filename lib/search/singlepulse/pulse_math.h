/* pulse_math.h: the arithmetic of the single-pulse search that host and device share (private).
 *
 * Both give the same bits: the same operations in the same order, each rounded for itself.  What
 * includes this is compiled without fused multiply-adds. */
#ifndef PSR_SEARCH_PULSE_MATH_H
#define PSR_SEARCH_PULSE_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PULSE_FN static __host__ __device__ inline
#else
#define PULSE_FN static inline
#endif
#ifdef __cplusplus
#define PULSE_ALIGN alignas(16)
#else
#define PULSE_ALIGN _Alignas(16)
#endif

enum {
    PULSE_REACH = 4,     /* pieces on either side that make a node */
    PULSE_MIN_GOOD = 16, /* samples: fewer give no statistics */
    PULSE_PIECE_MIN = 512,
    PULSE_PIECE_WIDTHS = 4, /* longest boxcars in a piece */
    PULSE_LANES = 8,        /* sums of samples 0, 8, 16..., of samples 1, 9, 17..., and so on */
    PULSE_NINE = 9,
    PULSE_CLIP_ROUNDS = 3,
};

enum {
    PULSE_PARTS = 8,
    PULSE_LENGTHS = 5, /* 0: the nodes' own; 1 to 4: smoothing over 2^n - 1 parts on either side */
    PULSE_SPREAD = 2,  /* pieces on either side that smoothing draws on */
    PULSE_EDGES = PULSE_PARTS + 2, /* levels between which a piece is corrected */
    PULSE_WIDTHS = 15,
    PULSE_COLUMNS = 16, /* widths, padded */
    PULSE_DRAWS = 9,    /* boxcars of each width that a piece gives to their scatter */
    PULSE_TESTS = 8,    /* errors of a part, of each length, padded */
    PULSE_WINDOW = 16,  /* pieces that a scatter is measured over */

    /* Pieces that have to be measured after one before it... */
    PULSE_TO_RAMP = PULSE_REACH + 1,
    PULSE_TO_SMOOTH = PULSE_TO_RAMP + PULSE_SPREAD,
    PULSE_TO_FLATTEN = PULSE_TO_SMOOTH + 2, /* ...can be flattened, as two more decide its length */
    PULSE_TO_SEARCH = PULSE_TO_FLATTEN + 3, /* ...and searched, as three more decide on scatters */
    /* Pieces whose figures are kept: those of a window, and those measured since. */
    PULSE_KEPT = PULSE_WINDOW + PULSE_TO_SEARCH,
};

/* Samples beyond this size are taken for garbage, as infinities and not-a-numbers are. */
#define PULSE_HUGE 1e30f

/* Samples further than this many standard deviations from a line do not count. */
#define PULSE_CLIP 3.0
/* Standard deviation of a normal variable cut there: 1 - 2 CLIP phi(CLIP) / erf(CLIP / sqrt 2). */
#define PULSE_CLIPPED_VARIANCE 0.97333692466
#define PULSE_SIGMA_PER_MAD    1.4826022

/* A piece far noisier than its surroundings is measured by its own scatter; one far quieter is no
 * data.  A pulse of the longest boxcar cannot double the clipped scatter of its piece. */
#define PULSE_NOISY 2.0
#define PULSE_QUIET 0.25

/* Boxcars, each from two narrower ones: width = a + b, sums of a samples and, a samples later, of
 * b.  Sums of sums lose no accuracy to what lies outside the boxcar, as running and prefix sums do,
 * and they carry the -infinity of a sample without data no further than the boxcars that hold it.
 * X(width, a, b, searched) */
#define PULSE_RECIPES(X)                                                                           \
    X(2, 1, 1, 1)                                                                                  \
    X(3, 2, 1, 1)                                                                                  \
    X(4, 2, 2, 1)                                                                                  \
    X(5, 4, 1, 0)                                                                                  \
    X(6, 3, 3, 1)                                                                                  \
    X(9, 6, 3, 1)                                                                                  \
    X(10, 6, 4, 0)                                                                                 \
    X(14, 9, 5, 1)                                                                                 \
    X(20, 14, 6, 1)                                                                                \
    X(25, 20, 5, 0)                                                                                \
    X(30, 20, 10, 1)                                                                               \
    X(45, 25, 20, 1)                                                                               \
    X(50, 30, 20, 0)                                                                               \
    X(70, 45, 25, 1)                                                                               \
    X(100, 70, 30, 1)                                                                              \
    X(150, 100, 50, 1)                                                                             \
    X(220, 150, 70, 1)                                                                             \
    X(300, 150, 150, 1)

/* Puts the smaller into a.  Zeros of either sign are the same; devices have instructions for this. */
#ifdef __CUDA_ARCH__
#define PULSE_SORT_2(a, b)                                                                         \
    do {                                                                                           \
        const float lo_ = fminf(a, b), hi_ = fmaxf(a, b);                                          \
        (a) = lo_, (b) = hi_;                                                                      \
    } while (0)
#else
#define PULSE_SORT_2(a, b)                                                                         \
    do {                                                                                           \
        float lo_ = (a) < (b) ? (a) : (b), hi_ = (a) < (b) ? (b) : (a);                            \
        (a) = lo_, (b) = hi_;                                                                      \
    } while (0)
#endif

/* Leaves the median of nine in e.  Exchanges of Smith's network. */
#define PULSE_MEDIAN_OF_NINE(a, b, c, d, e, f, g, h, i)                                            \
    do {                                                                                           \
        PULSE_SORT_2(b, c);                                                                        \
        PULSE_SORT_2(e, f);                                                                        \
        PULSE_SORT_2(h, i);                                                                        \
        PULSE_SORT_2(a, b);                                                                        \
        PULSE_SORT_2(d, e);                                                                        \
        PULSE_SORT_2(g, h);                                                                        \
        PULSE_SORT_2(b, c);                                                                        \
        PULSE_SORT_2(e, f);                                                                        \
        PULSE_SORT_2(h, i);                                                                        \
        d = a > d ? a : d;                                                                         \
        f = f < i ? f : i;                                                                         \
        PULSE_SORT_2(e, h);                                                                        \
        g = d > g ? d : g;                                                                         \
        e = b > e ? b : e;                                                                         \
        c = c < f ? c : f;                                                                         \
        e = e < h ? e : h;                                                                         \
        PULSE_SORT_2(e, c);                                                                        \
        e = g > e ? g : e;                                                                         \
        e = e < c ? e : c;                                                                         \
    } while (0)

struct pulse_piece {
    double good;  /* samples behind the figures; 0: there are no figures */
    double pos;   /* mean index of those samples */
    double level; /* at pos */
    double slope; /* per sample */
    double sigma; /* about the line; 0 where all samples are the same */
};

struct pulse_baseline_node {
    bool known;
    bool dead; /* the piece itself is constant or nearly so: it holds no data */
    double pos, level, slope, sigma;
};

/* Sample j is flattened to (x - (level + step j)) (scale + scale_step j); to -infinity where there
 * is no data. */
struct pulse_ramp {
    double level, step, scale, scale_step;
    bool dead;
};

/* Of one piece, from first to last stage.  A float that is missing is not a number. */
struct pulse_figures {
    struct pulse_piece piece;
    struct pulse_baseline_node node;
    double level[PULSE_PARTS];
    struct pulse_ramp ramp[2]; /* of either half */
    PULSE_ALIGN float
        rest[PULSE_PARTS]; /* levels less the line between nodes, in units of the scatter */
    float bounded[PULSE_PARTS];
    float rest_size; /* middle size; infinity where there is none */
    float test[PULSE_PARTS][PULSE_TESTS];
    float test_size[PULSE_TESTS];
    float smooth[PULSE_LENGTHS - 1][PULSE_EDGES];
    int32_t length;                         /* of the baseline, 0 .. PULSE_LENGTHS - 1 */
    float draw[PULSE_DRAWS][PULSE_COLUMNS]; /* over what white noise scatters */
    float draw_size[PULSE_COLUMNS];
    float most[PULSE_COLUMNS]; /* greatest sums of boxcars that end in the piece, or 0 */
    float norm[PULSE_COLUMNS]; /* S/N of a sum of 1 */
};

/* A piece of a series in which some boxcar is above threshold. */
struct pulse_loud {
    int64_t piece;
    uint32_t series;
    uint32_t at; /* place of its samples */
    int64_t n;   /* samples */
    float norm[PULSE_COLUMNS];
};

/* --- a line through samples ------------------------------------------------------------------- */

/* The numbers a straight line is fitted from: sums of 1, q, u, qq, qu, uu over samples of index q
 * and value u. */
enum { PULSE_S_1, PULSE_S_Q, PULSE_S_U, PULSE_S_QQ, PULSE_S_QU, PULSE_S_UU, PULSE_S_COUNT };

struct pulse_line {
    double level, slope, limit; /* u = level + slope q, and how far from it a sample may lie */
};

/* The line through the sums, and the position and scatter that go with it. */
struct pulse_fit {
    double good, pos, level, slope, sigma;
};

PULSE_FN void pulse_fit_line(struct pulse_fit *f, const double s[PULSE_S_COUNT])
{
    double n = s[PULSE_S_1], q = s[PULSE_S_Q] / n, u = s[PULSE_S_U] / n;
    double qq = s[PULSE_S_QQ] - n * q * q, qu = s[PULSE_S_QU] - n * q * u;
    double uu = s[PULSE_S_UU] - n * u * u;
    f->good = n;
    f->pos = q;
    f->level = u;
    f->slope = qq > 0 ? qu / qq : 0;
    double rest = uu - f->slope * qu;
    f->sigma = rest > 0 && n > 2 ? sqrt(rest / (n - 2)) : 0;
}

/* One round of clipping, from the sums over samples near the line: the fit and the next line.
 * Returned: false where there is none, and the fit before stands */
PULSE_FN bool pulse_refine_line(struct pulse_fit *fit, struct pulse_line *line,
                                const double s[PULSE_S_COUNT])
{
    struct pulse_fit f;
    if (s[PULSE_S_1] < PULSE_MIN_GOOD / 2)
        return false;
    pulse_fit_line(&f, s);
    f.sigma /= sqrt(PULSE_CLIPPED_VARIANCE);
    if (!(f.sigma > 0))
        return false;
    *fit = f;
    line->level = f.level - f.slope * f.pos;
    line->slope = f.slope;
    line->limit = PULSE_CLIP * f.sigma;
    return true;
}

/* The figures of a piece of n samples from absolute index first on, from the fit to its good
 * samples as (x - middle) / scale. */
PULSE_FN void pulse_set_piece(struct pulse_piece *out, const struct pulse_fit *f, double middle,
                              double scale, int64_t first, int64_t n)
{
    out->good = f->good;
    out->pos = (double)first + (double)(n - 1) / 2 + f->pos;
    out->level = middle + scale * f->level;
    out->slope = scale * f->slope;
    out->sigma = scale * f->sigma;
}

/* --- nodes ------------------------------------------------------------------------------------ */

enum { PULSE_AROUND_NODE = 2 * PULSE_REACH + 1 };

/* The pieces around one; one that is not there, or has no scatter, has no good samples. */
struct pulse_near {
    int32_t good[PULSE_AROUND_NODE];
    double pos[PULSE_AROUND_NODE], level[PULSE_AROUND_NODE], sigma[PULSE_AROUND_NODE];
    double slope[PULSE_AROUND_NODE];
};

/* Given:  ring [nring], of piece q at q % nring; pieces a .. b around k */
PULSE_FN void pulse_take_near(struct pulse_near *s, const struct pulse_figures *ring, int64_t nring,
                              int64_t k, int64_t a, int64_t b)
{
    int64_t place = (k + nring - PULSE_REACH) % nring;
    for (int q = 0; q < PULSE_AROUND_NODE; q++) {
        const struct pulse_piece *p = &ring[place].piece;
        int64_t piece = k - PULSE_REACH + q;
        bool exists = piece >= a && piece <= b && p->good > 0 && p->sigma > 0;
        s->good[q] = exists ? (int32_t)p->good : 0;
        s->pos[q] = exists ? p->pos : 0;
        s->level[q] = exists ? p->level : 0;
        s->sigma[q] = exists ? p->sigma : 0;
        s->slope[q] = exists ? p->slope : 0;
        place = place + 1 < nring ? place + 1 : 0;
    }
}

/* Mean of the middle half of the weight of values a to b.  What is before a value in order is counted,
 * and nothing is moved, so that all may stay in registers. */
PULSE_FN double pulse_take_midmean(const double value[PULSE_AROUND_NODE],
                                   const int32_t weight[PULSE_AROUND_NODE], int a, int b)
{
    int32_t at[PULSE_AROUND_NODE] = {0}, all = 0;
    double total, sum = 0;
    for (int j = 0; j < PULSE_AROUND_NODE; j++) {
        if (j < a || j > b)
            continue;
        for (int i = 0; i < j; i++) {
            bool before = value[i] <= value[j];
            at[j] += before ? weight[i] : 0;
            at[i] += before ? 0 : weight[j];
        }
        all += weight[j];
    }
    total = (double)all;
    for (int j = 0; j < PULSE_AROUND_NODE; j++) {
        if (j < a || j > b)
            continue;
        double begin = (double)at[j], end = (double)(at[j] + weight[j]);
        double from = begin > 0.25 * total ? begin : 0.25 * total;
        double to = end < 0.75 * total ? end : 0.75 * total;
        sum += to > from ? (to - from) * value[j] : 0;
    }
    return sum / (0.5 * total);
}

/* Some pieces together. */
struct pulse_tile {
    int pieces;
    int32_t weight[PULSE_AROUND_NODE];
    double pos, slope; /* slope: of the last of them */
};

/* Those from number a to b but for those of more than a limiting scatter. */
PULSE_FN void pulse_join_pieces(struct pulse_tile *s, const struct pulse_near *near, int a, int b,
                                double limit)
{
    int32_t good = 0;
    s->pieces = 0;
    s->pos = s->slope = 0;
    for (int q = 0; q < PULSE_AROUND_NODE; q++) {
        bool counts = q >= a && q <= b && near->good[q] && !(near->sigma[q] > limit);
        s->weight[q] = counts ? near->good[q] : 0;
        s->pieces += counts;
        good += s->weight[q];
        s->pos += counts ? (double)near->good[q] * near->pos[q] : 0;
        s->slope = counts ? near->slope[q] : s->slope;
    }
    s->pos /= good ? (double)good : 1;
}

/* Scatter of the pieces in "all", without those far noisier than the rest: half data and half filling, or a
 * storm, whose level says nothing of its neighbours'.
 * Returned: that; *noisy   beyond which pieces are */
PULSE_FN double pulse_find_scatter(const struct pulse_near *near, struct pulse_tile *all,
                                   double *noisy)
{
    const int last_near = PULSE_AROUND_NODE - 1;
    double sigma = pulse_take_midmean(near->sigma, all->weight, 0, last_near);
    int before = all->pieces;
    *noisy = PULSE_NOISY * sigma;
    pulse_join_pieces(all, near, 0, last_near, *noisy);
    return all->pieces < before ? pulse_take_midmean(near->sigma, all->weight, 0, last_near)
                                : sigma;
}

/* The node of piece k, pieces of length samples being known up to index last >= k.
 * Given:  ring [nring], of piece q at q % nring, nring > 2 PULSE_REACH */
PULSE_FN void pulse_baseline_node_make(struct pulse_baseline_node *out,
                                       const struct pulse_figures *ring, int64_t nring, int64_t k,
                                       int64_t last, int64_t length)
{
    int64_t a = k > PULSE_REACH ? k - PULSE_REACH : 0;
    int64_t b = k + PULSE_REACH < last ? k + PULSE_REACH : last;
    const int last_near = PULSE_AROUND_NODE - 1;
    int to_left = (int)((a + b) / 2 - k) + PULSE_REACH;
    int from_right = (int)((a + b + 1) / 2 - k) + PULSE_REACH;
    struct pulse_near near;
    struct pulse_tile all, left, right;
    pulse_take_near(&near, ring, nring, k, a, b);
    pulse_join_pieces(&all, &near, 0, last_near, INFINITY);
    out->known = out->dead = false;
    out->level = out->slope = out->sigma = 0;
    out->pos = ((double)k + 0.5) * (double)length - 0.5;
    if (all.pieces == 0)
        return;
    double noisy;
    out->sigma = pulse_find_scatter(&near, &all, &noisy);
    pulse_join_pieces(&left, &near, 0, to_left, noisy);
    pulse_join_pieces(&right, &near, from_right, last_near, noisy);
    out->known = true;
    if (left.pieces && right.pieces && right.pos - left.pos >= 0.75 * (double)length) {
        double level = pulse_take_midmean(near.level, left.weight, 0, to_left);
        out->slope = (pulse_take_midmean(near.level, right.weight, from_right, last_near) - level) /
                     (right.pos - left.pos);
        out->level = level + out->slope * (out->pos - left.pos);
    } else {
        out->slope = all.pieces == 1 ? all.slope : 0;
        out->level = pulse_take_midmean(near.level, all.weight, 0, last_near) +
                     out->slope * (out->pos - all.pos);
    }
    const struct pulse_piece *own = &ring[k % nring].piece;
    out->dead = own->good > 0 && own->sigma < PULSE_QUIET * out->sigma;
    if (own->sigma > noisy)
        out->sigma = own->sigma;
}

/* --- flattening ------------------------------------------------------------------------------- */

/* Between nodes a and b on either side, or one and the same beyond the outermost; sample 0 of the
 * ramp has absolute index first. */
PULSE_FN void pulse_set_ramp(struct pulse_ramp *r, const struct pulse_baseline_node *a,
                             const struct pulse_baseline_node *b, int64_t first)
{
    double scale = 1 / a->sigma, scale_step = 0, step = a->slope;
    if (b->pos > a->pos) {
        step = (b->level - a->level) / (b->pos - a->pos);
        scale_step = (1 / b->sigma - scale) / (b->pos - a->pos);
    }
    double before = (double)first - a->pos;
    r->level = a->level + step * before;
    r->step = step;
    r->scale = scale + scale_step * before;
    r->scale_step = scale_step;
    r->dead = false;
}

/* x as sample t of a ramp. */
PULSE_FN float pulse_flatten_sample(float x, double t, double level, double step, double scale,
                                    double scale_step)
{
    float v = (float)(((double)x - (level + step * t)) * (scale + scale_step * t));
    v = v < PULSE_HUGE ? v : PULSE_HUGE;
    v = v > -PULSE_HUGE ? v : -PULSE_HUGE;
    return fabsf(x) <= PULSE_HUGE ? v : -INFINITY;
}

#endif
