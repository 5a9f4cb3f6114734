/* Runs the tool of a step, and passes signals on to it. */
#include "psrsearch.h"

#include "tools/common/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void wake(int signal)
{
    (void)signal;
}

/* Opens a file of standard output.  A tool whose psrsearch was killed may still be ending, and has
 * the file locked as long.
 * Returned: the descriptor, -1 with errno where there is none */
static int open_output(const char *path)
{
    enum { PATIENCE = 1000 }; /* of 10 ms */
    const struct timespec pause = {.tv_nsec = 10000000};
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    for (int k = 0; fd >= 0 && k < PATIENCE && flock(fd, LOCK_EX | LOCK_NB) != 0; k++) {
        if (errno != EWOULDBLOCK)
            break; /* a file system without locks */
        nanosleep(&pause, NULL);
    }
    if (fd >= 0 && ftruncate(fd, 0) == 0)
        return fd;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

/* The child: the tool, which does not outlive this program. */
static _Noreturn void become(const struct psrsearch_step *step, char *const *argv, pid_t parent,
                             int output, int log, const sigset_t *mask)
{
    const int nothing = open("/dev/null", O_RDONLY);
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

/* Returned: the status of waitpid */
static int wait_for(pid_t child, const sigset_t *mask)
{
    int status = 0, sent = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        const int stop = run_stop_signal();
        if (stop && stop != sent)
            kill(child, stop);
        sent = stop;
        sigsuspend(mask);
    }
    return status;
}

/* Starts and waits, with the signals that end the wait blocked but while it sleeps. */
static psr_status start_and_wait(const struct psrsearch_step *step, char *const *argv, int output,
                                 int log, int *status, psr_err *err)
{
    struct sigaction on_child = {.sa_handler = wake}, before;
    const pid_t self = getpid();
    sigset_t block, mask;
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigaddset(&block, SIGINT);
    sigaddset(&block, SIGTERM);
    sigaddset(&block, SIGHUP);
    sigprocmask(SIG_BLOCK, &block, &mask);
    sigaction(SIGCHLD, &on_child, &before);
    const pid_t child = fork();
    if (child == 0)
        become(step, argv, self, output, log, &mask);
    if (child > 0)
        *status = wait_for(child, &mask);
    const int error = errno;
    sigaction(SIGCHLD, &before, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    errno = error;
    return child > 0 ? PSR_OK : psr_fail_errno(err, "%s", step->program);
}

/* Says what became of the tool. */
static psr_status judge(const struct psrsearch_plan *p, const struct psrsearch_step *step,
                        const char *log, int status, psr_err *err)
{
    if (run_stop_signal())
        return psr_fail(err, PSR_ESTOPPED, "stopped by signal %d", run_stop_signal());
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PSR_OK;
    char *line = psrsearch_command_line(p, step);
    const bool exited = WIFEXITED(status);
    psr_status st =
        psr_fail(err, PSR_EIO, "step %s failed with %s %d; its messages are in %s; command: %s",
                 step->name, exited ? "exit code" : "signal",
                 exited ? WEXITSTATUS(status) : WTERMSIG(status), log, line ? line : step->program);
    free(line);
    return st;
}

/* argv [n + 1], which ends with NULL, borrows its words. */
static char **make_argv(const struct psr_names *command)
{
    char **argv = calloc(command->n + 1, sizeof *argv);
    for (size_t i = 0; argv && i < command->n; i++)
        argv[i] = command->name[i];
    return argv;
}

static void head_log(const struct psrsearch_plan *p, const struct psrsearch_step *step, int log)
{
    char *line = psrsearch_command_line(p, step);
    if (line)
        dprintf(log, "# %s\n", line);
    free(line);
}

psr_status psrsearch_run(const struct psrsearch_plan *p, enum psrsearch_kind kind, psr_err *err)
{
    const struct psrsearch_step *step = &p->step[kind];
    char *log_name = psrsearch_join(p->base, "_", step->name, ".log", NULL);
    char *output_name = step->output ? psrsearch_join(p->base, step->output, NULL) : NULL;
    char **argv = make_argv(&step->command);
    int log = -1, output = -1, status = 0;
    psr_status st = PSR_OK;
    if (!log_name || (step->output && !output_name) || !argv)
        st = psr_fail_nomem(err, step->name, 256);
    if (!st && (log = open_output(log_name)) < 0)
        st = psr_fail_errno(err, "%s", log_name);
    if (!st && output_name && (output = open_output(output_name)) < 0)
        st = psr_fail_errno(err, "%s", output_name);
    if (!st) {
        head_log(p, step, log);
        st = start_and_wait(step, argv, output >= 0 ? output : log, log, &status, err);
    }
    if (!st)
        st = judge(p, step, log_name, status, err);
    if (log >= 0)
        close(log);
    if (output >= 0)
        close(output);
    free(argv);
    free(log_name);
    free(output_name);
    return st;
}

void psrsearch_copy_log(const struct psrsearch_plan *p, enum psrsearch_kind step, FILE *to)
{
    char *name = psrsearch_join(p->base, "_", p->step[step].name, ".log", NULL);
    FILE *from = name ? fopen(name, "re") : NULL;
    char bytes[4096];
    size_t n;
    while (from && (n = fread(bytes, 1, sizeof bytes, from)) > 0)
        fwrite(bytes, 1, n, to);
    if (from)
        fclose(from);
    free(name);
}
