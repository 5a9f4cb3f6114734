/* Handles signals, and shows progress. */
#include "tools/common/cli.h"

#include "base/portable.h"

#include <errno.h>
#include <fcntl.h>
#include <psrkit/device.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#if defined __linux__
#include <sys/syscall.h>
#endif

/* The only state that the handler touches; any thread reads it. */
static atomic_int caught_signal;

/* The same signal within this time is the first one still: timeout(1) sends it to the process and to its group, a terminal
 * to a tool and to those that pass it on. */
static const int64_t same_signal_ns = 300000000;

static atomic_llong caught_ns;

/* Ends the waits of all other threads: a signal comes to one of them only, and another may wait for the reader of a pipe. */
static void interrupt_others(void)
{
#if defined __linux__
    /* Name of an entry of a folder, as the system gives it: behind its number, offset, length and type. */
    enum { ENTRY_BYTES_AT = 16, ENTRY_NAME_AT = 19 };
    char entries[4096];
    const pid_t own = (pid_t)syscall(SYS_gettid), self = getpid();
    const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;
    while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        unsigned short bytes;
        for (long at = 0; at < n; at += bytes) {
            pid_t thread = 0;
            memcpy(&bytes, entries + at + ENTRY_BYTES_AT, sizeof bytes);
            for (const char *c = entries + at + ENTRY_NAME_AT; *c >= '0' && *c <= '9'; c++)
                thread = 10 * thread + (*c - '0');
            if (thread > 0 && thread != own)
                (void)syscall(SYS_tgkill, self, thread, SIGALRM);
        }
    }
    if (fd >= 0)
        close(fd);
#endif
}

/* The timer's alarm comes to one thread, which passes it on to the others. */
static void note_alarm(int number, siginfo_t *info, void *context)
{
    const int before = errno;
    (void)number;
    (void)context;
    if (info->si_code != SI_TKILL)
        interrupt_others();
    errno = before;
}

static void note_signal(int number)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const long long now_ns = (long long)t.tv_sec * 1000000000 + t.tv_nsec;
    if (!caught_ns) {
        caught_ns = now_ns;
        caught_signal = number;
        /* What begins to wait after the signal is interrupted, too. */
        const struct itimerval each = {.it_interval = {0, 100000}, .it_value = {0, 200000}};
        setitimer(ITIMER_REAL, &each, NULL);
    } else if (now_ns - caught_ns > same_signal_ns) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

/* From now on the limit on the size of files is a write error, as in run_catch_signals. */
static void run_catch_limit(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGXFSZ, &ignore, NULL);
}

