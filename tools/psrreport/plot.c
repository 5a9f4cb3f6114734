/* Plots of all single pulses, and of one with the spectra and events around it. */
#include "psrreport.h"

#include "tools/common/plot/canvas.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the picture of a burst ------------------------------------------------------------------- */

enum { BURST_WIDTH = 1000, BURST_HEIGHT = 680, SMALL_WIDTH = 420, SMALL_HEIGHT = 300 };

static const uint32_t ink = 0x90203a70, mark = 0xb0d02020, doubt = 0x90808080;
static const char dm_label[] = "DM (pc cm\xe2\x81\xbb\xc2\xb3)", mhz_label[] = "frequency (MHz)";

/* --- events ----------------------------------------------------------------------------------- */

static void draw_near_events(struct canvas *c, struct canvas_panel p, const struct report *r,
                             const struct report_burst *b)
{
    const double half_s = fmax(25 * (b->width_s > 0 ? b->width_s : 0), 0.05);
    const double half_dm = fmax(0.5 * b->dm, 20);
    p.x_min = -half_s;
    p.x_max = half_s;
    p.y_min = b->dm - half_dm;
    p.y_max = b->dm + half_dm;
    p.y_label = dm_label;
    for (size_t i = r->nevent; i-- > 0;) {
        const struct report_event *e = &r->event[i];
        canvas_dot(c, &p, e->time_s - b->time_s, e->dm, report_event_radius(e->snr), ink);
    }
    canvas_cross(c, &p, 0, b->dm);
    canvas_frame(c, &p);
}

/* --- spectra ---------------------------------------------------------------------------------- */

/* From half a scatter of noise below the mean, so that what is above it is seen. */
static void draw_spectra(struct canvas *c, struct canvas_panel p, const struct report_picture *of)
{
    p.x_min = of->start_s;
    p.x_max = of->end_s;
    p.y_min = of->low_mhz;
    p.y_max = of->high_mhz;
    p.y_label = mhz_label;
    canvas_image(c, &p, of->value, of->nt, of->nf, -1, fmin(fmax(of->high, 3), 8), true);
    canvas_frame(c, &p);
}

/* Two lines beside what a pulse of that DM and width sweeps through, against the highest frequency. */
static void draw_sweep(struct canvas *c, struct canvas_panel p, const struct report_picture *of,
                       const struct report_burst *b)
{
    enum { NPOINT = 64 };
    double x[NPOINT], y[NPOINT];
    p.x_min = of->start_s;
    p.x_max = of->end_s;
    p.y_min = of->low_mhz;
    p.y_max = of->high_mhz;
    const double beside_s = fmax(b->width_s, 0.03 * (of->end_s - of->start_s));
    for (int side = -1; side <= 1 && of->nt && of->low_mhz > 0; side += 2) {
        for (int k = 0; k < NPOINT; k++) {
            y[k] = of->low_mhz + (of->high_mhz - of->low_mhz) * k / (NPOINT - 1.0);
            x[k] = side * beside_s + psr_delay_s(PSR_DMCONST_PRESTO, b->dm, y[k]) -
                   psr_delay_s(PSR_DMCONST_PRESTO, b->dm, of->high_mhz);
        }
        canvas_line(c, &p, x, y, NPOINT);
    }
}

static bool draw_series(struct canvas *c, struct canvas_panel p, const struct report_picture *of)
{
    double *x = calloc(2 * of->nt, sizeof *x), *y = calloc(2 * of->nt, sizeof *y);
    const double edge = 0.08 * (of->high - of->low);
    p.x_min = of->start_s;
    p.x_max = of->end_s;
    p.y_min = of->low - edge;
    p.y_max = of->high + edge;
    p.y_label = "S/N";
    for (size_t k = 0; k < 2 * of->nt && x && y; k++) {
        x[k] = of->start_s + (of->end_s - of->start_s) * (double)((k + 1) / 2) / (double)of->nt;
        y[k] = isnan(of->value[k / 2]) ? 0 : (double)of->value[k / 2];
    }
    if (x && y)
        canvas_line(c, &p, x, y, 2 * of->nt);
    canvas_cross(c, &p, NAN, 0);
    canvas_frame(c, &p);
    free(x);
    free(y);
    return x && y;
}

struct pictures {
    struct report_picture series, aligned, swept;
};

