/* Searches around folds: every DM's parts, the trials that a bound does not exclude, the best. */
#include "fold_state.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/threads/threads.h"
#include "search/fold/fold_plan.h"
#include "search/fold/kernels/fold_sums.h"

#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Searches around folds on a device: chooses it, and sums the trial that it finds. */

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_fold_search_device_ops *const ops =
#ifdef HAVE_CUDA
    &psr_fold_search_cuda;

#else

    NULL;

#endif

/* Opens the device that the description asks for, if any: s->device stays NULL for the CPU, and with
 * "auto" where there is no device.
 * Status: PSR_EDEVICE naming the backend, PSR_ENOMEM */
static psr_status fold_search_device_open(struct psr_fold_search *s, psr_err *err)
{
    const char *name = s->d.backend ? s->d.backend : "cpu";
    if (!strcmp(name, "cpu") || (psr_backend_is_any(name) && !ops))
        return PSR_OK;
    if (!ops || !psr_backend_is_asked(name, ops->name))
        return psr_backend_none(PSR_OK, name, "fold search", err);
    psr_status st = ops->create(&s->device, s->d.device, err);
    if (!st)
        return PSR_OK;
    s->device = NULL;
    return psr_backend_is_passed(name, st) ? PSR_OK : st;
}

/* Given: part   room for [npart][nbin]; offset for [nsub], delay for [npart], profile for [nbin] */
static void sum_best(const struct psr_fold_search *s, const struct psr_fold_trial *trial,
                     double *part, size_t *offset, double *delay, double *profile,
                     struct psr_fold_stats *stats)
{
    const struct psr_fold_trials *t = &s->trials;
    if (t->fold->ndm)
        psr_fold_trials_dm_offsets(t, t->fold->trial_dm[trial->dm], offset);
    for (size_t i = 0; i < t->npart; i++)
        psr_fold_trials_add_bands(t, i, offset, part + i * t->nbin);
    psr_fold_trials_sum(t, trial, part, s->part_stats, delay, profile, stats);
}

static psr_status fold_search_device_find(struct psr_fold_search *s,
                                          const struct psr_fold_range *range,
                                          struct psr_fold_found *found, bool *done, psr_err *err)
{
    struct psr_fold_device_hit best;
    memset(found, 0, sizeof *found);
    psr_status st = ops->find(s->device, s, range, &best, &found->nsummed, err);
    *done = !st;
    if (!st && best.redchi > 0) {
        const struct psr_fold_trials *t = &s->trials;
        double *part = calloc(t->npart * t->nbin, sizeof *part);
        double *delay = calloc(t->npart + t->nbin, sizeof *delay);
        size_t *offset = calloc(t->nsub, sizeof *offset);
        found->trial = best.trial;
        if (part && delay && offset)
            sum_best(s, &best.trial, part, offset, delay, delay + t->npart, &found->stats);
        else
            st = psr_fail_nomem(err, "a fold search", (double)t->npart * (double)t->nbin * 8);
        found->any = !st && found->stats.redchi > 0;
        free(part);
        free(delay);
        free(offset);
    }
    return st == PSR_EUNSUPPORTED ? PSR_OK : st;
}

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
    st = fold_search_device_open(s, err);
    s->d.backend = NULL; /* it was borrowed */
    if (st)
        free(s);
    else
        *out = s;
    return st;
}

bool psr_fold_search_has_device(const psr_fold_search *s)
{
    return s->device != NULL;
}

