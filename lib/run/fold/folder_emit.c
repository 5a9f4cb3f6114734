/* Searches around the folds of a pass, and passes them to the caller: candidates in parallel. */
#include "folder.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "search/fold/fold_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- folds shares of the candidates, each with a thread and a device -------------------------- */

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

/* The share of candidate i, which is its candidate *own. */
static const psr_fold *fold_shares_find(const struct psr_fold_shares *s, size_t i, size_t *own)
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

/* --- searches around the folds of a pass: candidates in parallel ------------------------------ */

/* What a picture of a usual size takes beside the search. */
static const double picture_bytes = 16e6;
/* Fewer threads rather than less than this for the tables of each. */
static const double table_bytes_least = 64e6;

/* The most that share a device. */
enum { DEVICE_SEARCHES = 16 };

/* A candidate between its search and its end. */
struct result {
    struct psr_pfd pfd; /* profile borrows the fold's, unless parts were joined */
    struct psr_fold_best found;
    size_t joined; /* parts of the fold in one of the result */
    struct psr_fold_times times;
    double moved_bins; /* of a best trial that was left; else not a number */
};

struct emission {
    const psr_folder *f;
    const struct psr_fold_shares *folds;
    size_t first;             /* place of the folds' first candidate in the arrays of candidates */
    psr_fold_search **search; /* [nthread] */
    int nthread;

    /* Guarded by the critical section psr_folder_emit. */
    bool *done; /* [n] of the candidates from first on */
    size_t n, ndone;
    size_t next, failed; /* the first that then() was not called for; that failed, or beyond all */
    psr_status status;   /* of failed, as is err */
    psr_err err;
};

/* --- threads ---------------------------------------------------------------------------------- */

/* As many as have room beside the cubes, of which each candidate's is a part. */
static int count_threads(const psr_folder *f, size_t n)
{
    const double each =
        (double)psr_count_memory(f->d.mem_bytes) / 2 / (picture_bytes + table_bytes_least);
    int most = psr_count_threads((int)f->d.nthread);
    most = (double)most > each ? (int)each : most;
    most = (double)most > (double)n ? (int)n : most;
    const int on_devices = DEVICE_SEARCHES * (int)f->devices.n;
    if (psr_fold_search_has_device(f->search) && most > on_devices)
        most = on_devices;
    return most > 1 ? most : 1;
}

/* Each searches on its own; a thread alone has the folder's search, with all cores, and on a device the
 * first of several has it.  Where the device has no room for more, fewer threads share it. */
static psr_status make_searches(struct emission *e, psr_err *err)
{
    struct psr_fold_search_desc desc = psr_folder_describe_search(e->f);
    const bool on_device = psr_fold_search_has_device(e->f->search);
    const double each = (double)psr_count_memory(e->f->d.mem_bytes) / 2 / e->nthread;
    psr_status st = PSR_OK;
    desc.nthread = 1;
    desc.mem_bytes = (int64_t)(each - picture_bytes);
    e->search = calloc((size_t)e->nthread, sizeof *e->search);
    if (!e->search)
        return psr_fail_nomem(err, "fold searches", (double)e->nthread * sizeof *e->search);
    for (int i = on_device; i < e->nthread && e->nthread > 1 && !st; i++) {
        const size_t k = (size_t)i % e->f->devices.n;
        desc.backend = on_device ? e->f->backend[k] : NULL;
        desc.device = e->f->device[k];
        st = psr_fold_search_create(&e->search[i], &desc, err);
        if (st == PSR_EDEVICE && on_device) {
            e->nthread = i;
            return PSR_OK;
        }
    }
    return st;
}

static void clear_emission(struct emission *e)
{
    for (int i = 0; e->search && i < e->nthread; i++)
        psr_fold_search_destroy(e->search[i]);
    free((void *)e->search);
    free(e->done);
}

/* --- a candidate ------------------------------------------------------------------------------ */

