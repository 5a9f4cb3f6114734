/* Draws the statistics of cells, the mask and the bandpass. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS = 400, ROWS = 300, NTABLE = 4 };
static const double WIDTH_IN = 13, HEIGHT_IN = 8.5;

/* Shares of cells whose values are within the range of colours. */
static const double DARKEST = 0.02, BRIGHTEST = 0.98;

/* What a cell of the mask is drawn as, in the order of the palette. */
enum cell_colour { GOOD, PADDED, PERIODIC, ODD_SD, ODD_MEAN, FOUND, WHOLE, NCOLOUR };

struct table {
    const char *title, *palette;
    float *value; /* [nrow][ncol] */
    double low, high;
};

struct picture {
    const struct psr_rfi_run_report *r;
    size_t ncol, nrow;
    struct table table[NTABLE];
};

static const char style[] = "set border 15 lc rgb '#444444' lw 1\n"
                            "set tics out scale 0.5 nomirror textcolor rgb '#222222'\n"
                            "set ytics\nunset key\nunset colorbox\n";

static enum cell_colour find_colour(unsigned flag)
{
    if (flag & PSR_RFI_PADDING)
        return PADDED;
    if (flag & (PSR_RFI_USERCHAN | PSR_RFI_USERINTS))
        return WHOLE;
    if (flag & PSR_RFI_BAD_MEAN)
        return ODD_MEAN;
    if (flag & PSR_RFI_BAD_SD)
        return ODD_SD;
    if (flag & PSR_RFI_BAD_FOUND)
        return FOUND;
    return flag & PSR_RFI_BAD_POWER ? PERIODIC : GOOD;
}

static float value_of(const struct psr_rfi_run_report *r, int table, size_t cell)
{
    switch (table) {
    case 0:
        return r->stats.mean[cell];
    case 1:
        return r->stats.sd[cell];
    case 2:
        return log10f(fminf(fmaxf(r->stats.power[cell], 1), 1e30F));
    default:
        return (float)find_colour(r->flags[cell]);
    }
}

