/* psrreport: makes a page of what a search left in a folder. */
#include "psrreport.h"

#include "tools/common/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Verdicts that a page has saved as comma-separated values, for the page that is made now. */

struct verdicts {
    struct report *r;
    size_t nlost;
    bool headed;
};

/* The name, DM and period of a row of the page; a list that was made anew may have another candidate of that name. */
static bool is_candidate(const struct report_cand *c, const char *name, double period_s, double dm)
{
    char own[PSR_TEXT_MAX];
    const double own_s = c->fold ? report_fold_period(c->fold, NULL) : c->value[CAND_PERIOD_S];
    const double own_dm =
        c->fold && isfinite(c->fold->best.dm) ? c->fold->best.dm : c->value[CAND_DM];
    snprintf(own, sizeof own, isfinite(c->value[CAND_NUMBER]) ? "%s:%.0f" : "%s", c->list,
             c->value[CAND_NUMBER]);
    return !strcmp(name, own) && fabs(period_s - own_s) <= 1e-3 * own_s &&
           !(fabs(dm - own_dm) > 1 + 1e-2 * own_dm);
}

/* Its script writes ' before what a spreadsheet would take for a formula. */
static const char *unquote(const char *name)
{
    return *name == '\'' && name[1] && strchr("-=+@", name[1]) ? name + 1 : name;
}

static psr_status take(void *ctx, struct report_line *line, psr_err *err)
{
    static const char *const words[] = {"accepted", "rejected"};
    struct verdicts *v = ctx;
    double period_s, dm;
    const char *word = line->n == 4 ? line->word[3] : "";
    if (!v->headed && !strcmp(word, "verdict")) {
        v->headed = true;
        return PSR_OK;
    }
    const char *verdict = !strcmp(word, words[0])   ? words[0]
                          : !strcmp(word, words[1]) ? words[1]
                                                    : NULL;
    if (!v->headed || !verdict)
        return psr_fail(err, PSR_EFORMAT,
                        "%.300s: line %ld: is none of candidate, period_s, dm, verdict (accepted "
                        "or rejected), under a line of these names",
                        line->name, line->number);
    psr_status st = report_number(line, 1, "period_s", &period_s, err);
    if (!st)
        st = report_number(line, 2, "dm", &dm, err);
    size_t i = 0;
    while (!st && i < v->r->ncand &&
           !is_candidate(&v->r->cand[i], unquote(line->word[0]), period_s, dm))
        i++;
    if (!st && i < v->r->ncand)
        v->r->cand[i].verdict = verdict;
    v->nlost += !st && i == v->r->ncand;
    return st;
}

/* Gives candidates the verdicts of a file.  Status: PSR_ENOMEM */
static psr_status report_read_verdicts(struct report *r, psr_err *err)
{
    struct verdicts v = {.r = r};
    psr_status st =
        r->opt->verdicts ? report_read_lines(r, r->opt->verdicts, true, take, &v, err) : PSR_OK;
    if (!st && v.nlost && !r->opt->quiet)
        psr_note(&(struct psr_notes){cli_note, (void *)(uintptr_t)r->tool},
                 "%s: %zu verdicts are of candidates that are not in %s", r->opt->verdicts, v.nlost,
                 r->folder);
    return st;
}

/* --- the options of psrreport, in the order of --help ----------------------------------------- */

