/* State of a search around a fold: the fold, the sums that its trials share, threads. */
#include "fold_state.h"

#include "base/memory.h"
#include "base/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double listed_bytes_max = 256e6, table_bytes_max = 96e6;

psr_status psr_fold_state_check(const struct psr_pfd *fold, psr_err *err)
{
    if (fold->nperiod < 1 || fold->npdot < 1 || fold->npart < 1 || fold->nsub < 1 ||
        fold->nbin < 1 || (fold->ndm < 1 && fold->nsub > 1) || fold->pstep < 1 || fold->pdstep < 1)
        return psr_fail(err, PSR_EINVAL,
                        "fold: %d DMs, %d periods, %d p-dots for %d sub-bands, %d parts, %d bins: "
                        "nothing to search",
                        fold->ndm, fold->nperiod, fold->npdot, fold->nsub, fold->npart, fold->nbin);
    return PSR_OK;
}

/* The DM of the fold: the nearest of the list. */
size_t psr_fold_state_dm(const struct psr_pfd *fold)
{
    size_t best = 0;
    for (size_t i = 1; i < (size_t)fold->ndm; i++)
        if (fabs(fold->trial_dm[i] - fold->dm) < fabs(fold->trial_dm[best] - fold->dm))
            best = i;
    return best;
}

psr_status psr_fold_state_begin(struct psr_fold_search *s, const struct psr_pfd *fold,
                                const struct psr_fold_times *times, psr_err *err)
{
    psr_status st = psr_fold_trials_init(&s->trials, fold, times, err);
    if (st)
        return st;
    s->trials.stop = (struct psr_stop){s->d.should_stop, s->d.ctx};
    s->part_stats = calloc(s->trials.npart, sizeof *s->part_stats);
    if (!s->part_stats)
        return psr_fail_nomem(err, "a fold search",
                              (double)s->trials.npart * sizeof *s->part_stats);
    if (fold->nsub > 1)
        psr_fold_trials_add_stats(&s->trials, s->part_stats);
    else
        memcpy(s->part_stats, fold->stats, s->trials.npart * sizeof *s->part_stats);
    s->prof_avg = s->prof_var = s->least = 0;
    for (size_t i = 0; i < s->trials.npart; i++) {
        s->prof_avg += s->part_stats[i].prof_avg;
        s->prof_var += s->part_stats[i].prof_var;
    }
    s->first_dm = s->d.keep_dm && fold->ndm ? psr_fold_state_dm(fold) : 0;
    s->end_dm = !fold->ndm ? 1 : s->d.keep_dm ? s->first_dm + 1 : (size_t)fold->ndm;
    return PSR_OK;
}

void psr_fold_state_end(struct psr_fold_search *s)
{
    psr_fold_trials_clear(&s->trials);
    free(s->part_stats);
    s->part_stats = NULL;
}

/* Rows of p-dots whose sums are listed at a time. */
size_t psr_fold_state_rows(const struct psr_fold_search *s, size_t nperiod)
{
    const double row = (double)nperiod * (double)s->trials.npart * sizeof(uint32_t);
    const double most = (double)psr_count_memory(s->d.mem_bytes) / 4;
    const double rows = fmin(listed_bytes_max, most) / row;
    return rows > 1 ? (size_t)rows : 1;
}

static bool is_same(const struct psr_fold_listed *a, const struct psr_fold_listed *b)
{
    return a->npart == b->npart && a->nbin == b->nbin && a->nperiod == b->nperiod &&
           a->npdot == b->npdot && a->pstep == b->pstep && a->pdstep == b->pdstep &&
           a->times.block_s == b->times.block_s && a->times.part_blocks == b->times.part_blocks &&
           a->times.length_s == b->times.length_s && a->range.pddot == b->range.pddot &&
           a->range.first_pdot == b->range.first_pdot && a->range.end_pdot == b->range.end_pdot &&
           a->range.first_period == b->range.first_period &&
           a->range.end_period == b->range.end_period;
}

