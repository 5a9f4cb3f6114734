/* Barycentring: whether, from where to where, and what it does to blocks and spans. */
#include "gpudedisp.h"

#include <math.h>
#include <psrkit/delays.h>
#include <stdio.h>
#include <stdlib.h>

static struct psr_notes bary_notes(struct gpudedisp_job *j)
{
    return (struct psr_notes){.note = j->opt.quiet ? NULL : cli_note, .ctx = &j->tool};
}

/* PRESTO barycentres to 0, 0 where the header has no position; a user is better told. */
static bool is_wanted(struct gpudedisp_job *j, bool presto)
{
    const int64_t first_day = 36934, end_day = 88069; /* 1960; 2100, where the orbit ends */
    struct psr_notes notes = bary_notes(j);
    const struct psr_obs *obs = &j->bary.obs;
    if (j->opt.nobary || j->opt.sub)
        return false;
    if (obs->barycentric)
        psr_note(&notes, "%s: is barycentric already", gpudedisp_input_name(j));
    else if (obs->tstart.day < first_day || obs->tstart.day >= end_day)
        psr_note(&notes, "%s: MJD %.9g is no date: no barycentring, times are topocentric",
                 gpudedisp_input_name(j), (double)obs->tstart.day + obs->tstart.frac);
    else if (!obs->has_position && !presto)
        psr_note(&notes,
                 "%s: the header has no position: no barycentring, times are topocentric "
                 "(-position RA,DEC gives one)",
                 gpudedisp_input_name(j));
    else
        return true;
    return false;
}

/* What was given takes precedence over the header. */
static psr_status choose_position(struct gpudedisp_job *j)
{
    struct psr_obs *obs = &j->bary.obs;
    if (!j->opt.position)
        return PSR_OK;
    obs->has_position = true;
    return psr_position_parse(j->opt.position, &obs->ra_deg, &obs->dec_deg, &j->err);
}

static psr_status choose_site(struct gpudedisp_job *j, struct psr_site *site, const char **name)
{
    struct psr_notes notes = bary_notes(j);
    const char *telescope = j->bary.obs.telescope;
    *name = telescope;
    if (j->opt.site) {
        *name = j->opt.site;
        return psr_site_parse(j->opt.site, site, &j->err);
    }
    bool known =
        j->opt.compat ? psr_site_find_as_presto(telescope, site) : psr_site_find(telescope, site);
    if (!known) {
        *name = "the Earth's centre";
        psr_note(&notes,
                 "%s: where telescope '%s' stands is not known: the Earth's centre is taken, times "
                 "are up to 21 ms off (-site LON,LAT,H tells)",
                 gpudedisp_input_name(j), telescope);
    }
    return PSR_OK;
}

/* The mean over the observation where its length is known, with what was skipped, as PRESTO's. */
static psr_status find_velocity(struct gpudedisp_job *j, const struct psr_bary *target)
{
    const struct psr_obs *obs = &j->bary.obs;
    double skipped_s = obs->began.day ? psr_mjd_diff_s(obs->began, obs->tstart) : 0;
    if (obs->nsamp < 0)
        return psr_bary_velocity(target, obs->tstart, &j->bary.voverc, &j->err);
    return psr_bary_mean_velocity(target, obs->tstart,
                                  skipped_s + (double)obs->nsamp * obs->tsamp_s, &j->bary.voverc,
                                  &j->err);
}

/* Series begin when their first sample would have come at infinite frequency. */
static psr_status find_epochs(struct gpudedisp_job *j, const struct psr_bary *target)
{
    const struct psr_obs *obs = &j->bary.obs;
    double highest_mhz = psr_obs_highest_mhz(obs) * (1 + j->bary.voverc);
    struct psr_mjd start;
    psr_status st = psr_bary_time(target, obs->tstart, &start, &j->err);
    j->bary.epoch = calloc(j->ndm, sizeof *j->bary.epoch);
    if (!st && !j->bary.epoch)
        st = psr_fail_nomem(&j->err, "epochs", (double)j->ndm * sizeof *j->bary.epoch);
    for (size_t i = 0; !st && i < j->ndm; i++)
        j->bary.epoch[i] = psr_mjd_add(start, -psr_delay_s(j->dmconst, j->dm[i], highest_mhz));
    return st;
}

