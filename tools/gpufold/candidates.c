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
    else if (o->parfile) {
        /* prepfold's name, PSR_1937+21. */
        char name[sizeof "PSR_" + PSR_EPHEMERIS_NAME];
        st = psr_ephemeris_read(&o->ephemeris, o->parfile, err);
        o->run.ephemeris = &o->ephemeris;
        desc.common.dm = o->dm;
        snprintf(name, sizeof name, "PSR_%s", o->ephemeris.name);
        st = st ? st : psr_candlist_add(list, &desc.common, name, false, err);
    } else {
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

/* Finds whether a candidate's period is a harmonic: folds six of its periods once more, without a search. */

/* Fainter folds do not tell. */
static const double least_sigma = 3;

struct search {
    const struct gpufold_options *o;
    struct gpufold_numbers *number;
    struct psr_folder_candidate *cand; /* [n] */
    size_t *index;                     /* [n] of cand in number */
    size_t n;
};

/* Six turns of the best period, at the first sample and on its clock. */
static struct psr_folder_candidate make_candidate(const struct gpufold_numbers *n)
{
    const struct psr_bestprof_value *v = isnan(n->best.topo[0].value) ? n->best.bary : n->best.topo;
    const double p = v[0].value / 1000, pd = v[1].value, pdd = v[2].value, square = p * p;
    const double turns = PSR_FOLD_RATIO_TURNS;
    return (struct psr_folder_candidate){.f = 1 / p / turns,
                                         .fd = -pd / square / turns,
                                         .fdd = (2 * pd * pd / (square * p) - pdd / square) / turns,
                                         .dm = isnan(n->best.dm) ? 0 : n->best.dm,
                                         .nbin = (int64_t)n->best.nbin * PSR_FOLD_RATIO_TURNS,
                                         .at = PSR_FOLD_AT_START,
                                         .name = n->best.candidate};
}

static void choose_candidates(struct search *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct gpufold_numbers *number = &s->number[i];
        if (!number->is_folded || !(number->best.sigma_trials >= least_sigma) ||
            number->best.nbin < 4 || !isnan(number->best.orb_period_s))
            continue;
        s->index[s->n] = i;
        s->cand[s->n++] = make_candidate(number);
    }
}

static psr_status take_fold(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *err)
{
    const struct search *s = ctx;
    return psr_fold_find_ratio(&s->number[s->index[i]].ratio, fold->pfd, err);
}

/* The candidate stays as it is. */
static void ignore(void *ctx, size_t i, const psr_err *why)
{
    (void)ctx, (void)i, (void)why;
}

static bool is_stopped(void *ctx)
{
    const struct search *s = ctx;
    return s->o->run.should_stop(s->o->run.ctx);
}

static void show_progress(void *ctx, int64_t nread)
{
    const struct search *s = ctx;
    s->o->run.progress(s->o->run.ctx, nread);
}

/* Says where the period is another one. */
static void note_ratios(const struct search *s)
{
    for (size_t k = 0; k < s->n; k++) {
        const struct gpufold_numbers *n = &s->number[s->index[k]];
        const struct psr_fold_ratio r = n->ratio;
        const double p_ms =
            isnan(n->best.topo[0].value) ? n->best.bary[0].value : n->best.topo[0].value;
        if (r.over != r.under)
            psr_note(
                &s->o->run.notes,
                "%s: the shortest period whose turns do not differ is %.9g ms, %d/%d of %.9g ms",
                n->best.candidate, p_ms * r.over / r.under, r.over, r.under, p_ms);
    }
}

psr_status gpufold_find_ratios(const struct gpufold_options *o, const psr_folder *folded,
                               struct gpufold_numbers *number, size_t n, psr_err *err)
{
    struct search s = {.o = o, .number = number};
    psr_folder *f = NULL;
    s.cand = calloc(n + 1, sizeof *s.cand);
    s.index = calloc(n + 1, sizeof *s.index);
    psr_status st =
        s.cand && s.index ? PSR_OK : psr_fail_nomem(err, "harmonics", 200.0 * (double)n);
    if (!st)
        choose_candidates(&s, n);
    struct psr_folder_desc d = s.o->run;
    d.topo = d.nosearch = d.whole_turns = true;
    d.presto = d.refine = d.view = false;
    d.npart = PSR_FOLD_RATIO_PARTS;
    d.cand = s.cand;
    d.ncand = s.n;
    d.take = take_fold;
    d.then = NULL;
    d.skip = NULL;
    d.keep_spectra = false;
    d.after = folded;
    d.refuse = ignore;
    d.progress = show_progress;
    d.searched = NULL;
    d.clean_root = NULL;
    d.notes = (struct psr_notes){NULL, NULL};
    d.should_stop = is_stopped;
    d.ctx = &s;
    if (!st && s.n)
        st = psr_folder_create(&f, &d, err);
    if (!st && s.n)
        st = psr_folder_run(f, err);
    if (!st)
        note_ratios(&s);
    psr_folder_destroy(f);
    free(s.cand);
    free(s.index);
    return st;
}
