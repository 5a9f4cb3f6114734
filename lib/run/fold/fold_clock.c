/* Converts barycentric spins and orbits to the telescope's clock, as prepfold does. */
#include "folder.h"

#include "astro/barycentre.h"

#include <math.h>
#include <psrkit/fake.h>
#include <stdlib.h>
#include <string.h>

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
