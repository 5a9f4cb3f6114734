/* Work on all beams' rows, done by the threads that read: more threads than cores would wait for
 * each other's turn on them. */
#include "frbbeam.h"

enum { BEAMS_AT_ONCE = 32 };

/* Does the step for some beams, if any are left.
 * Returned: whether there were */
bool frbbeam_crew_help(struct frbbeam_job *j)
{
    struct frbbeam_crew *c = &j->crew;
    psr_status st = PSR_OK;
    psr_err err;
    pthread_mutex_lock(&j->lock);
    const size_t from = c->next;
    const size_t to = c->end - from < BEAMS_AT_ONCE ? c->end : from + BEAMS_AT_ONCE;
    c->next = to;
    pthread_mutex_unlock(&j->lock);
    if (from == to)
        return false;
    for (size_t b = from; b < to && !st; b++)
        st = c->task.step(j, &c->task, b, &err);
    pthread_mutex_lock(&j->lock);
    if (st) {
        c->status = st;
        c->err = err;
    }
    c->left -= to - from;
    if (c->left == 0)
        pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    return true;
}

static psr_status help_alone(void *ctx, psr_err *err)
{
    struct frbbeam_job *j = ctx;
    (void)err;
#pragma omp parallel num_threads(frbbeam_threads(j))
    while (frbbeam_crew_help(j))
        ;
    return PSR_OK;
}

void frbbeam_crew_start(struct frbbeam_job *j, const struct frbbeam_task *t)
{
    pthread_mutex_lock(&j->lock);
    j->crew.task = *t;
    j->crew.next = 0;
    j->crew.end = j->crew.left = j->nbeam;
    const bool alone = j->ring.over || !j->ring.many;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    if (alone)
        errand_start(&j->write, help_alone, j);
}

static psr_status wait_for_crew(struct frbbeam_job *j, psr_err *err)
{
    struct frbbeam_crew *c = &j->crew;
    psr_status st = errand_wait(&j->write, err);
    while (frbbeam_crew_help(j))
        ;
    pthread_mutex_lock(&j->lock);
    while (c->left > 0)
        pthread_cond_wait(&j->changed, &j->lock);
    if (!st && c->status) {
        st = c->status;
        *err = c->err;
    }
    pthread_mutex_unlock(&j->lock);
    return st;
}

psr_status frbbeam_crew_wait(struct frbbeam_job *j)
{
    return wait_for_crew(j, &j->err);
}

void frbbeam_crew_end(struct frbbeam_job *j)
{
    psr_err ignored;
    pthread_mutex_lock(&j->lock);
    j->crew.left -= j->crew.end - j->crew.next;
    j->crew.next = j->crew.end;
    pthread_mutex_unlock(&j->lock);
    (void)wait_for_crew(j, &ignored);
    errand_end(&j->write);
}