static bool draw_large(struct canvas *c, const struct report *r, const struct report_burst *b,
                       const struct pictures *of)
{
    char title[128], label[64];
    snprintf(title, sizeof title, "S/N %.1f at %.4f s, DM %.2f, %.3g ms wide", b->snr, b->time_s,
             b->dm, b->width_s * 1e3);
    snprintf(label, sizeof label, "time \xe2\x88\x92 %.4f s (s)", b->time_s);
    struct canvas_panel p = {
        .left = 80, .top = 35, .width = 400, .height = 140, .title = title, .no_x_numbers = true};
    const bool made = draw_series(c, p, &of->series);
    p.title = NULL;
    p.no_x_numbers = false;
    p.x_label = label;
    p.top += 150;
    p.height = BURST_HEIGHT - p.top - 55;
    draw_spectra(c, p, &of->aligned);
    p.left = 580;
    p.top = 35;
    p.height = 320;
    p.title = "as it came, and its sweep";
    draw_spectra(c, p, &of->swept);
    p.title = NULL;
    draw_sweep(c, p, &of->swept, b);
    p.top = 440;
    p.height = BURST_HEIGHT - p.top - 55;
    p.title = "events";
    draw_near_events(c, p, r, b);
    return made;
}

psr_status report_draw_burst(const struct report *r, const struct report_burst *b,
                             unsigned char **bytes, size_t *n, psr_err *err)
{
    struct pictures of;
    struct canvas *c = NULL;
    const struct report_view *view = report_find_view(r, b);
    of = (struct pictures){.series = {.nt = 0}};
    const bool large = view && report_picture_read(&of.series, view, "series") &&
                       report_picture_read(&of.aligned, view, "aligned") &&
                       report_picture_read(&of.swept, view, "swept");
    psr_status st = canvas_create(&c, large ? BURST_WIDTH : SMALL_WIDTH,
                                  large ? BURST_HEIGHT : SMALL_HEIGHT, err);
    if (!st && large && !draw_large(c, r, b, &of))
        st = psr_fail_nomem(err, "the picture of a burst", 16.0 * (double)of.series.nt);
    else if (!st && !large) {
        char label[64];
        snprintf(label, sizeof label, "time \xe2\x88\x92 %.4f s (s)", b->time_s);
        draw_near_events(c,
                         (struct canvas_panel){.left = 75,
                                               .top = 15,
                                               .width = SMALL_WIDTH - 95,
                                               .height = SMALL_HEIGHT - 65,
                                               .x_label = label},
                         r, b);
    }
    if (!st)
        st = canvas_encode(c, bytes, n, err);
    canvas_destroy(c);
    free(of.series.value);
    free(of.aligned.value);
    free(of.swept.value);
    return st;
}

/* --- all pulses ------------------------------------------------------------------------------- */

enum { NBIN = 50 }; /* of a histogram */

enum { WIDTH = 1000, HEIGHT = 880, TIMES_HEIGHT = 640 };

double report_event_radius(double snr)
{
    return fmin(1 + 0.35 * fmax(snr - 5, 0), 9);
}

struct limits {
    double t_min, t_max, dm_min, dm_max, snr_max;
};

static void include(struct limits *l, double time_s, double dm, double snr)
{
    l->t_max = fmax(l->t_max, time_s);
    l->dm_max = fmax(l->dm_max, dm);
    l->dm_min = fmin(l->dm_min, dm);
    l->snr_max = fmax(l->snr_max, snr);
}

/* From the weakest event to the best, so that none hides a better one. */
static void draw_events(struct canvas *c, const struct canvas_panel *p, const struct report *r,
                        bool snr)
{
    for (size_t i = r->nevent; i-- > 0;) {
        const struct report_event *e = &r->event[i];
        if (e->time_s >= p->x_min && e->time_s <= p->x_max)
            canvas_dot(c, p, e->time_s, snr ? e->snr : e->dm,
                       snr ? 1.5 : report_event_radius(e->snr), ink);
    }
}

static void draw_bursts(struct canvas *c, const struct canvas_panel *p, const struct report *r,
                        bool snr)
{
    const size_t most = r->opt->bursts > 0 ? (size_t)r->opt->bursts : 0;
    for (size_t i = r->nburst < most ? r->nburst : most; i-- > 0;) {
        const struct report_burst *b = &r->burst[i];
        canvas_dot(c, p, b->time_s, snr ? b->snr : b->dm,
                   snr ? 3 : report_event_radius(b->snr) / 2 + 1,
                   psr_sift_marks_count(b->marks) ? doubt : mark);
    }
}

