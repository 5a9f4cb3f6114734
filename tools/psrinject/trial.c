/* Runs the tools of a trial in a folder of its own. */
#include "psrinject.h"

#include "base/portable.h"
#include "base/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <psrkit/experimental/outfile.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void inject_table_name(char path[INJECT_PATH], const struct inject_options *o, int64_t number)
{
    snprintf(path, INJECT_PATH, "%.4000s/%06lld.tsv", o->output, (long long)number);
}

/* The folder of a trial, and a name in it. */
static void name_in(char path[INJECT_PATH], const struct inject_trial *t, const char *name)
{
    snprintf(path, INJECT_PATH, "%.4000s/%06lld%s%s", t->opt->output, (long long)t->number,
             *name ? "/" : "", name);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static psr_status remove_folder(const char *path, psr_err *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return psr_fail_errno(err, "%s", path);
    return PSR_OK;
}

/* The child: the tool, which does not outlive this program. */
static _Noreturn void become(char *const *argv, pid_t parent, const char *log)
{
    const int nothing = open("/dev/null", O_RDONLY),
              to = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || nothing < 0 || to < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0)
        _exit(126);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static psr_status run_tool(const struct inject_trial *t, const struct psr_names *words,
                           psr_err *err)
{
    char log[INJECT_PATH];
    char **argv = calloc(words->n + 1, sizeof *argv);
    int status = 0;
    if (!argv)
        return psr_fail_nomem(err, "command line", (double)words->n);
    memcpy(argv, words->name, words->n * sizeof *argv);
    name_in(log, t, "log");
    const pid_t self = getpid(), child = fork();
    if (child == 0)
        become(argv, self, log);
    const bool done = child > 0 && waitpid(child, &status, 0) == child;
    psr_status st = PSR_OK;
    if (!done)
        st = psr_fail_errno(err, "%s", argv[0]);
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        st = psr_fail(err, PSR_EIO, "%s failed with %s %d: its messages are in %s", argv[0],
                      WIFEXITED(status) ? "exit code" : "signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), log);
    free(argv);
    return st;
}

static psr_status add_words(struct psr_names *words, const char *const *word, size_t n,
                            psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = psr_names_add(words, word[i], err);
    return st;
}

static void count_threads(char text[24], const struct inject_options *o)
{
    const int64_t all = o->ncpus ? o->ncpus : (int64_t)sysconf(_SC_NPROCESSORS_ONLN),
                  each = all / o->jobs;
    snprintf(text, 24, "%lld", (long long)(each > 1 ? each : 1));
}

static psr_status inject(const struct inject_trial *t, const char *copy, psr_err *err)
{
    struct psr_names words = {.n = 0};
    char seed[24], threads[24], text[400];
    count_threads(threads, t->opt);
    snprintf(seed, sizeof seed, "%lld", (long long)(t->opt->seed + t->number));
    const char *const begin[] = {"fbedit", "-q", "-ncpus", threads, "-seed", seed, "-o", copy};
    psr_status st = add_words(&words, begin, sizeof begin / sizeof *begin, err);
    for (size_t i = 0; i < t->n && !st; i++) {
        inject_words(text, sizeof text, &t->row[i]);
        st = add_words(&words, (const char *const[]){"-add", text}, 2, err);
    }
    if (!st)
        st = psr_names_add(&words, t->input, err);
    if (!st)
        st = run_tool(t, &words, err);
    psr_names_clear(&words);
    return st;
}

/* Searches as -search says, but for what it says of cleaning where clean is given.
 * Returned: how, 16 bytes: what it says of cleaning */
static psr_status search(const struct inject_trial *t, const char *copy, const char *folder,
                         const char *clean, char *how, psr_err *err)
{
    struct psr_names words = {.n = 0};
    char threads[24], *rest, *copied = strdup(t->opt->search);
    if (!copied)
        return psr_fail_nomem(err, "-search", (double)strlen(t->opt->search));
    count_threads(threads, t->opt);
    const char *const begin[] = {"psrsearch", "-q", "-ncpus", threads, "-o", folder};
    psr_status st = add_words(&words, begin, sizeof begin / sizeof *begin, err);
    snprintf(how, 16, "auto");
    for (char *w = strtok_r(copied, " \t", &rest); w && !st; w = strtok_r(NULL, " \t", &rest)) {
        const bool cleans = !strcmp(w, "-clean") || !strcmp(w, "--clean");
        if (cleans && (w = strtok_r(NULL, " \t", &rest)))
            snprintf(how, 16, "%.15s", w);
        else if (!cleans)
            st = psr_names_add(&words, w, err);
    }
    if (!st)
        st = add_words(&words, (const char *const[]){"-clean", clean ? clean : how, copy}, 3, err);
    if (!st)
        st = run_tool(t, &words, err);
    psr_names_clear(&words);
    free(copied);
    return st;
}

/* What the search did not see it may see without cleaning: then that lost it. */
static psr_status blame_cleaning(struct inject_trial *t, const char *copy, const char *how,
                                 psr_err *err)
{
    char folder[INJECT_PATH], root[INJECT_PATH], unused[16];
    struct inject_trial again = *t;
    bool any = false;
    for (size_t i = 0; i < t->n; i++)
        any |= !strcmp(t->row[i].lost, "search");
    if (!any || !strcmp(how, "none"))
        return PSR_OK;
    name_in(folder, t, "uncleaned");
    psr_status st = search(t, copy, folder, "none", unused, err);
    name_in(root, t, "uncleaned/copy");
    if (!st)
        st = inject_match(&again, root, err);
    for (size_t i = 0; i < t->n && !st; i++)
        if (!strcmp(t->row[i].lost, "search") && strcmp(again.row[i].lost, "search") != 0)
            snprintf(t->row[i].lost, sizeof t->row[i].lost, "%s",
                     strcmp(how, "mask") ? "cleaning" : "mask");
    return st;
}

psr_status inject_trial_run(struct inject_trial *t, psr_err *err)
{
    char folder[INJECT_PATH], copy[INJECT_PATH], found[INJECT_PATH], root[INJECT_PATH],
        table[INJECT_PATH], how[16];
    name_in(folder, t, "");
    name_in(copy, t, "copy.fil");
    name_in(found, t, "search");
    name_in(root, t, "search/copy");
    inject_table_name(table, t->opt, t->number);
    psr_status st = remove_folder(folder, err);
    if (!st && mkdir(folder, 0777) != 0)
        st = psr_fail_errno(err, "%s", folder);
    if (!st)
        st = inject(t, copy, err);
    if (!st)
        st = search(t, copy, found, NULL, how, err);
    if (!st)
        st = inject_match(t, root, err);
    if (!st)
        st = blame_cleaning(t, copy, how, err);
    if (!st && !t->opt->keep)
        st = remove_folder(folder, err);
    return st ? st : inject_table_write(table, t->row, t->n, err);
}
