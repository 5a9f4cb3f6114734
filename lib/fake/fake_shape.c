/* Computes pulse profiles, smeared and scattered, through their integrals. */
#include "fake_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Half the support of a Gaussian in full widths at half maximum, and of a tail in 1/e times: what
 * lies beyond is below 1e-11 and 1e-5 of the area. */
static const double gaussian_reach = 3, tail_reach = 12;

static double profile_value(const struct psr_fake_signal *s, double width, double x, double share)
{
    switch (s->shape) {
    case PSR_FAKE_TOPHAT:
        return 1;
    case PSR_FAKE_GAUSSIAN:
        return exp2(-4 * x * x / (width * width));
    case PSR_FAKE_VONMISES:
        return exp(log(2) / (1 - cos(M_PI * width)) * (cos(2 * M_PI * x) - 1));
    case PSR_FAKE_PROFILE:
        break;
    }
    size_t bin = (size_t)(share * (double)s->nprofile);
    return s->profile[bin < s->nprofile ? bin : s->nprofile - 1];
}

static double profile_peak(const struct psr_fake_signal *s)
{
    double peak = s->shape == PSR_FAKE_PROFILE ? s->profile[0] : 1;
    for (size_t b = 1; b < s->nprofile && s->shape == PSR_FAKE_PROFILE; b++)
        peak = fmax(peak, s->profile[b]);
    return peak;
}

psr_status psr_shape_make(struct psr_shape *shape, const struct psr_fake_signal *s, psr_err *err)
{
    bool pulsar = s->kind == PSR_FAKE_PULSAR;
    double width = pulsar ? s->width_s / s->period_s : s->width_s, extent = width;
    if (s->shape == PSR_FAKE_GAUSSIAN)
        extent = 2 * gaussian_reach * width;
    else if (s->shape == PSR_FAKE_VONMISES || (s->shape == PSR_FAKE_PROFILE && pulsar))
        extent = 1;
    shape->low = -extent / 2;
    shape->high = extent / 2;
    shape->step = extent / PSR_SHAPE_CELLS;
    shape->part = calloc(PSR_SHAPE_CELLS + 1, sizeof *shape->part);
    shape->integral = calloc(PSR_SHAPE_CELLS + 1, sizeof *shape->integral);
    if (!shape->part || !shape->integral)
        return psr_fail_nomem(err, "pulse profile", 2.0 * PSR_SHAPE_CELLS * sizeof(double));
    double peak = profile_peak(s), sum = 0, squares = 0;
    for (int j = 0; j < PSR_SHAPE_CELLS; j++) {
        double share = (j + 0.5) / PSR_SHAPE_CELLS;
        double value = profile_value(s, width, shape->low + share * extent, share) / peak;
        sum += value;
        squares += value * value;
        shape->part[j + 1] = sum;
    }
    for (int j = 0; j < PSR_SHAPE_CELLS; j++) {
        shape->part[j + 1] /= sum;
        shape->integral[j + 1] =
            shape->integral[j] + 0.5 * (shape->part[j] + shape->part[j + 1]) * shape->step;
    }
    shape->area = sum * shape->step;
    shape->energy = squares * shape->step;
    return PSR_OK;
}

void psr_shape_clear(struct psr_shape *shape)
{
    free(shape->part);
    free(shape->integral);
    memset(shape, 0, sizeof *shape);
}

/* The cell of x and how far into it x lies; x is within the shape. */
static int find_cell(const struct psr_shape *shape, double x, double *into)
{
    double at = (x - shape->low) / shape->step;
    int cell = at < PSR_SHAPE_CELLS - 1 ? (int)at : PSR_SHAPE_CELLS - 1;
    *into = x - shape->low - cell * shape->step;
    return cell;
}