void run_hold_descriptors(void)
{
    static const int useless[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", useless[fd]) < 0)
            return; /* as it was */
}

void run_catch_signals(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct sigaction before;
        /* What the shell told a background job or nohup to ignore stays ignored. */
        if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(stops[i], &action, NULL);
    }
    struct sigaction alarm = {.sa_sigaction = note_alarm, .sa_flags = SA_SIGINFO};
    sigemptyset(&alarm.sa_mask);
    sigaction(SIGALRM, &alarm, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
    run_catch_limit();
}

static atomic_int hung_up;

static void note_hangup(int signal)
{
    (void)signal;
    hung_up = 1;
}

void run_catch_hangup(void)
{
    struct sigaction action = {.sa_handler = note_hangup, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, NULL);
}

bool run_take_hangup(void)
{
    return atomic_exchange(&hung_up, 0) != 0;
}

static void *wait_for_others(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* Returned: how many threads there can be at once beside this one, at most most. */
static int count_startable(int most)
{
    pthread_t *thread = calloc((size_t)most + 1, sizeof *thread);
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int n = 0;
    pthread_mutex_lock(&lock);
    while (thread && n < most && pthread_create(&thread[n], NULL, wait_for_others, &lock) == 0)
        n++;
    pthread_mutex_unlock(&lock);
    for (int k = 0; k < n; k++)
        pthread_join(thread[k], NULL);
    free(thread);
    return n;
}

void run_limit_threads(int64_t *ncpus, const char *name)
{
    int wanted = psr_count_threads((int)*ncpus), can = 1 + count_startable(wanted - 1);
    if (can == wanted)
        return;
    *ncpus = can;
    if (name)
        fprintf(stderr, "%s: of %d threads %d can be started, and are\n", name, wanted, can);
}

int run_stop_signal(void)
{
    return caught_signal;
}

void run_forget_signal(void)
{
    caught_signal = 0;
}

void run_die_if_stopped(void)
{
    if (caught_signal) {
        signal(caught_signal, SIG_DFL);
        raise(caught_signal);
    }
}

double run_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum run_progress_mode run_progress_mode(bool quiet, bool verbose)
{
    return quiet ? RUN_NO_PROGRESS : verbose ? RUN_BAR_OR_LINES : RUN_BAR;
}

/* Returned: a terminal, -1: there is none */
static int find_terminal(void)
{
    const char *other = getenv(RUN_PROGRESS_FD);
    const int fd = other ? atoi(other) : STDERR_FILENO;
    return isatty(fd) ? fd : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
}

void run_progress_start(struct run_progress *p, enum run_progress_mode mode, int64_t total,
                        const char *unit, double per_unit)
{
    *p = (struct run_progress){.mode = mode,
                               .fd = mode == RUN_NO_PROGRESS ? -1 : find_terminal(),
                               .began_s = run_seconds(),
                               .total = total,
                               .unit = unit,
                               .per_unit = per_unit};
    p->printed_s = p->fd >= 0 ? 0 : p->began_s;
    p->shown_s = p->began_s;
}

static void make_bar(char *text, size_t room, double share)
{
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = (i + 0.5) / WIDTH < share ? '#' : '.';
    bar[WIDTH] = '\0';
    snprintf(text, room, "[%s] ", bar);
}

static void clear_bar(struct run_progress *p)
{
    if (p->is_bar)
        dprintf(p->fd, "\r\033[K");
    p->is_bar = false;
}

void run_progress_update(struct run_progress *p, int64_t done)
{
    const double now_s = run_seconds(), pause_s = p->fd >= 0 ? 0.2 : 30;
    char text[160], bar[64] = "";
    const bool full = p->total > 0 && done >= p->total;
    p->shown_s = now_s;
    if (full && p->is_bar) {
        clear_bar(p);
        return;
    }
    if ((p->fd < 0 && p->mode != RUN_BAR_OR_LINES) || now_s - p->printed_s < pause_s)
        return;
    p->printed_s = now_s;
    /* 300 MB/s, and the time left if the total is known and something is done. */
    const double elapsed_s = now_s - p->began_s;
    const size_t room = sizeof text;
    const double count = (double)done * p->per_unit, rate = count / elapsed_s;
    const double share = p->total > 0 ? (double)done / (double)p->total : 0;
    if (share > 0)
        snprintf(text, room, "%3.0f%%  %.3g %s/s  %.0f s left", 100 * share, rate, p->unit,
                 elapsed_s * (1 / share - 1));
    else
        snprintf(text, room, "%.4g %s  %.3g %s/s", count, p->unit, rate, p->unit);
    if (p->fd < 0) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, text + strspn(text, " "));
        return;
    }
    if (p->total > 0)
        make_bar(bar, sizeof bar, (double)done / (double)p->total);
    p->is_bar = true;
    dprintf(p->fd, "\r%s%s%s%s  \033[K",
            p->fd == STDERR_FILENO ? "" : program_invocation_short_name,
            p->fd == STDERR_FILENO ? "" : " ", bar, text);
    if (full)
        clear_bar(p);
}

bool run_should_stop(void *ctx)
{
    (void)ctx;
    return run_stop_signal() != 0;
}

void run_show_progress(void *ctx, int64_t done)
{
    run_progress_update(ctx, done);
}

/* A count of something else, or below the last, begins anew where that ended. */
static void show(struct run_progress *p, const char *unit, double per_unit, int64_t done,
                 int64_t total)
{
    const struct run_progress before = *p;
    if (strcmp(p->unit, unit) != 0 || p->total != total || done < p->done) {
        run_progress_start(p, p->mode, total, unit, per_unit);
        p->began_s = before.shown_s;
        p->is_bar = before.is_bar;
    }
    p->done = done;
    run_progress_update(p, done);
}

void run_show(struct run_progress *p, const char *unit, int64_t done, int64_t total)
{
    show(p, unit, 1, done, total);
}

void run_show_searched(void *ctx, int64_t done, int64_t total)
{
    run_show(ctx, "series", done, total);
}

void run_show_pulses(void *ctx, int64_t done, int64_t total)
{
    run_show(ctx, "pulses", done, total);
}

void run_show_folds(void *ctx, int64_t done, int64_t total)
{
    run_show(ctx, "folds", done, total);
}

void run_show_share(void *ctx, int64_t done, int64_t total)
{
    show(ctx, "%", total > 0 ? 100 / (double)total : 0, done, total);
}

/* A second search of the same files does not take the bar back, and it stands until they are written. */
void run_show_part(struct run_progress *p, int64_t before, int64_t n, int64_t done, int64_t total)
{
    const int64_t share = total > 0 ? RUN_PARTS * n * done / total : 0;
    const int64_t part = RUN_PARTS * before + (share && share == RUN_PARTS * n ? share - 1 : share);
    p->done = part > p->done ? part : p->done;
    run_progress_update(p, p->done);
}

void run_progress_end(struct run_progress *p)
{
    clear_bar(p);
    p->fd = -1;
    p->mode = RUN_NO_PROGRESS;
}