static void add_output(struct cli_table *list, struct psrreport_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"o", CLI_TEXT, &o->output, "FILE", 0, 0,
         "Write the page to FILE; - is standard output (default: DIR/report.html; of several "
         "folders "
         "./report.html)."},
        {"csv", CLI_TEXT, &o->csv, "FILE", 0, 0,
         "The folded candidates as CandyJar reads them (default: DIR/candidates.csv); of several "
         "folders those of all (default: none)."},
        {"overview", CLI_FLAG, &o->overview, NULL, 0, 0,
         "One page with a row for each folder; so it is with several folders."},
        {"list", CLI_TEXT, &o->list, "FILE", 0, 0,
         "Take the folders that this file names, too, one per line (-: standard input); implies "
         "-overview."},
        {"title", CLI_TEXT, &o->title, "TEXT", 0, 0,
         "Title of the page (default: the source and the name of the folder)."},
        {"verdicts", CLI_TEXT, &o->verdicts, "FILE", 0, 0,
         "Show the verdicts that a page of this search has saved as CSV."},
        {"rows", CLI_INT, &o->rows, "N", 1, 1e6,
         "Show the N best candidates (default 1000); the page says how many there are."},
        {"bursts", CLI_INT, &o->bursts, "N", 0, 1e6,
         "Show the N best bursts (default 50), likewise."},
        {"maxsize", CLI_SIZE, &o->max_bytes, "SIZE", 0, 0,
         "Embed pictures up to this size in all (default 64M), those of the best candidates first; "
         "for the others the page has links."},
    };
    CLI_ADD(list, options);
}

static void add_candyjar(struct cli_table *list, struct psrreport_options *o)
{
    const struct cli_option options[] = {
        {"Columns of candidates.csv", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"pointing_id", CLI_INT, &o->pointing_id, "N", 0, INT32_MAX,
         "Number of the pointing (default 0)."},
        {"beam_id", CLI_INT, &o->beam_id, "N", 0, INT32_MAX, "Number of the beam (default 0)."},
        {"beam_name", CLI_TEXT, &o->beam_name, "NAME", 0, 0, "Name of the beam (default beam)."},
    };
    CLI_ADD(list, options);
    const struct cli_option rest[] = {
        {"q", CLI_FLAG, &o->quiet, NULL, 0, 0, "No notes, no progress."},
    };
    CLI_ADD(list, rest);
}

static psr_status read_all(struct report *r, psr_err *err)
{
    static psr_status (*const parts[])(struct report *, psr_err *) = {
        report_read_folder, report_read_steps,  report_read_candidates,
        report_read_folds,  report_join_folds,  report_read_verdicts,
        report_read_events, report_read_bursts, report_read_views,
    };
    psr_status st = PSR_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !st && !run_stop_signal(); i++)
        st = parts[i](r, err);
    return st;
}

static psr_status report_folder(const struct cli *tool, const struct psrreport_options *opt,
                                const char *folder, int *code, psr_err *err)
{
    struct report *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, folder, sizeof *r);
    r->tool = tool;
    r->opt = opt;
    r->folder = folder;
    psr_status st = read_all(r, err);
    if (!st && !run_stop_signal())
        st = report_write(r, err);
    *code = r->code;
    report_clear(r);
    free(r);
    return st;
}

int main(int argc, char **argv)
{
    struct psrreport_options opt;
    struct cli tool;
    psr_err err;
    int code = EXIT_SUCCESS;
    struct cli_table table = {.n = 0};
    opt = (struct psrreport_options){
        .rows = 1000, .bursts = 50, .max_bytes = 64 << 20, .beam_name = "beam"};
    add_output(&table, &opt);
    add_candyjar(&table, &opt);
    tool = (struct cli){
        .name = "psrreport",
        .operands = "[OPTION]... DIR...",
        .examples = "psrreport obs_search\n"
                    "psrreport -o all.html survey/*/\n"
                    "psrreport -csv candyjar.csv -pointing_id 7 obs_search\n",
        .summary = "Make one page of what a search left in a folder: candidates with their folds, "
                   "single pulses, interference, and what was run.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(&tool, argc, argv);
    if (n < 1 && !opt.list)
        cli_usage_error(&tool, "no folder given");
    opt.overview = opt.overview || n > 1 || opt.list;
    if (opt.overview && opt.verdicts)
        cli_usage_error(&tool, "-verdicts is of one folder, not of an overview");
    run_catch_signals();
    psr_status st = opt.overview ? report_overview(&tool, &opt, argv + 1, (size_t)n, &code, &err)
                                 : report_folder(&tool, &opt, argv[1], &code, &err);
    return cli_end(&tool, st, &err, code);
}
