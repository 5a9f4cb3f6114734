/* Fills .pfd headers: the observation, the trials around a candidate, and its values. */
#include "folder.h"

#include "base/base.h"
#include "search/fold/fold_internal.h"

#include <psrkit/ddplan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double day_s = 86400;

/* --- texts ------------------------------------------------------------------------------------ */

/* Telescopes that prepfold calls otherwise than the file does. */
static const char *telescope_of(const struct psr_fold_frame *frame)
{
    static const struct {
        const char *name, *called;
    } other[] = {{"Jodrell", "Jodrell Bank"},
                 {"SRT", "Sardinia Radio Telescope"},
                 {"LWA", "LWA1"},
                 {"GB 140FT", "GB43m"},
                 {"NRAO20", "GB43m"},
                 {"K7", "KAT-7"},
                 {"KAT-7", "Unknown"},
                 {"Ooty", "Unknown"}};
    const char *name = frame->obs->telescope;
    struct psr_site site;
    if (frame->inf)
        return frame->inf->telescope;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!strcasecmp(name, other[i].name))
            return other[i].called;
    return psr_site_find_as_presto(name, &site) ? name : "Unknown";
}

/* hh:mm:ss.ssss, rounded once so that no 60 appears. */
static void write_angle(char text[PSR_PFD_POSITION], double value)
{
    const long long units = llround(fabs(value) * 36e6), minutes = units / 600000;
    snprintf(text, PSR_PFD_POSITION, "%s%02lld:%02lld:%02lld.%04lld", value < 0 && units ? "-" : "",
             minutes / 60 % 1000, minutes % 60, units / 10000 % 60, units % 10000);
}

static psr_status set_texts(struct psr_pfd *p, const struct psr_fold_frame *frame,
                            const struct psr_folder_candidate *cand, psr_err *err)
{
    const struct psr_obs *obs = frame->obs;
    const char *const text[] = {psr_path_file(frame->desc->path[0]), cand->name ? cand->name : "",
                                telescope_of(frame), cand->plot_device ? cand->plot_device : ""};
    char **const to[] = {&p->input, &p->candidate, &p->telescope, &p->plot_device};
    for (int i = 0; i < 4; i++)
        if (!(*to[i] = strdup(text[i])))
            return psr_fail_nomem(err, "a fold", (double)strlen(text[i]));
    write_angle(p->ra, obs->has_position ? fmod(obs->ra_deg / 15 + 24, 24) : 0);
    write_angle(p->dec, obs->has_position ? obs->dec_deg : 0);
    return PSR_OK;
}

/* --- numbers ---------------------------------------------------------------------------------- */

double psr_fold_bary_epoch(const struct psr_fold_frame *frame, double dm)
{
    const double highest = frame->lowest_mhz + (double)(frame->nchan - 1) * frame->width_mhz;
    dm = frame->inf ? frame->inf->dm : dm; /* a series has its own */
    const double delay_s = dm > 0 ? psr_delay_s(PSR_DMCONST_PRESTO, dm, highest) : 0;
    return frame->bary->epoch_mjd - delay_s / day_s;
}

static void set_observation(struct psr_pfd *p, const struct psr_fold_frame *frame, double dm)
{
    const struct psr_obs *obs = frame->obs;
    p->start = frame->desc->start;
    p->end = frame->desc->end;
    p->tsamp_s = obs->tsamp_s;
    p->nsub = (int32_t)frame->nsub;
    p->npart = (int32_t)frame->npart;
    p->nchan = frame->inf ? 1 : (int32_t)frame->nchan;
    p->lofreq_mhz = frame->lowest_mhz;
    p->width_mhz = frame->width_mhz;
    p->dm = frame->inf ? frame->inf->dm : dm;
    p->voverc = frame->inf ? 0 : frame->bary->voverc;
    if (obs->barycentric)
        p->bepoch_mjd = frame->epoch_mjd;
    else
        p->tepoch_mjd = frame->epoch_mjd;
    if (frame->bary->on)
        p->bepoch_mjd = psr_fold_bary_epoch(frame, dm);
    p->fold.flag = obs->barycentric ? 1 : 0;
}

