/* Writes the page of the recall: curves of what was found, and the list of what was lost. */
#include "psrinject.h"

#include "base/tool.h"
#include "tools/common/html.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/psrkit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Signals of one kind, and their range of S/N. */
struct inject_set {
    const struct inject_result *all;
    bool pulsar;
    size_t n;
    double low, high, *scratch;
};

/* Draws the share that was found against S/N. */

enum {
    BINS = 6,
    PARTS = 3,
    KINDS = 8,
    WIDTH = 420,
    HEIGHT = 260,
    LEFT = 50,
    TOP = 15,
    INNER_W = 350,
    INNER_H = 200
};

static const char *const colour[KINDS] = {"#1b6ca8", "#d9822b", "#3a8f3a", "#b03060",
                                          "#7a5cc0", "#8a6d3b", "#17a2a2", "#555555"};

/* Kinds of interference in the inputs, in the order in which they appear; beyond so many, the last is "others". */
struct kinds {
    const char *name[KINDS];
    size_t n;
};

static size_t kind_of(const struct kinds *k, const struct inject_row *row)
{
    for (size_t i = 0; i < k->n; i++)
        if (!strcmp(k->name[i], row->interference))
            return i;
    return k->n < KINDS - 1 ? k->n : KINDS - 1;
}

static struct kinds find_kinds(const struct inject_set *s)
{
    struct kinds k = {.n = 0};
    for (size_t i = 0; i < s->all->n; i++) {
        const struct inject_row *row = &s->all->row[i];
        if (row->pulsar != s->pulsar || k.n == KINDS || kind_of(&k, row) != k.n)
            continue;
        k.name[k.n] = k.n < KINDS - 1 ? row->interference : "others";
        k.n++;
    }
    return k;
}

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

PSR_COMPARE_VALUES(compare, double);

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

/* Signals of a set that a curve is drawn for. */
struct choice {
    const struct parameter *parameter; /* whose value is in [from, to]; NULL: any */
    double from, to;
    const struct kinds *kinds; /* NULL: any */
    size_t part, nparts;       /* of the panel; the kind, where there are kinds */
};

static bool is_chosen(const struct inject_row *row, const struct inject_set *s,
                      const struct choice *c)
{
    const double value = c->parameter ? value_of(row, c->parameter) : c->from;
    return row->pulsar == s->pulsar && value >= c->from && value <= c->to &&
           (!c->kinds || kind_of(c->kinds, row) == c->part);
}

