/* Barycentres series: decides whether to, computes the velocity, and adds and removes bins. */
#include "stage_barycentre.h"

#include "astro/barycentre.h"
#include "base/obs_internal.h"
#include "dsp/dsp.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/obs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct psr_stage_barycentre {
    struct psr_stage_barycentre_desc d;
    struct psr_obs obs; /* as series tell it */
    bool moves;
    double voverc;
    struct psr_mjd start; /* barycentric date of the first sample, without a delay */
    struct psr_bary_clock clock;
    double mean;              /* with presto, as psr_stage_barycentre_mean has it */
    int64_t nmean;            /* of how many samples */
    psr_resample **resample;  /* [nline]; NULL where nothing moves */
    psr_resample **equalised; /* [nline] the same bins, of equalised series; NULL: there are none */
    size_t *nseries;          /* [nline] */
    size_t nline;
    size_t *own; /* [most_series] of a line, as in a block; NULL before there are ends */
    size_t most_series;
};

/* If the header has no position PRESTO barycentres to 0, 0; a note is better. */
bool psr_can_barycentre(const struct psr_obs *obs, double mjd, bool anywhere, const char *input,
                        const struct psr_notes *notes)
{
    const double first_mjd = 36934, end_mjd = 88069; /* 1960; 2100, where the Earth's orbit ends */
    if (!(mjd >= first_mjd && mjd < end_mjd))
        psr_note(notes, "%s: MJD %.9g is no date: no barycentring, times are topocentric", input,
                 mjd);
    else if (!obs->has_position && !anywhere)
        psr_note(notes,
                 "%s: the header has no position: no barycentring, times are topocentric "
                 "(-position RA,DEC gives one)",
                 input);
    else
        return true;
    return false;
}

static bool is_wanted(const psr_stage_barycentre *b)
{
    const struct psr_obs *obs = &b->obs;
    if (b->d.off)
        return false;
    if (!obs->barycentric)
        return psr_can_barycentre(obs, (double)obs->tstart.day + obs->tstart.frac, b->d.presto,
                                  b->d.input, &b->d.notes);
    psr_note(&b->d.notes, "%s: is barycentric already", b->d.input);
    return false;
}

/* What was given takes precedence over the header. */
static psr_status choose_position(psr_stage_barycentre *b, psr_err *err)
{
    struct psr_obs *obs = &b->obs;
    if (!b->d.position)
        return PSR_OK;
    obs->has_position = true;
    return psr_position_parse(b->d.position, &obs->ra_deg, &obs->dec_deg, err);
}

static psr_status choose_site(const psr_stage_barycentre *b, struct psr_site *site,
                              const char **name, psr_err *err)
{
    const char *telescope = b->obs.telescope;
    *name = telescope;
    if (b->d.site) {
        *name = b->d.site;
        return psr_site_parse(b->d.site, site, err);
    }
    bool known =
        b->d.presto ? psr_site_find_as_presto(telescope, site) : psr_site_find(telescope, site);
    if (!known) {
        *name = "the Earth's centre";
        psr_note(&b->d.notes,
                 "%s: where telescope '%s' stands is not known: the Earth's centre is taken, times "
                 "are up to 21 ms off (-site LON,LAT,H tells)",
                 b->d.input, telescope);
    }
    return PSR_OK;
}

/* The mean over the observation where its length is known, with what was skipped, as PRESTO's. */
static psr_status find_velocity(psr_stage_barycentre *b, const struct psr_bary *target,
                                psr_err *err)
{
    const struct psr_obs *obs = &b->obs;
    double skipped_s = obs->began.day ? psr_mjd_diff_s(obs->began, obs->tstart) : 0;
    if (obs->nsamp < 0)
        return psr_bary_velocity(target, obs->tstart, &b->voverc, err);
    return psr_bary_mean_velocity(target, obs->tstart,
                                  skipped_s + (double)obs->nsamp * obs->tsamp_s, &b->voverc, err);
}

static void describe(const psr_stage_barycentre *b, const char *from)
{
    char instead[64] = "";
    if (b->d.ephem)
        snprintf(instead, sizeof instead, ", not %.40s", b->d.ephem);
    psr_note(
        &b->d.notes,
        "barycentring: from %s towards RA %.6f, Dec %.6f degrees, v/c %.7g%s; the Earth's orbit "
        "is ERFA's (epv00)%s",
        from, b->obs.ra_deg, b->obs.dec_deg, b->voverc, b->obs.nsamp < 0 ? " (at the start)" : "",
        instead);
}