/* A frequency and its derivatives from a period and its derivatives, or the reverse. */
static void invert(const double x[3], double to[3])
{
    const double square = x[0] * x[0];
    to[0] = 1 / x[0];
    to[1] = x[1] != 0 ? -x[1] / square : 0;
    to[2] = x[2] != 0 ? 2 * x[1] * x[1] / (square * x[0]) - x[2] / square : 0;
}

/* The period at the barycentre from that at the telescope. */
static struct psr_fold_period convert(const struct psr_fold_bary *b, struct psr_fold_period topo)
{
    double f[3], p[3];
    invert((const double[]){topo.p, topo.pd, topo.pdd}, f);
    const struct psr_fold_spin spin = psr_fold_convert(
        b->topo_s, b->bary_s, b->n, (struct psr_fold_spin){.f = f[0], .fd = f[1], .fdd = f[2]});
    invert((const double[]){spin.f, spin.fd, spin.fdd}, p);
    return (struct psr_fold_period){.p = p[0], .pd = p[1], .pdd = p[2]};
}

/* --- trials ----------------------------------------------------------------------------------- */

static int32_t middle(int32_t n)
{
    return (n - 1) / 2;
}

/* Periods and p-dots that shift the pulse by whole bins between the first part and the last. */
static void set_spins(struct psr_pfd *p, double length_s)
{
    const double bins = (double)p->nbin;
    for (int32_t i = 0; i < p->nperiod; i++) {
        const double steps = i - middle(p->nperiod);
        p->trial_period_s[i] = 1 / (p->fold.f + steps * p->pstep / bins / length_s);
        const double fd = p->fold.fd + 2 * (steps * p->pdstep / bins) / (length_s * length_s);
        p->trial_pdot[i] = fd == 0 ? 0 : -fd / (p->fold.f * p->fold.f);
    }
}

/* DMs that shift the pulse by whole bins at the lowest frequency; none is below 0.  The DM asked for is one of them,
 * but for prepfold, which begins at 0 where there is no room for all below it. */
static void set_dms(struct psr_pfd *p, double dm, bool presto)
{
    const double lowest = p->lofreq_mhz * (1 + p->voverc), period_s = 1 / p->fold.f;
    const double step = period_s / p->nbin * p->dmstep / psr_delay_s(PSR_DMCONST_PRESTO, 1, lowest);
    const double below = fmin(floor(dm / step), middle(p->ndm));
    const double first = fmax(dm - (presto ? middle(p->ndm) : below) * step, 0);
    int32_t best = 0;
    for (int32_t i = 0; i < p->ndm; i++) {
        p->trial_dm[i] = first + i * step;
        if (fabs(p->trial_dm[i] - dm) < fabs(p->trial_dm[best] - dm))
            best = i;
    }
    if (!presto)
        p->trial_dm[best] = dm;
    p->dm = p->trial_dm[presto && first > 0 ? middle(p->ndm) : best];
}

/* Given: best   its period and p-dot */
static void set_best(struct psr_pfd *p, const struct psr_fold_frame *frame,
                     const struct psr_fold_best *found, struct psr_fold_period best)
{
    const double f = 1 / best.p, fd = p->fold.fd + found->fdot, fdd = p->fold.fdd + found->fdotdot;
    best.pdd = fdd == 0 ? 0 : 2 * fd * fd / (f * f * f) - fdd / (f * f);
    if (frame->obs->barycentric)
        p->bary = best;
    else
        p->topo = best;
    const struct psr_fold_bary *b = frame->bary;
    if (b->on)
        p->bary = convert(b, best);
}

