/* psrsearch: searches an observation with the tools of psrkit, step by step. */
#include "psrsearch.h"

#include "tools/common/folder.h"
#include "tools/common/quote.h"
#include "tools/common/run.h"

#include <errno.h>
#include <psrkit/experimental/outfile.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct run {
    struct psrsearch_options opt;
    struct cli tool;
    struct psrsearch_plan plan;
    struct psrsearch_records records;
    struct psrsearch_results found;
    psr_output_group *claim;
    psr_err err;
};

static enum psrsearch_kind kind_of(int k)
{
    return (enum psrsearch_kind)k;
}

/* --- the commands alone ----------------------------------------------------------------------- */

static psr_status print_commands(struct run *r)
{
    char *steps = psrsearch_join(r->plan.dir, "/" FOLDER_STEPS, NULL);
    char *argv[] = {(char *)"mkdir", (char *)"-p", steps};
    char *line = steps ? quote_command("mkdir", 3, argv) : NULL;
    psr_status st = PSR_OK;
    free(steps);
    if (line)
        puts(line);
    free(line);
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++) {
        line = psrsearch_command_line(&r->plan, &r->plan.step[k]);
        if (!line)
            st = psr_fail_nomem(&r->err, "the command lines", 4096);
        else if (r->plan.step[k].wanted)
            puts(line);
        free(line);
    }
    return st;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Folds need candidates, of which the sifted list tells. */
static psr_status decide_fold(struct run *r, int k)
{
    if (k != PSRSEARCH_FOLD || !r->plan.step[k].wanted)
        return PSR_OK;
    psr_status st = psrsearch_results_count_sifted(&r->found, &r->plan, &r->err);
    r->plan.step[k].wanted = !st && r->found.nsifted > 0;
    return st;
}

/* Whether the step need not be run: it is complete, or not wanted and without files. */
static psr_status is_settled(struct run *r, int k, bool *settled)
{
    psr_status st = decide_fold(r, k);
    *settled = !r->records.line[k];
    return st || !r->plan.step[k].wanted ? st
                                         : psrsearch_is_complete(settled, &r->records, &r->plan,
                                                                 &r->opt, kind_of(k), &r->err);
}

/* Removes what the records name, from the first step that is repeated on. */
static psr_status remove_results(struct run *r, int first)
{
    psr_status st = psrsearch_remove_recorded(&r->plan, r->records.begun, &r->err);
    if (!st && first < PSRSEARCH_NSTEP)
        st = psrsearch_remove_recorded(&r->plan, r->records.summary, &r->err);
    for (int k = first; k < PSRSEARCH_NSTEP && !st; k++)
        st = psrsearch_remove_recorded(&r->plan, r->records.line[k], &r->err);
    return st ? st : psrsearch_parts_remove(&r->plan, &r->err);
}

/* From the first step that is not settled on, nothing of an earlier run stays. */
static psr_status find_start(struct run *r, int *first)
{
    psr_status st = PSR_OK;
    bool settled = true;
    for (*first = 0; *first < PSRSEARCH_NSTEP && !st && settled; *first += settled)
        st = is_settled(r, *first, &settled);
    for (int k = *first; k < PSRSEARCH_NSTEP && !st; k++)
        if (r->plan.step[k].wanted)
            st = psrsearch_check_recorded(&r->records, &r->plan, kind_of(k), &r->err);
    if (!st)
        st = remove_results(r, *first);
    for (int k = *first; k < PSRSEARCH_NSTEP && !st; k++) {
        free(r->records.line[k]);
        r->records.line[k] = NULL;
    }
    if (!st)
        st = psrsearch_records_write(&r->records, &r->err);
    return st || !r->records.old ? st : psrsearch_old_remove(&r->plan, &r->err);
}

static void tell_step(const struct run *r, const struct psrsearch_step *step)
{
    char *line = psrsearch_command_line(&r->plan, step);
    if (!r->opt.quiet && line)
        fprintf(stderr, "psrsearch: %s: %s\n", step->name, line);
    free(line);
}

/* Runs the tool, between the records that it has begun and that it has failed.
 * Returned: *made   the files that it has made */
static psr_status run_tool(struct run *r, int k, struct psr_names *made)
{
    const struct psr_names none = {.n = 0};
    struct psrsearch_before before = {.n = 0};
    psr_err other;
    psr_status st = psrsearch_look_before(&before, &r->plan, kind_of(k), &r->err);
    if (!st)
        st = psrsearch_record_begun(&r->records, &r->plan, kind_of(k), &none, &r->err);
    if (st) {
        free(before.file);
        return st;
    }
    st = psrsearch_run(&r->plan, kind_of(k), !r->opt.quiet, &r->err);
    if (psrsearch_made(made, &before, &r->plan, kind_of(k), st ? &other : &r->err) && !st)
        st = r->err.code;
    if (st == PSR_EIO && !run_stop_signal() && psrsearch_lacks_picture_only(made, kind_of(k))) {
        fprintf(stderr, "psrsearch: mask: %s_rfifind.png is left out; %s_mask.log has the reason\n",
                r->plan.base, r->plan.aside);
        st = PSR_OK;
    }
    if (st && made->n) {
        (void)!psrsearch_record_begun(&r->records, &r->plan, kind_of(k), made, &other);
    } else if (st) {
        free(r->records.begun);
        r->records.begun = NULL;
        (void)!psrsearch_records_write(&r->records, &other);
    }
    free(before.file);
    return st;
}

