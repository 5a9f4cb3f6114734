/* The picture of a run: statistics of cells and the mask, by frequency and time. */
#include "picture.h"

#include "tools/common/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 1280, HEIGHT = 880, COLUMNS = 250, ROWS = 480 };

/* Panels: lines above images. */
enum { LEFT = 75, APART = 285, LINE_TOP = 190, LINE_HEIGHT = 100, IMAGE_TOP = 290 };

/* Shares of good cells whose values are within the range of colours. */
static const double DARKEST = 0.01, BRIGHTEST = 0.99;

/* What is drawn of the cells; several of them are one of the picture where they are many. */
struct picture {
    const struct psr_rfi_run_report *r;
    size_t ncol, nrow;
    float *image;        /* [nrow][ncol] */
    unsigned char *mask; /* [nrow][ncol] enum gpurfifind_colour */
    float *sorted;       /* [cells] */
    double *x, *y;       /* [2 (channels or intervals)] of lines */
};

enum statistic { MEAN, SD, POWER, NSTATISTIC };

static double value_of(const struct psr_rfi_run_report *r, enum statistic k, size_t cell)
{
    switch (k) {
    case MEAN:
        return (double)r->stats.mean[cell];
    case SD:
        return (double)r->stats.sd[cell];
    default:
        return log10(fmin(fmax((double)r->stats.power[cell], 1), 1e30));
    }
}

static bool is_good(const struct psr_rfi_run_report *r, size_t cell)
{
    return gpurfifind_find_colour(r->flags[cell]) == GPURFIFIND_GOOD;
}

static size_t place_of(const struct picture *p, size_t i, size_t c)
{
    return i * p->nrow / p->r->stats.nint * p->ncol + c * p->ncol / p->r->stats.nchan;
}

/* --- images ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The value furthest from the middle of the range is drawn, so that a single bad cell stays visible; cells without data
 * look as in the mask. */
static void fill_image(struct picture *p, enum statistic k, double middle)
{
    const size_t nchan = p->r->stats.nchan;
    for (size_t n = 0; n < p->ncol * p->nrow; n++)
        p->image[n] = NAN;
    for (size_t i = 0; i < p->r->stats.nint; i++)
        for (size_t c = 0; c < nchan; c++) {
            if (p->r->flags[i * nchan + c] & PSR_RFI_PADDING)
                continue;
            float *at = p->image + place_of(p, i, c);
            const double v = value_of(p->r, k, i * nchan + c);
            if (!(fabs((double)*at - middle) >= fabs(v - middle)))
                *at = (float)v;
        }
}

static struct canvas_panel image_panel(const struct picture *p, int k)
{
    const struct psr_mask *m = &p->r->mask;
    const double low = m->lofreq_mhz - m->dfreq_mhz / 2;
    return (struct canvas_panel){.left = LEFT + APART * k,
                                 .top = IMAGE_TOP,
                                 .width = COLUMNS,
                                 .height = ROWS,
                                 .x_min = low,
                                 .x_max = low + m->dfreq_mhz * (double)m->nchan,
                                 .y_max = m->dtint_s * (double)m->nint,
                                 .x_label = "frequency (MHz)",
                                 .y_label = k ? NULL : "time (s)",
                                 .no_y_numbers = k > 0};
}

/* Returned: in low and high the range of colours */
static void draw_image(struct canvas *c, struct picture *p, enum statistic k, double *low,
                       double *high)
{
    const struct canvas_panel panel = image_panel(p, (int)k);
    /* The range of good cells, or of all if none is good. */
    const size_t ncell = p->r->stats.nint * p->r->stats.nchan;
    size_t n = 0;
    for (int all = 0; all < 2 && !n; all++)
        for (size_t cell = 0; cell < ncell; cell++)
            if (all || is_good(p->r, cell))
                p->sorted[n++] = (float)value_of(p->r, k, cell);
    qsort(p->sorted, n, sizeof *p->sorted, by_value);
    *low = (double)p->sorted[(size_t)(DARKEST * (double)(n - 1))];
    *high = (double)p->sorted[(size_t)(BRIGHTEST * (double)(n - 1))];
    if (!(*high > *low))
        *high = *low + fmax(fabs(*low), 1) * 1e-3;
    fill_image(p, k, (*low + *high) / 2);
    canvas_image(c, &panel, p->image, p->ncol, p->nrow, *low, *high, true);
    canvas_frame(c, &panel);
}

static void draw_mask(struct canvas *c, struct picture *p)
{
    const struct canvas_panel panel = image_panel(p, NSTATISTIC);
    const size_t nchan = p->r->stats.nchan;
    for (size_t n = 0; n < p->ncol * p->nrow; n++)
        p->mask[n] = 0;
    for (size_t i = 0; i < p->r->stats.nint; i++)
        for (size_t ch = 0; ch < nchan; ch++) {
            unsigned char *at = p->mask + place_of(p, i, ch);
            const unsigned colour = gpurfifind_find_colour(p->r->flags[i * nchan + ch]);
            *at = colour > *at ? (unsigned char)colour : *at;
        }
    canvas_map(c, &panel, p->mask, p->ncol, p->nrow, gpurfifind_colours);
    canvas_frame(c, &panel);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Of a channel, over good cells: the mean of a statistic, of powers the largest; not a number: none. */
static double summarise_channel(const struct psr_rfi_run_report *r, enum statistic k, size_t c)
{
    double sum = 0, most = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->stats.nint; i++) {
        const size_t cell = i * r->stats.nchan + c;
        if (!is_good(r, cell))
            continue;
        const double v = value_of(r, k, cell);
        sum += v;
        most = fmax(most, v);
        n++;
    }
    return !n ? (double)NAN : k == POWER ? most : sum / (double)n;
}