void psr_fold_search_destroy(psr_fold_search *s)
{
    if (!s)
        return;
    if (s->device)
        ops->destroy(s->device);
    s->device = NULL;
    psr_fold_sums_clear(&s->listed.sums);
    psr_fold_sums_clear(&s->other.sums);
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

static void merge_found(struct psr_fold_found *to, const struct psr_fold_found *from)
{
    const double a = to->stats.redchi, b = from->stats.redchi;
    to->nsummed += from->nsummed;
    if (from->any && (!to->any || b > a || (b == a && is_before(&from->trial, &to->trial)))) {
        to->stats = from->stats;
        to->trial = from->trial;
        to->any = true;
    }
}

/* Norm that the profile of a trial, without its mean, must have to be as good as the best so far: of
 * the sum of squares about prof_avg, what all trials have in common is subtracted. */
static double find_norm(const struct psr_fold_search *s, const struct psr_fold_worker *w,
                        const double *part)
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

static void search_parts(struct psr_fold_search *s, struct psr_fold_worker *w, size_t dm,
                         const double *part)
{
    const struct psr_fold_range *r = &s->listed.range;
    struct psr_fold_trial trial = {dm, r->pddot, 0, 0};
    double norm = find_norm(s, w, part);
    psr_fold_table_set(&w->table, &s->listed.sums, part);
    if (w->table.most + w->table.slack < norm)
        return;
    psr_fold_table_fill(&w->table, &s->listed.sums);
    /* without any pulse all trials are equal, and the first counts */
    const size_t end = w->table.most > 0 ? s->listed.sums.ntrial : 1;
    for (size_t i = 0; (i = psr_fold_table_find(&w->table, &s->listed.sums, i, norm)) < end; i++) {
        const double before = w->found.stats.redchi;
        trial.pdot = r->first_pdot + s->listed.sums.place[i] / s->trials.nperiod;
        trial.period = s->listed.sums.place[i] % s->trials.nperiod;
        /* Sums a trial as prepfold does, and keeps it if it is the best. */
        struct psr_fold_found new = {.trial = trial, .nsummed = 1};
        psr_fold_trials_sum(&s->trials, &trial, part, s->part_stats, w->delay, w->profile,
                            &new.stats);
        new.any = new.stats.redchi > 0;
        merge_found(&w->found, &new);
        if (w->found.stats.redchi > before)
            norm = find_norm(s, w, part);
    }
}

static void search_dms(struct psr_fold_search *s, struct psr_fold_worker *w, size_t first,
                       size_t end)
{
    const struct psr_fold_trials *t = &s->trials;
    psr_fold_state_make_parts(s, w, first, end);
    for (size_t dm = first; dm < end; dm++) {
        search_parts(s, w, dm, w->part + (dm - first) * t->npart * t->nbin);
        const double mine = w->found.stats.redchi * ((double)s->trials.nbin - 1) * s->prof_var;
#pragma omp critical(psr_fold_search_least)
        if (w->found.any && mine > s->least) {
#pragma omp atomic write
            s->least = mine;
        }
    }
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
    per = per < 1 ? 1 : per > FOLD_DMS_AT_ONCE ? FOLD_DMS_AT_ONCE : per;
    const size_t nbatch = (ndm + per - 1) / per;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->nworker)
    for (size_t i = 0; i < nbatch; i++) {
        const size_t first = s->first_dm + choose_batch(i, nbatch) * per;
        const size_t end = first + per < s->end_dm ? first + per : s->end_dm;
        if (psr_is_stopped(&s->trials.stop))
            continue;
        search_dms(s, &s->worker[psr_thread_number()], first, end);
    }
}

static psr_status search_on_cpu(struct psr_fold_search *s, const struct psr_fold_times *times,
                                const struct psr_fold_range *range, struct psr_fold_found *found,
                                psr_err *err)
{
    psr_status st = psr_fold_state_list(s, times, range, err);
    if (!st)
        st = psr_fold_state_make_workers(s, s->nthread, err);
    if (!st)
        search_batches(s);
    if (!st && psr_is_stopped(&s->trials.stop))
        st = psr_fail(err, PSR_ESTOPPED, "stopped");
    for (int i = 0; i < s->nworker && !st; i++)
        merge_found(found, &s->worker[i].found);
    psr_fold_state_clear_workers(s);
    return st;
}

/* Given: on_device   the device has the fold */
static psr_status search_range(struct psr_fold_search *s, const struct psr_fold_times *times,
                               const struct psr_fold_range *range, bool on_device,
                               struct psr_fold_found *found, psr_err *err)
{
    struct psr_fold_found new;
    bool done = false;
    if (psr_is_stopped(&s->trials.stop))
        return psr_fail(err, PSR_ESTOPPED, "stopped");
    psr_status st = on_device ? fold_search_device_find(s, range, &new, &done, err) : PSR_OK;
    if (st || !done)
        return st ? st : search_on_cpu(s, times, range, found, err);
    merge_found(found, &new);
    return PSR_OK;
}

/* --- run -------------------------------------------------------------------------------------- */

/* What nothing is better than: the fold's own values. */
static void set_middle(const struct psr_fold_search *s, struct psr_fold_found *found)
{
    const struct psr_fold_trials *t = &s->trials;
    found->trial =
        (struct psr_fold_trial){t->fold->ndm ? psr_fold_state_dm(t->fold) : 0, (t->npdot - 1) / 2,
                                (t->npdot - 1) / 2, (t->nperiod - 1) / 2};
    found->stats.numprof = (double)t->nbin;
}

