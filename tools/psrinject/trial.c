/* Runs the tools of a trial in a folder of its own. */
#include "base/portable.h"
#include "base/tool.h"
#include "psrinject.h"
#include "tools/common/json_read.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/outfile.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Matches signals with the lists of a search, and names the step that lost them. */

enum { LINE_BYTES = 1 << 22, LIST_BYTES = 1 << 30 };

/* Harmonics whose period counts as the pulsar's. */
enum { HARMONICS = 4 };

static void count_threads(char text[24], const struct inject_options *o)
{
    const int64_t all = o->ncpus ? o->ncpus : (int64_t)sysconf(_SC_NPROCESSORS_ONLN),
                  each = all / o->jobs;
    snprintf(text, 24, "%lld", (long long)(each > 1 ? each : 1));
}

static psr_status add_words(struct psr_names *words, const char *const *word, size_t n,
                            psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = psr_names_add(words, word[i], err);
    return st;
}

/* The folder of a trial, and a name in it. */
static void name_in(char path[INJECT_PATH], const struct inject_trial *t, const char *name)
{
    snprintf(path, INJECT_PATH, "%.4000s/%06lld%s%s", t->opt->output, (long long)t->number,
             *name ? "/" : "", name);
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

/* Steps of a pulsar, the later the farther it came. */
static const char *const steps[] = {"search", "sift", "fold", "score", "-"};

enum { SEARCHED, SIFTED, FOLDED, SCORED, FOUND };

struct reached {
    int step;
    double snr;
};

/* Seconds by which a wrong DM smears a pulse over the band. */
static double smear_s(const struct inject_field *f, double dm)
{
    return fabs(psr_delay_s(PSR_DMCONST_PRESTO, dm, f->lowest_mhz) -
                psr_delay_s(PSR_DMCONST_PRESTO, dm, f->highest_mhz));
}

/* Within three bins of the spectrum and what the Earth's motion does, at a DM that smears by less than a turn. */
static bool is_pulsar(const struct inject_trial *t, const struct inject_row *row, double period_s,
                      double dm)
{
    const double wander = fabs(row->accn) * t->field.length_s / 6e8; /* of half of the time */
    if (!row->pulsar || !(period_s > 0) || smear_s(&t->field, dm - row->dm) > row->period_s)
        return false;
    for (int h = 1; h <= HARMONICS; h++)
        for (int up = 0; up < 2; up++) {
            const double ratio = period_s / row->period_s * (up ? h : 1.0 / h),
                         bins = 3 * row->period_s / t->field.length_s;
            if (fabs(ratio - 1) < bins + 2e-4 + wander)
                return true;
        }
    return false;
}

/* At a DM that smears it by less than ten widths, and near in time by as much. */
static bool is_burst(const struct inject_trial *t, const struct inject_row *row, double time_s,
                     double dm)
{
    const double width_s = fmax(row->width_s, t->field.tsamp_s),
                 apart_s = smear_s(&t->field, dm - row->dm);
    return !row->pulsar && apart_s < 10 * width_s &&
           fabs(time_s - row->t_s) < 3 * width_s + apart_s;
}

static void take(struct inject_trial *t, struct reached *reached, int step, double period_s,
                 double dm, double snr)
{
    for (size_t i = 0; i < t->n; i++)
        if (is_pulsar(t, &t->row[i], period_s, dm)) {
            if (step > reached[i].step || (step == reached[i].step && snr > reached[i].snr))
                reached[i].snr = snr;
            reached[i].step = step > reached[i].step ? step : reached[i].step;
        }
}

/* What is done with a line of a list. */
typedef psr_status take_line(struct inject_trial *t, struct reached *reached, char *line,
                             const char *what, psr_err *err);

static psr_status take_reject(struct inject_trial *t, struct reached *reached, char *line,
                              const char *what, psr_err *err)
{
    double dm, snr, period_ms;
    (void)what, (void)err;
    if (sscanf(line, "%*s %lf %lf %*f %*d %*f %*f %lf", &dm, &snr, &period_ms) == 3)
        take(t, reached, SIFTED, period_ms / 1e3, dm, snr);
    return PSR_OK;
}

static psr_status take_sifted(struct inject_trial *t, struct reached *reached, char *line,
                              const char *what, psr_err *err)
{
    struct json_value *v;
    psr_status st = json_parse(&v, line, what, err);
    if (!st)
        take(t, reached, FOLDED, json_number(v, "period_s"), json_number(v, "dm"),
             json_number(v, "snr"));
    if (!st)
        json_clear(v);
    return st;
}

static psr_status take_fold(struct inject_trial *t, struct reached *reached, char *line,
                            const char *what, psr_err *err)
{
    struct json_value *v;
    psr_status st = json_parse(&v, line, what, err);
    if (st)
        return st;
    const double probability = json_number(v, "probability");
    take(t, reached, probability >= t->opt->probability ? FOUND : SCORED,
         json_number(v, "p_s_topo"), json_number(v, "dm"), json_number(v, "snr"));
    json_clear(v);
    return PSR_OK;
}

static psr_status take_burst(struct inject_trial *t, struct reached *reached, char *line,
                             const char *what, psr_err *err)
{
    double snr, time_s, dm;
    (void)what, (void)err;
    if (sscanf(line, "%lf %*f %lf %*f %*f %lf", &snr, &time_s, &dm) != 3)
        return PSR_OK;
    for (size_t i = 0; i < t->n; i++)
        if (is_burst(t, &t->row[i], time_s, dm)) {
            reached[i].step = FOUND;
            reached[i].snr = fmax(reached[i].snr, snr);
        }
    return PSR_OK;
}

/* A list that is not there had nothing in it. */
static psr_status read_list(struct inject_trial *t, struct reached *reached, const char *root,
                            const char *suffix, take_line *take_one, psr_err *err)
{
    char path[INJECT_PATH], what[INJECT_PATH + 32];
    struct psr_text_lines in;
    bool exists;
    snprintf(path, sizeof path, "%.4000s%s", root, suffix);
    if (access(path, F_OK) != 0)
        return PSR_OK;
    char *line = malloc(LINE_BYTES);
    psr_status st = line ? psr_text_lines_open(&in, path, LIST_BYTES, err)
                         : psr_fail_nomem(err, path, LINE_BYTES);
    if (st) {
        free(line);
        return st;
    }
    while (!st && !(st = psr_text_lines_next(&in, line, LINE_BYTES, &exists, err)) && exists) {
        snprintf(what, sizeof what, "%s: line %ld", path, in.number);
        if (*line != '#' && line[strspn(line, " \t\r\n")])
            st = take_one(t, reached, line, what, err);
    }
    psr_text_lines_close(&in);
    free(line);
    return st;
}

/* Finds out what a search found of the signals, by the lists root.*.
 * Given:    all   also those that are found already
 * Returned: lost and found_snr of the rows */
static psr_status inject_match(struct inject_trial *t, const char *root, psr_err *err)
{
    struct reached reached[1 + INJECT_EACH] = {{0, 0}};
    psr_status st = read_list(t, reached, root, ".cand", take_burst, err);
    if (!st)
        st = read_list(t, reached, root, ".sift.rejects", take_reject, err);
    if (!st)
        st = read_list(t, reached, root, ".sift.jsonl", take_sifted, err);
    if (!st) /* as it was called before */
        st = read_list(t, reached, root, ".sift.json", take_sifted, err);
    if (!st)
        st = read_list(t, reached, root, ".fold.json", take_fold, err);
    for (size_t i = 0; i < t->n && !st; i++) {
        snprintf(t->row[i].lost, sizeof t->row[i].lost, "%s", steps[reached[i].step]);
        t->row[i].found_snr = reached[i].step == FOUND ? reached[i].snr : 0;
    }
    return st;
}

void inject_table_name(char path[INJECT_PATH], const struct inject_options *o, int64_t number)
{
    snprintf(path, INJECT_PATH, "%.4000s/%06lld.tsv", o->output, (long long)number);
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
    for (size_t i = 0; i < t->n; i++)
        inject_kind(t->row[i].interference, t->opt, (size_t)t->number % t->opt->npath);
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
