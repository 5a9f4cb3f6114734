/* stop.h: a caller's request to end long work, and what the caller is told of it (private). */
#ifndef PSR_BASE_STOP_H
#define PSR_BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* ask returns true once the caller wants an end; NULL: never.  Any thread may call it.  progress is told how much
 * of total is done, by one thread at a time; NULL: nothing is. */
struct psr_stop {
    bool (*ask)(void *ctx);
    void *ctx;
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

static inline bool psr_is_stopped(const struct psr_stop *stop)
{
    return stop->ask && stop->ask(stop->ctx);
}

#endif
