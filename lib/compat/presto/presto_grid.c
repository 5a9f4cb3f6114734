/* Searches the fine grid that accelsearch uses around candidates with jerk. */
#include "presto_grid.h"
#include "search/matched/response/template_bank.h"

#include <math.h>
#include <stdlib.h>

enum { FINER = 4, BETWEEN = 2 * FINER, NR = 3 * BETWEEN, SPARE = 10, MOST_STEPS = 17 };

/* The grid around one harmonic: z and w in proportion to it, r in eighths of a bin. */
struct box {
    double zlo, dz, wlo, dw;
    int64_t lobin;
    int half, length; /* bins of responses, points of a row that correlations give */
};

static int steps_of(const struct psr_presto_grid *g)
{
    return 2 * g->wide * FINER + 1;
}

static double farther(double lo, double hi)
{
    return fabs(lo) < fabs(hi) ? hi : lo;
}

static struct box box_of(const struct psr_presto_grid *g, int h)
{
    const int n = steps_of(g);
    const double share = (double)h / g->to, times = (double)h / g->from;
    const double z = g->z * times, w = g->w * times;
    const double zwide = g->wide * share * PSR_STEP_Z, wwide = g->wide * share * PSR_STEP_W;
    const int roomy = psr_response_halfwidth(fabs(z) + 2, fabs(w) + 20, false);
    int length = 1;
    while (length < BETWEEN * (2 * roomy + SPARE))
        length *= 2;
    struct box b = {
        .zlo = z - zwide,
        .dz = (z + zwide - (z - zwide)) / (n - 1),
        .wlo = w - wwide,
        .dw = (w + wwide - (w - wwide)) / (n - 1),
        .lobin = (int64_t)(g->r * times) - 1,
        .half = psr_response_halfwidth(farther(z - zwide, z + zwide), farther(w - wwide, w + wwide),
                                       false),
    };
    b.length = (length - 2 * BETWEEN * b.half) / BETWEEN * BETWEEN;
    return b;
}

/* Responses are k [2 BETWEEN half] from -half on. */
static double power_at(const struct psr_presto_response *p, const struct box *b,
                       const float complex *k, int64_t i)
{
    double re = 0, im = 0;
    int64_t first = b->lobin + (i + BETWEEN - 1) / BETWEEN - b->half;
    for (int64_t bin = first;; bin++) {
        int64_t at = BETWEEN * (bin - b->lobin + b->half) - i;
        if (at >= 2 * BETWEEN * b->half)
            break;
        if (at < 0 || bin < 0 || bin >= p->nbin)
            continue;
        double xr = (double)p->x[2 * bin], xi = (double)p->x[2 * bin + 1];
        double kr = (double)crealf(k[at]), ki = (double)cimagf(k[at]);
        re += xr * kr + xi * ki;
        im += xi * kr - xr * ki;
    }
    return re * re + im * im;
}

static psr_status make_response(struct psr_presto_response *p, const struct box *b, int jz, int jw,
                                float complex *k, psr_err *err)
{
    const double z = b->zlo + jz * b->dz, w = b->wlo + jw * b->dw;
    if (fabs(w) < 1e-4)
        return psr_response_make(p->maker, z, 0, -b->half, BETWEEN, 2 * BETWEEN * (size_t)b->half,
                                 k, err);
    return psr_response_sample(p->maker, z, w, 0, BETWEEN, b->half, k, err);
}

/* Point of harmonic h's row for point i of the highest harmonic's. */
static int64_t point_of(const struct psr_presto_grid *g, const struct box *top, const struct box *b,
                        int h, int i)
{
    double r = ((double)top->lobin + i / (double)BETWEEN) * ((double)h / g->to);
    return (int64_t)round((r - (double)b->lobin) * BETWEEN);
}

/* Adds the powers of one drift and jerk to their row, and, as accelsearch reads the end of the previous
 * row before the beginning of one, to the next row. */
static void add_rows(const struct psr_presto_response *p, const struct psr_presto_grid *g,
                     const struct box *top, const struct box *b, int h, const float complex *k,
                     float *sum, bool last)
{
    for (int i = 0; i < NR; i++) {
        int64_t at = point_of(g, top, b, h, i);
        if (at >= 0)
            sum[i] += (float)(power_at(p, b, k, at) / g->local[h - 1]);
        else if (!last)
            sum[NR + i] += (float)(power_at(p, b, k, b->length + at) / g->local[h - 1]);
    }
}

static psr_status add_harmonic(struct psr_presto_response *p, const struct psr_presto_grid *g,
                               int h, float *sum, psr_err *err)
{
    const struct box top = box_of(g, g->to), b = box_of(g, h);
    const int n = steps_of(g);
    float complex *k = malloc(2 * BETWEEN * (size_t)b.half * sizeof *k);
    psr_status st = k ? PSR_OK : psr_fail_nomem(err, "a response", 128.0 * b.half);
    for (int row = 0; row < n * n && !st; row++) {
        st = make_response(p, &b, row % n, row / n, k, err);
        if (!st)
            add_rows(p, g, &top, &b, h, k, sum + row * NR, row == n * n - 1);
    }
    free(k);
    return st;
}

psr_status psr_presto_grid_climb(struct psr_presto_response *p, struct psr_presto_grid *g,
                                 psr_err *err)
{
    const int n = steps_of(g);
    const struct box top = box_of(g, g->to);
    float *sum = calloc(MOST_STEPS * MOST_STEPS * NR, sizeof *sum);
    psr_status st = sum ? PSR_OK : psr_fail_nomem(err, "a grid", 4.0 * n * n * NR);
    for (int h = g->to; h >= g->from && !st; h--)
        st = add_harmonic(p, g, h, sum, err);
    int best = 0;
    for (int i = 1; i < n * n * NR && !st; i++)
        best = sum[i] > sum[best] ? i : best;
    free(sum);
    const double times = (double)g->to / g->from;
    g->r = ((double)top.lobin + best % NR / (double)BETWEEN) / times;
    g->z = (top.zlo + best / NR % n * (PSR_STEP_Z / (double)FINER)) / times;
    g->w = (top.wlo + best / NR / n * (PSR_STEP_W / (double)FINER)) / times;
    return st;
}
