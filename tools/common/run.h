/* run.h: signal handling and progress of a long-running tool. */
#ifndef PSR_TOOLS_RUN_H
#define PSR_TOOLS_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

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

/* From now on the limit on the size of files is a write error, as in run_catch_signals. */
void run_catch_limit(void);

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

/* Share done, rate and time left. */
struct run_progress {
    enum run_progress_mode mode;
    int fd;      /* of the terminal; -1: none */
    bool is_bar; /* one stands there */
    double began_s, printed_s;
    int64_t total; /* -1 where unknown */
    const char *unit;
    double per_unit; /* one count in units */
    int64_t done;    /* of series */
};

void run_progress_start(struct run_progress *p, enum run_progress_mode mode, int64_t total,
                        const char *unit, double per_unit);
void run_progress_update(struct run_progress *p, int64_t done);
void run_progress_end(struct run_progress *p);

/* The callbacks of pipelines and beamformers: whether a signal asked the program to stop, and
 * progress.  ctx is the struct run_progress. */
bool run_should_stop(void *ctx);
void run_show_progress(void *ctx, int64_t done);

/* The same of series that are searched, after what the progress was of before. */
void run_show_searched(void *ctx, int64_t done, int64_t total);

/* Seconds of a monotonic clock. */
double run_seconds(void);

#endif
