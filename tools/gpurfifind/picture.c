/* The picture of a run: statistics of cells and the mask, by frequency and time. */
#include "tools/gpurfifind/report.h"

#include "base/tool.h"
#include "tools/common/plot/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What a cell of the mask is drawn as. */
enum gpurfifind_colour {
    GPURFIFIND_GOOD,
    GPURFIFIND_PADDED,
    GPURFIFIND_PERIODIC,
    GPURFIFIND_ODD_SD,
    GPURFIFIND_ODD_MEAN,
    GPURFIFIND_FOUND,
    GPURFIFIND_WHOLE,
    GPURFIFIND_NCOLOUR
};

/* The numbers of a picture, and the key of its colours. */

enum { BIRDIES = 6, TOP = 60, PATCH = 12 };

/* 0x00RRGGBB of each. */
static const uint32_t gpurfifind_colours[GPURFIFIND_NCOLOUR] = {
    [GPURFIFIND_GOOD] = 0xffffff,     [GPURFIFIND_PADDED] = CANVAS_NO_DATA,
    [GPURFIFIND_PERIODIC] = 0x1f77b4, [GPURFIFIND_ODD_SD] = 0xff9e2c,
    [GPURFIFIND_ODD_MEAN] = 0xd62728, [GPURFIFIND_FOUND] = 0x9467bd,
    [GPURFIFIND_WHOLE] = 0x333333,
};

static enum gpurfifind_colour gpurfifind_find_colour(unsigned flag)
{
    if (flag & PSR_RFI_PADDING)
        return GPURFIFIND_PADDED;
    if (flag & (PSR_RFI_USERCHAN | PSR_RFI_USERINTS))
        return GPURFIFIND_WHOLE;
    if (flag & PSR_RFI_BAD_MEAN)
        return GPURFIFIND_ODD_MEAN;
    if (flag & PSR_RFI_BAD_SD)
        return GPURFIFIND_ODD_SD;
    if (flag & PSR_RFI_BAD_FOUND)
        return GPURFIFIND_FOUND;
    return flag & PSR_RFI_BAD_POWER ? GPURFIFIND_PERIODIC : GPURFIFIND_GOOD;
}

static void write_observation(struct canvas_column c, const struct psr_rfi_run_report *r)
{
    const struct psr_mask *m = &r->mask;
    char text[96];
    canvas_column_text(&c, "telescope", r->obs.telescope);
    canvas_column_text(&c, "source", r->obs.source);
    canvas_column_number(&c, "MJD", "%.8f", m->mjd);
    canvas_column_number(&c, "sampling", "%.6g s", r->obs.tsamp_s);
    snprintf(text, sizeof text, "%zu of %.6g MHz from %.7g MHz", m->nchan, m->dfreq_mhz,
             m->lofreq_mhz);
    canvas_column_text(&c, "channels", text);
    snprintf(text, sizeof text, "%zu of %.6g s (%lld spectra)", m->nint, m->dtint_s,
             (long long)m->ptsperint);
    canvas_column_text(&c, "intervals", text);
}

static void write_share(struct canvas_column *c, const struct psr_rfi_run_report *r,
                        const char *name, unsigned bits)
{
    const size_t n = r->stats.nint * r->stats.nchan;
    const size_t count = gpurfifind_count_cells(r, r->flags, bits);
    char text[64];
    snprintf(text, sizeof text, "%zu cells, %.3f %%", count, 100 * (double)count / (double)n);
    canvas_column_text(c, name, text);
}

static void write_mask(struct canvas_column c, const struct psr_rfi_run_report *r)
{
    char text[64];
    write_share(&c, r, "masked", PSR_RFI_BAD | PSR_RFI_USERCHAN | PSR_RFI_USERINTS);
    write_share(&c, r, "periodic", PSR_RFI_BAD_POWER);
    write_share(&c, r, "deviation", PSR_RFI_BAD_SD);
    write_share(&c, r, "mean", PSR_RFI_BAD_MEAN);
    write_share(&c, r, "other tests", PSR_RFI_BAD_FOUND);
    snprintf(text, sizeof text, "%zu channels, %zu intervals", r->mask.nzap_chan, r->mask.nzap_int);
    canvas_column_text(&c, "whole", text);
    snprintf(text, sizeof text, "%g (time), %g (frequency) sigma", r->mask.timesigma,
             r->mask.freqsigma);
    canvas_column_text(&c, "thresholds", text);
}

