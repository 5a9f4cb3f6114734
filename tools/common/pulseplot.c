/* Plots single pulses: S/N, DM and time. */
#include "pulseplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_POINTS = 50000 };
static const double WIDTH_IN = 12.5, HEIGHT_IN = 9.2;

/* Points grow with S/N: this much at the least S/N drawn, and at most. */
static const double SMALLEST = 0.45, LARGEST = 4.5;

struct range {
    double low, high;
};

static const char style[] = "set border 3 lc rgb '#444444' lw 1.2\n"
                            "set tics nomirror out scale 0.6 textcolor rgb '#222222'\n"
                            "set grid lc rgb '#e4e4e4' lw 1 lt 1\n"
                            "unset key\n"
                            "set style line 1 lc rgb '#b02a5f8a' pt 7\n"
                            "set style line 2 lc rgb '#c44e1c' pt 6 lw 2\n"
                            "set style fill transparent solid 0.45 noborder\n";

static int compare_events(const void *a, const void *b)
{
    const struct psr_event *p = *(const struct psr_event *const *)a;
    const struct psr_event *q = *(const struct psr_event *const *)b;
    return (p->snr < q->snr) - (p->snr > q->snr);
}

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
    double least; /* S/N of the smallest point */
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
    return (struct axes){t, w->ndm ? widen(d.low, d.high, 0.02) : (struct range){0, 1}, snr, least};
}

/* A point outside all panels: without any, gnuplot draws no axes. */
static const char nowhere[] = "1e30 1e30 1e30 1";

static void put_points(FILE *f, const struct pulseplot *w, const struct psr_event *const *drawn,
                       size_t n, const struct axes *a)
{
    fprintf(f, "$events << EOD\n");
    /* The best last, so that they lie on top. */
    for (size_t k = n; k-- > 0;) {
        const struct psr_event *e = drawn[k];
        double size = SMALLEST * sqrt(1 + 2 * fmax(e->snr - a->least, 0));
        fprintf(f, "%.9g %.9g %.5g %.3g\n", time_of(w, e), w->dm[e->trial], e->snr,
                fmin(size, LARGEST));
    }
    fprintf(f, "%s\nEOD\n$best << EOD\n", nowhere);
    const struct psr_event *best = w->best ? &w->best->best : NULL;
    if (best)
        fprintf(f, "%.9g %.9g %.5g\n", time_of(w, best), w->dm[best->trial], best->snr);
    fprintf(f, "%s\nEOD\n", nowhere);
}

static void put_title(struct gnuplot *g, const struct pulseplot *w, size_t drawn)
{
    char text[1024];
    int n =
        snprintf(text, sizeof text, "%.600s   %zu events", w->title ? w->title : "", w->nevents);
    if (drawn < w->nevents)
        n += snprintf(text + n, sizeof text - (size_t)n, " (the best %zu drawn)", drawn);
    if (w->best) {
        const struct psr_event *e = &w->best->best;
        snprintf(text + n, sizeof text - (size_t)n,
                 "   best: S/N %.1f at %.4f s, DM %.6g pc/cm^3, width %.4g ms", e->snr,
                 time_of(w, e), w->dm[e->trial], 1e3 * seconds_of(w, e, e->width));
    }
    fprintf(g->script, "set label 1 ");
    gnuplot_text(g, text);
    fprintf(g->script, " at screen 0.06,0.972 left textcolor rgb '#222222'\n");
}

struct panel {
    const char *place, *xlabel, *ylabel;
    const struct range *x, *y;
    const char *columns, *best;
};

static void put_panel(FILE *f, const struct panel *p)
{
    fprintf(f, "%s\nset xlabel '%s'\nset ylabel '%s'\n", p->place, p->xlabel, p->ylabel);
    fprintf(f, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", p->x->low, p->x->high, p->y->low,
            p->y->high);
    fprintf(f, "plot $events using %s with points ls 1 ps variable, ", p->columns);
    fprintf(f, "$best using %s with points ls 2 ps 3.2\nunset label 1\n", p->best);
}

static void put_script(struct gnuplot *g, const struct pulseplot *w,
                       const struct psr_event *const *drawn, size_t n)
{
    FILE *f = g->script;
    struct axes a = find_axes(w, drawn, n);
    const struct panel panels[] = {
        {"set lmargin at screen 0.06; set rmargin at screen 0.975; set tmargin at screen 0.94; "
         "set bmargin at screen 0.60",
         "Time (s)", "S/N", &a.time, &a.snr, "1:3:(0.55*$4)", "1:3"},
        {"set lmargin at screen 0.06; set rmargin at screen 0.36; set tmargin at screen 0.50; "
         "set bmargin at screen 0.075",
         "DM (pc/cm^3)", "S/N", &a.dm, &a.snr, "2:3:(0.55*$4)", "2:3"},
        {"set lmargin at screen 0.435; set rmargin at screen 0.975; set tmargin at screen 0.50; "
         "set bmargin at screen 0.075",
         "Time (s)", "DM (pc/cm^3)", &a.time, &a.dm, "1:2:4", "1:2"},
    };
    fputs(style, f);
    put_points(f, w, drawn, n, &a);
    put_title(g, w, n);
    fprintf(f, "set multiplot\n");
    for (int k = 0; k < 3; k++)
        put_panel(f, &panels[k]);
    fprintf(f, "unset multiplot\n");
}

psr_status pulseplot_draw(struct gnuplot *g, const struct pulseplot *what, psr_err *err)
{
    size_t n = what->nevents;
    const struct psr_event **sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return psr_fail_nomem(err, "a plot", (double)n * sizeof *sorted);
    for (size_t k = 0; k < n; k++)
        sorted[k] = &what->events[k];
    qsort(sorted, n, sizeof *sorted, compare_events);
    psr_status st = gnuplot_begin(g, WIDTH_IN, HEIGHT_IN, err);
    if (!st) {
        put_script(g, what, sorted, n < MAX_POINTS ? n : MAX_POINTS);
        st = gnuplot_end(g, err);
    }
    free(sorted);
    return st;
}
