/* Period, p-dot and DM of a fold to a fraction of a trial: where the power of its harmonics is largest. */
#include "fold_state.h"
#include "search/fold/fold_internal.h"

#include <math.h>
#include <stdlib.h>

/* A step rotates the last row by this share of the shortest harmonic's period against the first; a climb
 * is over at that harmonic's period, where the next maximum begins. */
static const double step_share = 1.0 / 16;
enum { MOST_STEPS = 16, MOST_ROUNDS = 12 };

/* Directions are taken in turns until that adds less to Z^2. */
static const double least_gain = 0.001;

/* Z^2 of rounding is below this. */
static const double least_power = 1e-6;

/* The frequency is steady unless a derivative adds this to Z^2: 4 sigma, since many were tried. */
static const double derivative_gain = 16;

struct state {
    struct psr_fold_drift drift;
    double dm;
    bool steady;
};

struct refinement {
    struct psr_fold_harmonics h;
    size_t nharm;
    double dm_lo, dm_hi;
    struct psr_fold_coefs *of_part, *of_band; /* [npart], [nsub] */
    double *part, *band;                      /* [npart], [nsub] turns by which they are advanced */
    double *shape;                            /* [npart] or [nsub] d turns / d x */
};

/* --- one direction ---------------------------------------------------------------------------- */

/* The rows of a direction: part or sub-band k is advanced by turns[k] + x shape[k]. */
struct line {
    const struct psr_fold_coefs *row;
    const double *turns, *shape;
    size_t n;
};

static double power_at(const struct refinement *r, const struct line *l, double x)
{
    struct psr_fold_coefs sum = {.h = {0}};
    for (size_t k = 0; k < l->n; k++)
        psr_fold_coefs_add(&sum, &l->row[k], l->turns[k] + x * l->shape[k]);
    return psr_fold_harmonics_power(&r->h, &sum, r->nharm);
}

/* Climbs from 0 to the next maximum.  Returned: where it is, 0 if there is none nearby; *power there */
static double climb(const struct refinement *r, const struct line *l, double *power)
{
    double low = INFINITY, high = -INFINITY, at = 0, q = power_at(r, l, 0);
    for (size_t k = 0; k < l->n; k++) {
        low = fmin(low, l->shape[k]);
        high = fmax(high, l->shape[k]);
    }
    *power = q;
    if (!(high > low) || q < least_power)
        return 0;
    double step = step_share / (high - low) / (double)r->nharm;
    double before = power_at(r, l, -step), after = power_at(r, l, step);
    if (before > after) {
        const double swap = before;
        before = after;
        after = swap;
        step = -step;
    }
    for (int i = 0; after > q; i++) {
        if (i == MOST_STEPS)
            return 0;
        before = q;
        q = after;
        at += step;
        after = power_at(r, l, at + step);
    }
    const double bend = before - 2 * q + after;
    const double best = bend < 0 ? at + step * (before - after) / (2 * bend) : at;
    const double most = power_at(r, l, best);
    *power = fmax(most, q);
    return most > q ? best : at;
}

/* --- all directions --------------------------------------------------------------------------- */

static void set_turns(struct refinement *r, const struct state *s)
{
    psr_fold_harmonics_turns(&r->h, s->drift, r->part);
    for (size_t j = 0; j < r->h.nsub; j++)
        r->band[j] = s->dm * r->h.per_dm[j];
}

/* Linear and square drift are orthogonal but for the phase: they hardly affect each other. */
static double climb_drift(struct refinement *r, struct state *s, bool square)
{
    const struct line l = {r->of_part, r->part, r->shape, r->h.npart};
    double power;
    set_turns(r, s);
    psr_fold_harmonics_parts(&r->h, r->band, r->of_part);
    psr_fold_harmonics_turns(&r->h, (struct psr_fold_drift){.linear = !square, .square = square},
                             r->shape);
    *(square ? &s->drift.square : &s->drift.linear) += climb(r, &l, &power);
    return power;
}

