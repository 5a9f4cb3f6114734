/* psrsearch: searches an observation with the tools of psrkit, step by step. */
#include "psrsearch.h"

#include "tools/common/cli.h"
#include "tools/common/plot/plotfile.h"
#include "tools/common/quote.h"

#include <errno.h>
#include <psrkit/experimental/outfile.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A step that has begun. */
struct running {
    bool on;
    struct psrsearch_child child;
    struct psrsearch_before before;
    double began_s;
    time_t date;
};

struct run {
    struct psrsearch_options opt;
    struct cli tool;
    struct psrsearch_plan plan;
    struct psrsearch_records records;
    struct psrsearch_results found;
    bool redo[PSRSEARCH_NSTEP]; /* not settled by an earlier run */
    bool left[PSRSEARCH_NSTEP]; /* by one that was killed in the step: files of no record */
    struct running beside;      /* the mask, while the search runs */
    psr_status beside_status;   /* of the mask, which ended before the search, */
    psr_err beside_err;         /* and why it failed */
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

/* What follows a step that is repeated is repeated. */
static psr_status find_repeated(struct run *r)
{
    psr_status st = PSR_OK;
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++) {
        const bool searches = k == PSRSEARCH_PLAN || k == PSRSEARCH_SEARCH;
        bool settled = true;
        for (int i = 0; i < k && settled; i++)
            settled = !r->redo[i] || (i == PSRSEARCH_MASK && searches && r->plan.beside);
        if (settled) {
            /* Whether the step need not be run: it is complete, or not wanted and without files. */
            st = decide_fold(r, k);
            settled = !r->records.line[k] && !r->records.begun[k];
            st = st || !r->plan.step[k].wanted
                     ? st
                     : psrsearch_is_complete(&settled, &r->records, &r->plan, &r->opt, kind_of(k),
                                             &r->err);
        }
        r->redo[k] = !settled;
    }
    return st;
}

/* Folds that are complete stay: gpufold knows them, and the others go when it ends. */
static bool goes_on(const struct run *r, int k)
{
    return k == PSRSEARCH_FOLD && r->redo[k] && r->plan.step[k].wanted;
}

/* Of the steps that are repeated nothing else of an earlier run stays. */
static psr_status prepare(struct run *r)
{
    psr_status st = find_repeated(r);
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++)
        if (r->redo[k] && r->plan.step[k].wanted)
            st = psrsearch_check_recorded(&r->records, &r->plan, kind_of(k), &r->err);
    if (!st) {
        /* Removes what the records name of steps that are repeated, and what is left of those that ended early. */
        bool any = false;
        for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++) {
            r->left[k] = psrsearch_was_killed_in(&r->records, &r->plan, kind_of(k));
            if (!goes_on(r, k))
                st = psrsearch_remove_recorded(&r->plan, r->records.begun[k], &r->err);
            if (!st && r->redo[k])
                st = psrsearch_remove_recorded(&r->plan, r->records.line[k], &r->err);
            any |= r->redo[k];
        }
        if (!st && any)
            st = psrsearch_remove_recorded(&r->plan, r->records.summary, &r->err);
        st = st ? st : psrsearch_parts_remove(&r->plan, &r->err);
    }
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++)
        if (r->redo[k]) {
            free(r->records.line[k]);
            r->records.line[k] = NULL;
        }
    if (!st)
        st = psrsearch_records_write(&r->records, &r->err);
    return st || !r->records.old ? st : psrsearch_old_remove(&r->plan, &r->err);
}

/* Starts the tool, after the record that it has begun. */
static psr_status begin_step(struct run *r, int k, struct running *s)
{
    const struct psr_names none = {.n = 0};
    *s = (struct running){.began_s = run_seconds(), .date = time(NULL)};
    char *line = psrsearch_command_line(&r->plan, &r->plan.step[k]);
    if (!r->opt.quiet && line)
        fprintf(stderr, "psrsearch: %s: %s\n", r->plan.step[k].name, line);
    free(line);
    psr_status st = PSR_OK;
    if (k == PSRSEARCH_FOLD) /* all that is there is of the same step, and is recorded again */
        st = psrsearch_check_recorded(&r->records, &r->plan, kind_of(k), &r->err);
    else
        st = psrsearch_look_before(&s->before, &r->plan, kind_of(k), &r->err);
    if (!st)
        st = psrsearch_record_begun(&r->records, &r->plan, kind_of(k), &none, &r->err);
    if (!st)
        st = psrsearch_start(&s->child, &r->plan, kind_of(k), !r->opt.quiet && s != &r->beside,
                             &r->err);
    s->on = !st;
    if (st)
        free(s->before.file);
    return st;
}

/* Records that a step has failed, and what it has left. */
static void record_failed(struct run *r, int k, const struct psr_names *made)
{
    psr_err other;
    if (made->n) {
        (void)!psrsearch_record_begun(&r->records, &r->plan, kind_of(k), made, &other);
        return;
    }
    free(r->records.begun[k]);
    r->records.begun[k] = NULL;
    (void)!psrsearch_records_write(&r->records, &other);
}