psr_status psr_fold_search_run(psr_fold_search *s, const struct psr_pfd *fold,
                               const struct psr_fold_times *times, struct psr_fold_best *best,
                               psr_err *err)
{
    struct psr_fold_found found = {.any = false};
    psr_status st = psr_fold_state_check(fold, err);
    if (st)
        return st;
    st = psr_fold_state_begin(s, fold, times, err);
    if (!st && s->prof_var > 0 && s->trials.nbin > 1) {
        const struct psr_fold_trials *t = &s->trials;
        const size_t mid_p = (t->nperiod - 1) / 2, mid_pd = (t->npdot - 1) / 2;
        struct psr_fold_range r = {.first_period = s->d.keep_p ? mid_p : 0,
                                   .end_period = s->d.keep_p ? mid_p + 1 : t->nperiod};
        const size_t first_pd = s->d.keep_pd ? mid_pd : 0,
                     end_pd = s->d.keep_pd ? mid_pd + 1 : t->npdot;
        const size_t rows = psr_fold_state_rows(s, r.end_period - r.first_period);
        bool on_device = false;
        st = s->device ? ops->begin(s->device, s, err) : PSR_EUNSUPPORTED;
        on_device = !st;
        st = st == PSR_EUNSUPPORTED ? PSR_OK : st;
        for (r.pddot = s->d.pddot ? 0 : mid_pd; r.pddot < (s->d.pddot ? t->npdot : mid_pd + 1);
             r.pddot++) /* ends at once after an error */
            for (r.first_pdot = first_pd; r.first_pdot < end_pd && !st; r.first_pdot = r.end_pdot) {
                r.end_pdot = r.first_pdot + rows < end_pd ? r.first_pdot + rows : end_pd;
                st = search_range(s, times, &r, on_device, &found, err);
            }
    }
    if (!st && !found.any)
        set_middle(s, &found);
    if (!st) {
        const struct psr_fold_trials *t = &s->trials;
        const struct psr_fold_search_desc *d = &s->d;
        *best = (struct psr_fold_best){.dm = found.trial.dm,
                                       .period = found.trial.period,
                                       .pdot = found.trial.pdot,
                                       .pddot = found.trial.pddot,
                                       .fdot = t->fdot[found.trial.pdot],
                                       .fdotdot = t->fdotdot[found.trial.pddot],
                                       .stats = found.stats,
                                       .nsummed = found.nsummed};
        best->ntrial = (int64_t)((s->end_dm - s->first_dm) * (d->keep_p ? 1 : t->nperiod) *
                                 (d->keep_pd ? 1 : t->npdot) * (d->pddot ? t->npdot : 1));
    }
    psr_fold_state_end(s);
    return st;
}

/* Independent trials of a search around a fold. */

/* Drift over the fold, in uncorrelated bins, by which chi^2 becomes another one: of trials that drift evenly, and as the
 * square of time.  Measured on folds of noise. */
static const double even_bins = 1.8, square_bins = 3;

/* At most all trials are independent. */
static double count_steps(int64_t ntrial, double step_bins, double unit)
{
    const double most = (double)ntrial;
    return fmin(1 + (most - 1) * step_bins / unit, most);
}

/* Without a significant p-dot psr_fold_refine gives none: then those that were searched do not count.  What it gains
 * between trials is less than it loses by maximising harmonics, not chi^2. */
double psr_fold_count_trials(const struct psr_pfd *p, const struct psr_fold_search_desc *d,
                             bool is_refined)
{
    const double correlation = 1 / psr_fold_correction(p), nbin = p->nbin;
    const double pd = p->fold.flag == 1 ? p->bary.pd : p->topo.pd;
    double drifts = 1, dms = 1;
    if (!d->keep_p)
        drifts *= count_steps(p->nperiod, p->pstep * correlation, even_bins);
    if (!d->keep_pd && !(is_refined && pd == 0))
        drifts *= count_steps(p->npdot, p->pdstep * correlation, square_bins);
    if (d->pddot)
        drifts *= count_steps(p->npdot, p->pdstep * correlation, square_bins);
    if (!d->keep_dm && p->ndm) {
        /* Trials delay the lowest channel against infinite frequency by steps, against the highest by less. */
        const double high_mhz = p->lofreq_mhz + (p->nchan - 1.0) * p->width_mhz;
        const double share = 1 - p->lofreq_mhz * p->lofreq_mhz / (high_mhz * high_mhz);
        dms = count_steps(p->ndm, p->dmstep * correlation * share, even_bins);
    }
    /* Few parts or sub-bands can be rotated against each other in so many ways only. */
    return fmin(drifts, pow(nbin, p->npart - 1)) * fmin(dms, pow(nbin, p->nsub - 1));
}

/* Plans the block of a candidate that comes next: its runs, and the values of replaced samples. */

bool psr_fold_is_ready(const struct psr_fold *f, const struct psr_fold_cube *cube)
{
    return cube->next < psr_fold_blocks(f) && cube->next + cube->ahead < psr_fold_arrived(f);
}

psr_status psr_fold_plan_block(const struct psr_fold *f, struct psr_fold_cube *cube, psr_err *err)
{
    const size_t per_part = f->d.part_blocks, part = cube->next / per_part;
    const double block_s = (double)f->d.block * f->d.tsamp_s;
    psr_fold_replaced_find(f, cube);
    return psr_fold_runs_find(
        &cube->runs,
        &(struct psr_fold_samples){.begin_s = (double)(part * per_part) * block_s +
                                              (double)(cube->next % per_part) * block_s,
                                   .tsamp_s = f->d.tsamp_s,
                                   .n = f->d.block},
        err);
}
