/* async_task.h: work that a thread of its own does meanwhile, one piece after the other. */
#ifndef PSRKIT_ASYNC_TASK_H
#define PSRKIT_ASYNC_TASK_H

#include <psrkit/status.h>
#include <pthread.h>
#include <stdbool.h>

PSR_API_BEGIN

/* A lock, and word to all who wait that what it guards has changed. */
struct psr_monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* All zero at first.  Its thread stays from one piece of work to the next, and so do the threads
 * that it shares loops with. */
struct psr_async_task {
    psr_status (*work)(void *ctx, psr_err *err);
    void *ctx;
    bool threaded;     /* has a thread of its own */
    bool busy, ending; /* what the two threads say to each other, under the lock */
    pthread_t thread;
    struct psr_monitor monitor;
    psr_status status;
    psr_err err;
};

/* Starts work(ctx), which is done at once where no thread is to be had.  Nothing runs twice at a
 * time: wait for it first. */
void psr_async_task_start(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                          void *ctx);

/* The same, but that nothing is done without a thread.  Returned: whether there is one */
bool psr_async_task_try(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                        void *ctx);

/* Waits until it is done.
 * Returned: its status, and *err (may be NULL) where that is an error; PSR_OK where nothing was
 *           started */
PSR_MUST_CHECK psr_status psr_async_task_wait(struct psr_async_task *a, psr_err *err);

/* Waits, and ends the thread; what is all zero is fine.  It may be started again. */
void psr_async_task_end(struct psr_async_task *a);

PSR_API_END

#endif
