/* Fills .pfd headers: the observation, the trials around a candidate, and its values. */
#include "folder.h"

#include "astro/barycentre.h"
#include "base/base.h"
#include "search/fold/fold_internal.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/fake.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- converts barycentric spins and orbits to the telescope's clock, as prepfold does --------- */

static const double day_s = 86400;

enum { GRID_S = 20, DELAYS_MAX = 1 << 26, DELAYS_MIN = 4096 };

static psr_status make_pair(double **a, double **b, double n, psr_err *err)
{
    *a = n < 1e9 ? calloc((size_t)n, sizeof **a) : NULL;
    *b = n < 1e9 ? calloc((size_t)n, sizeof **b) : NULL;
    return *a && *b ? PSR_OK : psr_fail_nomem(err, "times of a fold", 2 * sizeof **a * n);
}

static struct psr_mjd split_mjd(double mjd)
{
    return (struct psr_mjd){(long)floor(mjd), mjd - floor(mjd)};
}

psr_status psr_fold_bary_init(struct psr_fold_bary *b, const struct psr_bary *target,
                              double epoch_mjd, double length_s, psr_err *err)
{
    struct psr_bary_clock clock;
    const double n = floor(length_s / GRID_S + 10);
    psr_status st = make_pair(&b->topo_s, &b->bary_s, n, err);
    if (!st)
        st = psr_bary_clock_init(&clock, target, split_mjd(epoch_mjd), err);
    if (st)
        return st;
    b->on = true;
    b->n = (size_t)n;
    b->epoch_mjd = epoch_mjd + clock.drift;
    double sum = 0;
    for (size_t i = 0; i < b->n && !st; i++) {
        double voverc = 0;
        const double t_s = (double)i * GRID_S, mjd = epoch_mjd + t_s / day_s;
        b->topo_s[i] = (mjd - epoch_mjd) * day_s;
        b->bary_s[i] = b->topo_s[i] + psr_bary_drift_s(&clock, t_s);
        st = psr_bary_velocity(target, split_mjd(mjd), &voverc, err);
        sum += i + 1 < b->n ? voverc : 0;
    }
    b->voverc = sum / (double)(b->n - 1);
    return st;
}

/* Solves the 3 x 3 system m x = m[][3] by elimination with pivots. */
static void solve(long double m[3][4], long double x[3])
{
    for (int i = 0; i < 3; i++) {
        int best = i;
        for (int k = i; k < 3; k++)
            best = fabsl(m[k][i]) > fabsl(m[best][i]) ? k : best;
        for (int c = 0; c < 4; c++) {
            const long double was = m[i][c];
            m[i][c] = m[best][c];
            m[best][c] = was;
        }
        for (int k = i + 1; k < 3; k++)
            for (int c = 3; c >= i; c--)
                m[k][c] -= m[i][c] * m[k][i] / m[i][i];
    }
    for (int i = 2; i >= 0; i--) {
        x[i] = m[i][3];
        for (int c = i + 1; c < 3; c++)
            x[i] -= m[i][c] * x[c];
        x[i] /= m[i][i];
    }
}

/* Times in units of the whole keep the equations well conditioned. */
struct psr_fold_spin psr_fold_convert(const double *from_s, const double *to_s, size_t n,
                                      struct psr_fold_spin spin)
{
    const long double unit = to_s[n - 1];
    long double m[3][4] = {{0}}, x[3];
    for (size_t i = 0; i < n; i++) {
        const long double t = to_s[i] / unit, u = from_s[i];
        const long double row[3] = {t, t * t / 2, t * t * t / 6};
        const long double phase = u * (spin.f + u * (spin.fd / 2 + spin.fdd * u / 6));
        for (int a = 0; a < 3; a++) {
            for (int c = 0; c < 3; c++)
                m[a][c] += row[a] * row[c];
            m[a][3] += row[a] * phase;
        }
    }
    solve(m, x);
    return (struct psr_fold_spin){.f = (double)(x[0] / unit),
                                  .fd = (double)(x[1] / unit / unit),
                                  .fdd = (double)(x[2] / unit / unit / unit)};
}

/* --- dates ------------------------------------------------------------------------------------ */

/* Time from the first sample folded to when a candidate's values are valid. */
static double find_offset_s(const struct psr_folder_candidate *c, const struct psr_fold_extent *x)
{
    switch (c->at) {
    case PSR_FOLD_AT_BEGINNING:
        return -x->skipped_s;
    case PSR_FOLD_AT_MIDDLE:
        return x->length_s / 2 - x->skipped_s;
    case PSR_FOLD_AT_EPOCH:
        return (c->epoch_mjd - x->epoch_mjd) * day_s;
    default:
        return 0;
    }
}