/* Lists the sums of a range, unless they are those of the last one. */
psr_status psr_fold_state_list(struct psr_fold_search *s, const struct psr_fold_times *times,
                               const struct psr_fold_range *range, psr_err *err)
{
    const struct psr_fold_trials *t = &s->trials;
    struct psr_fold_listed now = {.is_listed = true,
                                  .npart = t->npart,
                                  .nbin = t->nbin,
                                  .nperiod = t->nperiod,
                                  .npdot = t->npdot,
                                  .pstep = t->fold->pstep,
                                  .pdstep = t->fold->pdstep,
                                  .times = *times,
                                  .range = *range};
    for (int i = 0; i < 2; i++) { /* a search and its picture may take turns */
        if (s->listed.is_listed && is_same(&s->listed, &now))
            return PSR_OK;
        const struct psr_fold_listed last = s->listed;
        s->listed = s->other;
        s->other = last;
    }
    psr_fold_sums_clear(&s->other.sums);
    s->other = s->listed;
    s->listed = (struct psr_fold_listed){.is_listed = false};
    const double most = (double)psr_count_memory(s->d.mem_bytes) / (4.0 * s->nthread);
    psr_status st = psr_fold_sums_init(&now.sums, t, range, fmin(table_bytes_max, most), err);
    if (!st)
        s->listed = now;
    return st;
}

void psr_fold_state_clear_workers(struct psr_fold_search *s)
{
    for (int i = 0; s->worker && i < s->nworker; i++) {
        struct psr_fold_worker *w = &s->worker[i];
        psr_fold_table_clear(&w->table);
        free(w->part);
        free(w->delay);
        free(w->profile);
        free(w->offset);
    }
    free(s->worker);
    s->worker = NULL;
}

static psr_status make_worker(struct psr_fold_search *s, struct psr_fold_worker *w, psr_err *err)
{
    const struct psr_fold_trials *t = &s->trials;
    w->part = calloc(FOLD_DMS_AT_ONCE * t->npart * t->nbin, sizeof *w->part);
    w->delay = calloc(t->npart, sizeof *w->delay);
    w->profile = calloc(t->nbin, sizeof *w->profile);
    w->offset = calloc(FOLD_DMS_AT_ONCE * t->nsub, sizeof *w->offset);
    if (!w->part || !w->delay || !w->profile || !w->offset)
        return psr_fail_nomem(err, "a fold search", (double)t->npart * (double)t->nbin * 128);
    return psr_fold_table_init(&w->table, &s->listed.sums, err);
}

/* Bytes that a thread needs. */
static double count_bytes(const struct psr_fold_search *s)
{
    const struct psr_fold_trials *t = &s->trials;
    const double part = (double)t->npart * (double)t->nbin * FOLD_DMS_AT_ONCE * sizeof(double);
    return part + psr_fold_table_bytes(&s->listed.sums) +
           (double)(t->nsub * FOLD_DMS_AT_ONCE) * sizeof(size_t);
}

/* As many threads as the memory limit allows. */
psr_status psr_fold_state_make_workers(struct psr_fold_search *s, int nworker, psr_err *err)
{
    const double bytes = count_bytes(s), most = (double)psr_count_memory(s->d.mem_bytes);
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    psr_status st = PSR_OK;
    if (bytes > most)
        return psr_fail(err, PSR_ENOMEM, "fold: a search takes %s, the limit is %s",
                        psr_size_text(need, bytes), psr_size_text(have, most));
    s->nworker = bytes * nworker > most ? (int)(most / bytes) : nworker;
    s->worker = calloc((size_t)s->nworker, sizeof *s->worker);
    if (!s->worker)
        return psr_fail_nomem(err, "a fold search", (double)s->nworker * sizeof *s->worker);
    for (int i = 0; i < s->nworker && !st; i++)
        st = make_worker(s, &s->worker[i], err);
    return st;
}

/* Parts of DMs first .. end - 1; without sub-bands the fold's own. */
static void make_parts(const struct psr_fold_search *s, struct psr_fold_worker *w, size_t first,
                       size_t end)
{
    const struct psr_fold_trials *t = &s->trials;
    const size_t size = t->npart * t->nbin;
    memset(w->part, 0, (end - first) * size * sizeof *w->part);
    for (size_t i = 0; i < t->npart; i++)
        for (size_t dm = first; dm < end && !psr_is_stopped(&t->stop); dm++) {
            const size_t *offset = w->offset + (dm - first) * t->nsub;
            psr_fold_trials_add_bands(t, i, offset, w->part + (dm - first) * size + i * t->nbin);
        }
}

void psr_fold_state_make_parts(const struct psr_fold_search *s, struct psr_fold_worker *w,
                               size_t first, size_t end)
{
    const struct psr_fold_trials *t = &s->trials;
    for (size_t dm = first; dm < end && t->fold->ndm; dm++)
        psr_fold_trials_dm_offsets(t, t->fold->trial_dm[dm], w->offset + (dm - first) * t->nsub);
    make_parts(s, w, first, end);
}
