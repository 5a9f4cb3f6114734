/* Searches around folds: every DM's parts, the trials that a bound does not exclude, the best. */
#include "fold_sums.h"

#include "base/copy_desc.h"
#include "base/memory.h"
#include "base/threads.h"

#include <psrkit/tool.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Trials whose sums are listed at a time, and DMs whose parts a thread makes at a time: so the fold
 * is read from memory once for all of them. */
static const size_t listed_bytes = (size_t)256 << 20;
enum { DMS_AT_ONCE = 16 };

/* The best so far, in the order of the search. */
struct found {
    struct psr_fold_stats stats;
    struct psr_fold_trial trial;
    bool any;
    int64_t nsummed;
};

struct worker {
    struct psr_fold_table table;
    double *part;            /* [DMS_AT_ONCE][npart][nbin] */
    double *delay, *profile; /* [npart], [nbin] */
    size_t *offset;          /* [nsub] */
    struct found found;
};

/* What the sums were listed for. */
struct listed {
    size_t npart, nbin, nperiod, npdot;
    int32_t pstep, pdstep;
    struct psr_fold_times times;
    struct psr_fold_range range;
};

struct psr_fold_search {
    struct psr_fold_search_desc d;
    int nthread;
    bool is_listed;
    struct listed listed;
    struct psr_fold_sums sums;

    /* Of the fold that is searched. */
    struct psr_fold_trials trials;
    struct psr_fold_stats *part_stats; /* [npart] */
    size_t first_dm, end_dm;
    double prof_avg, prof_var;
    struct worker *worker; /* [nworker] */
    int nworker;
    double least; /* sum of squares of the best profile so far */
};

psr_status psr_fold_search_create(psr_fold_search **out, const struct psr_fold_search_desc *desc,
                                  psr_err *err)
{
    struct psr_fold_search_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "fold search", err);
    if (!st)
        st = psr_check_resources("fold search", d.nthread, d.mem_bytes, err);
    if (st)
        return st;
    psr_fold_search *s = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "a fold search", sizeof *s);
    s->d = d;
    s->nthread = psr_count_threads(d.nthread);
    *out = s;
    return PSR_OK;
}

void psr_fold_search_destroy(psr_fold_search *s)
{
    if (!s)
        return;
    psr_fold_sums_clear(&s->sums);
    free(s);
}

/* --- the best --------------------------------------------------------------------------------- */

static bool is_before(const struct psr_fold_trial *a, const struct psr_fold_trial *b)
{
    if (a->dm != b->dm)
        return a->dm < b->dm;
    if (a->pddot != b->pddot)
        return a->pddot < b->pddot;
    return a->pdot != b->pdot ? a->pdot < b->pdot : a->period < b->period;
}

static void merge_found(struct found *to, const struct found *from)
{
    const double a = to->stats.redchi, b = from->stats.redchi;
    to->nsummed += from->nsummed;
    if (from->any && (!to->any || b > a || (b == a && is_before(&from->trial, &to->trial)))) {
        to->stats = from->stats;
        to->trial = from->trial;
        to->any = true;
    }
}

/* Sums a trial as prepfold does, and keeps it if it is the best. */
static void sum_trial(struct psr_fold_search *s, struct worker *w, const double *part,
                      const struct psr_fold_trial *trial)
{
    struct found new = {.trial = *trial, .nsummed = 1};
    psr_fold_trials_sum(&s->trials, trial, part, s->part_stats, w->delay, w->profile, &new.stats);
    new.any = new.stats.redchi > 0;
    merge_found(&w->found, &new);
}

/* Norm that the profile of a trial, without its mean, must have to be as good as the best so far: of
 * the sum of squares about prof_avg, what all trials have in common is subtracted. */
static double find_norm(const struct psr_fold_search *s, const struct worker *w, const double *part)
{
    double least, sum = 0;
#pragma omp atomic read
    least = s->least;
    if (w->found.any)
        least = fmax(least, w->found.stats.redchi * ((double)s->trials.nbin - 1) * s->prof_var);
    for (size_t k = 0; k < s->trials.npart * s->trials.nbin; k++)
        sum += part[k];
    const double nbin = (double)s->trials.nbin, off = sum / nbin - s->prof_avg;
    const double common = nbin * off * off, rest = least * (1 - 1e-9) - common * (1 + 1e-9);
    return rest > 0 ? sqrt(rest) * (1 - 1e-9) : 0;
}

