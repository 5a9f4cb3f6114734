/* async_task.h: runs work in a separate thread, one task after the other. */
#ifndef PSRKIT_ASYNC_TASK_H
#define PSRKIT_ASYNC_TASK_H

#include <psrkit/status.h>
#include <pthread.h>
#include <stdbool.h>

PSR_API_BEGIN

/* A lock with a condition that notifies all waiting threads of a change. */
struct psr_monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Initialise with zeros.  The thread, and the threads that it shares loops with, are kept from one
 * task to the next. */
struct psr_async_task {
    psr_status (*work)(void *ctx, psr_err *err);
    void *ctx;
    bool threaded;     /* has a thread of its own */
    bool busy, ending; /* state shared by the two threads, under the lock */
    pthread_t thread;
    struct psr_monitor monitor;
    psr_status status;
    psr_err err;
};

/* Starts work(ctx); runs it directly if no thread can be created.  Only one task runs at a time:
 * wait for it first. */
void psr_async_task_start(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                          void *ctx);

/* The same, but does nothing without a thread.
 * Returned: true if there is one */
bool psr_async_task_try(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                        void *ctx);

/* Waits until the task is complete.
 * Returned: its status, and *err (may be NULL) on error; PSR_OK if nothing was started */
PSR_MUST_CHECK psr_status psr_async_task_wait(struct psr_async_task *a, psr_err *err);

/* Waits, and ends the thread; an all-zero object is allowed.  Tasks may be started again
 * afterwards. */
void psr_async_task_end(struct psr_async_task *a);

PSR_API_END

#endif