void psr_fold_header_best(struct psr_pfd *p, const struct psr_fold_frame *frame,
                          const struct psr_fold_best *found)
{
    if (p->ndm)
        p->dm = p->trial_dm[found->dm];
    set_best(p, frame, found,
             (struct psr_fold_period){.p = p->trial_period_s[found->period],
                                      .pd = p->trial_pdot[found->pdot]});
}

/* The trial of n whose value is nearest. */
static size_t nearest(const double *trial, int32_t n, double value)
{
    size_t best = 0;
    for (size_t i = 1; i < (size_t)n; i++)
        if (fabs(trial[i] - value) < fabs(trial[best] - value))
            best = i;
    return best;
}

void psr_fold_header_refined(struct psr_pfd *p, const struct psr_fold_frame *frame,
                             const struct psr_fold_refined *refined, struct psr_fold_best *found)
{
    const double pd = refined->fd == 0 ? 0 : -refined->fd / (p->fold.f * p->fold.f);
    found->period = nearest(p->trial_period_s, p->nperiod, 1 / refined->f);
    found->pdot = nearest(p->trial_pdot, p->npdot, pd);
    found->fdot = refined->fd - p->fold.fd;
    if (p->ndm) {
        found->dm = nearest(p->trial_dm, p->ndm, refined->dm);
        p->dm = refined->dm;
    }
    set_best(p, frame, found, (struct psr_fold_period){.p = 1 / refined->f, .pd = pd});
}

/* Over a few turns trials, which are even in frequency, would reach 0 and below: all are to stay within half the
 * frequency that is folded. */
static void limit_periods(struct psr_pfd *p, double length_s)
{
    const double most = floor(p->fold.f / 2 * length_s * p->nbin / p->pstep);
    if (middle(p->nperiod) > most)
        p->nperiod = 2 * (int32_t)fmax(most, 0) + 1;
}

static psr_status copy_sub_bands(struct psr_pfd *p, const struct psr_fold_frame *frame,
                                 psr_err *err)
{
    p->sub_mhz = malloc(frame->nsub * sizeof *p->sub_mhz);
    if (!p->sub_mhz)
        return psr_fail_nomem(err, "sub-bands of a fold", (double)frame->nsub * 8);
    memcpy(p->sub_mhz, frame->sub_mhz, frame->nsub * sizeof *p->sub_mhz);
    return PSR_OK;
}

psr_status psr_fold_header_fill(struct psr_pfd *p, const struct psr_fold_frame *frame,
                                const struct psr_folder_candidate *cand, size_t nbin,
                                struct psr_fold_spin fold, const struct psr_fold_orbit *orbit,
                                psr_err *err)
{
    const struct psr_folder_desc *d = frame->desc;
    memset(p, 0, sizeof *p);
    set_observation(p, frame, cand->dm);
    const float flag = p->fold.flag;
    p->fold = fold;
    p->fold.flag = flag;
    p->orbit = *orbit;
    p->nbin = (int32_t)nbin;
    p->pstep = (int32_t)d->pstep;
    p->pdstep = (int32_t)d->pdstep;
    p->dmstep = (int32_t)d->dmstep;
    p->npfact = (int32_t)d->npfact;
    p->ndmfact = (int32_t)d->ndmfact;
    p->nperiod = p->npdot = d->nosearch && nbin > 100 ? 201 : 2 * p->npfact * p->nbin + 1;
    if (!d->presto)
        limit_periods(p, frame->length_s);
    p->ndm = frame->nsub > 1 ? 2 * p->ndmfact * p->nbin + 1 : 0;
    psr_status st = set_texts(p, frame, cand, err);
    if (!st)
        st = psr_pfd_allocate(p, err);
    if (!st && frame->sub_mhz)
        st = copy_sub_bands(p, frame, err);
    if (st)
        return st;
    set_spins(p, frame->length_s);
    if (p->ndm)
        set_dms(p, cand->dm, d->presto);
    return PSR_OK;
}
