/* stop.h: a caller's request to end long work (private). */
#ifndef PSR_BASE_STOP_H
#define PSR_BASE_STOP_H

#include <stdbool.h>

/* ask returns true once the caller wants an end; NULL: never.  Any thread may call it. */
struct psr_stop {
    bool (*ask)(void *ctx);
    void *ctx;
};

static inline bool psr_is_stopped(const struct psr_stop *stop)
{
    return stop->ask && stop->ask(stop->ctx);
}

#endif