static void clear_result(struct result *r)
{
    if (r->joined < 2)
        r->pfd.profile = NULL;
    psr_pfd_clear(&r->pfd);
}

/* Parts to join, so that one holds a turn; prepfold leaves parts empty. */
static size_t count_joined(const psr_folder *f, size_t k)
{
    const double part_s = (double)f->part_blocks * (double)f->in.block * f->in.obs.tsamp_s;
    const double turns = part_s * f->fold[k].f, most = (double)f->frame.npart;
    return f->d.presto || turns >= 1 ? 1 : (size_t)fmin(ceil(1 / turns), most);
}

/* Given: k   place in the arrays of candidates */
static psr_status begin_result(const struct emission *e, size_t k, struct result *r, psr_err *err)
{
    const psr_folder *f = e->f;
    struct psr_fold_frame frame = f->frame;
    size_t own;
    const psr_fold *fold = fold_shares_find(e->folds, k - e->first, &own);
    r->joined = count_joined(f, k);
    frame.npart = (f->frame.npart + r->joined - 1) / r->joined;
    r->times.block_s = (double)f->in.block * f->in.obs.tsamp_s;
    r->times.part_blocks = f->part_blocks * r->joined;
    if (r->joined > 1)
        frame.length_s = (double)(frame.npart * r->times.part_blocks) * r->times.block_s;
    r->times.length_s = frame.length_s;
    psr_status st = psr_fold_header_fill(&r->pfd, &frame, &f->given[f->index[k]], f->cand[k].nbin,
                                         f->fold[k], &f->orbit[k], err);
    if (r->joined < 2) {
        free(r->pfd.profile);
        r->pfd.profile = psr_fold_profile(fold, own);
    }
    if (st)
        return st;
    r->pfd.digest = f->digest[k];
    if (r->joined > 1)
        psr_fold_merge_parts(fold, own, r->joined, r->pfd.profile, r->pfd.stats);
    else
        memcpy(r->pfd.stats, psr_fold_statistics(fold, own),
               frame.npart * frame.nsub * sizeof *r->pfd.stats);
    return PSR_OK;
}

/* By how many 1 / T the best trial moves the frequency in the middle. */
static double find_shift(const struct result *r)
{
    const double f = 1 / r->pfd.trial_period_s[r->found.period] - r->pfd.fold.f;
    return fabs(f + r->found.fdot * r->times.length_s / 2) * r->times.length_s;
}

/* Leaves a best trial that is another signal's for the fold's own values. */
static psr_status stay_near(const struct emission *e, struct result *r, psr_err *err)
{
    struct psr_fold_search_desc desc = psr_folder_describe_search(e->f);
    const double shift = find_shift(r);
    const int64_t ntrial = r->found.ntrial;
    psr_fold_search *search = NULL;
    if (!e->f->d.refine || !(e->f->d.stay_bins > 0) || !(shift > e->f->d.stay_bins))
        return PSR_OK;
    desc.keep_p = desc.keep_pd = true;
    desc.nthread = 1;
    psr_status st = psr_fold_search_create(&search, &desc, err);
    if (!st)
        st = psr_fold_search_run(search, &r->pfd, &r->times, &r->found, err);
    psr_fold_search_destroy(search);
    r->found.ntrial = ntrial;
    r->moved_bins = shift;
    return st;
}

static psr_status search_result(const struct emission *e, psr_fold_search *search, size_t k,
                                struct result *r, psr_err *err)
{
    psr_status st = begin_result(e, k, r, err);
    r->moved_bins = NAN;
    if (!st)
        st = psr_fold_search_run(search, &r->pfd, &r->times, &r->found, err);
    return st ? st : stay_near(e, r, err);
}