/* --- one DM ----------------------------------------------------------------------------------- */

static void search_parts(struct psr_fold_search *s, struct worker *w, size_t dm, const double *part)
{
    const struct psr_fold_range *r = &s->listed.range;
    struct psr_fold_trial trial = {dm, r->pddot, 0, 0};
    double norm = find_norm(s, w, part);
    psr_fold_table_set(&w->table, &s->sums, part);
    if (w->table.most + w->table.slack < norm)
        return;
    psr_fold_table_fill(&w->table, &s->sums);
    /* without any pulse all trials are equal, and the first counts */
    const size_t end = w->table.most > 0 ? s->sums.ntrial : 1;
    for (size_t i = 0; (i = psr_fold_table_find(&w->table, &s->sums, i, norm)) < end; i++) {
        const double before = w->found.stats.redchi;
        trial.pdot = r->first_pdot + s->sums.place[i] / s->trials.nperiod;
        trial.period = s->sums.place[i] % s->trials.nperiod;
        sum_trial(s, w, part, &trial);
        if (w->found.stats.redchi > before)
            norm = find_norm(s, w, part);
    }
}

static void tell_others(struct psr_fold_search *s, const struct worker *w)
{
    const double mine = w->found.stats.redchi * ((double)s->trials.nbin - 1) * s->prof_var;
#pragma omp critical(psr_fold_search_least)
    if (w->found.any && mine > s->least) {
#pragma omp atomic write
        s->least = mine;
    }
}

/* Parts of DMs first .. end - 1; without sub-bands the fold's own. */
static void make_parts(const struct psr_fold_search *s, struct worker *w, size_t first, size_t end)
{
    const struct psr_fold_trials *t = &s->trials;
    const size_t size = t->npart * t->nbin;
    memset(w->part, 0, (end - first) * size * sizeof *w->part);
    for (size_t i = 0; i < t->npart; i++)
        for (size_t dm = first; dm < end; dm++) {
            const size_t *offset = w->offset + (dm - first) * t->nsub;
            psr_fold_trials_add_bands(t, i, offset, w->part + (dm - first) * size + i * t->nbin);
        }
}

static void search_dms(struct psr_fold_search *s, struct worker *w, size_t first, size_t end)
{
    const struct psr_fold_trials *t = &s->trials;
    for (size_t dm = first; dm < end && t->fold->ndm; dm++)
        psr_fold_trials_dm_offsets(t, t->fold->trial_dm[dm], w->offset + (dm - first) * t->nsub);
    make_parts(s, w, first, end);
    for (size_t dm = first; dm < end; dm++) {
        search_parts(s, w, dm, w->part + (dm - first) * t->npart * t->nbin);
        tell_others(s, w);
    }
}

/* --- threads ---------------------------------------------------------------------------------- */

static void clear_workers(struct psr_fold_search *s)
{
    for (int i = 0; s->worker && i < s->nworker; i++) {
        struct worker *w = &s->worker[i];
        psr_fold_table_clear(&w->table);
        free(w->part);
        free(w->delay);
        free(w->profile);
        free(w->offset);
    }
    free(s->worker);
    s->worker = NULL;
}

static psr_status make_worker(struct psr_fold_search *s, struct worker *w, psr_err *err)
{
    const struct psr_fold_trials *t = &s->trials;
    w->part = calloc(DMS_AT_ONCE * t->npart * t->nbin, sizeof *w->part);
    w->delay = calloc(t->npart, sizeof *w->delay);
    w->profile = calloc(t->nbin, sizeof *w->profile);
    w->offset = calloc(DMS_AT_ONCE * t->nsub, sizeof *w->offset);
    if (!w->part || !w->delay || !w->profile || !w->offset)
        return psr_fail_nomem(err, "a fold search", (double)t->npart * (double)t->nbin * 128);
    return psr_fold_table_init(&w->table, &s->sums, err);
}

