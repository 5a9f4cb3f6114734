/* pulse_adapt.h: how the single-pulse search adapts to its noise, the arithmetic that host and
 * device share (private).
 *
 * A piece has eight parts, each with its own level.  What the line through the nodes leaves of those
 * levels is smoothed over 1/3, 3/4, 3/2 and 3 pieces, or not at all; the length whose smoothing
 * predicts a part best from the others around it is taken off.  Then the boxcars of each width are
 * measured against their own scatter.
 *
 * Both give the same bits, as pulse_math.h says. */
#ifndef PSR_SEARCH_PULSE_ADAPT_H
#define PSR_SEARCH_PULSE_ADAPT_H

#include "pulse_math.h"

/* Levels of parts are let through up to this many times their scatter, so that a bright pulse does
 * not pull the baseline. */
#define PULSE_BOUND 6.0f
/* A shorter baseline has to be better by this factor, and so has any other than the last piece's. */
#define PULSE_BETTER 0.97
/* What the scatter of boxcars has over that in white noise counts beyond so many standard errors:
 * below, it may be chance. */
#define PULSE_ALLOWANCE 4.5

/* From what was before alone, the baseline of length n is the mean of this many parts. */
#define PULSE_TRAILING(n) (PULSE_TRAIL >> (n))
/* A piece whose level is off by so many standard deviations begins anew, or whose scatter is by such a factor: a
 * pulse of the longest boxcar changes its line by less. */
#define PULSE_JUMP   1.0
#define PULSE_LOUDER 1.5

enum { PULSE_TRAIL = 64 };

/* What follows from the widths alone. */
struct pulse_scale {
    int32_t maxwidth, nwidth, step;           /* step: samples from one draw to the next */
    float unit[PULSE_LENGTHS][PULSE_COLUMNS]; /* of a sum, over its scatter in white noise */
    double crowd[PULSE_COLUMNS];              /* boxcars that share one draw's samples */
    int32_t fixed;                            /* length of all baselines; -1: each its best */
};

/* --- scatter ---------------------------------------------------------------------------------- */

/* The middle one of n sizes, those that are missing being infinite; infinity where fewer than "least"
 * are there. */
PULSE_FN float pulse_take_middle(float *size, int n, int least)
{
    int have = 0;
    for (int j = 0; j < n; j++) {
        float v = size[j];
        int k = j;
        for (; k > 0 && size[k - 1] > v; k--)
            size[k] = size[k - 1];
        size[k] = v;
        have += v < INFINITY;
    }
    return have < least ? INFINITY : size[have / 2];
}

PULSE_FN float pulse_size(float v)
{
    float size = fabsf(v);
    return size <= PULSE_HUGE ? size : INFINITY;
}

enum { PULSE_LEAST = 3 }; /* values that have a middle size */

/* Beyond it values do not count; -1: none does. */
PULSE_FN float pulse_limit(float middle)
{
    return middle < INFINITY ? (float)(PULSE_CLIP * PULSE_SIGMA_PER_MAD) * middle : -1.0f;
}

/* Mean square of values about zero, from the sum over those within the limit. */
PULSE_FN double pulse_mean_square(float sum, float n)
{
    return n > 0 ? (double)sum / (double)n / PULSE_CLIPPED_VARIANCE : 0;
}

/* Mean square of what the nodes leave of pieces a .. b. */
PULSE_FN double pulse_rest_square(const struct pulse_figures *ring, int64_t nring, int64_t a,
                                  int64_t b)
{
    float size[PULSE_WINDOW], sum = 0, n = 0;
    for (int64_t k = a; k <= b; k++)
        size[k - a] = ring[k % nring].rest_size;
    float limit = pulse_limit(pulse_take_middle(size, (int)(b - a + 1), 1));
    for (int64_t k = a; k <= b; k++)
        for (int j = 0; j < PULSE_PARTS; j++) {
            float v = ring[k % nring].rest[j];
            if (fabsf(v) <= limit)
                sum += v * v, n += 1;
        }
    return pulse_mean_square(sum, n);
}

/* Middle size of one value of each part, "step" floats apart. */
PULSE_FN float pulse_size_parts(const float *v, int step)
{
    float size[PULSE_PARTS];
    for (int j = 0; j < PULSE_PARTS; j++)
        size[j] = pulse_size(v[j * step]);
    return pulse_take_middle(size, PULSE_PARTS, PULSE_LEAST);
}

