/* spcoincidence: marks single pulses that most beams of a pointing see. */
#include "base/tool.h"
#include "tools/common/cli.h"

#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/singlepulse.h>
#include <psrkit/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MARKS_BYTES = 64 };

/* A row of a list. */
struct pulse {
    char *text; /* the columns before the marks */
    char marks[MARKS_BYTES];
    char *rest; /* columns after them, each behind a tab, in text's memory */
    double snr;
    double sample, time_s, first, last; /* of which first and last are samples */
    size_t list, nbeam;                 /* beams that see it */
};

struct lists {
    struct psr_names *names; /* of the files */
    struct pulse *pulse;     /* [n] list by list, in the order of the files */
    size_t n, room;
    double *tsamp_s; /* [names->n] */
    struct run_progress bar;
};

/* Reads lists of single pulses, and marks what most beams see. */

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
        char *tab = strchr(at, '\t');
        if (tab)
            *tab = '\0';
        *marks = tab ? tab + 1 : NULL;
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

/* Reads all lists.  The caller clears them, also after an error.
 * Status: those of psr_text_lines_next; PSR_EFORMAT naming file, line and column */
static psr_status lists_read(struct lists *l, psr_err *err)
{
    psr_status st = PSR_OK;
    l->tsamp_s = calloc(l->names->n, sizeof *l->tsamp_s);
    if (!l->tsamp_s)
        return psr_fail_nomem(err, "the lists", (double)l->names->n * 8);
    for (size_t i = 0; i < l->names->n && !st && !run_stop_signal(); i++) {
        st = read_list(l, i, err);
        run_progress_update(&l->bar, (int64_t)i + 1);
    }
    /* The time of a sample, from the row that has the latest. */
    double latest = 0;
    for (size_t k = 0; k < l->n; k++) {
        const struct pulse *p = &l->pulse[k];
        if (k && p->list != p[-1].list)
            latest = 0;
        if (p->sample > latest) {
            latest = p->sample;
            l->tsamp_s[p->list] = p->time_s / latest;
        }
    }
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
    for (char *w = strtok_r(old, "+,", &rest); w; w = strtok_r(NULL, "+,", &rest))
        if (strcmp(w, mark_name) != 0 && strcmp(w, "-") != 0)
            n += (size_t)snprintf(p->marks + n, sizeof p->marks - n, "%s%s", n ? "+" : "", w);
    if (wanted && n + sizeof mark_name < sizeof p->marks)
        n += (size_t)snprintf(p->marks + n, sizeof p->marks - n, "%s%s", n ? "+" : "", mark_name);
    if (!n)
        snprintf(p->marks, sizeof p->marks, "-");
}

static void lists_clear(struct lists *l)
{
    for (size_t k = 0; k < l->n; k++)
        free(l->pulse[k].text);
    free(l->pulse);
    free(l->tsamp_s);
}

struct options {
    double share, timetol_s;
    const char *output;
    bool update, quiet;
};

static psr_status end(psr_outfile *f, psr_status st, psr_err *err)
{
    if (!st)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

static const char head[] =
    "# S/N\tsample\ttime_s\tfilter\tDM_trial\tDM\tmembers\tfirst\tlast\tmarks";

/* What the columns after the marks are called, where any of these pulses has them. */
static const char *head_of_rest(const struct pulse *from, const struct pulse *end)
{
    for (const struct pulse *p = from; p < end; p++)
        if (*p->rest)
            return "\tlow_mhz\thigh_mhz";
    return "";
}

static psr_status write_list(psr_outfile *f, const struct pulse *from, const struct pulse *end,
                             psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err, "%s%s\n", head, head_of_rest(from, end));
    for (const struct pulse *p = from; p < end && !st; p++)
        st = psr_outfile_printf(f, err, "%s\t%s%s\n", p->text, p->marks, p->rest);
    return st;
}

/* Each list appears complete, or stays as it was. */
static psr_status update(struct lists *l, psr_err *err)
{
    const struct pulse *from = l->pulse, *const last = l->pulse + l->n;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < l->names->n && !st && !run_stop_signal(); i++) {
        const struct pulse *to = from;
        psr_outfile *f;
        while (to < last && to->list == i)
            to++;
        st = psr_outfile_create(&f, l->names->name[i], err);
        if (!st)
            st = end(f, write_list(f, from, to, err), err);
        from = to;
        run_show(&l->bar, "lists written", (int64_t)i + 1, (int64_t)l->names->n);
    }
    return st;
}

static const char examples[] = "spcoincidence beam*.cand > all.cand\n"
                               "spcoincidence -share 0.3 beam*.cand\n"
                               "spcoincidence -update -timetol 0.01 beam*.cand\n";

static const char summary[] =
    "Mark single pulses that most beams of a pointing see at the same time: interference, which "
    "comes in from all sides. Each LIST is gpudedisp's (or Heimdall's) .cand list of one beam. "
    "Prints the rows of all lists, best first, with the mark 'beams', the number of beams and the "
    "list; no row is dropped.";

#define AT(member) CLI_AT(struct options, member)

static const struct cli_option options[] = {
    {"Coincidence", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"share", CLI_DOUBLE, AT(share), "F", 0, 1,
     "Mark what more than this share of the beams see, at least 2 (default 0.5)."},
    {"timetol", CLI_DOUBLE, AT(timetol_s), "SEC", 0, 1e6,
     "Rows are one pulse if they are at most so far apart, from the first to the last sample "
     "of each (default 0)."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(output), "FILE", 0, 0,
     "Write the table to FILE; - is standard output (default)."},
    {"update", CLI_FLAG, AT(update), NULL, 0, 0,
     "Print nothing, but write the marks into the lists, for psrreport."},
    {"q", CLI_FLAG, AT(quiet), NULL, 0, 0, "No progress."},
};

