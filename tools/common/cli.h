/* cli.h: what every psrkit tool shares on its command line.
 *
 * One table per tool gives the parser, --help and, through help2man, the manual page.  Options are
 * words after one dash or two, anywhere among the operands; "--" ends them; --name=value works too.
 */
#ifndef PSR_TOOLS_CLI_H
#define PSR_TOOLS_CLI_H

#include <psrkit/obs.h>
#include <psrkit/status.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Exit statuses other than 0: a fault of the machine or of what was asked, of the command line, and of
 * the data, which no other attempt will mend. */
enum { CLI_EXIT_FAILURE = 1, CLI_EXIT_USAGE = 2, CLI_EXIT_DATA = 3 };

enum cli_type {
    CLI_HEADING, /* no option: name is a heading of --help */
    CLI_FLAG,    /* bool *: set to true */
    CLI_INT,     /* int64_t * in [min, max] */
    CLI_DOUBLE,  /* double * in [min, max] */
    CLI_SIZE,    /* int64_t * of bytes, as 512M */
    CLI_TEXT,    /* const char ** */
    CLI_LIST,    /* struct cli_list *: the option may be given again and again */
};

struct cli_list {
    const char **text; /* [n], malloc'd; lives as long as the program */
    size_t n;
};

struct cli_option {
    const char *name; /* without dashes; several as "l, loDM" */
    enum cli_type type;
    void *value;      /* or CLI_AT, in a table for CLI_FILL */
    const char *arg;  /* what --help calls the value */
    double min, max;  /* limits of a number */
    const char *help; /* one sentence with unit and default */
};

/* Options in the order of --help, put together from parts. */
enum { CLI_TABLE_MAX = 96 };
struct cli_table {
    struct cli_option option[CLI_TABLE_MAX];
    size_t n;
};

/* Adds n options at the end; more than there is room for end the program. */
void cli_table_add(struct cli_table *table, const struct cli_option *option, size_t n);

#define CLI_ADD(table, options) cli_table_add(table, options, sizeof(options) / sizeof *(options))

/* The same of a table whose values are members of *base. */
void cli_table_fill(struct cli_table *table, const struct cli_option *option, size_t n, void *base);

#define CLI_AT(type, member) ((void *)offsetof(type, member))
#define CLI_FILL(table, options, base)                                                             \
    cli_table_fill(table, options, sizeof(options) / sizeof *(options), base)

/* The rows after it stand under this heading. */
void cli_add_heading(struct cli_table *table, const char *name);

/* Rows of more than one tool: -ncpus and -mem (NULL: not that), -q and -v. */
void cli_add_limits(struct cli_table *table, int64_t *ncpus, int64_t *mem_bytes);
void cli_add_verbosity(struct cli_table *table, bool *quiet, bool *verbose);

/* Rows of the tools that read observations: the kind of file, its polarisation and what of PSRFITS
 * applies. */
struct cli_observation {
    bool *filterbank, *psrfits;
    int64_t *if_choice;
    bool *no_weights, *no_scales, *no_offsets, *invert;
    const char **state; /* for cli_parse_state */
};

void cli_add_observation(struct cli_table *table, struct cli_observation o);

/* PRESTO's options that mean nothing here; numwapps is 1 unless given. */
void cli_add_ignored(struct cli_table *table, bool *wapp, bool *window, int64_t *numwapps);
void cli_add_mask(struct cli_table *table, const char **mask, const char **ignorechan);
void cli_add_clean(struct cli_table *table, const char **how, const char *help);

/* help for files whose names begin with root */
#define CLI_CLEAN_HELP(root)                                                                       \
    "auto: find interference by its statistics and remove it, bring all channels to one level "    \
    "and scatter, and write what was removed to " root                                             \
    ".clean.json, .clean.mask and .clean.stats. none (default): only what the other options say."

void cli_add_clipping(struct cli_table *table, double *sigma, bool *noclip, bool *zerodm);

/* Options that another program has and the tool has not. */
struct cli_elsewhere {
    const char *names;   /* as those of an option, "a, b" */
    const char *instead; /* what does it, in a message */
};

struct cli {
    const char *name;
    const char *operands; /* for the usage line: "[OPTION]... FILE..." */
    const char *summary;  /* what the tool does, for --help and the manual */
    const struct cli_option *options;
    size_t noptions;
    const char *examples; /* command lines, one a line, for --help and the manual; NULL: none */
    const struct cli_elsewhere *elsewhere; /* up to one without names; NULL: none */
};

/* Parses argv, and deals with --help, -h and --version, which exit 0.  A mistake exits 2 with a
 * line on standard error.  The table is forgotten, so that it may end with the caller.
 * Returned: the number of operands, moved to argv[1 .. n] in their order */
int cli_parse(struct cli *tool, int argc, char **argv);

/* Parses the options of a search, text, that the value of an option of a tool has, as in -accelsearch "-zmax 200".
 * Given:    inner   its summary and options; name and operands are set
 * Returned: storage that the name and texts of options point into; the caller frees it */
char *cli_parse_words(struct cli *inner, const struct cli *tool, const char *option,
                      const char *text);

/* What -state says that polarisations are; NULL: nothing.  Anything but Stokes and Coherence is a usage error. */
enum psr_pols cli_parse_state(const struct cli *tool, const char *state);

/* Whether argv[0] is this name, perhaps of a link, whatever its folder. */
bool cli_is_run_as(const char *program, const char *name);

/* Whether -clean is auto, not none; anything else is a usage error. */
bool cli_parse_clean(const struct cli *tool, const char *how);

