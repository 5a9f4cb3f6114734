/* Writes the page of the recall: curves of what was found, and the list of what was lost. */
#include "page.h"

#include <math.h>
#include <psrkit/psrkit.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.4 sans-serif;margin:1em 2em;color:#222}table{border-collapse:collapse}"
    "td,th{padding:.2em .6em;border-bottom:1px solid #ddd;text-align:left}"
    ".n{text-align:right}svg{margin:0 1em 1em 0}code{overflow-wrap:anywhere}";
static void summary(struct html *h, const struct inject_set *s)
{
    static const char *const steps[] = {"mask", "cleaning", "search", "sift", "fold", "score"};
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
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        size_t n = 0;
        for (size_t i = 0; i < s->all->n; i++)
            n += s->all->row[i].pulsar == s->pulsar && !strcmp(s->all->row[i].lost, steps[k]);
        if (!n)
            continue;
        html_raw(h, " ");
        html_raw(h, steps[k]);
        html_raw(h, " ");
        html_count(h, n);
        html_raw(h, ";");
    }
    html_raw(h, "</p>\n");
}

static void list_lost(struct html *h, const struct inject_set *s)
{
    html_raw(h, "<table><tr><th>lost by</th><th>S/N</th><th>DM</th><th>width, s</th><th>");
    html_raw(h, s->pulsar ? "period, s</th><th>acceleration</th></tr>\n" : "time, s</th></tr>\n");
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
        html_raw(h, "</tr>\n");
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
    summary(h, s);
    inject_draw_panels(h, s);
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
                "S/N; each curve has a third of the signals, bars are binomial intervals of 68 %. "
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
