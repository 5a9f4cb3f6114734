/* errand.h: one piece of work that is done meanwhile, such as reading the next block. */
#ifndef PSR_TOOLS_ERRAND_H
#define PSR_TOOLS_ERRAND_H

#include <psrkit/status.h>
#include <pthread.h>
#include <stdbool.h>

/* All zero at first.  Its thread stays from one piece of work to the next, and so do the threads
 * that it shares loops with. */
struct errand {
    psr_status (*work)(void *ctx, psr_err *err);
    void *ctx;
    bool threaded;     /* has a thread of its own */
    bool busy, ending; /* what the two threads tell each other, under the lock */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    psr_status status;
    psr_err err;
};

/* Starts work(ctx), which is done at once where no thread is to be had.  No errand runs twice at a
 * time: wait for it first. */
void errand_start(struct errand *e, psr_status (*work)(void *ctx, psr_err *err), void *ctx);

/* Waits until it is done.
 * Returned: its status, and *err where that is an error; PSR_OK where nothing was started */
PSR_MUST_CHECK psr_status errand_wait(struct errand *e, psr_err *err);

/* Whether it is still under way after so many seconds. */
bool errand_busy(struct errand *e, double wait_s);

/* Waits, and ends the thread; what is all zero is fine.  The errand may be started again. */
void errand_end(struct errand *e);

#endif