/* Marked bursts are counted too: interference is seen as a heap at one DM. */
static void count_bursts(const struct report *r, const struct canvas_panel *p, bool snr,
                         double count[NBIN])
{
    for (size_t i = 0; i < r->nburst; i++) {
        const double x = snr ? r->burst[i].snr : r->burst[i].dm;
        const double at = floor((x - p->x_min) / (p->x_max - p->x_min) * NBIN);
        if (at >= 0 && at <= NBIN)
            count[at < NBIN ? (int)at : NBIN - 1] += 1;
    }
}

/* Draws the number of bursts over S/N or DM, between the panel's limits of x; those of y are set. */
static void plot_histogram(struct canvas *c, struct canvas_panel p, const struct report *r,
                           bool snr)
{
    double count[NBIN] = {0}, x[2 * NBIN + 2], y[2 * NBIN + 2] = {0};
    count_bursts(r, &p, snr, count);
    p.y_min = 0;
    p.y_max = 1;
    for (int k = 0; k < NBIN; k++)
        p.y_max = fmax(p.y_max, count[k]);
    p.y_max *= 1.1;
    for (int k = 0; k < 2 * NBIN + 2; k++)
        x[k] = p.x_min + (p.x_max - p.x_min) * (double)(k / 2) / NBIN;
    for (int k = 0; k < 2 * NBIN; k++)
        y[k + 1] = count[k / 2];
    canvas_line(c, &p, x, y, 2 * NBIN + 2);
    canvas_frame(c, &p);
}

/* Below the panels over time. */
static void draw_histograms(struct canvas *c, const struct report *r, const struct limits *l)
{
    struct canvas_panel p = {.left = 80,
                             .top = TIMES_HEIGHT + 30,
                             .width = WIDTH / 2 - 120,
                             .height = HEIGHT - TIMES_HEIGHT - 85,
                             .x_max = 1.1 * l->snr_max + 1,
                             .x_label = "S/N",
                             .y_label = "bursts"};
    plot_histogram(c, p, r, true);
    p.left += WIDTH / 2;
    p.x_min = l->dm_min;
    p.x_max = l->dm_max;
    p.x_label = dm_label;
    plot_histogram(c, p, r, false);
}

psr_status report_draw_pulses(const struct report *r, unsigned char **bytes, size_t *n,
                              psr_err *err)
{
    struct limits l = {.t_max = r->length_s, .dm_min = INFINITY, .dm_max = -INFINITY};
    for (size_t i = 0; i < r->nevent; i++)
        include(&l, r->event[i].time_s, r->event[i].dm, r->event[i].snr);
    for (size_t i = 0; i < r->nburst; i++)
        include(&l, r->burst[i].time_s, r->burst[i].dm, r->burst[i].snr);
    if (!(l.t_max > 0))
        l.t_max = 1;
    const double margin = l.dm_max > l.dm_min ? 0.03 * (l.dm_max - l.dm_min) : 1;
    l.dm_min -= margin;
    l.dm_max += margin;
    struct canvas *c = NULL;
    psr_status st = canvas_create(&c, WIDTH, HEIGHT, err);
    if (st)
        return st;
    struct canvas_panel p = {.left = 80,
                             .top = 20,
                             .width = WIDTH - 100,
                             .height = 150,
                             .x_max = l.t_max,
                             .y_min = 0,
                             .y_max = 1.1 * l.snr_max + 1,
                             .y_label = "S/N",
                             .no_x_numbers = true};
    draw_events(c, &p, r, true);
    draw_bursts(c, &p, r, true);
    canvas_frame(c, &p);
    p.top += p.height + 10;
    p.height = TIMES_HEIGHT - p.top - 50;
    p.y_min = l.dm_min;
    p.y_max = l.dm_max;
    p.y_label = dm_label;
    p.x_label = "time (s)";
    p.no_x_numbers = false;
    draw_events(c, &p, r, false);
    draw_bursts(c, &p, r, false);
    canvas_frame(c, &p);
    draw_histograms(c, r, &l);
    st = canvas_encode(c, bytes, n, err);
    canvas_destroy(c);
    return st;
}