static psr_status choose_target(psr_stage_barycentre *b, psr_err *err)
{
    struct psr_site site;
    struct psr_bary target;
    const char *from;
    psr_status st = choose_site(b, &site, &from, err);
    if (st)
        return st;
    psr_bary_init(&target, &site, b->obs.ra_deg, b->obs.dec_deg);
    st = find_velocity(b, &target, err);
    if (!st)
        st = psr_bary_time(&target, b->obs.tstart, &b->start, err);
    if (!st)
        st = psr_bary_clock_init(&b->clock, &target, b->obs.tstart, err);
    if (st)
        return st;
    b->moves = true;
    b->obs.barycentric = true;
    describe(b, from);
    return PSR_OK;
}

psr_status psr_stage_barycentre_create(psr_stage_barycentre **out,
                                       const struct psr_stage_barycentre_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_stage_barycentre *b = calloc(1, sizeof *b);
    if (!b)
        return psr_fail_nomem(err, "barycentring", sizeof *b);
    b->d = *desc;
    b->obs = *desc->obs;
    psr_status st = choose_position(b, err);
    if (!st && is_wanted(b))
        st = choose_target(b, err);
    if (st)
        psr_stage_barycentre_destroy(b);
    else
        *out = b;
    return st;
}

const struct psr_obs *psr_stage_barycentre_obs(const psr_stage_barycentre *b)
{
    return &b->obs;
}

double psr_stage_barycentre_voverc(const psr_stage_barycentre *b)
{
    return b->voverc;
}

/* PRESTO's epochs are those of doubles, which have steps of half a microsecond. */
struct psr_mjd psr_stage_barycentre_epoch(const psr_stage_barycentre *b, double dm)
{
    double highest_mhz = psr_obs_highest_mhz(&b->obs) * (1 + b->voverc);
    if (!b->moves)
        return b->obs.tstart;
    if (!b->d.presto)
        return psr_mjd_add(b->start, -psr_delay_s(b->d.dmconst, dm, highest_mhz));
    double delay_s = psr_delay_s(PSR_DMCONST_PRESTO, dm, highest_mhz);
    double epoch = b->clock.start + b->clock.drift - delay_s / PSR_DAY_S;
    return (struct psr_mjd){(long)floor(epoch), epoch - floor(epoch)};
}

static psr_status create_resample(psr_resample **out, const psr_stage_barycentre *b,
                                  const struct psr_stage_barycentre_line *line, int nthread,
                                  psr_err *err)
{
    return psr_resample_create(out,
                               &(struct psr_resample_desc){
                                   .nseries = line->nseries,
                                   .tsamp_s = line->tsamp_s,
                                   .drift = psr_bary_drift_s,
                                   .ctx = &b->clock,
                                   .presto_block = line->presto_block,
                                   .nthread = nthread,
                               },
                               err);
}

psr_status psr_stage_barycentre_begin(psr_stage_barycentre *b,
                                      const struct psr_stage_barycentre_line *line, size_t nline,
                                      int nthread, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!b->moves)
        return PSR_OK;
    b->resample = calloc(nline, sizeof *b->resample);
    b->equalised = calloc(nline, sizeof *b->equalised);
    b->nseries = calloc(nline, sizeof *b->nseries);
    if (!b->resample || !b->equalised || !b->nseries)
        return psr_fail_nomem(err, "barycentring", (double)nline * sizeof *b->resample);
    b->nline = nline;
    for (size_t k = 0; k < nline; k++) {
        b->nseries[k] = line[k].nseries;
        b->most_series = line[k].nseries > b->most_series ? line[k].nseries : b->most_series;
    }
    for (size_t k = 0; k < nline && !st; k++) {
        st = create_resample(&b->resample[k], b, &line[k], nthread, err);
        if (!st && line[k].equalised)
            st = create_resample(&b->equalised[k], b, &line[k], nthread, err);
    }
    return st;
}

bool psr_stage_barycentre_moves(const psr_stage_barycentre *b)
{
    return b->moves;
}

size_t psr_stage_barycentre_room(const psr_stage_barycentre *b, size_t line, size_t n)
{
    return b->moves ? psr_resample_room(b->resample[line], n) : n;
}

static psr_status move_on_host(psr_stage_barycentre *b, size_t line, struct psr_block *block,
                               psr_err *err)
{
    if (!b->moves)
        return PSR_OK;
    return psr_resample_execute(b->resample[line], block->series, block->stride, block->n,
                                &block->n, err);
}

