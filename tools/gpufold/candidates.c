/* The candidates of gpufold: from options, from accelsearch's records, from lists. */
#include "gpufold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all candidates of a command have in common. */
static struct psr_folder_candidate begin_candidate(const struct gpufold_options *o)
{
    struct psr_folder_candidate c = {
        .phase = o->phs, .dm = fmax(o->dm, 0), .nbin = o->nbin, .at = PSR_FOLD_AT_START};
    if (o->binary)
        c.orbit = (struct psr_fold_orbit){.period_s = o->pb,
                                          .ecc = o->ecc,
                                          .asini_s = o->asini,
                                          .omega_deg = o->w,
                                          .t0_mjd = o->to};
    return c;
}

/* prepfold's name, PSR_1937+21. */
static psr_status add_ephemeris(struct psr_candlist *list, struct gpufold_options *o,
                                struct psr_folder_candidate *c, psr_err *err)
{
    char name[sizeof "PSR_" + PSR_EPHEMERIS_NAME];
    psr_status st = psr_ephemeris_read(&o->ephemeris, o->parfile, err);
    o->run.ephemeris = &o->ephemeris;
    c->dm = o->dm;
    snprintf(name, sizeof name, "PSR_%s", o->ephemeris.name);
    return st ? st : psr_candlist_add(list, c, name, false, err);
}

/* Candidates of one range follow each other, in the order of the list. */
static psr_status order_by_range(struct psr_candlist *list, psr_err *err)
{
    struct psr_folder_candidate *all = calloc(list->n + 1, sizeof *all), *from = list->cand;
    bool *taken = calloc(list->n + 1, 1);
    const bool has_memory = all && taken;
    for (size_t i = 0, n = 0; has_memory && n < list->n; i++)
        for (size_t k = i; k < list->n && !(k == i && taken[i]); k++)
            if (!taken[k] && from[k].start == from[i].start && from[k].end == from[i].end) {
                all[n++] = from[k];
                taken[k] = true;
            }
    if (has_memory && list->n)
        memcpy(from, all, list->n * sizeof *all);
    free(all);
    free(taken);
    return has_memory ? PSR_OK : psr_fail_nomem(err, "candidates", (double)list->n * sizeof *all);
}

psr_status gpufold_list_make(struct psr_candlist *list, struct gpufold_options *o,
                             void (*refuse)(void *ctx, const psr_err *why), void *ctx, psr_err *err)
{
    struct psr_candlist_desc desc = {.size = sizeof desc,
                                     .common = begin_candidate(o),
                                     .has_dm = o->dm >= 0,
                                     .refuse = refuse,
                                     .ctx = ctx,
                                     .notes = o->run.notes};
    psr_status st = PSR_OK;
    if (o->accelfile)
        st = psr_candlist_read_accel(list, o->accelfile, o->accelcand, &desc, err);
    else if (o->candfile)
        st = psr_candlist_read(list, o->candfile, &desc, err);
    else if (o->parfile)
        st = add_ephemeris(list, o, &desc.common, err);
    else {
        psr_candlist_set_spin(&desc.common, o->p, o->pd, o->pdd, o->f, o->fd, o->fdd);
        st = psr_candlist_add(list, &desc.common, NULL, o->p > 0, err);
    }
    if (o->ncands)
        psr_candlist_cut(list, (size_t)o->ncands);
    const double factor = o->pfact != 1 ? 1 / o->pfact : o->ffact;
    for (size_t i = 0; i < list->n && factor != 1; i++) {
        list->cand[i].f *= factor;
        list->cand[i].fd *= factor;
        list->cand[i].fdd *= factor;
    }
    if (!st)
        st = order_by_range(list, err);
    return st ? st : psr_candlist_make_unique(list, &o->run.notes, err);
}
