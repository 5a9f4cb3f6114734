/* spcoincidence: marks single pulses that most beams of a pointing see. */
#include "lists.h"

#include "tools/common/cli.h"
#include "tools/common/run.h"
#include <psrkit/experimental/outfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
    double share, timetol_s;
    const char *output;
    bool update;
};

static const char examples[] = "spcoincidence beam*.cand > all.cand\n"
                               "spcoincidence -share 0.3 beam*.cand\n"
                               "spcoincidence -update -timetol 0.01 beam*.cand\n";

static const char summary[] =
    "Mark single pulses that most beams of a pointing see at the same time: interference, which "
    "comes in from all sides. Each LIST is gpudedisp's (or Heimdall's) .cand list of one beam. "
    "Prints the rows of all lists, best first, with the mark 'beams', the number of beams and the "
    "list; no row is dropped.";

static const char head[] =
    "# S/N\tsample\ttime_s\tfilter\tDM_trial\tDM\tmembers\tfirst\tlast\tmarks";

static void add_options(struct cli_table *list, struct options *o)
{
    const struct cli_option options[] = {
        {"Coincidence", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"share", CLI_DOUBLE, &o->share, "F",
         "Mark what more than this share of the beams see, at least 2 (default 0.5).", 0, 1},
        {"timetol", CLI_DOUBLE, &o->timetol_s, "SEC",
         "Rows are one pulse if they are at most so far apart, from the first to the last sample "
         "of each (default 0).",
         0, 1e6},
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->output, "FILE",
         "Write the table to FILE; - is standard output (default).", 0, 0},
        {"update", CLI_FLAG, &o->update, NULL,
         "Print nothing, but write the marks into the lists, for psrreport.", 0, 0},
    };
    CLI_ADD(list, options);
}

static int compare_pulses(const void *a, const void *b)
{
    const struct pulse *const *p = a, *const *q = b;
    if ((*p)->snr != (*q)->snr)
        return (*p)->snr < (*q)->snr ? 1 : -1;
    return (*p > *q) - (*p < *q);
}

/* What the columns after the marks are called, where a list (or with list = names->n any) has them. */
static const char *head_of_rest(const struct lists *l, size_t list)
{
    for (size_t k = 0; k < l->n; k++)
        if ((list == l->names->n || l->pulse[k].list == list) && *l->pulse[k].rest)
            return "\tlow_mhz\thigh_mhz";
    return "";
}

static psr_status write_all(psr_outfile *f, const struct lists *l, psr_err *err)
{
    const struct pulse **sorted = malloc((l->n + 1) * sizeof *sorted);
    if (!sorted)
        return psr_fail_nomem(err, "the lists", (double)l->n * sizeof *sorted);
    for (size_t k = 0; k < l->n; k++)
        sorted[k] = &l->pulse[k];
    qsort(sorted, l->n, sizeof *sorted, compare_pulses);
    psr_status st =
        psr_outfile_printf(f, err, "%s\tbeams\tlist%s\n", head, head_of_rest(l, l->names->n));
    for (size_t k = 0; k < l->n && !st; k++)
        st = psr_outfile_printf(f, err, "%s\t%s\t%zu\t%s%s\n", sorted[k]->text, sorted[k]->marks,
                                sorted[k]->nbeam, l->names->name[sorted[k]->list], sorted[k]->rest);
    free(sorted);
    return st;
}

static psr_status write_list(psr_outfile *f, const struct lists *l, size_t list, psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err, "%s%s\n", head, head_of_rest(l, list));
    for (size_t k = 0; k < l->n && !st; k++)
        if (l->pulse[k].list == list)
            st = psr_outfile_printf(f, err, "%s\t%s%s\n", l->pulse[k].text, l->pulse[k].marks,
                                    l->pulse[k].rest);
    return st;
}

static psr_status end(psr_outfile *f, psr_status st, psr_err *err)
{
    if (!st)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

static psr_status write_output(const struct lists *l, const char *path, psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, err);
    return st ? st : end(f, write_all(f, l, err), err);
}

/* Each list appears complete, or stays as it was. */
static psr_status update(const struct lists *l, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < l->names->n && !st; i++) {
        psr_outfile *f;
        st = psr_outfile_create(&f, l->names->name[i], err);
        if (!st)
            st = end(f, write_list(f, l, i, err), err);
    }
    return st;
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
static psr_status check_names(const struct options *o, const struct psr_names *names, psr_err *err)
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

static psr_status run(const struct options *o, struct psr_names *names, psr_err *err)
{
    struct lists l = {.names = names};
    psr_status st = check_names(o, names, err);
    if (!st)
        st = lists_read(&l, err);
    if (!st)
        st = lists_mark(&l, o->timetol_s, o->share, err);
    if (!st)
        st = o->update ? update(&l, err) : write_output(&l, o->output, err);
    lists_clear(&l);
    return st;
}

int main(int argc, char **argv)
{
    struct options o = {.share = 0.5, .output = "-"};
    struct cli_table table = {.n = 0};
    struct psr_names names = {0};
    psr_err err;
    psr_status st = PSR_OK;
    add_options(&table, &o);
    struct cli tool = {"spcoincidence", "[OPTION]... LIST LIST...", summary, table.option, table.n,
                       examples};
    const int n = cli_parse(&tool, argc, argv);
    if (n < 2)
        cli_usage_error(&tool, "%d lists: there must be one of each beam, at least 2", n);
    run_catch_signals();
    for (int i = 0; i < n && !st; i++)
        st = psr_names_add(&names, argv[i + 1], &err);
    if (!st)
        st = run(&o, &names, &err);
    psr_names_clear(&names);
    return cli_end(&tool, st, &err, EXIT_SUCCESS);
}
