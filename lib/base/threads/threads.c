/* Threads: how many, monitors, tasks beside the caller, and rings of blocks between them. */
#include "threads.h"

#include "base/tool.h"
#include <time.h>

/* --- distributes work items over threads ------------------------------------------------------ */

enum { ITEMS_AT_ONCE = 32 };

void psr_worker_pool_init(struct psr_worker_pool *w, struct psr_monitor *monitor, int nthread)
{
    *w = (struct psr_worker_pool){.monitor = monitor, .nthread = nthread};
}

int psr_worker_pool_threads(const struct psr_worker_pool *w, size_t n)
{
    return (size_t)w->nthread < n ? w->nthread : (int)n;
}

bool psr_worker_pool_help(struct psr_worker_pool *w)
{
    psr_status st = PSR_OK;
    psr_err err;
    psr_monitor_enter(w->monitor);
    const size_t from = w->next;
    const size_t to = w->end - from < ITEMS_AT_ONCE ? w->end : from + ITEMS_AT_ONCE;
    w->next = to;
    psr_monitor_leave(w->monitor);
    if (from == to)
        return false;
    for (size_t i = from; i < to && !st; i++)
        st = w->work.step(w->work.ctx, i, &err);
    psr_monitor_enter(w->monitor);
    if (st) {
        w->status = st;
        w->err = err;
    }
    w->left -= to - from;
    if (w->left == 0)
        pthread_cond_broadcast(&w->monitor->changed);
    psr_monitor_leave(w->monitor);
    return true;
}

static psr_status work_as_team(void *ctx, psr_err *err)
{
    struct psr_worker_pool *w = ctx;
    (void)err;
#pragma omp parallel num_threads(psr_worker_pool_threads(w, w->work.n))
    while (psr_worker_pool_help(w))
        ;
    return PSR_OK;
}

void psr_worker_pool_start(struct psr_worker_pool *w, const struct psr_work *work)
{
    psr_monitor_enter(w->monitor);
    w->work = *work;
    w->next = 0;
    w->end = w->left = work->n;
    psr_monitor_leave_changed(w->monitor);
    psr_async_task_start(&w->team, work_as_team, w);
}

psr_status psr_worker_pool_wait(struct psr_worker_pool *w, psr_err *err)
{
    psr_status st = psr_async_task_wait(&w->team, err);
    while (psr_worker_pool_help(w))
        ;
    psr_monitor_enter(w->monitor);
    while (w->left > 0)
        psr_monitor_wait(w->monitor);
    if (!st && w->status) {
        st = w->status;
        *err = w->err;
    }
    psr_monitor_leave(w->monitor);
    return st;
}

void psr_worker_pool_end(struct psr_worker_pool *w)
{
    psr_err ignored;
    if (!w->monitor)
        return;
    psr_monitor_enter(w->monitor);
    w->left -= w->end - w->next;
    w->next = w->end;
    psr_monitor_leave(w->monitor);
    (void)!psr_worker_pool_wait(w, &ignored);
    psr_async_task_end(&w->team);
}

/* --- A thread that waits for work, does it, and waits for more -------------------------------- */

static void *run_tasks(void *arg)
{
    struct psr_async_task *a = arg;
    psr_monitor_enter(&a->monitor);
    while (!a->ending) {
        if (!a->busy) {
            psr_monitor_wait(&a->monitor);
            continue;
        }
        psr_monitor_leave(&a->monitor);
        a->status = a->work(a->ctx, &a->err);
        psr_monitor_enter(&a->monitor);
        a->busy = false;
        pthread_cond_broadcast(&a->monitor.changed);
    }
    psr_monitor_leave(&a->monitor);
    return NULL;
}

static bool start_thread(struct psr_async_task *a)
{
    if (psr_monitor_init(&a->monitor, NULL))
        return false;
    if (!pthread_create(&a->thread, NULL, run_tasks, a))
        return true;
    psr_monitor_destroy(&a->monitor);
    return false;
}

bool psr_async_task_try(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                        void *ctx)
{
    if (!a->threaded)
        a->threaded = start_thread(a);
    if (!a->threaded)
        return false;
    psr_monitor_enter(&a->monitor);
    a->work = work;
    a->ctx = ctx;
    a->busy = true;
    psr_monitor_leave_changed(&a->monitor);
    return true;
}

void psr_async_task_start(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                          void *ctx)
{
    if (!psr_async_task_try(a, work, ctx))
        a->status = work(ctx, &a->err);
}

static void wait_until_idle(struct psr_async_task *a)
{
    if (!a->threaded)
        return;
    psr_monitor_enter(&a->monitor);
    while (a->busy)
        psr_monitor_wait(&a->monitor);
    psr_monitor_leave(&a->monitor);
}

psr_status psr_async_task_wait(struct psr_async_task *a, psr_err *err)
{
    wait_until_idle(a);
    const psr_status st = a->status;
    if (st && err)
        *err = a->err;
    a->status = PSR_OK;
    return st;
}

