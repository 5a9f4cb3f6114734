/* Folds with an ephemeris: the spin near the observation, and delays that make its phase exact. */
#include "fold_model.h"

#include <math.h>

static const double day_s = 86400;

enum { TIMES_MIN = 4096, TIMES_MAX = 1 << 26, GRID_S = 20 };

/* Barycentric time since the first sample, interpolated between those of the table. */
static double find_bary_s(const struct psr_fold_bary *b, double t_s)
{
    if (!b || !b->on)
        return t_s;
    size_t i = (size_t)(t_s / GRID_S);
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
    psr_status st = psr_fold_delays_allocate(delays, (size_t)n, err);
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
