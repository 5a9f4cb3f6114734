/* Plots the power around a candidate against r and z. */
#include "planeplot.h"

#include "base/tool.h"

#include <math.h>
#include <psrkit/experimental/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 161, MARGIN = 24, MOST_COLUMNS = 4000, WIDTH = 900, HEIGHT = 650, SHADES = 128 };
static const double REACH = 1.6; /* drifts drawn, in widths */
static const uint32_t MARK = 0xff4040;

/* The harmonic that shows the candidate best. */
static int best_harmonic(const struct psr_accel_cand *cand)
{
    int best = 0;
    for (int h = 1; h < cand->nharm; h++)
        if (cand->harm[h].power.value > cand->harm[best].power.value)
            best = h;
    return best + 1;
}

PSR_COMPARE_VALUES(by_value, float);

/* Bins beyond the spectrum are 0. */
static psr_status take_bins(const struct planeplot_bins *bins, int64_t first, size_t n, float *x,
                            psr_err *err)
{
    if (bins->plan)
        return psr_pulscan_amplitudes(bins->plan, bins->s, first, n, x, err);
    const int64_t left = bins->nbin - first, most = (int64_t)n;
    const size_t nbin = left < 0 ? 0 : (size_t)(left < most ? left : most);
    memset(x, 0, 2 * n * sizeof *x);
    if (nbin > 0)
        memcpy(x, bins->x + 2 * first, 2 * nbin * sizeof *x);
    /* Scales bins to unit variance of re and im in noise, whose median power is 2 ln 2 then. */
    float *power = malloc(n * sizeof *power);
    if (!power)
        return psr_fail_nomem(err, "a picture", (double)n * sizeof *power);
    for (size_t i = 0; i < n; i++)
        power[i] = x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];
    qsort(power, n, sizeof *power, by_value);
    const float scale = power[n / 2] > 0 ? sqrtf(2 * (float)M_LN2 / power[n / 2]) : 0;
    for (size_t i = 0; i < 2 * n; i++)
        x[i] *= scale;
    free(power);
    return PSR_OK;
}

psr_status planeplot_keep(struct planeplot *p, const struct planeplot_bins *bins,
                          const struct psr_accel_cand *cand, double tobs_s, const char *name,
                          psr_err *err)
{
    if (cand->sigma <= p->sigma)
        return PSR_OK;
    const int h = best_harmonic(cand);
    psr_accel_template *m = NULL;
    float *x = NULL;
    free(p->power);
    p->power = NULL;
    double width = (double)cand->width, reach = REACH * width + 8;
    double low = floor((double)cand->first - 0.5 * width - MARGIN);
    double high = (double)cand->first + 1.5 * width + MARGIN;
    p->rlo = low > 1 ? low : 1;
    p->dr = 0.5 / h;
    p->nr = (size_t)((high - p->rlo) / p->dr) + 1;
    p->nr = p->nr < MOST_COLUMNS ? p->nr : MOST_COLUMNS;
    p->nz = ROWS;
    p->zlo = -reach;
    p->dz = 2 * reach / (ROWS - 1);
    int64_t first = (int64_t)(h * p->rlo), margin = (int64_t)(h * (-p->zlo) / 2) + 8;
    size_t n = p->nr / 2 + (size_t)(2 * margin);
    first = first > margin ? first - margin : 0;
    psr_status st = PSR_OK;
    x = malloc(2 * n * sizeof *x);
    p->power = malloc(p->nz * p->nr * sizeof *p->power);
    if (!x || !p->power)
        st = psr_fail_nomem(err, "a picture", (double)(p->nz * p->nr) * sizeof *x);
    if (st == PSR_OK)
        st = take_bins(bins, first, n, x, err);
    if (st == PSR_OK)
        st = psr_accel_template_create(&m, x, first, n, err);
    for (size_t i = 0; i < p->nz && st == PSR_OK; i++)
        psr_accel_template_row(m, h * (p->zlo + (double)i * p->dz), h * p->rlo, p->nr,
                               p->power + i * p->nr);
    if (st == PSR_OK) {
        p->sigma = cand->sigma;
        p->r = cand->r.value;
        p->z = cand->z.value;
        p->first = (double)cand->first;
        p->width = (double)cand->width;
        p->twice = !cand->sign_known;
        snprintf(p->title, sizeof p->title,
                 "%.400s   P %.9g ms   f %.9g Hz   z %s%.4g   sigma %.1f   (harmonic %d of %d)",
                 name, 1000 * tobs_s / p->r, p->r / tobs_s, p->twice ? "\302\261" : "",
                 p->twice ? fabs(p->z) : p->z, p->sigma, h, cand->nharm);
    }
    psr_accel_template_destroy(m);
    free(x);
    return st;
}

/* A line through the box's bins at the drift its width stands for. */
static void draw_box(struct canvas *c, const struct canvas_panel *panel, const struct planeplot *p,
                     int sign)
{
    const double r[2] = {p->first, p->first + p->width - 1}, drift = sign * (p->width - 1);
    canvas_curve(c, panel, r, (const double[2]){drift, drift}, 2, 2, MARK);
}

/* What the colours stand for. */
static void draw_key(struct canvas *c, double most)
{
    const struct canvas_panel key = {.left = 850,
                                     .top = 45,
                                     .width = 20,
                                     .height = 540,
                                     .x_max = 1,
                                     .y_max = most,
                                     .y_label = "matched power, in means of noise",
                                     .no_x_numbers = true};
    float shade[SHADES];
    for (int i = 0; i < SHADES; i++)
        shade[i] = (float)i;
    canvas_image(c, &key, shade, 1, SHADES, 0, SHADES - 1, true);
    canvas_frame(c, &key);
}

psr_status planeplot_draw(const struct planeplot *p, struct plotfile *f, psr_err *err)
{
    struct canvas *c;
    if (!p->power)
        return PSR_OK;
    psr_status st = canvas_create_for(&c, f->format, WIDTH, HEIGHT, err);
    if (st)
        return st;
    const struct canvas_panel panel = {.left = 75,
                                       .top = 45,
                                       .width = 690,
                                       .height = 540,
                                       .x_min = p->rlo,
                                       .x_max = p->rlo + p->dr * (double)(p->nr - 1),
                                       .y_min = p->zlo,
                                       .y_max = p->zlo + p->dz * (double)(p->nz - 1),
                                       .x_label = "mean frequency r (bins)",
                                       .y_label = "drift z (bins)"};
    float most = 0;
    for (size_t i = 0; i < p->nz * p->nr; i++)
        most = fmaxf(most, p->power[i]);
    canvas_image(c, &panel, p->power, p->nr, p->nz, 0, most > 0 ? (double)most : 1, true);
    draw_box(c, &panel, p, p->z < 0 ? -1 : 1);
    if (p->twice)
        draw_box(c, &panel, p, p->z < 0 ? 1 : -1);
    canvas_ring(c, &panel, p->r, p->z, 11, MARK);
    canvas_frame(c, &panel);
    canvas_text(c, panel.left, 25, 12, p->title);
    draw_key(c, most > 0 ? (double)most : 1);
    return plotfile_end(f, c, err);
}

void planeplot_release(struct planeplot *p)
{
    free(p->power);
    p->power = NULL;
}