/* The most significant ones, found one after the other. */
static void write_birdies(struct canvas_column c, const struct psr_rfi_list *list)
{
    float below = INFINITY;
    canvas_column_text(&c, list->n ? "birdies, Hz" : "no birdies",
                       list->n ? "sigma, times seen" : "");
    for (int k = 0; k < BIRDIES; k++) {
        const struct psr_rfi_birdie *best = NULL;
        char name[32], text[64];
        for (size_t i = 0; i < list->n; i++)
            if (list->birdie[i].sigma < below && (!best || list->birdie[i].sigma > best->sigma))
                best = &list->birdie[i];
        if (!best)
            return;
        below = best->sigma;
        snprintf(name, sizeof name, "%.7g", (double)best->freq_hz);
        snprintf(text, sizeof text, "%.2f, %d", (double)best->sigma, best->nobs);
        canvas_column_text(&c, name, text);
    }
}

static void gpurfifind_write_key(struct canvas *c, double left, double top)
{
    static const char *const what[GPURFIFIND_NCOLOUR] = {
        [GPURFIFIND_PADDED] = "no data",
        [GPURFIFIND_PERIODIC] = "periodic",
        [GPURFIFIND_ODD_SD] = "standard deviation",
        [GPURFIFIND_ODD_MEAN] = "mean",
        [GPURFIFIND_FOUND] = "neighbours, distribution or bursts",
        [GPURFIFIND_WHOLE] = "whole channel or interval",
    };
    static const double width[GPURFIFIND_NCOLOUR] = {0, 80, 85, 150, 70, 240, 0};
    canvas_text(c, left, top + PATCH - 2, 12, "mask:");
    left += 50;
    for (int k = GPURFIFIND_PADDED; k < GPURFIFIND_NCOLOUR; k++) {
        canvas_patch(c, left, top, PATCH, PATCH, gpurfifind_colours[k]);
        canvas_text(c, left + PATCH + 6, top + PATCH - 2, 12, what[k]);
        left += width[k];
    }
}

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

PSR_COMPARE_VALUES(by_value, float);

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
    /* The value furthest from the middle of the range is drawn, so that a single bad cell stays visible; cells without data
     * look as in the mask. */
    const double middle = (*low + *high) / 2;
    const size_t nchan = p->r->stats.nchan;
    for (size_t j = 0; j < p->ncol * p->nrow; j++)
        p->image[j] = NAN;
    for (size_t i = 0; i < p->r->stats.nint; i++)
        for (size_t m = 0; m < nchan; m++) {
            if (p->r->flags[i * nchan + m] & PSR_RFI_PADDING)
                continue;
            float *at = p->image + place_of(p, i, m);
            const double v = value_of(p->r, k, i * nchan + m);
            if (!(fabs((double)*at - middle) >= fabs(v - middle)))
                *at = (float)v;
        }
    canvas_image(c, &panel, p->image, p->ncol, p->nrow, *low, *high, true);
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
        /* Writes the numbers above the panels and the key of the mask's colours below them. */
        canvas_text(c, 30, 30, 15, name);
        write_observation((struct canvas_column){c, 30, TOP}, r);
        write_mask((struct canvas_column){c, 470, TOP}, r);
        write_birdies((struct canvas_column){c, 900, TOP}, &r->list);
        draw_all(c, &p);
        st = canvas_write(c, f, err);
    }
    canvas_destroy(c);
    void *const own[] = {p.image, p.mask, p.sorted, p.x, p.y};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        free(own[k]);
    return st;
}
