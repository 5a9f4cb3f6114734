/* Single pulses: the best events of .singlepulse files, and the bursts of gpudedisp's list. */
#include "psrreport.h"

#include "base/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pictures of the spectra around bursts, of ROOT.bursts.jsonl ------------------------------ */

static psr_status take_view(void *ctx, char *text, struct json_value *object, bool *keep,
                            psr_err *err)
{
    struct report *r = ctx;
    psr_status st = psr_grow(&r->view, &r->view_room, r->nview, sizeof *r->view, "a report", err);
    if (st)
        return st;
    r->view[r->nview++] = (struct report_view){.json = object,
                                               .text = text,
                                               .time_s = json_number(object, "time_s"),
                                               .dm = json_number(object, "dm")};
    *keep = true;
    return PSR_OK;
}

psr_status report_read_views(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (psr_path_ends(r->files.name[i], ".bursts.jsonl") ||
            psr_path_ends(r->files.name[i], ".bursts.json")) /* as it was called before */
            st = report_read_json(r, r->files.name[i], take_view, r, err);
    return st;
}

/* The list of bursts has times to 1 us, and DMs to ten digits. */
const struct report_view *report_find_view(const struct report *r, const struct report_burst *b)
{
    for (size_t i = 0; i < r->nview; i++)
        if (fabs(r->view[i].time_s - b->time_s) < 2e-6 &&
            fabs(r->view[i].dm - b->dm) <= 1e-9 * fabs(b->dm))
            return &r->view[i];
    return NULL;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Cells, from the lowest frequency up.
 * Returned: whether there are as many as there must be */
static bool decode(struct report_picture *p, const char *cells, bool flip)
{
    const size_t n = p->nt * p->nf;
    for (size_t i = 0; i < n; i++) {
        const int high = digit_of(cells[2 * i]), low = high < 0 ? -1 : digit_of(cells[2 * i + 1]);
        if (low < 0)
            return false;
        const size_t row = flip ? p->nf - 1 - i / p->nt : i / p->nt;
        const int value = 16 * high + low;
        p->value[row * p->nt + i % p->nt] =
            value ? (float)(p->low + (p->high - p->low) * (value - 1) / 254) : NAN;
    }
    return cells[2 * n] == '\0';
}

static bool fill(struct report_picture *p, const struct json_value *object)
{
    enum { MOST = 4096 };
    const double nt = json_number(object, "columns"), nf = json_number(object, "rows");
    const double first_mhz = json_number(object, "first_mhz"),
                 row_mhz = json_number(object, "row_mhz");
    if (!(nt >= 1 && nt <= MOST && nf >= 1 && nf <= MOST))
        return false;
    p->nt = (size_t)nt;
    p->nf = (size_t)nf;
    p->start_s = json_number(object, "start_s");
    p->end_s = p->start_s + json_number(object, "step_s") * (double)p->nt;
    p->low_mhz = row_mhz > 0 ? first_mhz : first_mhz + row_mhz * (double)p->nf;
    p->high_mhz = row_mhz > 0 ? first_mhz + row_mhz * (double)p->nf : first_mhz;
    p->low = json_number(object, "low");
    p->high = json_number(object, "high");
    p->value = malloc(p->nt * p->nf * sizeof *p->value);
    return p->value && p->end_s > p->start_s && p->high_mhz > p->low_mhz && p->high > p->low &&
           decode(p, json_text(object, "cells"), row_mhz < 0);
}

bool report_picture_read(struct report_picture *p, const struct report_view *view, const char *name)
{
    *p = (struct report_picture){.nt = 0};
    if (fill(p, json_member(view->json, name)))
        return true;
    free(p->value);
    p->value = NULL;
    return false;
}

enum { EVENTS = 50000 }; /* as many as a plot of DM against time has room for */

PSR_COMPARE(by_snr, struct report_event,
            PSR_THEN(PSR_FALLING(snr), PSR_THEN(PSR_RISING(time_s), PSR_RISING(dm))));

static void keep_best(struct report *r)
{
    if (r->nevent)
        qsort(r->event, r->nevent, sizeof *r->event, by_snr);
    if (r->nevent > EVENTS)
        r->nevent = EVENTS;
}

/* Columns: DM, S/N, time, sample, width. */
static psr_status take_event(void *ctx, struct report_line *line, psr_err *err)
{
    struct report *r = ctx;
    struct report_event e;
    if (*line->word[0] == '#')
        return PSR_OK;
    psr_status st = report_number(line, 0, "DM", &e.dm, err);
    if (!st)
        st = report_number(line, 1, "Sigma", &e.snr, err);
    if (!st)
        st = report_number(line, 2, "Time", &e.time_s, err);
    if (!st && r->nevent == 4 * EVENTS)
        keep_best(r);
    if (!st)
        st = psr_grow(&r->event, &r->event_room, r->nevent, sizeof *r->event, "a report", err);
    if (!st) {
        r->event[r->nevent++] = e;
        r->events_seen++;
    }
    return st;
}

psr_status report_read_events(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (psr_path_ends(r->files.name[i], ".singlepulse")) {
            r->nevent_file++;
            st = report_read_lines(r, r->files.name[i], false, take_event, r, err);
        }
    keep_best(r);
    return st;
}

/* --- bursts ----------------------------------------------------------------------------------- */

/* Columns as psr_cluster_write has them; Heimdall's end before the marks. */
static psr_status take_burst(void *ctx, struct report_line *line, psr_err *err)
{
    enum { SNR, SAMPLE, TIME, FILTER, TRIAL, DM, MEMBERS, FIRST, LAST, MARKS, N };
    static const char *const name[MARKS] = {"S/N", "sample",  "time_s", "filter", "DM_trial",
                                            "DM",  "members", "first",  "last"};
    struct report *r = ctx;
    double v[N] = {0};
    if (*line->word[0] == '#')
        return PSR_OK;
    psr_status st =
        psr_grow(&r->burst, &r->burst_room, r->nburst, sizeof *r->burst, "a report", err);
    for (size_t k = 0; k < MARKS && (k <= MEMBERS || line->n > LAST) && !st; k++)
        st = report_number(line, k, name[k], &v[k], err);
    if (st)
        return st;
    const double tsamp_s = v[SAMPLE] > 0 ? v[TIME] / v[SAMPLE] : NAN;
    struct report_burst *b = &r->burst[r->nburst++];
    *b = (struct report_burst){.snr = v[SNR],
                               .time_s = v[TIME],
                               .dm = v[DM],
                               .width_s = exp2(v[FILTER]) * tsamp_s,
                               .first_s = v[FIRST] * tsamp_s,
                               .last_s = (fmax(v[LAST], v[FIRST]) + 1) * tsamp_s,
                               .members = v[MEMBERS]};
    snprintf(b->marks, sizeof b->marks, "%s", line->n > MARKS ? line->word[MARKS] : "-");
    return PSR_OK;
}

/* Not a .cand of an acceleration search, which has no text. */
static bool is_burst_list(const struct report *r, const char *name)
{
    char start[16] = "", *path;
    if (!psr_path_ends(name, ".cand") || strstr(name, "_ACCEL_"))
        return false;
    path = report_path(r, name);
    FILE *f = path ? fopen(path, "re") : NULL;
    if (f)
        start[fread(start, 1, sizeof start - 1, f)] = '\0';
    if (f)
        fclose(f);
    free(path);
    return !strncmp(start, "# S/N\t", 6);
}

PSR_COMPARE(by_burst_snr, struct report_burst, PSR_THEN(PSR_FALLING(snr), PSR_RISING(time_s)));

psr_status report_read_bursts(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (is_burst_list(r, r->files.name[i])) {
            r->burst_file = r->files.name[i];
            st = report_read_lines(r, r->files.name[i], false, take_burst, r, err);
        }
    if (r->nburst)
        qsort(r->burst, r->nburst, sizeof *r->burst, by_burst_snr);
    return st;
}
