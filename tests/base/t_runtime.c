/* runtime: a ring of blocks that is filled and used by different threads, work that threads share, and
 * tasks of a thread of their own: every block and every item once, in the order that is promised. */
#include "base/threads/threads.h"
#include "tests/support/tap.h"
#include <string.h>
#include <unistd.h>

/* --- tasks ------------------------------------------------------------------------------------ */

static psr_status count_up(void *ctx, psr_err *err)
{
    int *n = ctx;
    return ++*n % 3 ? PSR_OK : psr_fail(err, PSR_EIO, "task %d", *n);
}

static void test_tasks(void)
{
    struct psr_async_task a = {0};
    psr_err err = {0};
    int n = 0;
    bool fine = psr_async_task_wait(&a, &err) == PSR_OK;
    for (int k = 1; k <= 30; k++) {
        psr_async_task_start(&a, count_up, &n);
        psr_status st = psr_async_task_wait(&a, &err);
        fine = fine && n == k && st == (k % 3 ? PSR_OK : PSR_EIO);
        fine = fine && psr_async_task_wait(&a, &err) == PSR_OK;
        if (k % 10 == 0)
            psr_async_task_end(&a);
    }
    ok(fine && !strcmp(err.msg, "task 30"), "a task is done once, and its status is told once");
    psr_async_task_start(&a, count_up, &n);
    psr_async_task_end(&a);
    psr_async_task_end(&a);
    ok(n == 31, "the end waits for it");
}

/* --- a ring ----------------------------------------------------------------------------------- */

enum { NBLOCK = 300 };

struct stream {
    struct psr_monitor monitor;
    struct psr_read_ring ring;
    size_t nslot;
    size_t block[PSR_RING_SLOTS]; /* what is in the slots */
    bool shuffled;                /* of two blocks that have room the second is filled first */
    bool blank;                   /* nothing comes */
    size_t begun;
};

static void fill(struct stream *s, size_t i)
{
    s->block[i % s->nslot] = 1000 + i;
    s->begun = i + 1;
    psr_read_ring_fill(&s->ring, i, i % 7 + 1);
}

static psr_status fill_all(void *ctx, psr_err *err)
{
    struct stream *s = ctx;
    (void)err;
    for (size_t i = 0; i < NBLOCK && !s->blank; i++) {
        if (!psr_read_ring_await_room(&s->ring, s->shuffled ? i + 1 : i))
            break;
        if (s->shuffled)
            fill(s, i + 1);
        fill(s, i);
        i += s->shuffled;
    }
    psr_read_ring_end(&s->ring);
    return PSR_OK;
}

/* Uses up to "most" blocks, each of which is kept until the next one but "held" has come.
 * Returned: how many came as they should */
static size_t use(struct stream *s, size_t most, size_t held)
{
    size_t n = 0;
    for (size_t got; n < most && (got = psr_read_ring_next(&s->ring, NULL, NULL)); n++) {
        if (got != n % 7 + 1 || s->block[n % s->nslot] != 1000 + n || s->ring.next != n + 1)
            return 0;
        if (n + 1 > held)
            psr_read_ring_free(&s->ring, n + 1 - held);
    }
    return n;
}

static void test_ring(size_t nslot, size_t held, bool shuffled)
{
    struct stream s = {.nslot = nslot, .shuffled = shuffled};
    struct psr_async_task filling = {0};
    psr_err err;
    if (psr_monitor_init(&s.monitor, &err))
        exit(EXIT_FAILURE);
    psr_read_ring_init(&s.ring, &s.monitor, nslot);
    psr_async_task_start(&filling, fill_all, &s);
    ok(use(&s, NBLOCK + 1, held) == NBLOCK && s.ring.ended,
       "%zu slots, %zu held, %s: every block once, in order", nslot, held,
       shuffled ? "filled out of turn" : "filled in turn");
    psr_async_task_end(&filling);
    psr_monitor_destroy(&s.monitor);
}

static bool always(void *ctx)
{
    int *n = ctx;
    return ++*n > 2;
}