psr_status psr_fold_move_spin(struct psr_fold_spin *spin, const struct psr_folder_candidate *c,
                              const struct psr_fold_extent *x, psr_err *err)
{
    const double t_s = find_offset_s(c, x), since_s = t_s + x->skipped_s;
    const double slack_s = 1e-3 * x->length_s, fdd = c->at == PSR_FOLD_AT_BEGINNING ? 0 : c->fdd;
    if (c->at == PSR_FOLD_AT_EPOCH && !(since_s > -slack_s && since_s < x->length_s + slack_s)) {
        const double first_mjd = x->epoch_mjd - x->skipped_s / day_s;
        return psr_fail_field(err, PSR_EINVAL, "epoch",
                              "epoch = MJD %.9f: must be in the input, MJD %.9f to %.9f",
                              c->epoch_mjd, first_mjd, first_mjd + x->length_s / day_s);
    }
    *spin = (struct psr_fold_spin){
        .f = c->f - t_s * (c->fd - t_s / 2 * fdd), .fd = c->fd - t_s * fdd, .fdd = c->fdd};
    return PSR_OK;
}

/* --- orbits ----------------------------------------------------------------------------------- */

/* Topocentric date of a barycentric one; both in seconds since their first. */
static double to_topocentric(const struct psr_fold_bary *b, double bary_s)
{
    size_t i = (size_t)fmax(bary_s / GRID_S, 0);
    i = i < b->n - 2 ? i : b->n - 2;
    while (i > 0 && bary_s < b->bary_s[i])
        i--;
    while (i < b->n - 2 && bary_s >= b->bary_s[i + 1])
        i++;
    return b->topo_s[i] + (bary_s - b->bary_s[i]) * (b->topo_s[i + 1] - b->topo_s[i]) /
                              (b->bary_s[i + 1] - b->bary_s[i]);
}

/* Status: PSR_ENOMEM; the caller clears *delays, also after an error */
static psr_status fold_delays_allocate(struct psr_fold_delays *delays, size_t n, psr_err *err)
{
    psr_status st = make_pair(&delays->time_s, &delays->delay_s, (double)n, err);
    delays->n = st ? 0 : n;
    return st;
}

psr_status psr_fold_delays_init(struct psr_fold_delays *delays, struct psr_fold_orbit *o,
                                const struct psr_fold_bary *bary, double epoch_mjd, double length_s,
                                psr_err *err)
{
    const double step_s = length_s > DELAYS_MIN / 2 ? 0.5 : length_s / DELAYS_MIN;
    const double n = floor(length_s / step_s + 0.5) + 1;
    struct psr_orbit orbit = {.period_s = o->period_s,
                              .ecc = o->ecc,
                              .asini_s = o->asini_s,
                              .omega_rad = o->omega_deg * (M_PI / 180)};
    psr_status st = psr_orbit_check(&orbit, err);
    if (!st && n > DELAYS_MAX)
        st = psr_fail(err, PSR_EINVAL, "an orbit over %g s, must be below %g s", length_s,
                      DELAYS_MAX * 0.5);
    if (!st)
        st = fold_delays_allocate(delays, (size_t)n, err);
    if (st)
        return st;
    double since_s = fmod((epoch_mjd - o->t0_mjd) * day_s, o->period_s);
    since_s += since_s < 0 ? o->period_s : 0;
    o->t0_mjd = epoch_mjd - since_s / day_s;
    const bool on = bary && bary->on;
    const double early_s = on ? (epoch_mjd - bary->epoch_mjd) * day_s : 0;
    const double first_s = on ? to_topocentric(bary, early_s) : 0;
    for (size_t i = 0; i < delays->n; i++) {
        const double t_s = (double)i * step_s;
        delays->time_s[i] = on ? to_topocentric(bary, early_s + t_s) - first_s : t_s;
        delays->delay_s[i] = psr_orbit_delay(&orbit, since_s + t_s).value;
    }
    return PSR_OK;
}

void psr_fold_delays_clear(struct psr_fold_delays *delays)
{
    free(delays->time_s);
    free(delays->delay_s);
    memset(delays, 0, sizeof *delays);
}

void psr_fold_bary_clear(struct psr_fold_bary *b)
{
    free(b->topo_s);
    free(b->bary_s);
    memset(b, 0, sizeof *b);
}

/* Folds with an ephemeris: the spin near the observation, and delays that make its phase exact. */

enum { TIMES_MIN = 4096, TIMES_MAX = 1 << 26, MODEL_GRID_S = 20 };