/* Share of intervals of channel k, or of channels of interval k, that are masked. */
static double find_share(const struct psr_rfi_run_report *r, bool of_channel, size_t k)
{
    const size_t n = of_channel ? r->stats.nint : r->stats.nchan;
    size_t bad = 0;
    for (size_t j = 0; j < n; j++)
        bad += gpurfifind_find_colour(
                   r->flags[of_channel ? j * r->stats.nchan + k : k * r->stats.nchan + j]) >
               GPURFIFIND_PADDED;
    return (double)bad / (double)n;
}

/* Line k above an image: the range is that of the line. */
static void draw_line(struct canvas *c, const struct picture *p, int k, const char *title)
{
    struct canvas_panel panel = image_panel(p, k);
    const struct psr_rfi_run_report *r = p->r;
    const size_t nchan = r->stats.nchan;
    double low = INFINITY, high = -INFINITY;
    for (size_t ch = 0; ch < nchan; ch++) {
        p->x[ch] = r->mask.lofreq_mhz + (double)ch * r->mask.dfreq_mhz;
        p->y[ch] =
            k < NSTATISTIC ? summarise_channel(r, (enum statistic)k, ch) : find_share(r, true, ch);
        low = fmin(low, p->y[ch]);
        high = fmax(high, p->y[ch]);
    }
    panel.top = LINE_TOP;
    panel.height = LINE_HEIGHT;
    panel.x_label = panel.y_label = NULL;
    panel.no_x_numbers = true;
    panel.no_y_numbers = false;
    panel.title = title;
    const double edge = high > low ? 0.08 * (high - low) : 1;
    panel.y_min = k < NSTATISTIC ? low - edge : 0;
    panel.y_max = k < NSTATISTIC ? high + edge : 1;
    if (low <= high)
        canvas_line(c, &panel, p->x, p->y, nchan);
    canvas_frame(c, &panel);
}

/* Steps, so that a single interval is seen. */
static void draw_shares(struct canvas *c, const struct picture *p)
{
    struct canvas_panel panel = image_panel(p, NSTATISTIC);
    const size_t nint = p->r->stats.nint;
    for (size_t k = 0; k < 2 * nint; k++) {
        p->x[k] = find_share(p->r, false, k / 2);
        p->y[k] = p->r->mask.dtint_s * (double)((k + 1) / 2);
    }
    panel.left += COLUMNS + 24;
    panel.width = 60;
    panel.x_min = 0;
    panel.x_max = 1;
    panel.x_label = "masked";
    canvas_line(c, &panel, p->x, p->y, 2 * nint);
    canvas_frame(c, &panel);
}

/* --- all -------------------------------------------------------------------------------------- */

static psr_status prepare(struct picture *p, psr_err *err)
{
    const struct psr_rfi_stats *s = &p->r->stats;
    const size_t cells = s->nchan * s->nint, most = s->nchan > 2 * s->nint ? s->nchan : 2 * s->nint;
    p->ncol = s->nchan < COLUMNS ? s->nchan : COLUMNS;
    p->nrow = s->nint < ROWS ? s->nint : ROWS;
    p->image = calloc(p->ncol * p->nrow, sizeof *p->image);
    p->mask = calloc(p->ncol * p->nrow, 1);
    p->sorted = calloc(cells, sizeof *p->sorted);
    p->x = calloc(most, sizeof *p->x);
    p->y = calloc(most, sizeof *p->y);
    if (p->image && p->mask && p->sorted && p->x && p->y)
        return PSR_OK;
    return psr_fail_nomem(err, "a picture", 4 * (double)cells + 16 * (double)most);
}

static void draw_all(struct canvas *c, struct picture *p)
{
    static const char *const what[NSTATISTIC] = {"mean", "standard deviation", "log10 power"};
    for (int k = 0; k < NSTATISTIC; k++) {
        char title[80];
        double low, high;
        draw_image(c, p, (enum statistic)k, &low, &high);
        snprintf(title, sizeof title, "%s   (colours %.4g to %.4g)", what[k], low, high);
        draw_line(c, p, k, title);
    }
    draw_mask(c, p);
    draw_line(c, p, NSTATISTIC, "share of intervals masked");
    draw_shares(c, p);
    gpurfifind_write_key(c, LEFT, IMAGE_TOP + ROWS + 60);
}

psr_status gpurfifind_draw(psr_outfile *f, const struct psr_rfi_run_report *r, const char *name,
                           psr_err *err)
{
    struct picture p = {.r = r};
    struct canvas *c = NULL;
    psr_status st = prepare(&p, err);
    if (!st)
        st = canvas_create(&c, WIDTH, HEIGHT, err);
    if (!st) {
        gpurfifind_write_numbers(c, r, name);
        draw_all(c, &p);
        st = canvas_write(c, f, err);
    }
    canvas_destroy(c);
    void *const own[] = {p.image, p.mask, p.sorted, p.x, p.y};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        free(own[k]);
    return st;
}
