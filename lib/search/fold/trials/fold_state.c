/* State of a search around a fold: the fold, the sums that its trials share, threads. */
#include "fold_state.h"

#include "base/base.h"
#include "search/fold/fold_internal.h"

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
    s->trials.stop = (struct psr_stop){.ask = s->d.should_stop, .ctx = s->d.ctx};
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
        psr_own_free(&w->own);
    }
    free(s->worker);
    s->worker = NULL;
}

static psr_status make_worker(struct psr_fold_search *s, struct psr_fold_worker *w, psr_err *err)
{
    const struct psr_fold_trials *t = &s->trials;
    w->part = psr_own(&w->own, FOLD_DMS_AT_ONCE * t->npart * t->nbin, sizeof *w->part);
    w->delay = psr_own(&w->own, t->npart, sizeof *w->delay);
    w->profile = psr_own(&w->own, t->nbin, sizeof *w->profile);
    w->offset = psr_own(&w->own, FOLD_DMS_AT_ONCE * t->nsub, sizeof *w->offset);
    psr_status st = psr_own_check(&w->own, "a fold search", err);
    return st ? st : psr_fold_table_init(&w->table, &s->listed.sums, err);
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

/* What a picture of a searched fold shows: profiles against time and frequency at the best values,
 * and chi^2 around them. */

/* --- memory ----------------------------------------------------------------------------------- */

static psr_status allocate_view(struct psr_fold_view *v, const struct psr_pfd *p, psr_err *err)
{
    *v = (struct psr_fold_view){.npart = (size_t)p->npart,
                                .nsub = (size_t)p->nsub,
                                .nbin = (size_t)p->nbin,
                                .ndm = (size_t)p->ndm,
                                .nperiod = (size_t)p->nperiod,
                                .npdot = (size_t)p->npdot};
    const double numbers = (double)(v->npart + v->nsub + 1) * (double)v->nbin + (double)v->npart +
                           (double)v->ndm + (double)v->nperiod * (double)v->npdot / 2;
    v->part = calloc(v->npart * v->nbin, sizeof *v->part);
    v->band = calloc(v->nsub * v->nbin, sizeof *v->band);
    v->profile = calloc(v->nbin, sizeof *v->profile);
    v->part_redchi = calloc(v->npart, sizeof *v->part_redchi);
    v->dm_redchi = calloc(v->ndm + 1, sizeof *v->dm_redchi);
    v->plane = calloc(v->nperiod * v->npdot, sizeof *v->plane);
    if (v->part && v->band && v->profile && v->part_redchi && v->dm_redchi && v->plane)
        return PSR_OK;
    return psr_fail_nomem(err, "a picture", numbers * sizeof(double));
}

void psr_fold_view_clear(struct psr_fold_view *v)
{
    void *const owned[] = {v->part, v->band, v->profile, v->part_redchi, v->dm_redchi, v->plane};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    memset(v, 0, sizeof *v);
}

/* --- profiles --------------------------------------------------------------------------------- */

static void add_rotated(double *to, const double *from, size_t n, size_t offset)
{
    for (size_t b = 0; b < n; b++)
        to[b] += from[b + offset < n ? b + offset : b + offset - n];
}

static double find_redchi(const double *profile, size_t n, double avg, double var)
{
    double sum = 0;
    for (size_t b = 0; b < n; b++)
        sum += (profile[b] - avg) * (profile[b] - avg);
    return var > 0 && n > 1 ? sum / var / ((double)n - 1) : 0;
}

/* Of the sum up to each part. */
static void set_part_redchi(struct psr_fold_view *v, const struct psr_fold_stats *stats)
{
    double avg = 0, var = 0;
    for (size_t i = 0; i < v->npart; i++) {
        avg += stats[i].prof_avg;
        var += stats[i].prof_var;
        add_rotated(v->profile, v->part + i * v->nbin, v->nbin, 0);
        v->part_redchi[i] = find_redchi(v->profile, v->nbin, avg, var) * v->correction;
    }
    v->prof_avg = avg;
    v->prof_var = var;
}

/* Bands at the best DM, for the picture. */
static void align_bands(struct psr_fold_view *v, const size_t *band_offset, double *row)
{
    for (size_t j = 0; j < v->nsub; j++) {
        memset(row, 0, v->nbin * sizeof *row);
        add_rotated(row, v->band + j * v->nbin, v->nbin, band_offset[j]);
        memcpy(v->band + j * v->nbin, row, v->nbin * sizeof *row);
    }
}

/* --- plane ------------------------------------------------------------------------------------ */

/* A range's part of the plane.
 * Given: w   its table is filled; common   what all trials' sums of squares about prof_avg have in
 *            common */
static psr_status add_to_plane(const struct psr_fold_search *s, const struct psr_fold_worker *w,
                               struct psr_fold_view *v, double common, psr_err *err)
{
    const struct psr_fold_sums *sums = &s->listed.sums;
    const double unit = w->table.scale > 0 ? 1 / (w->table.scale * w->table.scale) : 0;
    const double dof = (double)v->nbin - 1;
    const double per = dof > 0 ? v->correction / s->prof_var / dof : 0;
    int32_t *norm = calloc(sums->ntrial + 1, sizeof *norm);
    if (!norm)
        return psr_fail_nomem(err, "a picture", (double)sums->ntrial * sizeof *norm);
    psr_fold_table_measure(&w->table, sums, norm);
    float *to = v->plane + s->listed.range.first_pdot * v->nperiod;
    for (size_t i = 0; i < sums->ntrial; i++)
        to[sums->place[i]] = (float)((norm[i] * unit + common) * per);
    free(norm);
    return PSR_OK;
}

static psr_status set_plane(struct psr_fold_search *s, const struct psr_fold_times *times,
                            const struct psr_fold_best *best, struct psr_fold_view *v, psr_err *err)
{
    const size_t rows = psr_fold_state_rows(s, v->nperiod);
    struct psr_fold_range r = {.pddot = best->pddot, .end_period = v->nperiod};
    double sum = 0;
    for (size_t b = 0; b < v->nbin; b++)
        sum += v->profile[b];
    const double off = s->prof_avg - sum / (double)v->nbin;
    psr_status st = PSR_OK;
    for (r.first_pdot = 0; r.first_pdot < v->npdot && !st; r.first_pdot = r.end_pdot) {
        r.end_pdot = r.first_pdot + rows < v->npdot ? r.first_pdot + rows : v->npdot;
        if (psr_is_stopped(&s->trials.stop))
            st = psr_fail(err, PSR_ESTOPPED, "stopped");
        else if (!(st = psr_fold_state_list(s, times, &r, err)) &&
                 !(st = psr_fold_state_make_workers(s, 1, err))) {
            struct psr_fold_worker *w = s->worker;
            psr_fold_state_make_parts(s, w, best->dm, best->dm + 1);
            psr_fold_table_set(&w->table, &s->listed.sums, w->part);
            psr_fold_table_fill(&w->table, &s->listed.sums);
            st = add_to_plane(s, w, v, (double)v->nbin * off * off, err);
        }
        psr_fold_state_clear_workers(s);
    }
    return st;
}

psr_status psr_fold_search_view(psr_fold_search *s, const struct psr_pfd *fold,
                                const struct psr_fold_times *times,
                                const struct psr_fold_best *best, struct psr_fold_view *v,
                                psr_err *err)
{
    memset(v, 0, sizeof *v);
    psr_status st = psr_fold_state_check(fold, err);
    if (!st)
        st = allocate_view(v, fold, err);
    if (st)
        return st;
    v->correction = psr_fold_correction(fold);
    st = psr_fold_state_begin(s, fold, times, err);
    if (!st) {
        const struct psr_fold_trials *t = &s->trials;
        double *delay = calloc(v->npart + v->nbin, sizeof *delay);
        size_t *offset = calloc(v->npart + v->nsub, sizeof *offset);
        if (delay && offset) {
            double *row = delay + v->npart;
            size_t *band_offset = offset + v->npart;
            psr_fold_trials_delays(t, best->pddot, best->pdot, delay);
            for (size_t i = 0; i < v->npart; i++)
                offset[i] = psr_fold_trials_offset(t, delay[i], i, best->period);
            if (v->ndm)
                psr_fold_trials_dm_offsets(t, t->fold->trial_dm[best->dm], band_offset);
            /* Rotations by part and by sub-band do not depend on each other: sub-bands are summed over
             * parts once, and over themselves for each DM. */
            for (size_t i = 0; i < v->npart; i++)
                for (size_t j = 0; j < v->nsub; j++) {
                    const double *from = t->fold->profile + (i * v->nsub + j) * v->nbin;
                    const size_t both = (offset[i] + band_offset[j]) % v->nbin;
                    add_rotated(v->band + j * v->nbin, from, v->nbin, offset[i]);
                    add_rotated(v->part + i * v->nbin, from, v->nbin, both);
                }
            set_part_redchi(v, s->part_stats);
            for (size_t i = 0; i < v->ndm; i++) {
                psr_fold_trials_dm_offsets(t, t->fold->trial_dm[i], offset);
                memset(row, 0, v->nbin * sizeof *row);
                for (size_t j = 0; j < v->nsub; j++)
                    add_rotated(row, v->band + j * v->nbin, v->nbin, offset[j]);
                v->dm_redchi[i] =
                    find_redchi(row, v->nbin, v->prof_avg, v->prof_var) * v->correction;
            }
            if (v->ndm)
                psr_fold_trials_dm_offsets(t, t->fold->trial_dm[best->dm], band_offset);
            align_bands(v, band_offset, row);
        } else
            st = psr_fail_nomem(err, "a picture", (double)(v->npart + v->nbin + v->nsub) * 24);
        free(delay);
        free(offset);
    }
    if (!st && s->prof_var > 0 && v->nbin > 1)
        st = set_plane(s, times, best, v, err);
    psr_fold_state_end(s);
    return st;
}
