/* Runs the tool of a step, and passes signals on to it. */
#include "psrsearch.h"

#include "base/portable.h"
#include "tools/common/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <psrkit/experimental/outfile.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void wake(int signal)
{
    (void)signal;
}

/* A tool whose psrsearch was killed may still be ending, and has the file locked as long. */
static void await_writer(const char *path)
{
    enum { PATIENCE = 1000 }; /* of 10 ms */
    const struct timespec pause = {.tv_nsec = 10000000};
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    for (int k = 0; fd >= 0 && k < PATIENCE && flock(fd, LOCK_EX | LOCK_NB) != 0; k++) {
        if (errno != EWOULDBLOCK)
            break; /* a file system without locks */
        nanosleep(&pause, NULL);
    }
    if (fd >= 0)
        close(fd);
}

/* A file of standard output or messages, locked as long as the tool has it. */
static psr_status open_output(int *fd, const char *path, psr_err *err)
{
    await_writer(path);
    psr_status st = psr_outfile_open_messages(fd, path, err);
    if (!st)
        (void)flock(*fd, LOCK_EX | LOCK_NB);
    return st;
}

/* The child: the tool, which does not outlive this program. */
static _Noreturn void become(const struct psrsearch_step *step, char *const *argv, pid_t parent,
                             int output, int log, bool bars, const sigset_t *mask)
{
    const int nothing = open("/dev/null", O_RDONLY);
    /* The tool's messages go to its log, and its bars to the terminal. */
    const bool offered = bars && isatty(STDERR_FILENO);
    char text[16];
    const int fd = offered ? fcntl(STDERR_FILENO, F_DUPFD, STDERR_FILENO + 1) : -1;
    snprintf(text, sizeof text, "%d", fd);
    if (fd < 0 || setenv(RUN_PROGRESS_FD, text, 1) != 0)
        unsetenv(RUN_PROGRESS_FD);
    setenv("OMP_WAIT_POLICY", "passive", 0); /* spinning threads take cores from those that work */
    if (step->yields)
        (void)!nice(10);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    if (getppid() != parent || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        _exit(126);
    execvp(step->program, argv);
    dprintf(STDERR_FILENO, "%s: %s\n", step->program, strerror(errno));
    _exit(127);
}

/* Blocks what ends a wait, but while that sleeps. */
static void block_signals(sigset_t *mask)
{
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigaddset(&block, SIGINT);
    sigaddset(&block, SIGTERM);
    sigaddset(&block, SIGHUP);
    sigprocmask(SIG_BLOCK, &block, mask);
}

static bool has_ended(struct psrsearch_child *child)
{
    if (child->pid > 0 && !child->ended && waitpid(child->pid, &child->status, WNOHANG) != 0) {
        child->ended = true;
        child->ended_s = run_seconds();
    }
    return child->ended;
}

/* Says what became of the tool, with the last line of its messages. */
static psr_status judge(const struct psrsearch_step *step, const char *log, int status,
                        psr_err *err)
{
    char last[200];
    if (run_stop_signal())
        return psr_fail(err, PSR_ESTOPPED, "stopped by signal %d", run_stop_signal());
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PSR_OK;
    const bool exited = WIFEXITED(status), said = psrsearch_last_line(last, sizeof last, log);
    return psr_fail(err, exited && WEXITSTATUS(status) == CLI_EXIT_DATA ? PSR_EFORMAT : PSR_EIO,
                    "step %s failed with %s %d%s%s; its messages are in %s", step->name,
                    exited ? "exit code" : "signal",
                    exited ? WEXITSTATUS(status) : WTERMSIG(status), said ? ": " : "",
                    said ? last : "", log);
}

static char *name_log(const struct psrsearch_plan *p, enum psrsearch_kind kind)
{
    return psrsearch_join(p->aside, "_", p->step[kind].name, ".log", NULL);
}

/* The name of the tool's standard output, and that before it is complete; NULL where there is none, or no memory. */
static char *name_output(const struct psrsearch_plan *p, enum psrsearch_kind kind, bool complete)
{
    const char *output = p->step[kind].output;
    return output ? psrsearch_join(p->base, output, complete ? NULL : ".part000000", NULL) : NULL;
}

/* Closes what the tool wrote into.  Its standard output takes the place of an earlier one if it is complete. */
static psr_status close_outputs(struct psrsearch_child *child, const struct psrsearch_plan *p,
                                enum psrsearch_kind kind, psr_status st, psr_err *err)
{
    if (child->log >= 0)
        close(child->log);
    if (child->output >= 0) {
        char *name = name_output(p, kind, true), *part = name_output(p, kind, false);
        close(child->output);
        if (!st && !(name && part))
            st = psr_fail_nomem(err, p->step[kind].name, 256);
        if (!st && rename(part, name) != 0)
            st = psr_fail_errno(err, "%s", part);
        if (st && part)
            (void)unlink(part);
        free(name);
        free(part);
    }
    child->log = child->output = -1;
    return st;
}

psr_status psrsearch_start(struct psrsearch_child *child, const struct psrsearch_plan *p,
                           enum psrsearch_kind kind, bool bars, psr_err *err)
{
    const struct psrsearch_step *step = &p->step[kind];
    char *log_name = name_log(p, kind);
    char *part = name_output(p, kind, false);
    /* argv [n + 1], which ends with NULL, borrows its words. */
    const struct psr_names *command = &step->command;
    char **argv = calloc(command->n + 1, sizeof *argv);
    for (size_t i = 0; argv && i < command->n; i++)
        argv[i] = command->name[i];
    psr_status st = PSR_OK;
    *child = (struct psrsearch_child){.log = -1, .output = -1};
    if (!log_name || (step->output && !part) || !argv)
        st = psr_fail_nomem(err, step->name, 256);
    if (!st)
        st = open_output(&child->log, log_name, err);
    if (!st && step->output)
        st = open_output(&child->output, part, err);
    if (!st) {
        const int log = child->log;
        char *line = psrsearch_command_line(p, step);
        if (line)
            dprintf(log, "# %s\n", line);
        free(line);
        const pid_t self = getpid();
        sigset_t mask;
        block_signals(&mask);
        child->pid = fork();
        if (child->pid == 0)
            become(step, argv, self, child->output >= 0 ? child->output : child->log, child->log,
                   bars, &mask);
        const int error = errno;
        sigprocmask(SIG_SETMASK, &mask, NULL);
        errno = error;
        st = child->pid > 0 ? PSR_OK : psr_fail_errno(err, "%s", step->program);
    }
    if (st)
        (void)!close_outputs(child, p, kind, st, err);
    free(argv);
    free(part);
    free(log_name);
    return st;
}

bool psrsearch_wait_either(struct psrsearch_child *child, struct psrsearch_child *beside)
{
    struct sigaction on_child = {.sa_handler = wake}, before;
    int sent = 0;
    sigset_t mask;
    block_signals(&mask);
    sigaction(SIGCHLD, &on_child, &before);
    while (!has_ended(child) && !(beside && has_ended(beside))) {
        const int stop = run_stop_signal();
        if (stop && stop != sent)
            kill(child->pid, stop);
        sent = stop;
        sigsuspend(&mask);
    }
    sigaction(SIGCHLD, &before, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return child->ended;
}

psr_status psrsearch_wait(struct psrsearch_child *child, const struct psrsearch_plan *p,
                          enum psrsearch_kind kind, psr_err *err)
{
    (void)psrsearch_wait_either(child, NULL);
    char *log_name = name_log(p, kind);
    psr_status st = log_name ? judge(&p->step[kind], log_name, child->status, err)
                             : psr_fail_nomem(err, p->step[kind].name, 256);
    free(log_name);
    return close_outputs(child, p, kind, st, err);
}