/* Bytes that a thread needs. */
static double count_bytes(const struct psr_fold_search *s)
{
    const struct psr_fold_trials *t = &s->trials;
    const double part = (double)t->npart * (double)t->nbin * DMS_AT_ONCE * sizeof(double);
    return part + psr_fold_table_bytes(&s->sums) + (double)(t->nsub * DMS_AT_ONCE) * sizeof(size_t);
}

/* As many threads as the memory limit allows. */
static psr_status make_workers(struct psr_fold_search *s, psr_err *err)
{
    const double bytes = count_bytes(s), most = (double)psr_count_memory(s->d.mem_bytes);
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    psr_status st = PSR_OK;
    if (bytes > most)
        return psr_fail(err, PSR_ENOMEM, "fold: a search takes %s, the limit is %s",
                        psr_size_text(need, bytes), psr_size_text(have, most));
    s->nworker = bytes * s->nthread > most ? (int)(most / bytes) : s->nthread;
    s->worker = calloc((size_t)s->nworker, sizeof *s->worker);
    if (!s->worker)
        return psr_fail_nomem(err, "a fold search", (double)s->nworker * sizeof *s->worker);
    for (int i = 0; i < s->nworker && !st; i++)
        st = make_worker(s, &s->worker[i], err);
    return st;
}

/* The batches of DMs, the middle one first: it is the likeliest to have the best. */
static size_t choose_batch(size_t i, size_t n)
{
    const size_t middle = n / 2;
    return i == 0 ? middle : i <= middle ? i - 1 : i;
}

static void search_batches(struct psr_fold_search *s)
{
    const size_t ndm = s->end_dm - s->first_dm, thread = (size_t)s->nworker;
    size_t per = (ndm + 4 * thread - 1) / (4 * thread);
    per = per < 1 ? 1 : per > DMS_AT_ONCE ? DMS_AT_ONCE : per;
    const size_t nbatch = (ndm + per - 1) / per;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->nworker)
    for (size_t i = 0; i < nbatch; i++) {
        const size_t first = s->first_dm + choose_batch(i, nbatch) * per;
        const size_t end = first + per < s->end_dm ? first + per : s->end_dm;
        search_dms(s, &s->worker[psr_thread_number()], first, end);
    }
}

/* --- ranges ----------------------------------------------------------------------------------- */

static bool is_same(const struct listed *a, const struct listed *b)
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
static psr_status list_sums(struct psr_fold_search *s, const struct psr_fold_times *times,
                            const struct psr_fold_range *range, psr_err *err)
{
    const struct psr_fold_trials *t = &s->trials;
    const struct listed now = {t->npart,       t->nbin,         t->nperiod, t->npdot,
                               t->fold->pstep, t->fold->pdstep, *times,     *range};
    if (s->is_listed && is_same(&s->listed, &now))
        return PSR_OK;
    psr_fold_sums_clear(&s->sums);
    s->is_listed = false;
    psr_status st = psr_fold_sums_init(&s->sums, t, range, err);
    s->listed = now;
    s->is_listed = !st;
    return st;
}

static psr_status search_range(struct psr_fold_search *s, const struct psr_fold_times *times,
                               const struct psr_fold_range *range, struct found *found,
                               psr_err *err)
{
    psr_status st = list_sums(s, times, range, err);
    if (!st)
        st = make_workers(s, err);
    if (!st)
        search_batches(s);
    for (int i = 0; i < s->nworker && !st; i++)
        merge_found(found, &s->worker[i].found);
    clear_workers(s);
    return st;
}

/* Rows of p-dots whose sums are listed at a time. */
static size_t count_rows(const struct psr_fold_search *s, size_t nperiod)
{
    const double row = (double)nperiod * (double)s->trials.npart * sizeof(uint32_t);
    const double rows = (double)listed_bytes / row;
    return rows > 1 ? (size_t)rows : 1;
}