/* Found against S/N. */
static void curve(struct html *h, const struct inject_set *s, const struct choice *c)
{
    size_t found[BINS] = {0}, n[BINS] = {0};
    for (size_t i = 0; i < s->all->n; i++) {
        const struct inject_row *row = &s->all->row[i];
        if (!is_chosen(row, s, c))
            continue;
        const double at = (row->snr - s->low) / fmax(s->high - s->low, 1e-9) * BINS;
        const int bin = (int)fmin(fmax(at, 0), BINS - 1);
        n[bin]++;
        found[bin] += !strcmp(row->lost, "-");
    }
    for (size_t b = 0; b < BINS; b++) {
        const struct inject_share share = inject_share(found[b], n[b]);
        const double within = (double)(c->part + 1) / (double)(c->nparts + 1);
        if (n[b])
            point(h, ((double)b + within) / BINS, &share, found[b], n[b], colour[c->part]);
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

static const char style[] =
    "body{font:15px/1.4 sans-serif;margin:1em 2em;color:#222}table{border-collapse:collapse}"
    "td,th{padding:.2em .6em;border-bottom:1px solid #ddd;text-align:left}"
    ".n{text-align:right}svg{margin:0 1em 1em 0}code{overflow-wrap:anywhere}";

static void begin_panel(struct html *h, const char *caption)
{
    html_raw(h, "<figure style=\"display:inline-block;margin:0;max-width:430px\"><figcaption>");
    html_text(h, caption);
}

static void begin_legend(struct html *h, size_t part)
{
    html_raw(h, " <span style=\"color:");
    html_raw(h, colour[part]);
    html_raw(h, "\">");
}

/* All, or thirds of a parameter. */
static void panel(struct html *h, const struct inject_set *s, const struct parameter *p)
{
    double end[PARTS + 1] = {0};
    const size_t nparts = p ? PARTS : 1;
    if (p && !find_thirds(s, p, end))
        return;
    begin_panel(h, p ? p->name : "all");
    for (size_t k = 0; p && k < nparts; k++) {
        begin_legend(h, k);
        html_number(h, p->format, end[k]);
        html_raw(h, " to ");
        html_number(h, p->format, end[k + 1]);
        html_raw(h, "</span>");
    }
    html_raw(h, "</figcaption>\n");
    axes(h, s);
    for (size_t k = 0; k < nparts; k++)
        curve(h, s, &(struct choice){p, end[k], end[p ? k + 1 : k], NULL, k, nparts});
    html_raw(h, "</svg></figure>\n");
}

static void kinds_panel(struct html *h, const struct inject_set *s, const struct kinds *kinds)
{
    begin_panel(h, "interference");
    for (size_t k = 0; k < kinds->n; k++) {
        begin_legend(h, k);
        html_text(h, kinds->name[k]);
        html_raw(h, "</span>");
    }
    html_raw(h, "</figcaption>\n");
    axes(h, s);
    for (size_t k = 0; k < kinds->n; k++)
        curve(h, s, &(struct choice){NULL, 0, 0, kinds, k, kinds->n});
    html_raw(h, "</svg></figure>\n");
}

static const char *const lost_by[] = {"mask", "cleaning", "search", "sift", "fold", "score"};
enum { NLOST = sizeof lost_by / sizeof *lost_by };

/* A row for each kind: what was found of it, and what lost the others. */
static void kinds_table(struct html *h, const struct inject_set *s, const struct kinds *kinds)
{
    html_raw(h, "<table><tr><th>interference</th><th>found</th><th>of</th><th>share</th>"
                "<th>68 %</th>");
    for (size_t k = 0; k < NLOST; k++) {
        html_raw(h, "<th>lost by ");
        html_raw(h, lost_by[k]);
        html_raw(h, "</th>");
    }
    html_raw(h, "</tr>\n");
    for (size_t i = 0; i < kinds->n; i++) {
        const struct choice c = {NULL, 0, 0, kinds, i, kinds->n};
        size_t n = 0, lost[NLOST] = {0}, all_lost = 0;
        for (size_t r = 0; r < s->all->n; r++) {
            const struct inject_row *row = &s->all->row[r];
            if (!is_chosen(row, s, &c))
                continue;
            n++;
            all_lost += strcmp(row->lost, "-") != 0;
            for (size_t k = 0; k < NLOST; k++)
                lost[k] += !strcmp(row->lost, lost_by[k]);
        }
        const struct inject_share share = inject_share(n - all_lost, n);
        html_raw(h, "<tr><td>");
        html_text(h, kinds->name[i]);
        html_raw(h, "</td>");
        html_cell(h, "%.0f", (double)(n - all_lost));
        html_cell(h, "%.0f", (double)n);
        html_cell(h, "%.3f", share.value);
        html_number(h, "<td>%.3f to ", share.low);
        html_number(h, "%.3f</td>", share.high);
        for (size_t k = 0; k < NLOST; k++)
            html_cell(h, "%.0f", (double)lost[k]);
        html_raw(h, "</tr>\n");
    }
    html_raw(h, "</table>\n");
}

static void summary(struct html *h, const struct inject_set *s)
{
    size_t found = 0;
    for (size_t i = 0; i < s->all->n; i++)
        found += s->all->row[i].pulsar == s->pulsar && !strcmp(s->all->row[i].lost, "-");
    const struct inject_share share = inject_share(found, s->n);
    html_raw(h, "<p>Found: ");
    html_count(h, found);
    html_raw(h, " of ");
    html_count(h, s->n);
    html_number(h, ", %.3f", share.value);
    html_number(h, " (%.3f to ", share.low);
    html_number(h, "%.3f). Lost by:", share.high);
    for (size_t k = 0; k < NLOST; k++) {
        size_t n = 0;
        for (size_t i = 0; i < s->all->n; i++)
            n += s->all->row[i].pulsar == s->pulsar && !strcmp(s->all->row[i].lost, lost_by[k]);
        if (!n)
            continue;
        html_raw(h, " ");
        html_raw(h, lost_by[k]);
        html_raw(h, " ");
        html_count(h, n);
        html_raw(h, ";");
    }
    html_raw(h, "</p>\n");
}

static void list_lost(struct html *h, const struct inject_set *s)
{
    html_raw(
        h,
        "<h3>Lost</h3>\n<table><tr><th>lost by</th><th>S/N</th><th>DM</th><th>width, s</th><th>");
    html_raw(h, s->pulsar ? "period, s</th><th>acceleration</th>" : "time, s</th>");
    html_raw(h, "<th>interference</th></tr>\n");
    for (size_t i = 0; i < s->all->n; i++) {
        const struct inject_row *row = &s->all->row[i];
        if (row->pulsar != s->pulsar || !strcmp(row->lost, "-"))
            continue;
        html_raw(h, "<tr><td>");
        html_text(h, row->lost);
        html_raw(h, "</td>");
        html_cell(h, "%.2f", row->snr);
        html_cell(h, "%.2f", row->dm);
        html_cell(h, "%.4g", row->width_s);
        html_cell(h, "%.6g", row->pulsar ? row->period_s : row->t_s);
        if (row->pulsar)
            html_cell(h, "%.4g", row->accn);
        html_raw(h, "<td>");
        html_text(h, row->interference);
        html_raw(h, "</td></tr>\n");
    }
    html_raw(h, "</table>\n");
}

static void section(struct html *h, struct inject_set *s)
{
    s->n = 0;
    s->low = INFINITY;
    s->high = -INFINITY;
    for (size_t i = 0; i < s->all->n; i++)
        if (s->all->row[i].pulsar == s->pulsar) {
            s->n++;
            s->low = fmin(s->low, s->all->row[i].snr);
            s->high = fmax(s->high, s->all->row[i].snr);
        }
    if (!s->n)
        return;
    html_raw(h, s->pulsar ? "<h2>Pulsars</h2>\n" : "<h2>Bursts</h2>\n");
    const struct kinds kinds = find_kinds(s);
    summary(h, s);
    /* Curves of all, for thirds of each parameter that varies, and for kinds of interference. */
    panel(h, s, NULL);
    for (size_t k = 0; k < sizeof parameters / sizeof *parameters; k++)
        if (s->pulsar ? parameters[k].of_pulsars : parameters[k].of_bursts)
            panel(h, s, &parameters[k]);
    if (kinds.n > 1)
        kinds_panel(h, s, &kinds);
    if (kinds.n > 1)
        kinds_table(h, s, &kinds);
    list_lost(h, s);
}

static void write_page(struct html *h, struct inject_set *s, const char *command)
{
    html_raw(h, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                "<title>Recall</title><style>");
    html_raw(h, style);
    html_raw(h, "</style></head><body><h1>Recall</h1>\n<p><code>");
    html_text(h, command);
    html_raw(h, "</code></p>\n<p>Share of injected signals that the search found, against their "
                "S/N; each curve has a third of the signals, or those in one kind of interference; "
                "bars are binomial intervals of 68 %. "
                "A pulsar is found if a fold at its period, or at a harmonic up to the fourth, "
                "has the probability that was asked for; a burst if the list of bursts has its "
                "time and DM. What was lost is listed with the first step after which it was "
                "gone; by cleaning or the mask if the search without them had it.</p>\n");
    for (int k = 0; k < 2; k++) {
        s->pulsar = k == 0;
        section(h, s);
    }
    html_raw(h, "<p>Made by psrinject (psrkit) ");
    html_raw(h, psr_version());
    html_raw(h, ".</p>\n</body></html>\n");
}

psr_status inject_page(const struct inject_result *all, const char *command, const char *path,
                       psr_err *err)
{
    struct html h = {.err = err};
    struct inject_set s = {.all = all, .scratch = calloc(all->n + 1, sizeof *s.scratch)};
    psr_status st = s.scratch ? psr_outfile_create(&h.f, path, err)
                              : psr_fail_nomem(err, "values", (double)all->n * sizeof(double));
    if (!st) {
        write_page(&h, &s, command);
        st = h.status;
        if (st)
            psr_outfile_abort(h.f);
        else
            st = psr_outfile_commit(h.f, err);
    }
    free(s.scratch);
    return st;
}

/* Draws the signals of a trial. */

enum { PER_ROW = 8 }; /* numbers of a signal */

int64_t inject_ntrial(const struct inject_options *o)
{
    const int64_t with_bursts = (o->nburst + o->each - 1) / o->each;
    return with_bursts > o->npulsar ? with_bursts : o->npulsar;
}

/* Number k of signal i of the trial, evenly or evenly in the logarithm. */
static double draw(const struct inject_trial *t, size_t k, const struct inject_range *range,
                   bool logarithmic)
{
    const double x = psr_rng_uniform((uint64_t)t->opt->seed, (uint32_t)t->number,
                                     (uint64_t)(t->n * PER_ROW + k));
    return logarithmic ? range->low * pow(range->high / range->low, x)
                       : range->low + x * (range->high - range->low);
}

static void draw_pulsar(struct inject_trial *t)
{
    const struct inject_options *o = t->opt;
    struct inject_row *row = &t->row[t->n];
    *row = (struct inject_row){.pulsar = true,
                               .period_s = draw(t, 0, &o->period_s, true),
                               .width_s = draw(t, 1, &o->duty, true),
                               .dm = draw(t, 2, &o->dm, false),
                               .snr = draw(t, 3, &o->snr, false),
                               .accn = draw(t, 4, &o->accn, false)};
    row->width_s *= row->period_s;
    t->n++;
}

/* Bursts of a copy have a part of the time each, in which all of their sweep lies where it can. */
static void draw_burst(struct inject_trial *t, size_t k, size_t n)
{
    const struct inject_options *o = t->opt;
    struct inject_row *row = &t->row[t->n];
    *row = (struct inject_row){.width_s = draw(t, 1, &o->width_s, true),
                               .dm = draw(t, 2, &o->dm, false),
                               .snr = draw(t, 3, &o->snr, false)};
    const double sweep_s = psr_delay_s(PSR_DMCONST_PRESTO, row->dm, t->field.lowest_mhz) -
                           psr_delay_s(PSR_DMCONST_PRESTO, row->dm, t->field.highest_mhz);
    const double left_s = fmax(t->field.length_s - sweep_s - 4 * row->width_s, 0);
    const struct inject_range part = {(double)k + 0.1, (double)k + 0.9};
    row->t_s = 2 * row->width_s + draw(t, 0, &part, false) * left_s / (double)n;
    t->n++;
}

void inject_draw(struct inject_trial *t)
{
    const struct inject_options *o = t->opt;
    const int64_t left = o->nburst - t->number * o->each, nburst = left < 0         ? 0
                                                                   : left < o->each ? left
                                                                                    : o->each;
    t->n = 0;
    if (t->number < o->npulsar)
        draw_pulsar(t);
    for (int64_t k = 0; k < nburst; k++)
        draw_burst(t, (size_t)k, (size_t)nburst);
}

void inject_words(char *text, size_t room, const struct inject_row *row)
{
    if (row->pulsar)
        snprintf(text, room,
                 "pulsar period=%.12g width=%.9g dm=%.6f snr=%.6f accn=%.9g shape=gauss",
                 row->period_s, row->width_s, row->dm, row->snr, row->accn);
    else
        snprintf(text, room, "burst t=%.9f width=%.9g dm=%.6f snr=%.6f shape=gauss", row->t_s,
                 row->width_s, row->dm, row->snr);
}