static double part_below(const struct psr_shape *shape, double x)
{
    double into;
    if (x <= shape->low)
        return 0;
    if (x >= shape->high)
        return 1;
    int cell = find_cell(shape, x, &into);
    double below = shape->part[cell];
    return below + (shape->part[cell + 1] - below) * into / shape->step;
}

/* The integral of part_below. */
static double integral_below(const struct psr_shape *shape, double x)
{
    double into;
    if (x <= shape->low)
        return 0;
    if (x >= shape->high)
        return shape->integral[PSR_SHAPE_CELLS] + (x - shape->high);
    int cell = find_cell(shape, x, &into);
    double below = shape->part[cell], rise = shape->part[cell + 1] - below;
    return shape->integral[cell] + into * (below + 0.5 * rise * into / shape->step);
}

double psr_shape_reach(double smear, double scatter)
{
    return smear / 2 + tail_reach * scatter;
}

/* The profile convolved with a box of width smear. */
static double smeared_below(const struct psr_shape *shape, double x, double smear)
{
    if (smear <= 0)
        return part_below(shape, x);
    double above = integral_below(shape, x + smear / 2);
    return (above - integral_below(shape, x - smear / 2)) / smear;
}

/* Convolves n + 1 nodes with a one-sided exponential: y' = (part - y) / scatter, solved exactly for
 * a part that is straight between nodes. */
static void scatter_nodes(double *part, size_t n, double step, double scatter)
{
    double h = step / scatter, stays = exp(-h), ramp = -expm1(-h) / h, last = part[0], y = 0;
    for (size_t j = 1; j <= n; j++) {
        double now = part[j];
        y = stays * y + last * (1 - stays) + (now - last) * (1 - ramp);
        last = now;
        part[j] = y;
    }
    /* What the end of the tail loses goes back to the whole. */
    for (size_t j = 0; j <= n; j++)
        part[j] /= y;
}

/* Adds up the turns of a pulse that is longer than one: nodes of [-1/2, 1/2]. */
static void wrap_nodes(struct psr_shape_row *row, const double *part, size_t n, double low,
                       double step)
{
    const int nodes = PSR_SHAPE_NODES;
    int first = (int)floor(low - 0.5), last = (int)ceil(low + (double)n * step + 0.5);
    for (int j = 0; j < nodes; j++) {
        double x = -0.5 + (double)j / (nodes - 1), sum = 0;
        for (int k = first; k <= last; k++) {
            double value[2], place[2] = {x + k, -0.5 + k};
            for (int e = 0; e < 2; e++) {
                double at = (place[e] - low) / step;
                size_t node = at > 0 ? (size_t)at : 0;
                value[e] = at <= 0 ? 0
                           : node < n
                               ? part[node] + (at - (double)node) * (part[node + 1] - part[node])
                               : 1;
            }
            sum += value[0] - value[1];
        }
        row->part[j] = (float)sum;
    }
    row->low = -0.5;
    row->high = 0.5;
}

void psr_shape_widen(struct psr_shape_row *row, const struct psr_shape *shape, double smear,
                     double scatter, bool periodic, double *scratch)
{
    double low = shape->low - smear / 2, high = shape->high + psr_shape_reach(smear, scatter);
    size_t n = PSR_SHAPE_NODES - 1;
    bool wraps = periodic && high - low > 1;
    if (wraps)
        n *= (size_t)fmin(ceil(high - low), PSR_SHAPE_MAX_ROTATIONS);
    double step = (high - low) / (double)n;
    for (size_t j = 0; j <= n; j++)
        scratch[j] = smeared_below(shape, low + (double)j * step, smear);
    if (scatter > 0)
        scatter_nodes(scratch, n, step, scatter);
    if (wraps) {
        wrap_nodes(row, scratch, n, low, step);
    } else {
        for (size_t j = 0; j <= n; j++)
            row->part[j] = (float)scratch[j];
        row->low = low;
        row->high = high;
    }
    row->per_step = (PSR_SHAPE_NODES - 1) / (row->high - row->low);
}
