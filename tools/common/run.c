/* Handles signals, and shows progress. */
#include "run.h"

#include <fcntl.h>
#include <psrkit/device.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The only state that the handler touches; any thread reads it. */
static atomic_int caught_signal;

/* The same signal within this time is the first one still: timeout(1) sends it to the process and to its group, a terminal
 * to a tool and to those that pass it on. */
static const int64_t same_signal_ns = 300000000;

static atomic_llong caught_ns;

static void note_signal(int number)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const long long now_ns = (long long)t.tv_sec * 1000000000 + t.tv_nsec;
    if (!caught_ns) {
        caught_ns = now_ns;
        caught_signal = number;
    } else if (now_ns - caught_ns > same_signal_ns) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void run_catch_limit(void)
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

struct timespec run_deadline(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    const double end_s = (double)t.tv_nsec * 1e-9 + seconds;
    t.tv_sec += (time_t)end_s;
    t.tv_nsec = (long)((end_s - (double)(time_t)end_s) * 1e9);
    return t;
}

double run_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void run_progress_start(struct run_progress *p, bool wanted, int64_t total, const char *unit,
                        double per_unit)
{
    *p = (struct run_progress){.shown = wanted && isatty(STDERR_FILENO),
                               .began_s = run_seconds(),
                               .total = total,
                               .unit = unit,
                               .per_unit = per_unit};
}

static void print_bar(double share)
{
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = (i + 0.5) / WIDTH < share ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3.0f%%", bar, 100 * share);
}

void run_progress_update(struct run_progress *p, int64_t done)
{
    double now_s = run_seconds();
    if (!p->shown || now_s - p->printed_s < 0.2)
        return;
    p->printed_s = now_s;
    double elapsed_s = now_s - p->began_s;
    double rate = (double)done * p->per_unit / elapsed_s;
    if (p->total > 0) {
        double share = (double)done / (double)p->total;
        print_bar(share);
        fprintf(stderr, "  %.3g %s/s  %.0f s left  \033[K", rate, p->unit,
                share > 0 ? elapsed_s * (1 / share - 1) : 0.0);
    } else {
        fprintf(stderr, "\r%.4g %s  %.3g %s/s  \033[K", (double)done * p->per_unit, p->unit, rate,
                p->unit);
    }
    fflush(stderr);
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

void run_progress_end(struct run_progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
    p->shown = false;
}