/* Returned: Z^2 at the maximum */
static double climb_all(struct refinement *r, struct state *s, bool linear, bool square)
{
    double power = 0, before = -1;
    for (int i = 0; i < MOST_ROUNDS && power - before > least_gain; i++) {
        before = power;
        if (r->h.nsub > 1) {
            const struct line l = {r->of_band, r->band, r->h.per_dm, r->h.nsub};

            set_turns(r, s);
            psr_fold_harmonics_bands(&r->h, r->part, r->of_band);
            const double best = s->dm + climb(r, &l, &power);
            const double inside = fmin(fmax(best, r->dm_lo), r->dm_hi);
            if (inside != best)
                power = power_at(r, &l, inside - s->dm);
            s->dm = inside;
        }
        if (linear)
            power = climb_drift(r, s, false);
        if (square)
            power = climb_drift(r, s, true);
    }
    return power;
}

static psr_status allocate(struct refinement *r, psr_err *err)
{
    const size_t npart = r->h.npart, nsub = r->h.nsub, most = npart > nsub ? npart : nsub;
    r->of_part = calloc(npart, sizeof *r->of_part);
    r->of_band = calloc(nsub, sizeof *r->of_band);
    r->part = calloc(npart, sizeof *r->part);
    r->band = calloc(nsub, sizeof *r->band);
    r->shape = calloc(most, sizeof *r->shape);
    if (r->of_part && r->of_band && r->part && r->band && r->shape)
        return PSR_OK;
    return psr_fail_nomem(err, "harmonics of a fold", (double)most * sizeof *r->of_part);
}

/* --- the best values -------------------------------------------------------------------------- */

/* Linear drift is that of the frequency in the middle, which hardly depends on the derivative. */
static void find_best(struct refinement *r, double folded_fd, struct state *found, bool keep_p,
                      bool keep_pd)
{
    struct state steady;
    struct psr_fold_coefs sum = {.h = {0}};
    set_turns(r, found);
    psr_fold_harmonics_parts(&r->h, r->band, r->of_part);
    for (size_t i = 0; i < r->h.npart; i++)
        psr_fold_coefs_add(&sum, &r->of_part[i], r->part[i]);
    r->nharm = psr_fold_harmonics_count(&r->h, &sum);
    const double most = climb_all(r, found, !keep_p, !keep_pd);
    if (keep_pd || found->drift.cubic != 0 || most < least_power)
        return;
    steady = *found;
    steady.steady = true;
    steady.drift.square = -folded_fd * r->h.length_s * r->h.length_s / 2;
    if (most - climb_all(r, &steady, !keep_p, false) < derivative_gain)
        *found = steady;
}

psr_status psr_fold_refine(struct psr_fold_refined *best, const struct psr_pfd *fold,
                           const struct psr_fold_times *times, bool keep_p, bool keep_pd,
                           psr_err *err)
{
    const struct psr_fold_spin *from = &fold->fold;
    struct refinement r = {.nharm = 1,
                           .dm_lo = fmax(best->dm_lo, 0),
                           .dm_hi = best->dm_hi > 0 ? best->dm_hi : INFINITY};
    psr_status st = psr_fold_harmonics_init(&r.h, fold, times, err);
    if (st)
        return st;
    st = r.h.most ? allocate(&r, err) : PSR_OK;
    if (!st && r.h.most) {
        struct state found = {
            psr_fold_drift_of(&r.h, best->f - from->f, best->fd - from->fd, best->fdd - from->fdd),
            best->dm, false};
        find_best(&r, from->fd, &found, keep_p, keep_pd);
        const double length_s = r.h.length_s;
        best->f = from->f + (found.drift.linear - found.drift.square) / length_s;
        best->fd = found.steady ? 0 : from->fd + 2 * found.drift.square / (length_s * length_s);
        best->dm = found.dm;
    }
    psr_fold_harmonics_clear(&r.h);
    free(r.of_part);
    free(r.of_band);
    free(r.part);
    free(r.band);
    free(r.shape);
    return st;
}
