/* Folds shares of the candidates, each with a thread and a device. */
#include "folder.h"

#include "base/threads/threads.h"
#include "search/fold/fold_internal.h"

#include <stdlib.h>
#include <string.h>

/* Keeps the last spectra of an input, and gives them to a fold in reverse order. */

psr_status psr_fold_tail_init(struct psr_fold_tail *t, size_t room, size_t row_bytes, psr_err *err)
{
    *t = (struct psr_fold_tail){.row_bytes = row_bytes, .room = room};
    t->row = room ? malloc(room * row_bytes) : NULL;
    return t->row || !room
               ? PSR_OK
               : psr_fail_nomem(err, "the last spectra", (double)room * (double)row_bytes);
}

void psr_fold_tail_take(struct psr_fold_tail *t, const void *spectra, size_t n)
{
    const unsigned char *from = spectra;
    if (n > t->room) {
        from += (n - t->room) * t->row_bytes;
        n = t->room;
    }
    while (n) {
        const size_t to_end = t->room - t->next, now = n < to_end ? n : to_end;
        memcpy(t->row + t->next * t->row_bytes, from, now * t->row_bytes);
        from += now * t->row_bytes;
        t->next = (t->next + now) % t->room;
        t->n = t->n + now < t->room ? t->n + now : t->room;
        n -= now;
    }
}

/* Fills the fold with them, if there are any.
 * Status: those of psr_fold_execute */
static psr_status fold_tail_push(const struct psr_fold_tail *t, psr_fold *fold, psr_err *err)
{
    psr_status st = PSR_OK;
    unsigned char *reversed = t->n ? malloc(t->n * t->row_bytes) : NULL;
    if (t->n && !reversed)
        return psr_fail_nomem(err, "the last spectra", (double)t->n * (double)t->row_bytes);
    for (size_t i = 0; i < t->n; i++) {
        const size_t at = (t->next + t->room - 1 - i) % t->room;
        memcpy(reversed + i * t->row_bytes, t->row + at * t->row_bytes, t->row_bytes);
    }
    for (int64_t missing = psr_fold_missing(fold); t->n && missing > 0 && !st;
         missing = psr_fold_missing(fold)) {
        const size_t n = missing < (int64_t)t->n ? (size_t)missing : t->n;
        st = psr_fold_execute(fold, reversed, n, NULL, 0, err);
    }
    free(reversed);
    return st;
}

void psr_fold_tail_clear(struct psr_fold_tail *t)
{
    free(t->row);
    *t = (struct psr_fold_tail){.row = NULL};
}

struct psr_fold_share {
    psr_fold *fold;
    size_t first;
    struct psr_async_task task;
    const void *spectra; /* what it takes next: [nsamp] */
    size_t nsamp;
    const struct psr_step *step; /* [nstep] */
    size_t nstep;
    const struct psr_fold_tail *tail; /* what it ends with */
};

psr_status psr_fold_shares_create(struct psr_fold_shares *s, const struct psr_fold_desc *d,
                                  const char *const *backend, const int *device, size_t n,
                                  psr_err *err)
{
    psr_status st = PSR_OK;
    s->share = calloc(n, sizeof *s->share);
    if (!s->share)
        return psr_fail_nomem(err, "a fold", (double)n * sizeof *s->share);
    for (; s->n < n && !st; s->n += !st) {
        struct psr_fold_desc own = *d;
        struct psr_fold_share *share = &s->share[s->n];
        share->first = s->n * d->ncand / n;
        own.cand += share->first;
        own.ncand = (s->n + 1) * d->ncand / n - share->first;
        own.backend = backend[s->n];
        own.device = device[s->n];
        own.nthread = psr_share_threads(d->nthread, n);
        st = psr_fold_create(&share->fold, &own, err);
    }
    return st;
}

/* Low DMs are complete before high ones. */
bool psr_fold_shares_are_full(const struct psr_fold_shares *s)
{
    bool full = true;
    for (size_t k = 0; k < s->n; k++)
        full &= psr_fold_is_full(s->share[k].fold);
    return full;
}

int64_t psr_fold_shares_missing(const struct psr_fold_shares *s)
{
    int64_t most = psr_fold_missing(s->share->fold);
    for (size_t k = 1; k < s->n; k++) {
        const int64_t missing = psr_fold_missing(s->share[k].fold);
        most = missing > most ? missing : most;
    }
    return most;
}

int64_t psr_fold_shares_count(const struct psr_fold_shares *s)
{
    int64_t least = psr_fold_count(s->share->fold);
    for (size_t k = 1; k < s->n; k++) {
        const int64_t count = psr_fold_count(s->share[k].fold);
        least = count < least ? count : least;
    }
    return least;
}

static psr_status execute(void *share, psr_err *err)
{
    struct psr_fold_share *s = share;
    return psr_fold_execute(s->fold, s->spectra, s->nsamp, s->step, s->nstep, err);
}

static psr_status finish(void *share, psr_err *err)
{
    struct psr_fold_share *s = share;
    psr_status st = fold_tail_push(s->tail, s->fold, err);
    return st ? st : psr_fold_finish(s->fold, err);
}

/* Of several that fail, the first share's error. */
static psr_status run_all(struct psr_fold_shares *s, psr_status (*work)(void *share, psr_err *err),
                          psr_err *err)
{
    for (size_t k = 1; k < s->n; k++)
        psr_async_task_start(&s->share[k].task, work, &s->share[k]);
    psr_status st = work(s->share, err);
    for (size_t k = 1; k < s->n; k++) {
        psr_err why;
        const psr_status own = psr_async_task_wait(&s->share[k].task, &why);
        if (own && !st)
            st = psr_fail_field(err, own, why.field, "%s", why.msg);
    }
    return st;
}

psr_status psr_fold_shares_execute(struct psr_fold_shares *s, const void *spectra, size_t nsamp,
                                   const struct psr_step *step, size_t nstep, psr_err *err)
{
    for (struct psr_fold_share *k = s->share; k < s->share + s->n; k++) {
        k->spectra = spectra;
        k->nsamp = nsamp;
        k->step = step;
        k->nstep = nstep;
    }
    return run_all(s, execute, err);
}

psr_status psr_fold_shares_finish(struct psr_fold_shares *s, const struct psr_fold_tail *tail,
                                  psr_err *err)
{
    for (struct psr_fold_share *k = s->share; k < s->share + s->n; k++)
        k->tail = tail;
    return run_all(s, finish, err);
}

const psr_fold *psr_fold_shares_find(const struct psr_fold_shares *s, size_t i, size_t *own)
{
    size_t k = s->n - 1;
    while (i < s->share[k].first)
        k--;
    *own = i - s->share[k].first;
    return s->share[k].fold;
}

void psr_fold_shares_destroy(struct psr_fold_shares *s)
{
    for (size_t k = 0; k < s->n; k++) {
        psr_async_task_end(&s->share[k].task);
        psr_fold_destroy(s->share[k].fold);
    }
    free(s->share);
}