/* --- the baseline ----------------------------------------------------------------------------- */

/* The first piece of the window that ends with piece b. */
PULSE_FN int64_t pulse_window(int64_t b)
{
    return b >= PULSE_WINDOW ? b - PULSE_WINDOW + 1 : 0;
}

/* Its ramps, from the nodes of pieces up to index last. */
PULSE_FN void pulse_set_ramps(struct pulse_figures *ring, int64_t nring, int64_t k, int64_t last,
                              int64_t length)
{
    struct pulse_figures *f = &ring[k % nring];
    const struct pulse_baseline_node *own = &f->node, *before = own, *after = own;
    if (!own->known || own->dead) {
        f->ramp[0].dead = f->ramp[1].dead = true;
        return;
    }
    if (k > 0 && ring[(k - 1) % nring].node.known)
        before = &ring[(k - 1) % nring].node;
    if (k < last && ring[(k + 1) % nring].node.known)
        after = &ring[(k + 1) % nring].node;
    pulse_set_ramp(&f->ramp[0], before, own, k * length);
    pulse_set_ramp(&f->ramp[1], own, after, k * length + length / 2);
}

/* Of a part of so many samples, of which "good" lie near the line. */
PULSE_FN double pulse_part_level(double sum, double good, double part, double middle, double scale)
{
    return 4 * good >= part ? middle + scale * (sum / good) : NAN;
}

/* What the ramps leave of the levels of a piece. */
PULSE_FN void pulse_find_rest(struct pulse_figures *f, int64_t length)
{
    double part = (double)length / PULSE_PARTS, half = (double)(length / 2);
    for (int j = 0; j < PULSE_PARTS; j++) {
        const struct pulse_ramp *r = &f->ramp[j / (PULSE_PARTS / 2)];
        double at = (j + 0.5) * part - 0.5 - (j < PULSE_PARTS / 2 ? 0 : half);
        double v = (f->level[j] - (r->level + r->step * at)) * (r->scale + r->scale_step * at);
        f->rest[j] = !r->dead && fabs(v) <= (double)PULSE_HUGE ? (float)v : NAN;
    }
}

/* Bounds what is left, by its mean square in pieces up to this one. */
PULSE_FN void pulse_bound_rest(struct pulse_figures *f, double square, int64_t length)
{
    double least = (double)PULSE_PARTS / (double)length; /* white noise */
    float bound = PULSE_BOUND * (float)sqrt(square > least ? square : least);
    for (int j = 0; j < PULSE_PARTS; j++) {
        float v = f->rest[j];
        f->bounded[j] = v > bound ? bound : v < -bound ? -bound : v;
    }
}

/* Mean of those that are there, b counting twice. */
PULSE_FN float pulse_smooth_three(float a, float b, float c)
{
    float sum = 0, weight = 0;
    if (a == a)
        sum += a, weight += 1;
    if (b == b)
        sum += 2 * b, weight += 2;
    if (c == c)
        sum += c, weight += 1;
    if (weight == 4)
        return sum * 0.25f; /* as dividing, at once */
    return weight > 0 ? sum / weight : NAN;
}

/* How far a part is from what a baseline of length n, smoothed to this, would be without it: a part's
 * share in its own smoothed level is 2^-n. */
PULSE_FN float pulse_test_error(float rest, float smooth, int n)
{
    return n ? (rest - smooth) / (1 - 1.0f / (float)(1 << n)) : rest * (36.0f / 35.0f);
}

PULSE_FN float pulse_or_none(float level)
{
    return level == level ? level : 0;
}

enum { PULSE_AROUND = (2 * PULSE_SPREAD + 1) * PULSE_PARTS };

/* Smooths what is left around piece k, over holes in steps that double, and tests how well each
 * length predicts a part from the others: without them a part's own share is none. */
