/* Plots the power around a candidate against r and z. */
#include "planeplot.h"

#include <math.h>
#include <psrkit/experimental/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 161, MARGIN = 24, MOST_COLUMNS = 4000 };
static const double WIDTH_IN = 9, HEIGHT_IN = 6.5, REACH = 1.6; /* drifts drawn, in widths */

/* The harmonic that shows the candidate best. */
static int best_harmonic(const struct psr_accel_cand *cand)
{
    int best = 0;
    for (int h = 1; h < cand->nharm; h++)
        if (cand->harm[h].power.value > cand->harm[best].power.value)
            best = h;
    return best + 1;
}

static void set_axes(struct planeplot *p, const struct psr_accel_cand *cand, int h)
{
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
}

static void set_words(struct planeplot *p, const struct psr_accel_cand *cand, double tobs_s,
                      const char *name, int h)
{
    p->sigma = cand->sigma;
    p->r = cand->r.value;
    p->z = cand->z.value;
    p->first = (double)cand->first;
    p->width = (double)cand->width;
    p->twice = !cand->sign_known;
    snprintf(p->title, sizeof p->title,
             "%.400s   P %.9g ms   f %.9g Hz   z %s%.4g   sigma %.1f   (harmonic %d of %d)", name,
             1000 * tobs_s / p->r, p->r / tobs_s, p->twice ? "\302\261" : "",
             p->twice ? fabs(p->z) : p->z, p->sigma, h, cand->nharm);
}

static int by_value(const void *pa, const void *pb)
{
    const float a = *(const float *)pa, b = *(const float *)pb;
    return (a > b) - (a < b);
}

/* Scales bins to unit variance of re and im in noise, whose median power is 2 ln 2 then. */
static psr_status scale_bins(float *x, size_t n, psr_err *err)
{
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
    return scale_bins(x, n, err);
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
    set_axes(p, cand, h);
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
    if (st == PSR_OK)
        set_words(p, cand, tobs_s, name, h);
    psr_accel_template_destroy(m);
    free(x);
    return st;
}

static void put_plane(FILE *f, const struct planeplot *p)
{
    fprintf(f, "$plane << EOD\n");
    for (size_t i = 0; i < p->nz; i++)
        for (size_t k = 0; k < p->nr; k++)
            fprintf(f, "%.3g%c", (double)p->power[i * p->nr + k], k + 1 < p->nr ? ' ' : '\n');
    fprintf(f, "EOD\n");
}

/* A line through the box's bins at the drift its width stands for. */
static void put_box(FILE *f, const struct planeplot *p, int sign)
{
    fprintf(f, "set arrow from %.9g,%.9g to %.9g,%.9g nohead front lw 2 lc rgb '#6fd0ff'\n",
            p->first, sign * (p->width - 1), p->first + p->width - 1, sign * (p->width - 1));
}

static const char style[] =
    "set border 3 lc rgb '#444444' lw 1.2\n"
    "set tics nomirror out scale 0.6 textcolor rgb '#222222'\n"
    "unset key\n"
    "set palette defined (0 '#0b1020', 0.3 '#27408b', 0.6 '#b03060', 0.85 '#f4a034', 1 '#fffbe6')\n"
    "set cblabel 'matched power, in means of noise'\n"
    "set xlabel 'mean frequency r (bins)'\nset ylabel 'drift z (bins)'\n";

psr_status planeplot_draw(const struct planeplot *p, struct gnuplot *g, psr_err *err)
{
    if (!p->power)
        return PSR_OK;
    psr_status st = gnuplot_begin(g, WIDTH_IN, HEIGHT_IN, err);
    if (st != PSR_OK)
        return st;
    fputs(style, g->script);
    put_plane(g->script, p);
    fprintf(g->script, "set title ");
    gnuplot_text(g, p->title);
    fprintf(g->script, "\nset format x '%%.0f'\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n",
            p->rlo, p->rlo + p->dr * (double)(p->nr - 1), p->zlo,
            p->zlo + p->dz * (double)(p->nz - 1));
    put_box(g->script, p, p->z < 0 ? -1 : 1);
    if (p->twice)
        put_box(g->script, p, p->z < 0 ? 1 : -1);
    fprintf(g->script, "$here << EOD\n%.9g %.9g\nEOD\n", p->r, p->z);
    fprintf(g->script,
            "plot $plane matrix using (%.9g+$1*%.9g):(%.9g+$2*%.9g):3 with image, "
            "$here using 1:2 with points pt 6 ps 3 lw 2 lc rgb '#6fd0ff'\n",
            p->rlo, p->dr, p->zlo, p->dz);
    return gnuplot_end(g, err);
}

void planeplot_release(struct planeplot *p)
{
    free(p->power);
    p->power = NULL;
}