static void add_to_mean(psr_stage_barycentre *b, float x)
{
    b->mean += ((double)x - b->mean) / ((double)b->nmean++ + 1.0);
}

/* What is added does not enter the mean, nor does what is removed. */
static psr_status move_as_presto(psr_stage_barycentre *b, size_t line, struct psr_block *block,
                                 psr_err *err)
{
    size_t before = block->n, kept = 0;
    float *first = malloc((before + 1) * sizeof *first);
    if (!first)
        return psr_fail_nomem(err, "a series", (double)before * sizeof *first);
    memcpy(first, block->series, before * sizeof *first);
    psr_status st = move_on_host(b, line, block, err);
    for (size_t t = 0; !st && t < before; t++) {
        /* Without a bin removed all samples are still there. */
        if (block->n >= before || (kept < block->n && first[t] == block->series[kept])) {
            add_to_mean(b, first[t]);
            kept++;
        }
    }
    free(first);
    return st;
}

psr_status psr_stage_barycentre_count_next(psr_stage_barycentre *b, size_t line, size_t n,
                                           size_t *nout, psr_err *err)
{
    *nout = n;
    return b->moves ? psr_resample_count_next(b->resample[line], n, nout, err) : PSR_OK;
}

/* Ends of series, before their samples are moved. */
static psr_status move_own(psr_stage_barycentre *b, size_t line, struct psr_block *block,
                           psr_err *err)
{
    psr_status st = PSR_OK;
    if (!b->own)
        b->own = calloc(b->most_series, sizeof *b->own);
    if (!b->own)
        return psr_fail_nomem(err, "the ends of series", (double)b->most_series * 8);
    for (size_t i = 0; i < b->nseries[line] && !st; i++)
        st = psr_resample_count_next(b->resample[line], block->own[i], &b->own[i], err);
    block->own = b->own;
    return st;
}

static psr_status move_block(psr_stage_barycentre *b, size_t line, struct psr_block *block,
                             psr_err *err)
{
    if (block->series)
        return b->d.presto ? move_as_presto(b, line, block, err)
                           : move_on_host(b, line, block, err);
    if (!b->moves)
        return PSR_OK;
    return psr_resample_report(b->resample[line], block->n, &block->bin, &block->nbin, &block->n,
                               err);
}

psr_status psr_stage_barycentre_run(psr_stage_barycentre *b, size_t line, struct psr_block *block,
                                    psr_err *err)
{
    size_t same;
    psr_status st = block->own && b->moves ? move_own(b, line, block, err) : PSR_OK;
    if (!st && b->moves && block->equalised)
        st = psr_resample_execute(b->equalised[line], block->equalised, block->stride, block->n,
                                  &same, err);
    if (st)
        return st;
    st = move_block(b, line, block, err);
    if (!st && b->moves)
        psr_resample_last(b->resample[line], &block->moved, &block->nmoved);
    return st;
}

double psr_stage_barycentre_mean(const psr_stage_barycentre *b)
{
    return b->mean;
}

/* The trial of the longest sweep loses samples from span.first - maxshift on, and that is where the
 * span begins for it; others begin at most a bin or two later. */
psr_status psr_stage_barycentre_span(psr_stage_barycentre *b, size_t line, int64_t maxshift,
                                     struct psr_span *span, psr_err *err)
{
    int64_t first, end;
    if (!b->moves)
        return PSR_OK;
    psr_status st = psr_resample_map(b->resample[line], span->first - maxshift, &first, err);
    if (!st)
        st = psr_resample_map(b->resample[line], span->first + span->count, &end, err);
    if (!st)
        *span = (struct psr_span){first + maxshift, end - first - maxshift};
    return st;
}

void psr_stage_barycentre_count(const psr_stage_barycentre *b, size_t line, int64_t *added,
                                int64_t *removed)
{
    *added = *removed = 0;
    if (b->moves)
        psr_resample_count(b->resample[line], added, removed);
}

void psr_stage_barycentre_destroy(psr_stage_barycentre *b)
{
    if (!b)
        return;
    for (size_t k = 0; k < b->nline; k++) {
        psr_resample_destroy(b->resample[k]);
        psr_resample_destroy(b->equalised[k]);
    }
    free(b->resample);
    free(b->equalised);
    free(b->nseries);
    free(b->own);
    free(b);
}
