/* Adapts the search to the noise: scatter of boxcars, several columns side by side. */
#include "singlepulse_internal.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = PULSE_COLUMNS };

/* --- scatter in white noise ------------------------------------------------------------------- */

/* Share of a boxcar's sum that smoothing by a normal curve of that variance keeps. */
static double find_share(double width, double variance)
{
    double r = sqrt(2 * variance);
    return erf(width / r) - r / (sqrt(M_PI) * width) * (1 - exp(-width * width / (2 * variance)));
}

/* Scatter of the S/N of white noise once a baseline was taken off: smoothing over 2^n - 1 parts on
 * either side, a triangle, between the middles of parts is close to a normal curve of the same
 * variance; and so are the nodes', to their nine pieces. */
static double find_white_scatter(double width, double length, int n)
{
    double part = length / PULSE_PARTS, nodes = PULSE_PARTS * (2 * PULSE_REACH + 1);
    double variance = n ? (pow(4, n) - 1) / 6 + 0.25 : nodes * nodes / 8;
    variance *= part * part;
    return sqrt(1 - 2 * find_share(width, variance) + find_share(width, 2 * variance));
}

/* Boxcars every "step" samples that count as one in white noise, as they share samples: the sum of
 * squares of their correlations. */
static double find_crowd(double width, double step)
{
    double sum = 1;
    for (double delay = step; delay < width; delay += step)
        sum += 2 * (1 - delay / width) * (1 - delay / width);
    return sum;
}

void psr_pulse_set_scale(struct pulse_scale *s, size_t maxwidth, size_t length, int fixed)
{
    int c = 0;
    *s = (struct pulse_scale){.maxwidth = (int32_t)maxwidth, .step = 1, .fixed = fixed};
    while (2 * (size_t)s->step * PULSE_DRAWS <= length)
        s->step *= 2;
#define SET_UNIT(width, a, b, searched)                                                            \
    if (searched && width <= s->maxwidth) {                                                        \
        for (int n = 0; n < PULSE_LENGTHS; n++)                                                    \
            s->unit[n][c] =                                                                        \
                (float)(1 / (sqrt(width) * find_white_scatter(width, (double)length, n)));         \
        s->crowd[c] = find_crowd(width, s->step);                                                  \
        c++;                                                                                       \
    }
    SET_UNIT(1, 0, 0, true)
    PULSE_RECIPES(SET_UNIT)
#undef SET_UNIT
    s->nwidth = c;
}

/* What a baseline of length n averages over, in pieces: its weights, a triangle's, have an inverse sum
 * of squares of 3 s^3 / (2 s^2 + 1) parts, s = 2^n. */
static double find_span(int n, bool causal)
{
    if (causal)
        return (double)PULSE_TRAILING(n) / PULSE_PARTS;
    double side = pow(2, n);
    return n ? 3 * side * side * side / (2 * side * side + 1) / PULSE_PARTS : 2 * PULSE_REACH + 1;
}

int psr_pulse_choose_fixed(double samples, size_t length, bool causal)
{
    int best = 0;
    for (int n = 1; n < PULSE_LENGTHS; n++)
        if (fabs(log(samples / (find_span(n, causal) * (double)length))) <
            fabs(log(samples / (find_span(best, causal) * (double)length))))
            best = n;
    return best;
}

double psr_pulse_span(int n, size_t length, bool causal)
{
    return find_span(n, causal) * (double)length;
}

/* --- columns side by side --------------------------------------------------------------------- */

/* Compiled into the functions below, where "columns" is a number. */
#define INLINE static inline __attribute__((always_inline))

/* Puts the smaller of each column into a. */
INLINE void exchange(float *restrict a, float *restrict b, int columns)
{
    for (int c = 0; c < columns; c++) {
        float x = a[c], y = b[c];
        a[c] = x < y ? x : y;
        b[c] = x < y ? y : x;
    }
}

/* Sorts each column of n rows, by Batcher's exchanges. */
INLINE void sort_columns(float *v, int n, int columns)
{
    int top = 1;
    while (2 * top < n)
        top *= 2;
    for (int p = top; p > 0; p /= 2)
        for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int i = 0; i < n - d; i++)
                if ((i & p) == r)
                    exchange(v + i * columns, v + (i + d) * columns, columns);
            if (q == p)
                break;
        }
}