/* Barycentric time since the first sample, interpolated between those of the table. */
static double find_bary_s(const struct psr_fold_bary *b, double t_s)
{
    if (!b || !b->on)
        return t_s;
    size_t i = (size_t)(t_s / MODEL_GRID_S);
    i = i < b->n - 2 ? i : b->n - 2;
    return b->bary_s[i] + (t_s - b->topo_s[i]) * (b->bary_s[i + 1] - b->bary_s[i]) /
                              (b->topo_s[i + 1] - b->topo_s[i]);
}

/* Time at which a spin has made so many turns, near guess_s. */
static double invert_turns(const struct psr_fold_spin *spin, long double turns, double guess_s)
{
    long double t = guess_s;
    for (int i = 0; i < 8; i++) {
        const long double have = t * (spin->f + t * (spin->fd / 2 + t * spin->fdd / 6));
        const long double rate = spin->f + t * (spin->fd + t * spin->fdd / 2);
        const long double step = (have - turns) / rate;
        t -= step;
        if (fabsl(step) < 1e-14L)
            break;
    }
    return (double)t;
}

/* Linear interpolation between the times errs by the acceleration times step^2 / 8. */
static double choose_step_s(const struct psr_ephemeris_local *l, double length_s)
{
    const double step_s = length_s > TIMES_MIN / 2 ? 0.5 : length_s / TIMES_MIN;
    const double near = 1 - l->orbit.ecc;
    return l->binary ? fmin(step_s, l->orbit.period_s / TIMES_MIN * near * near) : step_s;
}

static psr_status fill_delays(struct psr_fold_delays *delays, const struct psr_ephemeris_local *l,
                              const struct psr_fold_spin *fold, const struct psr_fold_bary *bary,
                              double length_s, psr_err *err)
{
    const double step_s = choose_step_s(l, length_s), n = floor(length_s / step_s + 0.5) + 2;
    if (!(n <= TIMES_MAX))
        return psr_fail(err, PSR_EINVAL, "an ephemeris over %g s in steps of %g s: more than %d",
                        length_s, step_s, TIMES_MAX);
    psr_status st = fold_delays_allocate(delays, (size_t)n, err);
    for (size_t i = 0; i < delays->n && !st; i++) {
        const double t_s = (double)i * step_s;
        const double u_s = psr_ephemeris_emission_s(l, find_bary_s(bary, t_s));
        delays->time_s[i] = t_s;
        delays->delay_s[i] = t_s - invert_turns(fold, psr_ephemeris_turns(l, u_s), u_s);
    }
    return st;
}

/* Only those before the observation are in the series around its start. */
static psr_status check_glitches(const struct psr_ephemeris *e, double epoch_mjd, double length_s,
                                 psr_err *err)
{
    for (size_t i = 0; i < e->nglitch; i++) {
        const double since_s = (e->glitch[i].epoch_mjd - epoch_mjd) * day_s;
        if (since_s > 0 && since_s < length_s)
            return psr_fail_field(err, PSR_EINVAL, "GLEP",
                                  "glitch at MJD %.5f: in the observation: not covered",
                                  e->glitch[i].epoch_mjd);
    }
    return PSR_OK;
}

psr_status psr_fold_model_init(struct psr_fold_delays *delays, struct psr_fold_spin *fold,
                               struct psr_fold_orbit *orbit, const struct psr_ephemeris *ephemeris,
                               const struct psr_fold_bary *bary, double epoch_mjd, double length_s,
                               psr_err *err)
{
    struct psr_ephemeris_local l;
    psr_status st = check_glitches(ephemeris, epoch_mjd, length_s, err);
    if (!st)
        st = psr_ephemeris_at(&l, ephemeris, epoch_mjd, err);
    if (st)
        return st;
    const struct psr_fold_spin spin = {.f = l.f[0], .fd = l.f[1], .fdd = l.f[2]};
    const bool on = bary && bary->on;
    *fold = on ? psr_fold_convert(bary->bary_s, bary->topo_s, bary->n, spin) : spin;
    *orbit = (struct psr_fold_orbit){.period_s = 0};
    if (l.binary)
        *orbit = (struct psr_fold_orbit){.period_s = l.orbit.period_s,
                                         .ecc = l.orbit.ecc,
                                         .asini_s = l.orbit.asini_s,
                                         .omega_deg = l.orbit.omega_rad * (180 / M_PI) -
                                                      360 * floor(l.orbit.omega_rad / (2 * M_PI)),
                                         .t0_mjd = epoch_mjd + l.orbit.t0_s / day_s};
    return fill_delays(delays, &l, fold, bary, length_s, err);
}

/* --- fills .pfd headers: the observation, the trials around a candidate, and its values ------- */

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