PSR_COMPARE_POINTERS(compare_pulses, struct pulse, PSR_THEN(PSR_FALLING(snr), (a > b) - (a < b)));

static psr_status write_all(psr_outfile *f, struct lists *l, psr_err *err)
{
    const struct pulse **sorted = malloc((l->n + 1) * sizeof *sorted);
    if (!sorted)
        return psr_fail_nomem(err, "the lists", (double)l->n * sizeof *sorted);
    for (size_t k = 0; k < l->n; k++)
        sorted[k] = &l->pulse[k];
    qsort(sorted, l->n, sizeof *sorted, compare_pulses);
    psr_status st = psr_outfile_printf(f, err, "%s\tbeams\tlist%s\n", head,
                                       head_of_rest(l->pulse, l->pulse + l->n));
    for (size_t k = 0; k < l->n && !st; k++) {
        st = psr_outfile_printf(f, err, "%s\t%s\t%zu\t%s%s\n", sorted[k]->text, sorted[k]->marks,
                                sorted[k]->nbeam, l->names->name[sorted[k]->list], sorted[k]->rest);
        run_show(&l->bar, "rows", (int64_t)k + 1, (int64_t)l->n);
    }
    free(sorted);
    return st;
}

static psr_status write_output(struct lists *l, const char *path, psr_err *err)
{
    psr_outfile *f;
    if (!strcmp(path, "-") && isatty(STDOUT_FILENO))
        run_progress_end(&l->bar);
    psr_status st = psr_outfile_create(&f, path, err);
    return st ? st : end(f, write_all(f, l, err), err);
}

/* A list that is given twice would be two beams, by whatever names. */
static psr_status check_distinct(const struct psr_names *names, psr_err *err)
{
    struct stat *is = calloc(names->n, sizeof *is);
    psr_status st = is ? PSR_OK : psr_fail_nomem(err, "the lists", (double)names->n * sizeof *is);
    for (size_t i = 0; i < names->n && !st; i++) {
        const bool known = strcmp(names->name[i], "-") != 0 && stat(names->name[i], &is[i]) == 0;
        for (size_t k = 0; k < i && !st; k++)
            if (!strcmp(names->name[i], names->name[k]))
                st = psr_fail(err, PSR_EINVAL, "%s: is given twice", names->name[i]);
            else if (known && is[i].st_ino == is[k].st_ino && is[i].st_dev == is[k].st_dev)
                st = psr_fail(err, PSR_EINVAL, "%.200s: is given twice, also as %.200s",
                              names->name[i], names->name[k]);
    }
    free(is);
    return st;
}

/* All lists can be written, or none is. */
static psr_status check_files(const struct psr_names *names, const struct options *o, psr_err *err)
{
    struct psr_overwrite_check check = {0};
    psr_status st = check_distinct(names, err);
    for (size_t i = 0; i < names->n && !st; i++)
        st = o->update ? psr_overwrite_check_output(&check, names->name[i], NULL, err)
                       : psr_overwrite_check_input(&check, names->name[i], err);
    if (!st && !o->update)
        st = psr_overwrite_check_output(&check, o->output, NULL, err);
    psr_overwrite_check_clear(&check);
    return st;
}

static psr_status count_beams(struct lists *l, const struct options *o, psr_err *err)
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
        st = psr_pulse_count_beams(beam, l->n, l->names->n, o->timetol_s, count, err);
    for (size_t k = 0; k < l->n && !st; k++) {
        l->pulse[k].nbeam = count[k];
        set_mark(&l->pulse[k], count[k] >= 2 && (double)count[k] > o->share * (double)l->names->n);
    }
    free(beam);
    free(count);
    return st;
}

int main(int argc, char **argv)
{
    struct options o = {.share = 0.5, .output = "-"};
    struct cli_table table = {.n = 0};
    struct psr_names names = {0};
    psr_err err;
    psr_status st = PSR_OK;
    CLI_FILL(&table, options, &o);
    struct cli tool = {.name = "spcoincidence",
                       .operands = "[OPTION]... LIST LIST...",
                       .summary = summary,
                       .examples = examples,
                       .options = table.option,
                       .noptions = table.n};
    const int n = cli_parse(&tool, argc, argv);
    if (n < 2)
        cli_usage_error(&tool, "%d lists: there must be one of each beam, at least 2", n);
    run_catch_signals();
    for (int i = 0; i < n && !st; i++)
        st = psr_names_add(&names, argv[i + 1], &err);
    if (!st) {
        struct lists l = {.names = &names};
        st = check_files(&names, &o, &err);
        run_progress_start(&l.bar, run_progress_mode(o.quiet, false), (int64_t)names.n, "lists", 1);
        if (!st)
            st = lists_read(&l, &err);
        if (!st)
            st = count_beams(&l, &o, &err);
        if (!st)
            st = o.update ? update(&l, &err) : write_output(&l, o.output, &err);
        run_progress_end(&l.bar);
        lists_clear(&l);
    }
    psr_names_clear(&names);
    return cli_end(&tool, st, &err, EXIT_SUCCESS);
}
