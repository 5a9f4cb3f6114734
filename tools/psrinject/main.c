/* psrinject: measures what a search finds of signals that are injected into observations. */
#include "psrinject.h"

#include "base/portable.h"
#include "base/tool.h"
#include "tools/common/cli.h"
#include "tools/common/quote.h"
#include <errno.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    struct inject_options opt;
    struct cli tool;
    psr_err err;
    char *command;
    struct inject_field *field; /* of each input */
    pid_t *child;               /* [opt.jobs]; 0: none */
};

static psr_status read_fields(struct job *j)
{
    psr_status st = PSR_OK;
    j->field = calloc(j->opt.npath, sizeof *j->field);
    j->child = calloc((size_t)j->opt.jobs, sizeof *j->child);
    if (!j->field || !j->child)
        return psr_fail_nomem(&j->err, "inputs", (double)j->opt.npath);
    for (size_t i = 0; i < j->opt.npath && !st; i++) {
        psr_source *s;
        const struct psr_source_desc d = {
            .size = sizeof d, .path = &j->opt.path[i], .npath = 1, .if_choice = -1};
        st = psr_source_open(&s, &d, &j->err);
        if (st)
            return st;
        const struct psr_obs *o = psr_source_obs(s);
        j->field[i] = (struct inject_field){(double)o->nsamp * o->tsamp_s, psr_obs_lowest_mhz(o),
                                            psr_obs_highest_mhz(o), o->tsamp_s};
        if (o->nsamp < 1)
            st = psr_fail(&j->err, PSR_EUNSUPPORTED, "%s: its length is not known", j->opt.path[i]);
        psr_source_close(s);
    }
    return st;
}

static psr_status make_folder(struct job *j)
{
    const char *path = j->opt.output;
    return mkdir(path, 0777) == 0 || errno == EEXIST ? PSR_OK : psr_fail_errno(&j->err, "%s", path);
}

/* What decides the results: a run with the same goes on. */
static psr_status check_settings(struct job *j)
{
    const struct inject_options *o = &j->opt;
    char path[INJECT_PATH], line[INJECT_PATH * 4] = "", now[INJECT_PATH * 4];
    struct psr_text_lines in;
    bool exists;
    int n = snprintf(now, sizeof now,
                     "%lld %lld %lld %.9g:%.9g %.9g:%.9g %.9g:%.9g %.9g:%.9g %.9g:%.9g %.9g:%.9g "
                     "%.9g %lld %s",
                     (long long)o->npulsar, (long long)o->nburst, (long long)o->each,
                     o->period_s.low, o->period_s.high, o->duty.low, o->duty.high, o->width_s.low,
                     o->width_s.high, o->dm.low, o->dm.high, o->snr.low, o->snr.high, o->accn.low,
                     o->accn.high, o->probability, (long long)o->seed, o->search);
    if (o->interference && n > 0 && (size_t)n < sizeof now)
        n += snprintf(now + n, sizeof now - (size_t)n, " -interference %s", o->interference);
    for (size_t i = 0; i < o->npath && n > 0 && (size_t)n < sizeof now; i++)
        n += snprintf(now + n, sizeof now - (size_t)n, " %s", o->path[i]);
    psr_status st = make_folder(j);
    if (st)
        return st;
    snprintf(path, sizeof path, "%.4000s/settings", o->output);
    if (access(path, F_OK) != 0) {
        psr_outfile *f;
        st = psr_outfile_create(&f, path, &j->err);
        if (!st)
            st = psr_outfile_printf(f, &j->err, "%s\n", now);
        return st ? st : psr_outfile_commit(f, &j->err);
    }
    st = psr_text_lines_open(&in, path, sizeof line, &j->err);
    if (!st) {
        st = psr_text_lines_next(&in, line, sizeof line, &exists, &j->err);
        psr_text_lines_close(&in);
    }
    line[strcspn(line, "\n")] = '\0';
    if (!st && strcmp(line, now) != 0)
        st = psr_fail(&j->err, PSR_EINVAL, "%s has the results of other options or files",
                      o->output);
    return st;
}