/* Waits for a step that has begun, if one has, and records it. */
static psr_status end_step(struct run *r, int k, struct running *s)
{
    struct psr_names made = {.n = 0};
    psr_err other;
    if (!s->on)
        return PSR_OK;
    s->on = false;
    psr_status st = psrsearch_wait(&s->child, &r->plan, kind_of(k), &r->err);
    if (k == PSRSEARCH_FOLD && !st)
        st = psrsearch_folds_settle(&made, &r->plan, !strcmp(r->opt.clean, "auto"), &r->err);
    else if (psrsearch_made(&made, &s->before, &r->plan, kind_of(k), st ? &other : &r->err) && !st)
        st = r->err.code;
    else if (!st && r->left[k])
        st = psrsearch_leftovers_remove(&r->plan, kind_of(k), &made, &r->err);
    if (st == PSR_EIO && !run_stop_signal() && psrsearch_lacks_picture_only(&made, kind_of(k))) {
        fprintf(stderr, "psrsearch: mask: %s_rfifind.png is left out; %s_mask.log has the reason\n",
                r->plan.base, r->plan.aside);
        st = PSR_OK;
    }
    if (r->opt.verbose)
        psrsearch_copy_log(&r->plan, kind_of(k), stderr);
    const double seconds = s->child.ended_s - s->began_s;
    if (!st && !r->opt.quiet)
        fprintf(stderr, "psrsearch: %s: %.2f s\n", r->plan.step[k].name, seconds);
    if (!st)
        st = psrsearch_record(&r->records, &r->plan, &r->opt, kind_of(k), &made, s->date, seconds,
                              &r->err);
    else
        record_failed(r, k, &made);
    psr_names_clear(&made);
    free(s->before.file);
    return st;
}

/* Records the mask as soon as it ends: a search that is killed hours later has it. */
static void end_beside(struct run *r, struct running *s)
{
    if (!r->beside.on || psrsearch_wait_either(&s->child, &r->beside.child))
        return;
    r->beside_status = end_step(r, PSRSEARCH_MASK, &r->beside);
    r->beside_err = r->err;
}

static psr_status run_step(struct run *r, int k)
{
    struct running s;
    const struct psr_names none = {.n = 0};
    psr_status st = decide_fold(r, k);
    if (!st && !r->plan.step[k].wanted && r->left[k]) {
        free(r->records.begun[k]);
        r->records.begun[k] = NULL;
        st = psrsearch_leftovers_remove(&r->plan, kind_of(k), &none, &r->err);
        return st ? st : psrsearch_records_write(&r->records, &r->err);
    }
    if (st || !r->plan.step[k].wanted)
        return st;
    if (k == PSRSEARCH_MASK && r->plan.beside)
        return begin_step(r, k, &r->beside);
    if (k == PSRSEARCH_SIFT) /* takes all lists that are there */
        st = psrsearch_check_recorded(&r->records, &r->plan, PSRSEARCH_SEARCH, &r->err);
    if (!st)
        st = begin_step(r, k, &s);
    if (st)
        return st;
    end_beside(r, &s);
    return end_step(r, k, &s);
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
    psr_status st = claim(r);
    if (!st)
        st = psrsearch_files_check(&r->plan, &r->opt, &r->err);
    if (!st)
        st = psrsearch_records_read(&r->records, &r->plan, &r->err);
    if (!st)
        st = prepare(r);
    if (!st) {
        for (int k = 0; k < PSRSEARCH_NSTEP && !r->opt.quiet; k++)
            if (!r->redo[k] && r->plan.step[k].wanted)
                fprintf(stderr, "psrsearch: %s: complete already\n", r->plan.step[k].name);
    }
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++) {
        if (k == PSRSEARCH_SIFT && r->beside_status) {
            r->err = r->beside_err;
            st = r->beside_status;
        } else if (k == PSRSEARCH_SIFT) {
            st = end_step(r, PSRSEARCH_MASK, &r->beside);
        }
        if (!st && r->redo[k])
            st = is_optional(k) ? try_step(r, k) : run_step(r, k);
    }
    /* Ends the mask of a search that has failed. */
    const psr_err why = r->err;
    if (r->beside.on) {
        if (!r->beside.child.ended)
            kill(r->beside.child.pid, SIGTERM);
        (void)!end_step(r, PSRSEARCH_MASK, &r->beside);
        r->err = why;
    }
    if (!st) {
        st = psrsearch_results_read(&r->found, &r->plan, &r->opt, &r->err);
        if (!st)
            st = psrsearch_summary_write(&r->found, &r->plan, &r->opt, &r->records, &r->err);
        if (!st)
            st = psrsearch_record_summary(&r->records, &r->plan, &r->err);
        if (!st && !r->opt.quiet)
            psrsearch_summary_print(&r->found, &r->plan, &r->records);
    }
    if (st == PSR_ESTOPPED && !r->opt.quiet)
        fprintf(stderr,
                "psrsearch: stopped: %s keeps the steps that are complete, the series that are "
                "searched and the folds; the same command goes on from there\n",
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