PULSE_FN void pulse_smooth_rest(struct pulse_figures *ring, int64_t nring, int64_t k, int64_t last)
{
    struct pulse_figures *f = &ring[k % nring];
    float was[PULSE_AROUND], now[PULSE_AROUND];
    const int own = PULSE_SPREAD * PULSE_PARTS;
    for (int j = 0; j < PULSE_AROUND; j++) {
        int64_t q = k - PULSE_SPREAD + j / PULSE_PARTS;
        was[j] = q >= 0 && q <= last ? ring[q % nring].bounded[j % PULSE_PARTS] : NAN;
    }
    for (int j = 0; j < PULSE_PARTS; j++)
        f->test[j][0] = pulse_test_error(f->rest[j], 0, 0);
    for (int n = 1, step = 1; n < PULSE_LENGTHS; n++, step *= 2) {
        for (int j = 0; j < PULSE_AROUND; j++)
            now[j] = pulse_smooth_three(j >= step ? was[j - step] : NAN, was[j],
                                        j + step < PULSE_AROUND ? was[j + step] : NAN);
        for (int j = 0; j < PULSE_AROUND; j++)
            was[j] = now[j];
        for (int j = 0; j < PULSE_EDGES; j++)
            f->smooth[n - 1][j] = pulse_or_none(now[own - 1 + j]);
        for (int j = 0; j < PULSE_PARTS; j++)
            f->test[j][n] = pulse_test_error(f->rest[j], now[own + j], n);
    }
    for (int n = 0; n < PULSE_LENGTHS; n++)
        f->test_size[n] = pulse_size_parts(f->test[0] + n, PULSE_TESTS);
}

/* The length of the baseline whose tests have the least mean square, each having to be better than the
 * longer ones by the factor.  Returned: that, and *best, its mean square */
PULSE_FN int32_t pulse_best_length(const double square[PULSE_LENGTHS], double *best)
{
    int32_t pick = 0;
    *best = square[0];
    for (int32_t n = PULSE_LENGTHS - 1; n > 0; n--)
        if (square[n] < PULSE_BETTER * PULSE_BETTER * *best)
            pick = n, *best = square[n];
    return pick;
}

/* Whether one mean square is not below another by the factor. */
PULSE_FN bool pulse_is_little_better(double square, double other)
{
    return square > PULSE_BETTER * PULSE_BETTER * other;
}

/* The length of the baseline of a piece, from the mean squares of its tests and the length before it
 * (-1: none). */
PULSE_FN int32_t pulse_choose_length(const double square[PULSE_LENGTHS], int32_t before)
{
    double best;
    int32_t pick = pulse_best_length(square, &best);
    return before >= 0 && pulse_is_little_better(best, square[before]) ? before : pick;
}

PULSE_FN float pulse_edge_slope(float from, float to, int32_t part)
{
    return (to - from) * (1 / (float)part);
}

/* A flattened sample less the level between two parts, "at" samples after the middle of the first. */
PULSE_FN float pulse_correct_sample(float z, float level, float slope, int32_t at)
{
    return z - (level + slope * ((float)at + 0.5f));
}

/* --- scatter of boxcars ----------------------------------------------------------------------- */

/* The last piece that decides on the scatters of piece k. */
PULSE_FN int64_t pulse_draws_end(int64_t k, int64_t last)
{
    const int64_t b = k + PULSE_TO_SEARCH - PULSE_TO_FLATTEN;
    return b < last ? b : last;
}

/* The last piece that decides on the baseline of piece k. */
PULSE_FN int64_t pulse_tests_end(int64_t k, int64_t last)
{
    const int64_t b = k + PULSE_TO_FLATTEN - PULSE_TO_SMOOTH;
    return b < last ? b : last;
}

/* S/N of a sum of 1, whose boxcars' mean square is so many times that in white noise. */
PULSE_FN float pulse_find_norm(float unit, double square, float n, double crowd)
{
    double allowed = n > 0 ? PULSE_ALLOWANCE * sqrt(2 * crowd / (double)n) : 0, more = square - 1;
    if (!(n > 0))
        more = 0;
    more = more > allowed ? more - allowed : more < -allowed ? more + allowed : 0;
    return (float)((double)unit / sqrt(1 + more));
}

/* Whether some boxcar that ends in the piece has an S/N of the threshold. */
PULSE_FN bool pulse_is_loud(const struct pulse_figures *f, int nwidth, float threshold)
{
    bool loud = false;
    for (int c = 0; c < nwidth; c++)
        loud |= f->most[c] * f->norm[c] >= threshold;
    return loud;
}

#endif