/* Where several cells are one of the picture, the largest is drawn: a single bad one stays visible. */
static void fill_table(struct picture *p, int k)
{
    const size_t nchan = p->r->stats.nchan, nint = p->r->stats.nint;
    float *value = p->table[k].value;
    for (size_t n = 0; n < p->ncol * p->nrow; n++)
        value[n] = -INFINITY;
    for (size_t i = 0; i < nint; i++)
        for (size_t c = 0; c < nchan; c++) {
            float *at = value + i * p->nrow / nint * p->ncol + c * p->ncol / nchan;
            *at = fmaxf(*at, value_of(p->r, k, i * nchan + c));
        }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static psr_status find_range(const struct picture *p, struct table *t, psr_err *err)
{
    const size_t n = p->ncol * p->nrow;
    float *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return psr_fail_nomem(err, "a picture", (double)n * sizeof *sorted);
    for (size_t k = 0; k < n; k++)
        sorted[k] = t->value[k];
    qsort(sorted, n, sizeof *sorted, by_value);
    t->low = (double)sorted[(size_t)(DARKEST * (double)(n - 1))];
    t->high = (double)sorted[(size_t)(BRIGHTEST * (double)(n - 1))];
    if (!(t->high > t->low))
        t->high = t->low + 1;
    free(sorted);
    return PSR_OK;
}

static psr_status make_tables(struct picture *p, psr_err *err)
{
    static const char heat[] =
        "(0 '#0b1020', 0.3 '#27408b', 0.6 '#b03060', 0.85 '#f4a034', 1 '#fffbe6')";
    static const char looks[] = "(0 '#ffffff', 1 '#cccccc', 2 '#1f77b4', 3 '#ff9e2c', 4 '#d62728', "
                                "5 '#9467bd', 6 '#333333')";
    static const char *const title[NTABLE] = {"mean", "standard deviation", "log_{10} power",
                                              "mask"};
    psr_status st = PSR_OK;
    for (int k = 0; k < NTABLE && !st; k++) {
        struct table *t = &p->table[k];
        *t = (struct table){.title = title[k], .palette = k < 3 ? heat : looks};
        t->value = malloc(p->ncol * p->nrow * sizeof *t->value);
        if (!t->value)
            return psr_fail_nomem(err, "a picture", (double)p->ncol * (double)p->nrow * 4);
        fill_table(p, k);
        if (k < 3)
            st = find_range(p, t, err);
        else
            t->high = NCOLOUR - 1;
    }
    return st;
}

/* --- the script ------------------------------------------------------------------------------- */

static void put_title(struct gnuplot *g, const struct psr_rfi_run_report *r, const char *name)
{
    char text[1024];
    size_t bad = 0, n = r->stats.nint * r->stats.nchan;
    for (size_t k = 0; k < n; k++)
        bad += find_colour(r->flags[k]) > PADDED;
    snprintf(
        text, sizeof text,
        "%.500s   %zu channels x %zu intervals of %.4g s   masked %.2f %%   grey: no data, blue: "
        "periodic, orange: deviation, red: mean, violet: neighbours, black: whole lines",
        name, r->stats.nchan, r->stats.nint, r->mask.dtint_s, 100 * (double)bad / (double)n);
    fprintf(g->script, "set label 1 ");
    gnuplot_text(g, text);
    fprintf(g->script, " at screen 0.04,0.98 left noenhanced textcolor rgb '#222222'\n");
}

static void put_table(FILE *f, const struct picture *p, int k)
{
    fprintf(f, "$t%d << EOD\n", k);
    for (size_t i = 0; i < p->nrow; i++)
        for (size_t c = 0; c < p->ncol; c++)
            fprintf(f, "%.4g%c", (double)p->table[k].value[i * p->ncol + c],
                    c + 1 < p->ncol ? ' ' : '\n');
    fprintf(f, "EOD\n");
}

/* Of each channel the mean and the standard deviation over intervals in which it is good. */
static void put_bandpass(FILE *f, const struct psr_rfi_run_report *r)
{
    const size_t nchan = r->stats.nchan;
    fprintf(f, "$band << EOD\n");
    for (size_t c = 0; c < nchan; c++) {
        double mean = 0, sd = 0, most = 0;
        size_t n = 0;
        for (size_t k = c; k < nchan * r->stats.nint; k += nchan) {
            if (find_colour(r->flags[k]) != GOOD)
                continue;
            n++;
            mean += (double)r->stats.mean[k];
            sd += (double)r->stats.sd[k];
            most = fmax(most, (double)r->stats.power[k]);
        }
        if (n)
            fprintf(f, "%.9g %.5g %.5g %.5g\n", r->mask.lofreq_mhz + (double)c * r->mask.dfreq_mhz,
                    mean / (double)n, sd / (double)n, most);
    }
    /* Without a point gnuplot draws no axes. */
    fprintf(f, "1e30 1e30 1e30 1e30\nEOD\n");
}

/* A round step that gives about four tics. */
static double choose_tics(double range)
{
    const double least = range / 5, power = pow(10, floor(log10(least))), ratio = least / power;
    return power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
}

static void put_frequencies(FILE *f, const struct psr_mask *m)
{
    const double low = m->lofreq_mhz - m->dfreq_mhz / 2, range = m->dfreq_mhz * (double)m->nchan;
    fprintf(f, "set xrange [%.9g:%.9g]\nset xtics %.9g\n", low, low + range, choose_tics(range));
}

static void put_image(FILE *f, const struct picture *p, int k)
{
    const struct psr_mask *m = &p->r->mask;
    const struct table *t = &p->table[k];
    const double left = 0.055 + 0.24 * k, df = m->dfreq_mhz * (double)m->nchan / (double)p->ncol;
    const double low = m->lofreq_mhz - m->dfreq_mhz / 2;
    const double dt = m->dtint_s * (double)m->nint / (double)p->nrow;
    fprintf(f, "set lmargin at screen %.3f; set rmargin at screen %.3f\n", left, left + 0.2);
    fprintf(f, "set tmargin at screen 0.66; set bmargin at screen 0.08\n");
    fprintf(f, "set palette defined %s\nset cbrange [%.6g:%.6g]\n", t->palette, t->low, t->high);
    fprintf(f, "set xlabel 'Frequency (MHz)'\nset ylabel '%s'\n", k ? "" : "Time (s)");
    fprintf(f, "set title '%s'\n", t->title);
    put_frequencies(f, m);
    fprintf(f, "set yrange [0:%.9g]\n", m->dtint_s * (double)m->nint);
    fprintf(f, "plot $t%d matrix using (%.9g+($1+0.5)*%.9g):(($2+0.5)*%.9g):3 with image\n", k, low,
            df, dt);
    fprintf(f, "unset label 1\n");
}

static void put_line(FILE *f, const struct picture *p, int k)
{
    static const char *const title[] = {"bandpass: mean of good intervals",
                                        "standard deviation of good intervals",
                                        "largest power of good intervals"};
    const double left = 0.055 + 0.24 * k;
    fprintf(f, "set lmargin at screen %.3f; set rmargin at screen %.3f\n", left, left + 0.2);
    fprintf(f, "set tmargin at screen 0.91; set bmargin at screen 0.75\n");
    fprintf(f, "set title '%s'\nset xlabel ''\nset ylabel ''\nset autoscale y\n", title[k]);
    put_frequencies(f, &p->r->mask);
    fprintf(f, "plot $band using 1:%d with lines lc rgb '#2a5f8a'\n", k + 2);
}

static void put_script(struct gnuplot *g, const struct picture *p, const char *name)
{
    FILE *f = g->script;
    fputs(style, f);
    put_title(g, p->r, name);
    for (int k = 0; k < NTABLE; k++)
        put_table(f, p, k);
    put_bandpass(f, p->r);
    fprintf(f, "set multiplot\n");
    for (int k = 0; k < NTABLE; k++)
        put_image(f, p, k);
    for (int k = 0; k < 3; k++)
        put_line(f, p, k);
    fprintf(f, "unset multiplot\n");
}

psr_status gpurfifind_draw(const struct psr_rfi_run_report *r, const char *name, struct gnuplot *g,
                           psr_err *err)
{
    struct picture p = {.r = r, .ncol = r->stats.nchan, .nrow = r->stats.nint};
    p.ncol = p.ncol < COLUMNS ? p.ncol : COLUMNS;
    p.nrow = p.nrow < ROWS ? p.nrow : ROWS;
    psr_status st = make_tables(&p, err);
    if (!st)
        st = gnuplot_begin(g, WIDTH_IN, HEIGHT_IN, err);
    if (!st) {
        put_script(g, &p, name);
        st = gnuplot_end(g, err);
    }
    for (int k = 0; k < NTABLE; k++)
        free(p.table[k].value);
    return st;
}
