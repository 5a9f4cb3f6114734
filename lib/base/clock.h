/* clock.h: measures time (private). */
#ifndef PSR_BASE_CLOCK_H
#define PSR_BASE_CLOCK_H

#include <time.h>

/* Returns the time of a monotonic clock in seconds. */
static inline double psr_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds the time since *since_s to *sum_s and moves *since_s to now. */
static inline void psr_charge(double *sum_s, double *since_s)
{
    double now_s = psr_seconds();
    *sum_s += now_s - *since_s;
    *since_s = now_s;
}

#endif
