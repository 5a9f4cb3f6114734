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

/* Between two lines where there is no terminal. */
enum { RUN_LINES_S = 30 };

/* Returned: a terminal, -1: there is none */
static int find_terminal(void)
{
    const char *other = getenv(RUN_PROGRESS_FD);
    const int fd = other ? atoi(other) : STDERR_FILENO;
    return isatty(fd) ? fd : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
}

static bool is_shown(const struct run_progress *p)
{
    return p->fd >= 0 || p->mode == RUN_BAR_OR_LINES;
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

static bool is_full(const struct run_progress *p)
{
    return p->total > 0 && p->done >= p->total;
}

/* 300 MB/s, and the time left if the total is known and something is done.  Of a count that stands the rate is that of
 * its last change, and the time since then is gone. */
static void make_text(const struct run_progress *p, char *text, size_t room, double now_s)
{
    const double took_s = p->counted_s - p->began_s, since_s = now_s - p->counted_s;
    const double count = (double)p->done * p->per_unit, rate = count / took_s;
    const double share = p->total > 0 ? (double)p->done / (double)p->total : 0;
    const double left_s = took_s * (1 / share - 1) - since_s;
    if (run_stop_signal())
        snprintf(text, room, "stopping");
    else if (is_full(p) && since_s > 1)
        snprintf(text, room, "100%%  finishing for %.0f s", since_s);
    else if (share > 0)
        snprintf(text, room, "%3.0f%%  %.3g %s/s  %.0f s left", 100 * share, rate, p->unit,
                 left_s > 0 ? left_s : 0);
    else if (p->done > 0)
        snprintf(text, room, "%.4g %s  %.3g %s/s", count, p->unit, rate, p->unit);
    else
        snprintf(text, room, "%s%s  %.0f s so far", p->total > 0 ? "  0%" : "0 ",
                 p->total > 0 ? "" : p->unit, now_s - p->began_s);
}

static void draw(struct run_progress *p, double now_s)
{
    const char *name = program_invocation_short_name;
    char text[160], bar[64] = "";
    p->printed_s = now_s;
    if (p->fd < 0 && run_stop_signal())
        return;
    make_text(p, text, sizeof text, now_s);
    if (p->fd < 0) {
        dprintf(STDERR_FILENO, "%s: %s\n", name, text + strspn(text, " "));
        return;
    }
    if (p->total > 0 && !run_stop_signal())
        make_bar(bar, sizeof bar, (double)p->done / (double)p->total);
    p->is_bar = true;
    dprintf(p->fd, "\r%s%s%s%s  \033[K", p->fd == STDERR_FILENO ? "" : name,
            p->fd == STDERR_FILENO ? "" : " ", bar, text);
}

/* Draws while nothing is counted: before the first of it, in one that takes long, and once a signal came. */
static void *draw_at_times(void *progress)
{
    struct run_progress *p = progress;
    const double pause_s = p->fd >= 0 ? 1 : RUN_LINES_S;
    pthread_mutex_lock(&p->lock);
    while (p->draws) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&p->wake, &p->lock, &until);
        const double now_s = run_seconds();
        if (p->draws && now_s - p->printed_s >= pause_s && now_s - p->counted_s >= pause_s)
            draw(p, now_s);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Without the thread, which takes no signals, the bar stands between two counts. */
static void start_drawing(struct run_progress *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->draws = true;
    p->draws = pthread_create(&p->drawing, NULL, draw_at_times, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void begin_count(struct run_progress *p, double began_s, int64_t total, const char *unit,
                        double per_unit)
{
    p->began_s = p->counted_s = began_s;
    p->total = total;
    p->unit = unit;
    p->per_unit = per_unit;
    p->done = 0;
}

void run_progress_start(struct run_progress *p, enum run_progress_mode mode, int64_t total,
                        const char *unit, double per_unit)
{
    const double now_s = run_seconds();
    *p = (struct run_progress){.mode = mode,
                               .fd = mode == RUN_NO_PROGRESS ? -1 : find_terminal(),
                               .lock = PTHREAD_MUTEX_INITIALIZER,
                               .wake = PTHREAD_COND_INITIALIZER};
    p->printed_s = p->fd >= 0 ? 0 : now_s;
    begin_count(p, now_s, total, unit, per_unit);
    if (is_shown(p))
        start_drawing(p);
}

/* With the lock. */
static void count_to(struct run_progress *p, int64_t done)
{
    const double now_s = run_seconds(), pause_s = p->fd >= 0 ? 0.2 : RUN_LINES_S;
    p->counted_s = done == p->done ? p->counted_s : now_s;
    p->done = done;
    if (!(is_full(p) && p->is_bar) && now_s - p->printed_s >= pause_s)
        draw(p, now_s);
    if (is_full(p))
        clear_bar(p);
}

void run_progress_update(struct run_progress *p, int64_t done)
{
    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->lock);
    count_to(p, done);
    pthread_mutex_unlock(&p->lock);
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
    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->lock);
    if (strcmp(p->unit, unit) != 0 || p->total != total || done < p->done) {
        begin_count(p, p->counted_s, total, unit, per_unit);
        p->printed_s = p->fd >= 0 ? 0 : p->printed_s;
    }
    count_to(p, done);
    pthread_mutex_unlock(&p->lock);
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

void run_progress_start_parts(struct run_progress *p, enum run_progress_mode mode, size_t nfile)
{
    const bool one = nfile == 1;
    run_progress_start(p, mode, RUN_PARTS * (int64_t)nfile, one ? "%" : "files",
                       (one ? 100.0 : 1.0) / RUN_PARTS);
}

/* The bar stands until the files are written. */
void run_show_part(struct run_progress *p, const struct run_part *part, int64_t done, int64_t total)
{
    const double share = (double)done / (double)total, n = (double)part->n;
    if (part->before != p->before) {
        p->before = part->before;
        p->nsearch = 0;
        p->share = 0;
    }
    /* A search has begun after the one before. */
    p->nsearch += share < p->share || p->share == 1;
    p->share = share;
    const double together = part->single ? part->together : 1,
                 all = p->nsearch == 0
                           ? together * share
                           : together + (1 - together) * ((double)p->nsearch - 1 + share) / n;
    const int64_t most = RUN_PARTS * (part->before + part->n) - 1,
                  now = RUN_PARTS * part->before + (int64_t)(RUN_PARTS * n * all);
    run_progress_update(p, now < most ? now : most);
}

void run_progress_end(struct run_progress *p)
{
    if (p->draws) {
        pthread_mutex_lock(&p->lock);
        p->draws = false;
        pthread_cond_signal(&p->wake);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->drawing, NULL);
    }
    clear_bar(p);
    p->fd = -1;
    p->mode = RUN_NO_PROGRESS;
}