/* To the trials, whether they were searched or not, and to what was asked for. */
static void limit_dm(const struct psr_folder_desc *d, const struct psr_pfd *p,
                     struct psr_fold_refined *best)
{
    if (!p->ndm)
        return;
    /* Below the first trial there may be room for less than a step. */
    const double step = p->trial_dm[1] - p->trial_dm[0];
    best->dm_lo = fmax(p->trial_dm[0] < step ? 0 : p->trial_dm[0], d->dm_lo);
    best->dm_hi = p->trial_dm[p->ndm - 1];
    if (d->dm_hi > 0)
        best->dm_hi = fmin(best->dm_hi, d->dm_hi);
}

/* From the best trial on. */
static psr_status refine_result(const struct emission *e, struct result *r, psr_err *err)
{
    const struct psr_fold_search_desc keep = psr_folder_describe_search(e->f);
    const struct psr_fold_spin *fold = &r->pfd.fold;
    struct psr_fold_refined best = {.f = 1 / r->pfd.trial_period_s[r->found.period],
                                    .fd = fold->fd + r->found.fdot,
                                    .fdd = fold->fdd + r->found.fdotdot,
                                    .dm = r->pfd.dm};
    limit_dm(&e->f->d, &r->pfd, &best);
    psr_status st = psr_fold_refine(&best, &r->pfd, &r->times, keep.keep_p, keep.keep_pd, err);
    if (!st)
        psr_fold_header_refined(&r->pfd, &e->f->frame, &best, &r->found);
    return st;
}

/* A picture that there is no memory for ends no fold. */
static bool make_view(struct psr_fold_view *view, const struct emission *e, psr_fold_search *search,
                      const struct result *r)
{
    psr_err why;
    if (!e->f->d.view)
        return false;
    if (!psr_fold_search_view(search, &r->pfd, &r->times, &r->found, view, &why))
        return true;
    if (why.code == PSR_ESTOPPED)
        return false;
#pragma omp critical(psr_folder_emit)
    psr_note(&e->f->d.notes, "%s: no picture: %s", r->pfd.candidate, why.msg);
    return false;
}

/* Passes a searched fold to the caller. */
static psr_status end_result(const struct emission *e, psr_fold_search *search, size_t k,
                             struct result *r, psr_err *err)
{
    const struct psr_folder_desc *d = &e->f->d;
    struct psr_fold_view view = {.npart = 0};
    struct psr_bestprof best = {.nbin = 0};
    psr_fold_header_best(&r->pfd, &e->f->frame, &r->found);
    psr_status st = d->refine ? refine_result(e, r, err) : PSR_OK;
    const struct psr_fold_search_desc searched = psr_folder_describe_search(e->f);
    if (!st)
        r->pfd.ntrial = psr_fold_count_trials(&r->pfd, &searched, d->refine);
    if (!st)
        st = psr_fold_bestprof(&best, &r->pfd, err);
    const bool drawn = !st && make_view(&view, e, search, r);
    if (!st && d->should_stop && d->should_stop(d->ctx))
        st = psr_fail(err, PSR_ESTOPPED, "%s: stopped", e->f->in.name);
    const struct psr_folder_fold fold = {.pfd = &r->pfd,
                                         .best = &best,
                                         .found = &r->found,
                                         .view = drawn ? &view : NULL,
                                         .obs = &e->f->in.obs,
                                         .nsamp = e->f->wanted,
                                         .moved_bins = r->moved_bins};
    if (!st)
        st = d->take(d->ctx, e->f->index[k], &fold, err);
    psr_fold_view_clear(&view);
    psr_bestprof_clear(&best);
    return st;
}

/* --- in their order --------------------------------------------------------------------------- */

/* Whether candidate i, from first on, is wanted: not after one that failed, or if the run is stopped. */
static bool may_begin(struct emission *e, size_t i)
{
    bool wanted;
#pragma omp critical(psr_folder_emit)
    {
        const struct psr_folder_desc *d = &e->f->d;
        if (i < e->failed && d->should_stop && d->should_stop(d->ctx)) {
            e->failed = i;
            e->status = psr_fail(&e->err, PSR_ESTOPPED, "%s: stopped", e->f->in.name);
        }
        wanted = i < e->failed;
    }
    return wanted;
}