/* The child of a trial. */
static _Noreturn void do_trial(struct job *j, int64_t number)
{
    const struct inject_options *o = &j->opt;
    const size_t input = (size_t)(number % (int64_t)o->npath);
    struct inject_trial t = {
        .opt = o, .input = o->path[input], .number = number, .field = j->field[input]};
    psr_err err;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    inject_draw(&t);
    const psr_status st = inject_trial_run(&t, &err);
    if (st)
        cli_report(&j->tool, &err);
    _exit(st ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Waits for a trial to end.
 * Returned: whether all is well */
static bool await_one(struct job *j)
{
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    const bool stopped = run_stop_signal() != 0;
    for (int64_t k = 0; k < j->opt.jobs; k++) {
        if (stopped && j->child[k] > 0)
            kill(j->child[k], SIGTERM);
        if (ended > 0 && j->child[k] == ended)
            j->child[k] = 0;
    }
    return !stopped && (ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

static int64_t find_free(const struct job *j)
{
    int64_t k = 0;
    while (k < j->opt.jobs && j->child[k])
        k++;
    return k;
}

static size_t count_tables(const struct job *j)
{
    size_t n = 0;
    for (int64_t t = 0; t < inject_ntrial(&j->opt); t++) {
        char path[INJECT_PATH];
        inject_table_name(path, &j->opt, t);
        n += access(path, F_OK) == 0;
    }
    return n;
}

static psr_status run_trials(struct job *j)
{
    const int64_t n = inject_ntrial(&j->opt);
    struct run_progress progress;
    bool good = true;
    int64_t ndone = 0;
    run_progress_start(&progress, run_progress_mode(j->opt.quiet, j->opt.verbose), n, "copies", 1);
    for (int64_t t = 0; t < n && good; t++) {
        char path[INJECT_PATH];
        inject_table_name(path, &j->opt, t);
        if (access(path, F_OK) == 0) {
            ndone++;
            continue;
        }
        int64_t k = find_free(j);
        while (good && k == j->opt.jobs) {
            good = await_one(j);
            k = find_free(j);
            ndone += good;
            run_progress_update(&progress, ndone);
        }
        if (!good)
            break;
        j->child[k] = fork();
        if (j->child[k] == 0)
            do_trial(j, t);
        good = j->child[k] > 0;
        run_progress_update(&progress, ndone);
    }
    for (int64_t k = 0; k < j->opt.jobs; k++)
        while (j->child[k] > 0) {
            const bool well = await_one(j);
            ndone += well;
            good = well && good;
            run_progress_update(&progress, ndone);
        }
    run_progress_end(&progress);
    cli_note_kept(&j->tool, j->opt.quiet, count_tables(j), (size_t)n,
                  "copies are searched, and their tables kept: the same command goes on");
    return good ? PSR_OK
                : psr_fail(&j->err, run_stop_signal() ? PSR_ESTOPPED : PSR_EIO,
                           "not all copies were searched; the same command goes on");
}

static psr_status write_results(struct job *j)
{
    const int64_t n = j->opt.join ? (int64_t)j->opt.npath : inject_ntrial(&j->opt);
    struct inject_result all = {.n = 0};
    char path[INJECT_PATH];
    psr_status st = PSR_OK;
    for (int64_t t = 0; t < n && !st; t++) {
        if (j->opt.join)
            snprintf(path, sizeof path, "%.4000s/recall.tsv", j->opt.path[t]);
        else
            inject_table_name(path, &j->opt, t);
        st = inject_table_read(&all, path, &j->err);
    }
    snprintf(path, sizeof path, "%.4000s/recall.tsv", j->opt.output);
    if (!st)
        st = inject_table_write(path, all.row, all.n, &j->err);
    snprintf(path, sizeof path, "%.4000s/recall.html", j->opt.output);
    if (!st)
        st = inject_page(&all, j->command ? j->command : "psrinject", path, &j->err);
    size_t found = 0;
    for (size_t i = 0; i < all.n && !st; i++)
        found += !strcmp(all.row[i].lost, "-");
    if (!st && !j->opt.quiet) {
        char seed[40] = "";
        if (!j->opt.join)
            snprintf(seed, sizeof seed, ", seed %lld", (long long)j->opt.seed);
        fprintf(stderr, "%s: found %zu of %zu signals%s; see %s\n", j->tool.name, found, all.n,
                seed, path);
    }
    free(all.row);
    return st;
}

int main(int argc, char **argv)
{
    struct job j = {.command = quote_command("psrinject", argc, argv)};
    inject_options_parse(&j.opt, &j.tool, argc, argv);
    run_catch_signals();
    psr_status st = j.opt.join ? make_folder(&j) : read_fields(&j);
    if (!st && !j.opt.join)
        st = check_settings(&j);
    if (!st && !j.opt.join)
        st = run_trials(&j);
    if (!st)
        st = write_results(&j);
    free(j.field);
    free(j.child);
    free(j.command);
    return cli_end(&j.tool, st, &j.err, EXIT_SUCCESS);
}
