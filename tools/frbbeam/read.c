/* Reading ahead: blocks of voltages in a ring, that threads fill while earlier ones are formed. */
#include "frbbeam.h"

static bool has_room(const struct frbbeam_ring *r, size_t i)
{
    return r->first + i < r->freed + FRBBEAM_SLOTS;
}

static void *find_room(void *ctx, size_t i)
{
    struct frbbeam_job *j = ctx;
    pthread_mutex_lock(&j->lock);
    const bool room = has_room(&j->ring, i);
    pthread_mutex_unlock(&j->lock);
    return room ? j->in[(j->ring.first + i) % FRBBEAM_SLOTS] : NULL;
}

static void take_block(void *ctx, size_t i, size_t nt)
{
    struct frbbeam_job *j = ctx;
    struct frbbeam_ring *r = &j->ring;
    pthread_mutex_lock(&j->lock);
    r->nt[(r->first + i) % FRBBEAM_SLOTS] = nt;
    r->stop = r->stop || nt == 0;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

/* Beams' rows go first: what is read waits for them. */
static bool work_or_wait(void *ctx, bool idle, size_t i)
{
    struct frbbeam_job *j = ctx;
    struct frbbeam_ring *r = &j->ring;
    while (r->many && frbbeam_crew_help(j))
        ;
    pthread_mutex_lock(&j->lock);
    while (idle && j->read.threaded && !r->stop && !has_room(r, i) &&
           (!r->many || j->crew.next == j->crew.end))
        pthread_cond_wait(&j->changed, &j->lock);
    const bool on = !r->stop && (j->read.threaded || has_room(r, i));
    pthread_mutex_unlock(&j->lock);
    return on;
}

static psr_status read_errand(void *ctx, psr_err *err)
{
    struct frbbeam_job *j = ctx;
    const struct psr_voltages_sink sink = {j, find_room, take_block, work_or_wait};
    psr_status st = psr_voltages_pump(j->voltages, j->block, &sink, err);
    pthread_mutex_lock(&j->lock);
    j->ring.over = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    return st;
}

void frbbeam_read_start(struct frbbeam_job *j)
{
    j->ring.over = false;
    j->ring.first = j->ring.next;
    j->ring.many = psr_voltages_nsamp(j->voltages) >= 0;
    errand_start(&j->read, read_errand, j);
}

/* Waits for the next block, or the end of the reading, or a signal: a pipe may give nothing for
 * long.
 * Returned: its samples */
static size_t wait_for_block(struct frbbeam_job *j)
{
    size_t *nt = &j->ring.nt[j->ring.next % FRBBEAM_SLOTS];
    pthread_mutex_lock(&j->lock);
    while (*nt == 0 && !j->ring.over && !run_stop_signal()) {
        const struct timespec until = run_deadline(0.1);
        pthread_cond_timedwait(&j->changed, &j->lock, &until);
    }
    const size_t n = *nt;
    *nt = 0;
    pthread_mutex_unlock(&j->lock);
    return n;
}

psr_status frbbeam_read_next(struct frbbeam_job *j, const uint8_t **in, size_t *n)
{
    struct frbbeam_ring *r = &j->ring;
    psr_status st = PSR_OK;
    *n = wait_for_block(j);
    if (*n == 0 && !run_stop_signal())
        st = errand_wait(&j->read, &j->err);
    if (*n == 0 && !st && !j->read.threaded && !run_stop_signal()) {
        frbbeam_read_start(j); /* without a thread it returns when there is no room */
        *n = wait_for_block(j);
        st = errand_wait(&j->read, &j->err);
    }
    *in = j->in[r->next % FRBBEAM_SLOTS];
    r->next += *n > 0;
    return st;
}

/* Voltages of the last block may still be needed. */
void frbbeam_read_release(struct frbbeam_job *j)
{
    pthread_mutex_lock(&j->lock);
    j->ring.freed = j->ring.next - 1;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

void frbbeam_read_stop(struct frbbeam_job *j)
{
    pthread_mutex_lock(&j->lock);
    j->ring.stop = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
}
