/* bench.h: what programs share that print a figure of speed. */
#ifndef PSR_BENCH_H
#define PSR_BENCH_H

#include <errno.h>
#include <psrkit/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ends the program, which says why. */
__attribute__((noreturn, unused)) static void bench_stop(const char *why)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
    exit(EXIT_FAILURE);
}

__attribute__((unused)) static void bench_must(psr_status st, const psr_err *err)
{
    if (st)
        bench_stop(err->msg);
}

/* Zeroed memory from the beginning of a cache line; its pages are there. */
__attribute__((unused)) static void *bench_take(size_t n, size_t size)
{
    const size_t bytes = (n * size + 63) / 64 * 64;
    void *p = aligned_alloc(64, bytes);
    if (!p)
        bench_stop("no memory");
    return memset(p, 0, bytes);
}

__attribute__((unused)) static double bench_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* By the clock on the wall. */
__attribute__((unused)) static double bench_wall_s(void)
{
    return bench_seconds(CLOCK_MONOTONIC);
}

/* Of processor time, of all threads, so that other programs do not count. */
__attribute__((unused)) static double bench_cpu_s(void)
{
    return bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

__attribute__((unused)) static int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The upper median; sorts x. */
__attribute__((unused)) static double bench_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, bench_by_value);
    return x[n / 2];
}

#endif