static psr_status run_step(struct run *r, int k)
{
    const struct psrsearch_step *step = &r->plan.step[k];
    const double began_s = run_seconds();
    const time_t date = time(NULL);
    struct psr_names made = {.n = 0};
    psr_status st = decide_fold(r, k);
    if (st || !step->wanted)
        return st;
    if (k == PSRSEARCH_SIFT) /* takes all lists that are there */
        st = psrsearch_check_recorded(&r->records, &r->plan, PSRSEARCH_SEARCH, &r->err);
    if (st)
        return st;
    tell_step(r, step);
    st = run_tool(r, k, &made);
    if (r->opt.verbose)
        psrsearch_copy_log(&r->plan, kind_of(k), stderr);
    const double seconds = run_seconds() - began_s;
    if (!st && !r->opt.quiet)
        fprintf(stderr, "psrsearch: %s: %.2f s\n", step->name, seconds);
    if (!st)
        st = psrsearch_record(&r->records, &r->plan, &r->opt, kind_of(k), &made, date, seconds,
                              &r->err);
    psr_names_clear(&made);
    return st;
}

/* The page shows what the other steps found. */
static bool is_optional(int k)
{
    return k == PSRSEARCH_REPORT;
}

/* A step whose failure is reported, and ends no search; a later run tries it again. */
static psr_status try_step(struct run *r, int k)
{
    const psr_status st = run_step(r, k);
    if (!st || run_stop_signal())
        return st;
    cli_note_left_out(&r->tool, &r->err);
    return PSR_OK;
}

static void tell_settled(const struct run *r, int first)
{
    for (int k = 0; k < first && !r->opt.quiet; k++)
        if (r->plan.step[k].wanted)
            fprintf(stderr, "psrsearch: %s: complete already\n", r->plan.step[k].name);
}

static psr_status report(struct run *r)
{
    psr_status st = psrsearch_results_read(&r->found, &r->plan, &r->err);
    if (!st)
        st = psrsearch_summary_write(&r->found, &r->plan, &r->opt, &r->records, &r->err);
    if (!st)
        st = psrsearch_record_summary(&r->records, &r->plan, &r->err);
    if (!st && !r->opt.quiet)
        psrsearch_summary_print(&r->found, &r->plan, &r->records);
    return st;
}

/* --- the folder ------------------------------------------------------------------------------- */

/* DIR, one search at a time; what is in DIR/steps is not written through a link. */
static psr_status claim(struct run *r)
{
    struct psr_output_group_desc desc = {.size = sizeof desc, .kind = "search", .common = true};
    struct stat is;
    if (mkdir(r->plan.dir, 0777) != 0 && errno != EEXIST)
        return psr_fail_errno(&r->err, "%s", r->plan.dir);
    char *root = psrsearch_join(r->plan.dir, "/psrsearch", NULL);
    char *steps = psrsearch_join(r->plan.dir, "/steps", NULL);
    desc.root = root;
    desc.notes = (struct psr_notes){cli_note, &r->tool};
    psr_status st = root && steps ? psr_output_group_create(&r->claim, &desc, &r->err)
                                  : psr_fail_nomem(&r->err, r->plan.dir, 64);
    if (!st && mkdir(steps, 0777) != 0 && (lstat(steps, &is) != 0 || !S_ISDIR(is.st_mode)))
        st = psr_fail(&r->err, PSR_EIO, "%s: is there, and is not a folder", steps);
    free(root);
    free(steps);
    return st;
}

static psr_status search(struct run *r)
{
    int first = 0;
    psr_status st = claim(r);
    if (!st)
        st = psrsearch_files_check(&r->plan, &r->opt, &r->err);
    if (!st)
        st = psrsearch_records_read(&r->records, &r->plan, &r->err);
    if (!st)
        st = find_start(r, &first);
    if (!st)
        tell_settled(r, first);
    for (int k = first; k < PSRSEARCH_NSTEP && !st; k++)
        st = is_optional(k) ? try_step(r, k) : run_step(r, k);
    if (!st)
        st = report(r);
    if (st == PSR_ESTOPPED && !r->opt.quiet)
        fprintf(stderr,
                "psrsearch: stopped: %s keeps the steps that are complete, and the series that are "
                "searched; the same command goes on from there\n",
                r->plan.dir);
    psrsearch_records_clear(&r->records);
    psr_output_group_abort(r->claim);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {.claim = NULL};
    run_hold_descriptors();
    psrsearch_options_parse(&r.opt, &r.tool, argc, argv);
    run_catch_signals();
    psr_status st = psrsearch_plan_make(&r.plan, &r.opt, &r.tool, &r.err);
    if (!st)
        st = r.opt.dry_run ? print_commands(&r) : search(&r);
    psrsearch_plan_clear(&r.plan);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
