/* Reads lists of single pulses, and marks what most beams see. */
#include "lists.h"

#include "base/tool.h"
#include "tools/common/run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096, COLUMNS = 9, SNR = 0, SAMPLE = 1, TIME = 2, FIRST = 7, LAST = 8 };
static const int64_t most_bytes = (int64_t)1 << 30;
static const char mark_name[] = "beams";

static psr_status add_pulse(struct lists *l, const struct pulse *p, psr_err *err)
{
    psr_status st = psr_grow(&l->pulse, &l->room, l->n, sizeof *l->pulse, "the lists", err);
    if (st)
        return st;
    l->pulse[l->n++] = *p;
    return PSR_OK;
}

/* Column k of a line, which is cut there.  Returned: the rest after it, NULL if there is none */
static char *cut_column(char *at)
{
    char *tab = strchr(at, '\t');
    if (tab)
        *tab = '\0';
    return tab ? tab + 1 : NULL;
}

static psr_status take_numbers(char *line, struct pulse *p, char **marks, const char *where,
                               psr_err *err)
{
    static const char *const name[COLUMNS] = {"S/N", "sample",  "time_s", "filter", "DM_trial",
                                              "DM",  "members", "first",  "last"};
    double value[COLUMNS];
    char what[LINE_BYTES];
    *marks = line;
    for (int k = 0; k < COLUMNS; k++) {
        char *at = *marks;
        if (!at)
            return psr_fail(err, PSR_EFORMAT,
                            "%s: %d columns, of a list of single pulses 9 are needed", where, k);
        *marks = cut_column(at);
        snprintf(what, sizeof what, "%.1100s: %s", where, name[k]);
        psr_status st = psr_parse_double(what, at, -1e18, 1e18, &value[k], err);
        if (st == PSR_EINVAL) /* of a file, not of an option */
            err->code = PSR_EFORMAT;
        if (st)
            return err->code;
    }
    p->snr = value[SNR];
    p->sample = value[SAMPLE];
    p->time_s = value[TIME];
    p->first = value[FIRST];
    p->last = fmax(value[LAST], value[FIRST]);
    return PSR_OK;
}

/* The text of the first columns stays, as it is, and that of those behind the marks. */
static psr_status take_line(struct lists *l, size_t list, char *line, const char *where,
                            psr_err *err)
{
    struct pulse p = {.list = list, .text = strdup(line)};
    char *marks;
    if (!p.text)
        return psr_fail_nomem(err, "the lists", (double)strlen(line));
    psr_status st = take_numbers(line, &p, &marks, where, err);
    p.rest = p.text + strlen(p.text);
    if (!st && marks) {
        char *tab = strchr(p.text + (marks - line), '\t');
        p.rest = tab ? tab : p.rest;
        p.text[marks - line - 1] = '\0';
        marks[strcspn(marks, "\t")] = '\0';
    }
    if (!st)
        snprintf(p.marks, sizeof p.marks, "%s", marks && *marks ? marks : "-");
    if (!st)
        st = add_pulse(l, &p, err);
    if (st)
        free(p.text);
    return st;
}

static psr_status read_list(struct lists *l, size_t list, psr_err *err)
{
    const char *path = l->names->name[list];
    char line[LINE_BYTES], where[LINE_BYTES];
    struct psr_text_lines lines;
    bool exists = true;
    psr_status st = psr_text_lines_open(&lines, path, most_bytes, err);
    if (st)
        return st;
    while (!st && exists) {
        st = psr_text_lines_next(&lines, line, sizeof line, &exists, err);
        if (st || !exists || *line == '#')
            continue;
        line[strcspn(line, "\r\n")] = '\0';
        snprintf(where, sizeof where, "%.1000s: line %ld", path, lines.number);
        st = take_line(l, list, line, where, err);
    }
    psr_text_lines_close(&lines);
    return st;
}

/* The time of a sample, from the row that has the latest. */
static void find_sampling(struct lists *l)
{
    for (size_t i = 0; i < l->names->n; i++) {
        double latest = 0;
        for (size_t k = 0; k < l->n; k++)
            if (l->pulse[k].list == i && l->pulse[k].sample > latest) {
                latest = l->pulse[k].sample;
                l->tsamp_s[i] = l->pulse[k].time_s / latest;
            }
    }
}

psr_status lists_read(struct lists *l, psr_err *err)
{
    struct run_progress bar;
    psr_status st = PSR_OK;
    l->tsamp_s = calloc(l->names->n, sizeof *l->tsamp_s);
    if (!l->tsamp_s)
        return psr_fail_nomem(err, "the lists", (double)l->names->n * 8);
    run_progress_start(&bar, RUN_BAR, (int64_t)l->names->n, "lists", 1);
    for (size_t i = 0; i < l->names->n && !st; i++) {
        st = read_list(l, i, err);
        run_progress_update(&bar, (int64_t)i + 1);
    }
    run_progress_end(&bar);
    find_sampling(l);
    return st;
}

/* --- marks ------------------------------------------------------------------------------------ */

/* Adds the mark's name, or takes it away. */
static void set_mark(struct pulse *p, bool wanted)
{
    char old[MARKS_BYTES], *rest = NULL;
    size_t n = 0;
    snprintf(old, sizeof old, "%s", p->marks);
    *p->marks = '\0';
    for (char *w = strtok_r(old, ",", &rest); w; w = strtok_r(NULL, ",", &rest))
        if (strcmp(w, mark_name) != 0 && strcmp(w, "-") != 0)
            n += (size_t)snprintf(p->marks + n, sizeof p->marks - n, "%s%s", n ? "," : "", w);
    if (wanted && n + sizeof mark_name < sizeof p->marks)
        n += (size_t)snprintf(p->marks + n, sizeof p->marks - n, "%s%s", n ? "," : "", mark_name);
    if (!n)
        snprintf(p->marks, sizeof p->marks, "-");
}

psr_status lists_mark(struct lists *l, double tol_s, double share, psr_err *err)
{
    struct psr_beam_pulse *beam = calloc(l->n + 1, sizeof *beam);
    size_t *count = calloc(l->n + 1, sizeof *count);
    psr_status st = PSR_OK;
    if (!beam || !count)
        st = psr_fail_nomem(err, "the pulses of beams", (double)l->n * sizeof *beam);
    for (size_t k = 0; k < l->n && !st; k++) {
        const struct pulse *p = &l->pulse[k];
        beam[k] = (struct psr_beam_pulse){p->first * l->tsamp_s[p->list],
                                          (p->last + 1) * l->tsamp_s[p->list], p->list};
    }
    if (!st)
        st = psr_pulse_count_beams(beam, l->n, l->names->n, tol_s, count, err);
    for (size_t k = 0; k < l->n && !st; k++) {
        l->pulse[k].nbeam = count[k];
        set_mark(&l->pulse[k], count[k] >= 2 && (double)count[k] > share * (double)l->names->n);
    }
    free(beam);
    free(count);
    return st;
}

void lists_clear(struct lists *l)
{
    for (size_t k = 0; k < l->n; k++)
        free(l->pulse[k].text);
    free(l->pulse);
    free(l->tsamp_s);
}
