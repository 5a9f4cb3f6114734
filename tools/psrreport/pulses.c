/* Single pulses: the best events of .singlepulse files, and the bursts of gpudedisp's list. */
#include "psrreport.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 50000 }; /* as many as a plot of DM against time has room for */

static int by_snr(const void *a, const void *b)
{
    const struct report_event *x = a, *y = b;
    if (x->snr != y->snr)
        return x->snr > y->snr ? -1 : 1;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    return (x->dm > y->dm) - (x->dm < y->dm);
}

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
    static const char *const name[N] = {"S/N",      "sample", "time_s", "filter",
                                        "DM_trial", "DM",     "members"};
    struct report *r = ctx;
    double v[N] = {0};
    if (*line->word[0] == '#')
        return PSR_OK;
    psr_status st =
        psr_grow(&r->burst, &r->burst_room, r->nburst, sizeof *r->burst, "a report", err);
    for (size_t k = 0; k <= MEMBERS && !st; k++)
        st = report_number(line, k, name[k], &v[k], err);
    if (st)
        return st;
    struct report_burst *b = &r->burst[r->nburst++];
    *b = (struct report_burst){.snr = v[SNR],
                               .time_s = v[TIME],
                               .dm = v[DM],
                               .width_s =
                                   v[SAMPLE] > 0 ? exp2(v[FILTER]) * v[TIME] / v[SAMPLE] : NAN,
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

static int by_burst_snr(const void *a, const void *b)
{
    const struct report_burst *x = a, *y = b;
    if (x->snr != y->snr)
        return x->snr > y->snr ? -1 : 1;
    return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

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
