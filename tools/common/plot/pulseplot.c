/* Plots single pulses: S/N, DM and time. */
#include "pulseplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_POINTS = 50000, WIDTH = 1000, HEIGHT = 736 };

/* Radius in pixels, which grows with S/N: at the least S/N drawn, and at most. */
static const double SMALLEST = 1.6, LARGEST = 10;
static const uint32_t EVENT = 0x702a5f8a, BEST = 0xc44e1c;

struct range {
    double low, high;
};

PSR_COMPARE_POINTERS(compare_events, struct psr_event, PSR_FALLING(snr));

/* A little room around [low, high], and some where they are equal. */
static struct range widen(double low, double high, double part)
{
    double room = high > low ? part * (high - low) : fmax(fabs(high) * 0.05, 1e-3);
    return (struct range){low - room, high + room};
}

static void include(struct range *r, double x)
{
    *r = (struct range){fmin(r->low, x), fmax(r->high, x)};
}

/* Seconds of n samples of the series that e is of. */
static double seconds_of(const struct pulseplot *w, const struct psr_event *e, double n)
{
    return n * (w->scale ? (double)w->scale[e->trial] : 1) * w->tsamp_s;
}

static double time_of(const struct pulseplot *w, const struct psr_event *e)
{
    return seconds_of(w, e, (double)e->sample);
}

struct axes {
    struct range time, dm, snr;
};

static struct axes find_axes(const struct pulseplot *w, const struct psr_event *const *drawn,
                             size_t n)
{
    struct range t = {INFINITY, -INFINITY}, d = t;
    for (size_t k = 0; k < n; k++)
        include(&t, time_of(w, drawn[k]));
    for (size_t i = 0; i < w->ndm; i++)
        include(&d, w->dm[i]);
    if (w->end_s > w->start_s)
        t = (struct range){w->start_s, w->end_s};
    else
        t = n ? widen(t.low, t.high, 0.02) : (struct range){0, 1};
    double top = n ? drawn[0]->snr : 1, least = n ? drawn[n - 1]->snr : 0;
    struct range snr = widen(least, top, 0.06);
    return (struct axes){t, w->ndm ? widen(d.low, d.high, 0.02) : (struct range){0, 1}, snr};
}

struct picture {
    struct canvas *canvas;
    const struct pulseplot *what;
    const struct psr_event *const *drawn; /* [n], the best first */
    size_t n;
    double least; /* S/N of the smallest point */
};

/* What an axis shows of an event. */
typedef double value_of(const struct pulseplot *w, const struct psr_event *e);

static double dm_of(const struct pulseplot *w, const struct psr_event *e)
{
    return w->dm[e->trial];
}

static double snr_of(const struct pulseplot *w, const struct psr_event *e)
{
    (void)w;
    return e->snr;
}

/* The best last, so that they lie on top.
 * Given: share   of their radius that points have */
static void draw_panel(const struct picture *pic, struct canvas_panel panel, value_of *x,
                       value_of *y, double share)
{
    const struct pulseplot *w = pic->what;
    for (size_t k = pic->n; k-- > 0;) {
        const struct psr_event *e = pic->drawn[k];
        const double size = SMALLEST * sqrt(1 + 2 * fmax(e->snr - pic->least, 0));
        canvas_dot(pic->canvas, &panel, x(w, e), y(w, e), share * fmin(size, LARGEST), EVENT);
    }
    if (w->best)
        canvas_ring(pic->canvas, &panel, x(w, &w->best->best), y(w, &w->best->best), 9, BEST);
    canvas_frame(pic->canvas, &panel);
}

static void draw_all(const struct picture *pic)
{
    static const char time_label[] = "time (s)", dm_label[] = "DM (pc cm\xe2\x81\xbb\xc2\xb3)";
    const struct axes a = find_axes(pic->what, pic->drawn, pic->n);
    struct canvas_panel p = {.left = 66, .top = 50, .width = 910, .height = 244};
    const struct pulseplot *w = pic->what;
    char text[1024];
    int n =
        snprintf(text, sizeof text, "%.600s   %zu events", w->title ? w->title : "", w->nevents);
    if (pic->n < w->nevents)
        snprintf(text + n, sizeof text - (size_t)n, " (the best %zu drawn)", pic->n);
    canvas_text(pic->canvas, 66, 18, 12, text);
    if (w->best) {
        const struct psr_event *e = &w->best->best;
        snprintf(text, sizeof text,
                 "best: S/N %.1f at %.4f s, DM %.6g pc cm\xe2\x81\xbb\xc2\xb3, width %.4g ms",
                 e->snr, time_of(w, e), w->dm[e->trial], 1e3 * seconds_of(w, e, e->width));
        canvas_text(pic->canvas, 66, 35, 12, text);
    }
    p.x_min = a.time.low, p.x_max = a.time.high, p.x_label = time_label;
    p.y_min = a.snr.low, p.y_max = a.snr.high, p.y_label = "S/N";
    draw_panel(pic, p, time_of, snr_of, 0.55);
    p.top = 364, p.width = 290, p.height = 322;
    p.x_min = a.dm.low, p.x_max = a.dm.high, p.x_label = dm_label;
    draw_panel(pic, p, dm_of, snr_of, 0.55);
    p.left = 436, p.width = 540;
    p.x_min = a.time.low, p.x_max = a.time.high, p.x_label = time_label;
    p.y_min = a.dm.low, p.y_max = a.dm.high, p.y_label = dm_label;
    draw_panel(pic, p, time_of, dm_of, 1);
}

psr_status pulseplot_draw(struct plotfile *f, const struct pulseplot *what, psr_err *err)
{
    size_t n = what->nevents;
    const struct psr_event **sorted = malloc((n + 1) * sizeof *sorted);
    struct picture pic = {.what = what, .n = n < MAX_POINTS ? n : MAX_POINTS};
    if (!sorted)
        return psr_fail_nomem(err, "a plot", (double)n * sizeof *sorted);
    for (size_t k = 0; k < n; k++)
        sorted[k] = &what->events[k];
    qsort(sorted, n, sizeof *sorted, compare_events);
    pic.drawn = sorted;
    pic.least = n ? sorted[pic.n - 1]->snr : 0;
    psr_status st = canvas_create_for(&pic.canvas, f->format, WIDTH, HEIGHT, err);
    if (!st) {
        draw_all(&pic);
        st = plotfile_end(f, pic.canvas, err);
    }
    free(sorted);
    return st;
}