/* As pulse_take_middle, of each column. */
INLINE void take_middles(float *middle, float *size, int n, int least, int columns)
{
    int32_t have[COLUMNS] = {0};
    for (int j = 0; j < n; j++)
        for (int c = 0; c < columns; c++)
            have[c] += size[j * columns + c] < INFINITY;
    sort_columns(size, n, columns);
    for (int c = 0; c < columns; c++)
        middle[c] = have[c] < least ? INFINITY : size[have[c] / 2 * columns + c];
}

INLINE void add_squares(float *restrict sum, float *restrict n, const float *restrict v, int rows,
                        const float *restrict limit, int columns)
{
    float s[COLUMNS], m[COLUMNS];
    for (int c = 0; c < columns; c++)
        s[c] = sum[c], m[c] = n[c];
    for (int j = 0; j < rows; j++)
        for (int c = 0; c < columns; c++) {
            float x = v[j * columns + c], near = fabsf(x) <= limit[c] ? 1.0f : 0.0f;
            x = near > 0 ? x : 0.0f;
            s[c] += x * x;
            m[c] += near;
        }
    for (int c = 0; c < columns; c++)
        sum[c] = s[c], n[c] = m[c];
}

PSR_CLONES
static void size_draws(float *middle, const float *v)
{
    float size[PULSE_DRAWS * COLUMNS];
    for (int j = 0; j < PULSE_DRAWS * COLUMNS; j++) {
        float s = fabsf(v[j]);
        size[j] = s <= PULSE_HUGE ? s : INFINITY;
    }
    take_middles(middle, size, PULSE_DRAWS, PULSE_LEAST, COLUMNS);
}

void psr_pulse_size_draws(struct pulse_figures *f)
{
    size_draws(f->draw_size, f->draw[0]);
}

PSR_CLONES
static void find_draw_limits(float *limit, float *size, int n)
{
    take_middles(limit, size, n, 1, COLUMNS);
    for (int c = 0; c < COLUMNS; c++)
        limit[c] = pulse_limit(limit[c]);
}

PSR_CLONES
static void add_draws(float *sum, float *n, const float *v, const float *limit)
{
    add_squares(sum, n, v, PULSE_DRAWS, limit, COLUMNS);
}

void psr_pulse_find_norms(struct pulse_figures *ring, int64_t nring, const struct pulse_scale *s,
                          int64_t k, int64_t b)
{
    struct pulse_figures *f = &ring[k % nring];
    float size[PULSE_WINDOW][COLUMNS], limit[COLUMNS], sum[COLUMNS] = {0}, n[COLUMNS] = {0};
    int64_t a = pulse_window(b);
    for (int64_t q = a; q <= b; q++)
        memcpy(size[q - a], ring[q % nring].draw_size, sizeof *size);
    find_draw_limits(limit, size[0], (int)(b - a + 1));
    for (int64_t q = a; q <= b; q++)
        add_draws(sum, n, ring[q % nring].draw[0], limit);
    for (int c = 0; c < s->nwidth; c++)
        f->norm[c] = pulse_find_norm(s->unit[f->length][c], pulse_mean_square(sum[c], n[c]), n[c],
                                     s->crowd[c]);
}

PSR_CLONES
static void find_test_limits(float *limit, float *size, int n)
{
    take_middles(limit, size, n, 1, PULSE_TESTS);
    for (int c = 0; c < PULSE_TESTS; c++)
        limit[c] = pulse_limit(limit[c]);
}

PSR_CLONES
static void add_tests(float *sum, float *n, const float *v, const float *limit)
{
    add_squares(sum, n, v, PULSE_PARTS, limit, PULSE_TESTS);
}

void psr_pulse_test_squares(double square[PULSE_LENGTHS], const struct pulse_figures *ring,
                            int64_t nring, int64_t a, int64_t b)
{
    float size[PULSE_WINDOW][PULSE_TESTS], limit[PULSE_TESTS];
    float sum[PULSE_TESTS] = {0}, n[PULSE_TESTS] = {0};
    for (int64_t q = a; q <= b; q++)
        memcpy(size[q - a], ring[q % nring].test_size, sizeof *size);
    find_test_limits(limit, size[0], (int)(b - a + 1));
    for (int64_t q = a; q <= b; q++)
        add_tests(sum, n, ring[q % nring].test[0], limit);
    for (int c = 0; c < PULSE_LENGTHS; c++)
        square[c] = pulse_mean_square(sum[c], n[c]);
}
