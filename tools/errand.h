/* errand.h: one piece of work that is done meanwhile, such as reading the next block. */
#ifndef PSR_TOOLS_ERRAND_H
#define PSR_TOOLS_ERRAND_H

#include <psrkit/status.h>
#include <pthread.h>
#include <stdbool.h>

struct errand {
    psr_status (*work)(void *ctx, psr_err *err);
    void *ctx;
    bool running; /* in a thread of its own */
    pthread_t thread;
    psr_status status;
    psr_err err;
};

/* Starts work(ctx), which is done at once where no thread is to be had.  No errand runs twice at a
 * time: wait for it first. */
void errand_start(struct errand *e, psr_status (*work)(void *ctx, psr_err *err), void *ctx);

/* Waits until it is done. Returned: its status, and *err where that is an error; PSR_OK where
 * nothing was started. */
psr_status errand_wait(struct errand *e, psr_err *err);

#endif
