/* Searches around folds on a device: chooses it, and sums the trial that it finds. */
#include "fold_search_device.h"
#include "base/device/device_internal.h"

#include <config.h>
#include <stdlib.h>
#include <string.h>

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_fold_search_device_ops *const ops =
#ifdef HAVE_CUDA
    &psr_fold_search_cuda;
#else
    NULL;
#endif

psr_status psr_fold_search_device_open(struct psr_fold_search *s, psr_err *err)
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

void psr_fold_search_device_close(struct psr_fold_search *s)
{
    if (s->device)
        ops->destroy(s->device);
    s->device = NULL;
}

psr_status psr_fold_search_device_begin(struct psr_fold_search *s, bool *done, psr_err *err)
{
    psr_status st = s->device ? ops->begin(s->device, s, err) : PSR_EUNSUPPORTED;
    *done = !st;
    return st == PSR_EUNSUPPORTED ? PSR_OK : st;
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

psr_status psr_fold_search_device_find(struct psr_fold_search *s,
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
