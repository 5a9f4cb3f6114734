/* Draws the share that was found against S/N. */
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BINS = 6,
    PARTS = 3,
    WIDTH = 420,
    HEIGHT = 260,
    LEFT = 50,
    TOP = 15,
    INNER_W = 350,
    INNER_H = 200
};

static const char *const colour[PARTS] = {"#1b6ca8", "#d9822b", "#3a8f3a"};

/* What curves are drawn apart for. */
static const struct parameter {
    const char *name, *format;
    size_t offset;
    bool of_pulsars, of_bursts;
} parameters[] = {
    {"period, s", "%.3g", offsetof(struct inject_row, period_s), true, false},
    {"DM, pc cm^-3", "%.3g", offsetof(struct inject_row, dm), true, true},
    {"width, s", "%.2g", offsetof(struct inject_row, width_s), true, true},
    {"acceleration, m/s^2", "%.3g", offsetof(struct inject_row, accn), true, false},
};

static double value_of(const struct inject_row *row, const struct parameter *p)
{
    double value;
    memcpy(&value, (const char *)row + p->offset, sizeof value);
    return value;
}

struct inject_share inject_share(size_t k, size_t n)
{
    const double m = (double)n, p = n ? (double)k / m : 0, all = m + 1,
                 half = sqrt(m * p * (1 - p) + 0.25) / all;
    return (struct inject_share){p, (m * p + 0.5) / all - half, (m * p + 0.5) / all + half};
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The ends of thirds of a parameter.
 * Returned: whether it varies */
static bool find_thirds(const struct inject_set *s, const struct parameter *p,
                        double end[PARTS + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < s->all->n; i++)
        if (s->all->row[i].pulsar == s->pulsar)
            s->scratch[n++] = value_of(&s->all->row[i], p);
    qsort(s->scratch, n, sizeof *s->scratch, compare);
    for (size_t k = 0; k <= PARTS; k++)
        end[k] = s->scratch[k * (n - 1) / PARTS];
    return end[0] < end[PARTS];
}

static void point(struct html *h, double x, const struct inject_share *share, size_t k, size_t n,
                  const char *of)
{
    const double at = LEFT + x * INNER_W, y = TOP + (1 - share->value) * INNER_H;
    html_raw(h, "<g stroke=\"");
    html_raw(h, of);
    html_raw(h, "\" fill=\"");
    html_raw(h, of);
    html_raw(h, "\"><title>");
    html_count(h, k);
    html_raw(h, " of ");
    html_count(h, n);
    html_raw(h, "</title><circle r=\"3\" cx=\"");
    html_number(h, "%.1f", at);
    html_raw(h, "\" cy=\"");
    html_number(h, "%.1f", y);
    html_raw(h, "\"/><path d=\"M");
    html_number(h, "%.1f ", at);
    html_number(h, "%.1f V", TOP + (1 - share->low) * INNER_H);
    html_number(h, "%.1f\"/></g>\n", TOP + (1 - share->high) * INNER_H);
}

/* Found against S/N of the signals with from <= value <= to; NULL: all. */
static void curve(struct html *h, const struct inject_set *s, const struct parameter *p,
                  double from, double to, size_t part)
{
    size_t found[BINS] = {0}, n[BINS] = {0};
    for (size_t i = 0; i < s->all->n; i++) {
        const struct inject_row *row = &s->all->row[i];
        const double value = p ? value_of(row, p) : 0;
        if (row->pulsar != s->pulsar || (p && (value < from || value > to)))
            continue;
        const double at = (row->snr - s->low) / fmax(s->high - s->low, 1e-9) * BINS;
        const int bin = (int)fmin(fmax(at, 0), BINS - 1);
        n[bin]++;
        found[bin] += !strcmp(row->lost, "-");
    }
    for (size_t b = 0; b < BINS; b++) {
        const struct inject_share share = inject_share(found[b], n[b]);
        if (n[b])
            point(h, ((double)b + 0.35 + 0.15 * (double)part) / BINS, &share, found[b], n[b],
                  colour[part]);
    }
}

static void label(struct html *h, double x, double y, const char *format, double value)
{
    html_raw(h, "<text font-size=\"11\" x=\"");
    html_number(h, "%.0f\" y=\"", x);
    html_number(h, "%.0f\">", y);
    html_number(h, format, value);
    html_raw(h, "</text>\n");
}

static void axes(struct html *h, const struct inject_set *s)
{
    html_raw(h, "<svg width=\"420\" height=\"260\" role=\"img\"><rect x=\"50\" y=\"15\" "
                "width=\"350\" height=\"200\" fill=\"none\" stroke=\"#888\"/>\n");
    for (int k = 0; k <= 4; k++)
        label(h, 15, TOP + 4 + INNER_H * (1 - k / 4.0), "%.2f", k / 4.0);
    for (int k = 0; k <= BINS; k++)
        label(h, LEFT - 8 + (double)INNER_W * k / BINS, HEIGHT - 30, "%.3g",
              s->low + (s->high - s->low) * k / BINS);
    html_raw(h, "<text font-size=\"12\" x=\"200\" y=\"252\">S/N injected</text>\n");
}

static void panel(struct html *h, const struct inject_set *s, const struct parameter *p)
{
    double end[PARTS + 1];
    if (p && !find_thirds(s, p, end))
        return;
    html_raw(h, "<figure style=\"display:inline-block;margin:0\"><figcaption>");
    html_text(h, p ? p->name : "all");
    for (size_t k = 0; p && k < PARTS; k++) {
        html_raw(h, " <span style=\"color:");
        html_raw(h, colour[k]);
        html_raw(h, "\">");
        html_number(h, p->format, end[k]);
        html_raw(h, " to ");
        html_number(h, p->format, end[k + 1]);
        html_raw(h, "</span>");
    }
    html_raw(h, "</figcaption>\n");
    axes(h, s);
    for (size_t k = 0; k < (p ? PARTS : 1); k++)
        curve(h, s, p, p ? end[k] : 0, p ? end[k + 1] : 0, k);
    html_raw(h, "</svg></figure>\n");
}

void inject_draw_panels(struct html *h, const struct inject_set *s)
{
    panel(h, s, NULL);
    for (size_t k = 0; k < sizeof parameters / sizeof *parameters; k++)
        if (s->pulsar ? parameters[k].of_pulsars : parameters[k].of_bursts)
            panel(h, s, &parameters[k]);
}