static void tell(struct gpudedisp_job *j, const char *from)
{
    struct psr_notes notes = bary_notes(j);
    char instead[64] = "";
    if (j->opt.ephem)
        snprintf(instead, sizeof instead, ", not %.40s", j->opt.ephem);
    psr_note(
        &notes,
        "barycentring: from %s towards RA %.6f, Dec %.6f degrees, v/c %.7g%s; the Earth's orbit "
        "is ERFA's (epv00)%s",
        from, j->bary.obs.ra_deg, j->bary.obs.dec_deg, j->bary.voverc,
        j->bary.obs.nsamp < 0 ? " (at the start)" : "", instead);
}

static psr_status create_resample(struct gpudedisp_job *j, struct gpudedisp_line *l,
                                  size_t presto_block)
{
    return psr_resample_create(&l->resample,
                               &(struct psr_resample_desc){
                                   .nseries = l->ndm,
                                   .tsamp_s = j->bary.obs.tsamp_s * (double)l->downsamp,
                                   .drift = psr_bary_drift_s,
                                   .ctx = &j->bary.clock,
                                   .presto_block = presto_block,
                                   .nthread = j->nthread,
                               },
                               &j->err);
}

psr_status gpudedisp_bary_prepare(struct gpudedisp_job *j, const struct psr_obs *obs,
                                  size_t presto_block)
{
    struct psr_site site;
    struct psr_bary target;
    const char *from;
    j->bary.obs = *obs;
    psr_status st = choose_position(j);
    if (st || !is_wanted(j, presto_block > 0))
        return st;
    st = choose_site(j, &site, &from);
    if (st)
        return st;
    psr_bary_init(&target, &site, j->bary.obs.ra_deg, j->bary.obs.dec_deg);
    st = find_velocity(j, &target);
    if (!st)
        st = find_epochs(j, &target);
    if (!st)
        st = psr_bary_clock_init(&j->bary.clock, &target, obs->tstart, &j->err);
    if (st)
        return st;
    j->bary.obs.barycentric = true;
    tell(j, from);
    for (size_t k = 0; k < j->nline && !st; k++)
        st = create_resample(j, &j->line[k], presto_block);
    return st;
}

size_t gpudedisp_bary_room(const struct gpudedisp_line *l, size_t n)
{
    return l->resample ? psr_resample_room(l->resample, n) : n;
}

psr_status gpudedisp_bary_block(struct gpudedisp_job *j, struct gpudedisp_line *l, size_t *n)
{
    if (!l->resample)
        return PSR_OK;
    return psr_resample_execute(l->resample, j->out, l->stride, *n, n, &j->err);
}

/* The trial of the longest sweep loses samples from span.first - sweep on, and that is where the
 * search is told the span begins for it; others begin at most a bin or two later. */
psr_status gpudedisp_bary_span(struct gpudedisp_job *j, struct gpudedisp_line *l,
                               struct psr_span *span)
{
    if (!l->resample)
        return PSR_OK;
    int64_t sweep = (int64_t)psr_dedisp_maxshift(l->plan), first, end;
    psr_status st = psr_resample_map(l->resample, span->first - sweep, &first, &j->err);
    if (!st)
        st = psr_resample_map(l->resample, span->first + span->count, &end, &j->err);
    if (!st)
        *span = (struct psr_span){first + sweep, end - first - sweep};
    return st;
}

void gpudedisp_bary_account(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    int64_t added, removed;
    if (!l->resample)
        return;
    psr_resample_count(l->resample, &added, &removed);
    fprintf(stderr, "%s: barycentring added %lld and removed %lld bins of each series\n",
            j->tool.name, (long long)added, (long long)removed);
}