static psr_status search_all(struct psr_fold_search *s, const struct psr_fold_times *times,
                             struct found *found, psr_err *err)
{
    const struct psr_fold_trials *t = &s->trials;
    const size_t mid_p = (t->nperiod - 1) / 2, mid_pd = (t->npdot - 1) / 2;
    struct psr_fold_range r = {.first_period = s->d.keep_p ? mid_p : 0,
                               .end_period = s->d.keep_p ? mid_p + 1 : t->nperiod};
    const size_t first_pd = s->d.keep_pd ? mid_pd : 0,
                 end_pd = s->d.keep_pd ? mid_pd + 1 : t->npdot;
    const size_t rows = count_rows(s, r.end_period - r.first_period);
    psr_status st = PSR_OK;
    for (r.pddot = s->d.pddot ? 0 : mid_pd; r.pddot < (s->d.pddot ? t->npdot : mid_pd + 1);
         r.pddot++)
        for (r.first_pdot = first_pd; r.first_pdot < end_pd && !st; r.first_pdot = r.end_pdot) {
            r.end_pdot = r.first_pdot + rows < end_pd ? r.first_pdot + rows : end_pd;
            st = search_range(s, times, &r, found, err);
        }
    return st;
}

/* --- run -------------------------------------------------------------------------------------- */

static psr_status check_fold(const struct psr_pfd *fold, psr_err *err)
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
static size_t find_dm(const struct psr_pfd *fold)
{
    size_t best = 0;
    for (size_t i = 1; i < (size_t)fold->ndm; i++)
        if (fabs(fold->trial_dm[i] - fold->dm) < fabs(fold->trial_dm[best] - fold->dm))
            best = i;
    return best;
}

static psr_status begin(struct psr_fold_search *s, const struct psr_pfd *fold,
                        const struct psr_fold_times *times, psr_err *err)
{
    psr_status st = psr_fold_trials_init(&s->trials, fold, times, err);
    if (st)
        return st;
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
    s->first_dm = s->d.keep_dm && fold->ndm ? find_dm(fold) : 0;
    s->end_dm = !fold->ndm ? 1 : s->d.keep_dm ? s->first_dm + 1 : (size_t)fold->ndm;
    return PSR_OK;
}

/* What nothing is better than: the fold's own values. */
static void set_middle(const struct psr_fold_search *s, struct found *found)
{
    const struct psr_fold_trials *t = &s->trials;
    found->trial = (struct psr_fold_trial){t->fold->ndm ? find_dm(t->fold) : 0, (t->npdot - 1) / 2,
                                           (t->npdot - 1) / 2, (t->nperiod - 1) / 2};
    found->stats.numprof = (double)t->nbin;
}

static void set_best(const struct psr_fold_search *s, const struct found *found,
                     struct psr_fold_best *best)
{
    const struct psr_fold_trials *t = &s->trials;
    const struct psr_fold_search_desc *d = &s->d;
    *best = (struct psr_fold_best){.dm = found->trial.dm,
                                   .period = found->trial.period,
                                   .pdot = found->trial.pdot,
                                   .fdot = t->fdot[found->trial.pdot],
                                   .fdotdot = t->fdotdot[found->trial.pddot],
                                   .stats = found->stats,
                                   .nsummed = found->nsummed};
    best->ntrial = (int64_t)((s->end_dm - s->first_dm) * (d->keep_p ? 1 : t->nperiod) *
                             (d->keep_pd ? 1 : t->npdot) * (d->pddot ? t->npdot : 1));
}

psr_status psr_fold_search_run(psr_fold_search *s, const struct psr_pfd *fold,
                               const struct psr_fold_times *times, struct psr_fold_best *best,
                               psr_err *err)
{
    struct found found = {.any = false};
    psr_status st = check_fold(fold, err);
    if (st)
        return st;
    st = begin(s, fold, times, err);
    if (!st && s->prof_var > 0 && s->trials.nbin > 1)
        st = search_all(s, times, &found, err);
    if (!st && !found.any)
        set_middle(s, &found);
    if (!st)
        set_best(s, &found, best);
    psr_fold_trials_clear(&s->trials);
    free(s->part_stats);
    s->part_stats = NULL;
    return st;
}