static void test_stops(void)
{
    struct stream s = {.nslot = 3};
    struct psr_async_task filling = {0};
    psr_err err;
    int asked = 0;
    if (psr_monitor_init(&s.monitor, &err))
        exit(EXIT_FAILURE);
    psr_read_ring_init(&s.ring, &s.monitor, s.nslot);
    ok(psr_read_ring_next(&s.ring, always, &asked) == 0 && asked == 3 && s.ring.next == 0,
       "who waits for a block may stop");
    psr_async_task_start(&filling, fill_all, &s);
    size_t used = use(&s, 5, 1);
    psr_read_ring_stop(&s.ring);
    psr_async_task_end(&filling);
    ok(used == 5 && s.begun >= 5 && s.begun <= 4 + s.nslot,
       "who fills is stopped, no further than there was room");
    psr_monitor_destroy(&s.monitor);
}

/* --- a pool ----------------------------------------------------------------------------------- */

enum { MOST_ITEMS = 1000 };

struct items {
    struct psr_worker_pool *pool;
    int done[MOST_ITEMS];
    size_t bad; /* item that fails */
    bool stop;
};

static psr_status mark(void *ctx, size_t i, psr_err *err)
{
    struct items *x = ctx;
    x->done[i]++;
    return i == x->bad ? psr_fail(err, PSR_EFORMAT, "item %zu", i) : PSR_OK;
}

static psr_status help_until_stopped(void *ctx, psr_err *err)
{
    struct items *x = ctx;
    struct psr_monitor *m = x->pool->monitor;
    (void)err;
    psr_monitor_enter(m);
    while (!x->stop) {
        const bool work = x->pool->next < x->pool->end;
        if (!work)
            psr_monitor_wait_briefly(m);
        psr_monitor_leave(m);
        if (work)
            psr_worker_pool_help(x->pool);
        psr_monitor_enter(m);
    }
    psr_monitor_leave(m);
    return PSR_OK;
}

static bool each_once(const struct items *x, size_t n)
{
    bool fine = true;
    for (size_t i = 0; i < MOST_ITEMS; i++)
        fine = fine && x->done[i] == (i < n);
    return fine;
}

static void test_pool(int nthread, bool helped, uint64_t *seed)
{
    static struct items x;
    struct psr_monitor monitor;
    struct psr_worker_pool pool;
    struct psr_async_task helper = {0};
    psr_err err = {0};
    bool fine = true;
    if (psr_monitor_init(&monitor, &err))
        exit(EXIT_FAILURE);
    psr_worker_pool_init(&pool, &monitor, nthread);
    x = (struct items){.pool = &pool, .bad = MOST_ITEMS};
    if (helped)
        psr_async_task_start(&helper, help_until_stopped, &x);
    for (int k = 0; k < 40; k++) {
        const size_t n = (size_t)tap_between(seed, 0, MOST_ITEMS);
        const struct psr_work work = {mark, &x, n};
        memset(x.done, 0, sizeof x.done);
        psr_worker_pool_start(&pool, &work);
        fine = fine && psr_worker_pool_wait(&pool, &err) == PSR_OK && each_once(&x, n);
    }
    ok(fine, "%d threads%s: every item once", nthread, helped ? ", helped" : "");
    x.bad = 77;
    const struct psr_work work = {mark, &x, 200};
    psr_worker_pool_start(&pool, &work);
    ok(psr_worker_pool_wait(&pool, &err) == PSR_EFORMAT && !strcmp(err.msg, "item 77"),
       "a step that fails is told");
    psr_worker_pool_start(&pool, &work);
    psr_worker_pool_end(&pool);
    ok(pool.left == 0, "what nobody has begun is taken back");
    psr_monitor_enter(&monitor);
    x.stop = true;
    psr_monitor_leave_changed(&monitor);
    psr_async_task_end(&helper);
    psr_monitor_destroy(&monitor);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_tasks();
    for (size_t nslot = 1; nslot <= PSR_RING_SLOTS; nslot++)
        test_ring(nslot, 0, false);
    test_ring(3, 1, false);
    test_ring(4, 1, true);
    test_stops();
    for (int nthread = 1; nthread <= 3; nthread++) {
        test_pool(nthread, false, &seed);
        test_pool(nthread, true, &seed);
    }
    return done_testing();
}