/* One line "TOOL: message" on standard error and exit code 2. */
_Noreturn void cli_usage_error(const struct cli *tool, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* One line "TOOL: message" on standard error; exit code for main to return: 3 for data that are
 * malformed or not supported, else 1.  Nothing is said once a signal ends the run. */
int cli_report(const struct cli *tool, const psr_err *err);

/* The exit code of two outcomes: that of a failure, which another attempt may mend, outranks bad
 * data. */
int cli_worse(int a, int b);

/* Remarks as "TOOL: message" on standard error; ctx is the struct cli. */
void cli_note(void *ctx, const char *msg);

/* Says why a picture, or another file that a run can do without, is left out; nothing once a signal ends the run. */
void cli_note_left_out(const struct cli *tool, const psr_err *why);

/* Says what a run that a signal ends has kept, and how to go on; or that it has kept nothing.
 * Given: what   "files are searched", of which there are n; how to go on */
void cli_note_kept(const struct cli *tool, bool quiet, size_t n, size_t all, const char *what);

/* A name as it can be printed: without control characters and bytes that are no UTF-8, cut to room.
 * Returned: to */
const char *cli_printable(char *to, size_t room, const char *name);

/* The put of a struct psr_json that goes to a stream; ctx is the FILE. */
void cli_put_json(void *ctx, const char *bytes, size_t n);

/* Flushes and closes standard output; a full disk there is a failure.
 * Returned: code, or 1 where closing failed (which is then reported). */
int cli_close_stdout(const struct cli *tool, int code);

/* The end of a tool that catches signals: dies by one that was caught, or reports an error; then closes standard output.
 * Given:    st, err   the outcome
 *           code      0, or the worst of cli_report if part of the work failed
 * Returned: exit code for main to return */
int cli_end(const struct cli *tool, psr_status st, const psr_err *err, int code);

/* --- what tools do around a run ------------------------------------------------------------------ */

/* Puts something in the place of standard input, output and error where they are closed, or the
 * first file that is opened would be, and messages would go into it.  Reading or writing fails as
 * before. */
void run_hold_descriptors(void);

/* From now on SIGINT, SIGTERM and SIGHUP only set a flag, so that the main loop can stop and remove
 * its temporary files; a second one, 0.3 s later or more, ends the program at once.  Waiting for a pipe ends too, in any
 * thread: SIGALRM interrupts all, each 0.1 s from the signal on.  A
 * closed pipe and the limit on the size of files become write errors. */
void run_catch_signals(void);

/* After it, SIGHUP does not end the program, and run_take_hangup says once that it came. */
void run_catch_hangup(void);
bool run_take_hangup(void);

/* Makes *ncpus, 0 for all, no more threads than can be started: where a limit is lower OpenMP ends
 * the program, and its temporary files stay.
 * Given:  name  of the tool, for a remark; NULL: none */
void run_limit_threads(int64_t *ncpus, const char *name);

/* The signal that asked the program to stop, or 0. */
int run_stop_signal(void);

/* Forgets it: it has been obeyed. */
void run_forget_signal(void);

/* Ends the program by the signal caught, if any, so that the caller's shell sees why. */
void run_die_if_stopped(void);

/* How progress is shown: on a terminal as a bar, elsewhere not, or as a line every 30 s. */
enum run_progress_mode { RUN_NO_PROGRESS, RUN_BAR, RUN_BAR_OR_LINES };

/* That of the options -q and -v. */
enum run_progress_mode run_progress_mode(bool quiet, bool verbose);

/* The name of a variable of the environment with the number of a descriptor that leads to a terminal: tools whose
 * messages go to a file show their bars there. */
#define RUN_PROGRESS_FD "PSRKIT_PROGRESS_FD"

/* Share done, rate and time left.  A thread of its own draws them again while nothing is counted, so it stays where it is
 * until it ends. */
struct run_progress {
    enum run_progress_mode mode;
    int fd;                               /* of the terminal; -1: none */
    bool is_bar;                          /* one stands there */
    double began_s, counted_s, printed_s; /* counted: when done was */
    int64_t total;                        /* -1 where unknown */
    const char *unit;
    double per_unit; /* one count in units */
    int64_t done;
    int64_t before, nsearch; /* of the batch; searches of it that ended */
    double share;            /* done of the one under way */
    bool draws;              /* the thread */
    pthread_t drawing;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

void run_progress_start(struct run_progress *p, enum run_progress_mode mode, int64_t total,
                        const char *unit, double per_unit);
/* A bar that is full goes, and comes back if the end takes long. */
void run_progress_update(struct run_progress *p, int64_t done);
void run_progress_end(struct run_progress *p);

/* The callbacks of pipelines and beamformers: whether a signal asked the program to stop, and
 * progress.  ctx is the struct run_progress. */
bool run_should_stop(void *ctx);
void run_show_progress(void *ctx, int64_t done);

/* The same of series that are searched, of pulses and of folds, after what the progress was of before. */
void run_show_searched(void *ctx, int64_t done, int64_t total);
void run_show_pulses(void *ctx, int64_t done, int64_t total);
void run_show_folds(void *ctx, int64_t done, int64_t total);

/* The same of several files that are searched in batches; the progress counts RUN_PARTS of a file.  The n files of a
 * batch come after "before", and are searched together; if single then also each by itself, which takes what is left
 * of 1 behind together. */
enum { RUN_PARTS = 1000 };
struct run_part {
    int64_t before, n;
    bool single;
    double together;
};
void run_show_part(struct run_progress *p, const struct run_part *part, int64_t done,
                   int64_t total);
/* Starts it: files, or percent of a single one. */
void run_progress_start_parts(struct run_progress *p, enum run_progress_mode mode, size_t nfile);

/* The same of anything that is counted in whole units, a literal; a count below the last begins anew. */
void run_show(struct run_progress *p, const char *unit, int64_t done, int64_t total);

/* Seconds of a monotonic clock. */
double run_seconds(void);

#endif