void psr_async_task_end(struct psr_async_task *a)
{
    wait_until_idle(a);
    a->status = PSR_OK;
    if (!a->threaded)
        return;
    psr_monitor_enter(&a->monitor);
    a->ending = true;
    psr_monitor_leave_changed(&a->monitor);
    pthread_join(a->thread, NULL);
    psr_monitor_destroy(&a->monitor);
    a->threaded = a->ending = false;
}

/* --- A lock and a condition that are made, and unmade, together ------------------------------- */

psr_status psr_monitor_init(struct psr_monitor *m, psr_err *err)
{
    if (!pthread_mutex_init(&m->lock, NULL)) {
        if (!pthread_cond_init(&m->changed, NULL))
            return PSR_OK;
        pthread_mutex_destroy(&m->lock);
    }
    return psr_fail_nomem(err, "a lock", sizeof *m);
}

void psr_monitor_destroy(struct psr_monitor *m)
{
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
}

void psr_monitor_wait_briefly(struct psr_monitor *m)
{
    const long second_ns = 1000000000, brief_ns = second_ns / 10;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += brief_ns;
    if (until.tv_nsec >= second_ns) {
        until.tv_sec++;
        until.tv_nsec -= second_ns;
    }
    pthread_cond_timedwait(&m->changed, &m->lock, &until);
}

int psr_count_threads(int asked)
{
#ifdef _OPENMP
    /* OMP_NUM_THREADS may say anything: beyond some for each core threads cost and bring nothing. */
    enum { MAX_PER_CORE = 4, MAX_OF_FEW = 64 };
    const int cores = omp_get_num_procs(), wanted = omp_get_max_threads();
    const int most = MAX_PER_CORE * cores > MAX_OF_FEW ? MAX_PER_CORE * cores : MAX_OF_FEW;
    return asked > 0 ? asked : wanted < most ? wanted : most;
#else
    (void)asked;
    return 1;
#endif
}

int psr_share_threads(int asked, size_t n)
{
    const int each = n > 1 ? psr_count_threads(asked) / (int)n : asked;
    return n > 1 && each < 1 ? 1 : each;
}

psr_status psr_check_resources(const char *what, int nthread, int64_t mem_bytes, psr_err *err)
{
    enum { MAX_THREADS = 4096 };
    if (nthread < 0 || nthread > MAX_THREADS)
        return psr_fail_field(err, PSR_EINVAL, "nthread", "%s: %d threads is outside 0 to %d", what,
                              nthread, MAX_THREADS);
    if (mem_bytes < 0)
        return psr_fail_field(err, PSR_EINVAL, "mem_bytes", "%s: memory of %lld bytes is below 0",
                              what, (long long)mem_bytes);
    return PSR_OK;
}

/* --- the slots of a ring of blocks ------------------------------------------------------------ */

void psr_read_ring_init(struct psr_read_ring *r, struct psr_monitor *monitor, size_t nslot)
{
    *r = (struct psr_read_ring){.monitor = monitor, .nslot = nslot};
}

bool psr_read_ring_has_room(const struct psr_read_ring *r, size_t i)
{
    return i < r->freed + r->nslot;
}

bool psr_read_ring_await_room(struct psr_read_ring *r, size_t i)
{
    psr_monitor_enter(r->monitor);
    while (!r->stopped && !psr_read_ring_has_room(r, i))
        psr_monitor_wait(r->monitor);
    const bool on = !r->stopped;
    psr_monitor_leave(r->monitor);
    return on;
}

void psr_read_ring_fill(struct psr_read_ring *r, size_t i, size_t n)
{
    psr_monitor_enter(r->monitor);
    r->n[i % r->nslot] = n;
    psr_monitor_leave_changed(r->monitor);
}

void psr_read_ring_end(struct psr_read_ring *r)
{
    psr_monitor_enter(r->monitor);
    r->ended = true;
    psr_monitor_leave_changed(r->monitor);
}

void psr_read_ring_begin(struct psr_read_ring *r)
{
    psr_monitor_enter(r->monitor);
    r->ended = false;
    psr_monitor_leave(r->monitor);
}

size_t psr_read_ring_next(struct psr_read_ring *r, bool (*should_stop)(void *ctx), void *ctx)
{
    size_t *slot = &r->n[r->next % r->nslot];
    psr_monitor_enter(r->monitor);
    while (*slot == 0 && !r->ended && !(should_stop && should_stop(ctx)))
        if (should_stop)
            psr_monitor_wait_briefly(r->monitor);
        else
            psr_monitor_wait(r->monitor);
    const size_t n = *slot;
    *slot = 0;
    r->next += n > 0;
    psr_monitor_leave(r->monitor);
    return n;
}

void psr_read_ring_free(struct psr_read_ring *r, size_t i)
{
    psr_monitor_enter(r->monitor);
    r->freed = i;
    psr_monitor_leave_changed(r->monitor);
}

void psr_read_ring_stop(struct psr_read_ring *r)
{
    psr_monitor_enter(r->monitor);
    r->stopped = true;
    psr_monitor_leave_changed(r->monitor);
}