/* Of several that fail, the first counts, whichever it was in time. */
static void tell_end(struct emission *e, size_t i, psr_status st, const psr_err *why)
{
#pragma omp critical(psr_folder_emit)
    {
        const struct psr_folder_desc *d = &e->f->d;
        e->done[i] = !st;
        e->ndone += !st;
        if (d->searched)
            d->searched(d->ctx, (int64_t)e->ndone, (int64_t)e->n);
        if (st && i < e->failed) {
            e->failed = i;
            e->status = st;
            e->err = *why;
        }
        for (; e->next < e->failed && e->done[e->next]; e->next++)
            if (d->then)
                d->then(d->ctx, e->f->index[e->first + e->next]);
    }
}

/* Candidates begin .. end - 1, from first on, in parallel, searched already or not.
 * Given: searched   [end - begin] or NULL */
static void emit_range(struct emission *e, size_t begin, size_t end, struct result *searched)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->nthread) if (e->nthread > 1)
    for (size_t i = begin; i < end; i++) {
        psr_fold_search *own = e->search[psr_thread_number()];
        psr_fold_search *search = own ? own : e->f->search;
        struct result local = {.pfd = {.profile = NULL}},
                      *r = searched ? searched + i - begin : &local;
        const size_t k = e->first + i;
        psr_err why;
        if (!may_begin(e, i))
            continue;
        psr_status st = searched ? PSR_OK : search_result(e, search, k, r, &why);
        if (!st)
            st = end_result(e, search, k, r, &why);
        if (!searched)
            clear_result(r);
        tell_end(e, i, st, &why);
    }
}

/* The same, searched one after the other, each on all cores. */
static psr_status emit_batch(struct emission *e, size_t begin, size_t end, psr_err *err)
{
    struct result *r = calloc(end - begin, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "folds", (double)(end - begin) * sizeof *r);
    size_t n = 0;
    for (size_t i = begin; i < end && may_begin(e, i); i++, n++) {
        psr_err why;
        const psr_status st = search_result(e, e->f->search, e->first + i, &r[n], &why);
        if (st)
            tell_end(e, i, st, &why);
    }
    emit_range(e, begin, begin + n, r);
    for (size_t i = 0; i < n; i++)
        clear_result(&r[i]);
    free(r);
    return PSR_OK;
}

/* Where there are as many candidates as threads, or on a device, each thread searches its own. */
static psr_status emit_all(struct emission *e, size_t n, psr_err *err)
{
    const size_t width = (size_t)e->nthread;
    const bool on_device = psr_fold_search_has_device(e->f->search);
    const struct psr_fold_search_desc desc = psr_folder_describe_search(e->f);
    const bool is_quick = desc.keep_p && desc.keep_pd && desc.keep_dm;
    const size_t alone = on_device || is_quick ? n : n / width * width;
    psr_status st = PSR_OK;
    emit_range(e, 0, alone, NULL);
    for (size_t begin = alone; begin < n && !st; begin += width)
        st = emit_batch(e, begin, begin + width < n ? begin + width : n, err);
    return st;
}

psr_status psr_folder_emit(const psr_folder *f, const struct psr_fold_shares *folds, size_t first,
                           size_t n, psr_err *err)
{
    struct emission e = {.f = f,
                         .folds = folds,
                         .first = first,
                         .nthread = count_threads(f, n),
                         .failed = n,
                         .n = n};
    psr_status st = PSR_OK;
    e.done = calloc(n, sizeof *e.done);
    if (!e.done)
        st = psr_fail_nomem(err, "folds", (double)n);
    if (!st)
        st = make_searches(&e, err);
    if (!st)
        st = emit_all(&e, n, err);
    if (!st && e.status) {
        *err = e.err;
        st = e.status;
    }
    clear_emission(&e);
    return st;
}
