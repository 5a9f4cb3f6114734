/* Fits the response of a bright line to bins, and subtracts it. */
#include "line_response.h"
#include "accel_internal.h"
#include "stats/simplex.h"

#include <math.h>
#include <stdlib.h>

/* NEAR: bins around a line, and its drift, in which little of it may be left. */
enum { NEAR = 8 };
static const double MOST_LEFT = 0.05;
static const double UNIT[PSR_SIMPLEX_MOST] = {0.5, 2, 20}, STEP = 0.4, TOLERANCE = 1e-3,
                    REACH = 0.02;

/* --- where it is ------------------------------------------------------------------------------ */

struct fit {
    const psr_accel_template *around;
    double r, z, w;
    int n; /* variables */
};

static double minus_power(void *ctx, const double *x)
{
    const struct fit *f = ctx;
    const double w = f->n > 2 ? f->w + UNIT[2] * x[2] : 0;
    return -psr_accel_template_power(f->around, f->r + UNIT[0] * x[0], f->z + UNIT[1] * x[1], w);
}

void psr_line_fit(struct psr_line_response *line, const psr_accel_template *around, bool jerk)
{
    double x[PSR_SIMPLEX_MOST] = {0};
    struct fit fit = {around, line->r, line->z, line->w, jerk ? 3 : 2};
    const struct psr_simplex f = {minus_power, &fit, fit.n};
    psr_simplex_descend(&f, x, STEP, TOLERANCE);
    psr_simplex_polish(&f, x, REACH);
    line->r += UNIT[0] * x[0];
    line->z += UNIT[1] * x[1];
    line->w = jerk ? line->w + UNIT[2] * x[2] : 0;
}

/* --- its bins --------------------------------------------------------------------------------- */

psr_status psr_line_make(struct psr_line_response *line, struct psr_response_maker *maker,
                         psr_err *err)
{
    const size_t n = line->n;
    float complex *k = malloc(n * sizeof *k);
    line->re = malloc(2 * n * sizeof *line->re);
    psr_status st = k && line->re ? PSR_OK : psr_fail_nomem(err, "a line", 16.0 * (double)n);
    if (!st)
        st =
            psr_response_make(maker, line->z, line->w, (double)line->first - line->r, 1, n, k, err);
    line->im = line->re ? line->re + n : NULL;
    for (size_t i = 0; i < n && !st; i++) {
        line->re[i] = crealf(k[i]);
        line->im[i] = cimagf(k[i]);
    }
    free(k);
    return st;
}

static void multiply(struct psr_line_response *line, double re, double im)
{
    for (size_t i = 0; i < line->n; i++) {
        const double kr = (double)line->re[i], ki = (double)line->im[i];
        line->re[i] = (float)(re * kr - im * ki);
        line->im[i] = (float)(re * ki + im * kr);
    }
}

/* Whether little of its power is left around it. */
static bool is_line(const struct psr_line_response *line, struct psr_split x, double noise)
{
    const double near = NEAR + fabs(line->z) / 2 + fabs(line->w) / 12;
    double left = 0;
    int count = 0;
    for (size_t i = 0; i < line->n; i++)
        if (fabs((double)(line->first + (int64_t)i) - line->r) <= near) {
            const double re = (double)(x.re[i] - line->re[i]), im = (double)(x.im[i] - line->im[i]);
            left += re * re + im * im;
            count++;
        }
    return left <= noise * (count + 4 * sqrt(count)) + MOST_LEFT * line->power;
}

bool psr_line_scale(struct psr_line_response *line, struct psr_split x, double noise)
{
    double re = 0, im = 0, own = 0;
    for (size_t i = 0; i < line->n; i++) {
        const double kr = (double)line->re[i], ki = (double)line->im[i];
        re += (double)x.re[i] * kr + (double)x.im[i] * ki;
        im += (double)x.im[i] * kr - (double)x.re[i] * ki;
        own += kr * kr + ki * ki;
    }
    re = own > 0 ? re / own : 0;
    im = own > 0 ? im / own : 0;
    line->power = own * (re * re + im * im);
    multiply(line, re, im);
    return is_line(line, x, noise);
}

void psr_line_subtract(const struct psr_line_response *line, int64_t first, size_t n,
                       struct psr_split x)
{
    int64_t from = line->first > first ? line->first : first;
    int64_t end = line->first + (int64_t)line->n, last = first + (int64_t)n;
    for (end = end < last ? end : last; from < end; from++) {
        x.re[from - first] -= line->re[from - line->first];
        x.im[from - first] -= line->im[from - line->first];
    }
}
