/* The Fourier coefficients of a fold's profiles: their sums, and the period, p-dot and DM at which these are largest. */
#include "fold_state.h"

#include "search/fold/fold_internal.h"
#include "stats/stats.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- the Fourier coefficients of a fold's profiles, and their sums ---------------------------- */

static double complex turn(double turns)
{
    const double angle = 2 * M_PI * turns;
    return cos(angle) + sin(angle) * I;
}

/* Without the tests for infinities of C's multiplication. */
static double complex product(double complex a, double complex b)
{
    const double re = creal(a) * creal(b) - cimag(a) * cimag(b),
                 im = creal(a) * cimag(b) + cimag(a) * creal(b);
    return re + im * I;
}

/* --- transforms ------------------------------------------------------------------------------- */

/* A prime above this costs more than the sums themselves. */
enum { LARGEST_RADIX = 13 };

/* [nbin] exp(-2 pi i k / nbin), then room for a profile, its transform and a radix. */
double complex *psr_fold_roots(size_t nbin)
{
    double complex *root = calloc(3 * nbin + LARGEST_RADIX, sizeof *root);
    for (size_t b = 0; root && b < nbin; b++)
        root[b] = turn(-(double)b / (double)nbin);
    return root;
}

static size_t find_radix(size_t n)
{
    size_t p = 2;
    while (n % p && p <= LARGEST_RADIX)
        p++;
    return p;
}

static bool has_radices(size_t n)
{
    while (n > 1 && find_radix(n) <= LARGEST_RADIX)
        n /= find_radix(n);
    return n == 1;
}

/* Of each stride-th point, decimated in time (Cooley and Tukey 1965).
 * Given: step   of the roots from one of n to the next
 *        work   [LARGEST_RADIX] */
static void transform(const double complex *from, size_t stride, size_t n,
                      const double complex *root, size_t step, double complex *to,
                      double complex *work)
{
    const size_t p = find_radix(n), m = n / p;
    for (size_t q = 0; q < p; q++)
        if (m > 1)
            transform(from + q * stride, stride * p, m, root, step * p, to + q * m, work);
        else
            to[q] = from[q * stride];
    for (size_t k = 0; k < m; k++) {
        if (p == 2) {
            const double complex even = to[k], odd = product(to[m + k], root[step * k]);
            to[k] = even + odd;
            to[m + k] = even - odd;
            continue;
        }
        for (size_t q = 0; q < p; q++)
            work[q] = product(to[q * m + k], root[step * q * k]);
        for (size_t r = 0; r < p; r++) {
            double complex sum = 0;
            for (size_t q = 0; q < p; q++)
                sum += product(work[q], root[q * r % p * m * step]);
            to[r * m + k] = sum;
        }
    }
}

void psr_fold_transform(const double *profile, size_t nbin, double complex *root, size_t first,
                        size_t n, double complex *to)
{
    if (nbin > 2 && nbin % 2 == 0 && has_radices(nbin / 2)) {
        /* The profile's even bins are real, its odd ones imaginary parts of half as many points. */
        const size_t half = nbin / 2;
        double complex *in = root + nbin, *out = in + nbin;
        memcpy(in, profile, nbin * sizeof *profile);
        transform(in, 1, half, root, 2, out, out + nbin);
        for (size_t k = first; k < first + n; k++) {
            const double complex a = out[k % half], b = conj(out[(2 * half - k) % half]),
                                 odd = product((a - b) / 2, root[k]);
            to[k - first] = (a + b) / 2 + (cimag(odd) - creal(odd) * I);
        }
        return;
    }
    for (size_t k = first; k < first + n; k++) {
        double re = 0, im = 0;
        for (size_t b = 0, at = 0; b < nbin; b++) {
            re += profile[b] * creal(root[at]);
            im += profile[b] * cimag(root[at]);
            at = at + k < nbin ? at + k : at + k - nbin;
        }
        to[k - first] = re + im * I;
    }
}

static psr_status transform_all(struct psr_fold_harmonics *h, const struct psr_pfd *fold,
                                psr_err *err)
{
    const size_t nbin = (size_t)fold->nbin;
    double complex *root = psr_fold_roots(nbin);
    if (!root)
        return psr_fail_nomem(err, "harmonics of a fold", 3 * (double)nbin * sizeof *root);
    for (size_t k = 0; k < h->npart * h->nsub; k++)
        psr_fold_transform(fold->profile + k * nbin, nbin, root, 1, h->most, h->row[k].h);
    free(root);
    return PSR_OK;
}

void psr_fold_harmonics_clear(struct psr_fold_harmonics *h)
{
    free(h->row);
    free(h->var);
    free(h->u);
    free(h->per_dm);
    memset(h, 0, sizeof *h);
}

psr_status psr_fold_harmonics_init(struct psr_fold_harmonics *h, const struct psr_pfd *fold,
                                   const struct psr_fold_times *times, psr_err *err)
{
    const size_t npart = (size_t)fold->npart, nsub = (size_t)fold->nsub,
                 half = ((size_t)fold->nbin - 1) / 2;
    struct psr_fold_trials t;
    *h = (struct psr_fold_harmonics){.npart = npart, .nsub = nsub};
    h->most = half < PSR_FOLD_HARMONICS ? half : PSR_FOLD_HARMONICS;
    psr_status st = psr_fold_trials_init(&t, fold, times, err);
    if (st)
        return st;
    h->row = calloc(npart * nsub, sizeof *h->row);
    h->var = calloc(nsub, sizeof *h->var);
    h->u = calloc(npart, sizeof *h->u);
    h->per_dm = calloc(nsub, sizeof *h->per_dm);
    if (!h->row || !h->var || !h->u || !h->per_dm)
        st = psr_fail_nomem(err, "harmonics of a fold", (double)(npart * nsub) * sizeof *h->row);
    if (!st)
        st = transform_all(h, fold, err);
    if (!st) {
        const double per_bin = (double)fold->nbin / psr_fold_correction(fold);
        for (size_t k = 0; k < h->npart * h->nsub; k++)
            h->var[k % h->nsub] += fold->stats[k].prof_var * per_bin;
        const double part_s = (double)times->part_blocks * times->block_s;
        h->length_s = part_s * (double)h->npart;
        for (size_t i = 0; i < h->npart; i++)
            h->u[i] = (t.part_s[i] + part_s / 2) / h->length_s - 0.5;
        for (size_t j = 0; j < h->nsub && h->nsub > 1; j++)
            h->per_dm[j] = psr_fold_trials_dm_bins(&t, 1, j) / (double)t.nbin;
    } else
        psr_fold_harmonics_clear(h);
    psr_fold_trials_clear(&t);
    return st;
}

/* That of frequency and derivatives at the start, which differ from the folded ones. */
static struct psr_fold_drift fold_drift_of(const struct psr_fold_harmonics *h, double df,
                                           double dfd, double dfdd)
{
    const double length_s = h->length_s, square = dfd * length_s * length_s / 2;
    return (struct psr_fold_drift){.linear = df * length_s + square,
                                   .square = square,
                                   .cubic = dfdd * length_s * length_s * length_s / 6};
}

/* Turns by which parts are advanced for a drift. */
static void fold_harmonics_turns(const struct psr_fold_harmonics *h, struct psr_fold_drift drift,
                                 double *part)
{
    for (size_t i = 0; i < h->npart; i++) {
        const double u = h->u[i], t = u + 0.5;
        part[i] = -(drift.linear * u + drift.square * u * u + drift.cubic * t * t * t);
    }
}

void psr_fold_harmonics_best_turns(const struct psr_fold_harmonics *h, const struct psr_pfd *p,
                                   double *part)
{
    const struct psr_fold_period *best = p->fold.flag == 1 ? &p->bary : &p->topo;
    const double f = 1 / best->p, fd = -best->pd * p->fold.f * p->fold.f,
                 fdd = best->pdd == 0 ? 0 : (2 * fd * fd / (f * f * f) - best->pdd) * f * f;
    const struct psr_fold_drift drift =
        fold_drift_of(h, f - p->fold.f, fd - p->fold.fd, fdd - p->fold.fdd);
    fold_harmonics_turns(h, drift, part);
}

/* --- sums ------------------------------------------------------------------------------------- */

void psr_fold_coefs_add(struct psr_fold_coefs *sum, const struct psr_fold_coefs *row, double turns)
{
    const double complex by = turn(turns);
    double complex factor = 1;
    for (size_t k = 0; k < PSR_FOLD_HARMONICS; k++) {
        factor = product(factor, by);
        sum->h[k] += product(row->h[k], factor);
    }
}

double psr_fold_coefs_project(const struct psr_fold_coefs *a, const struct psr_fold_coefs *b,
                              size_t n)
{
    double x = 0;
    for (size_t k = 0; k < n; k++)
        x += creal(a->h[k]) * creal(b->h[k]) + cimag(a->h[k]) * cimag(b->h[k]);
    return x;
}

/* Sums over parts, for each sub-band: of_band [nsub]; over sub-bands, for each part: of_part [npart].
 * Given: part [npart], band [nsub]   turns by which they are advanced */
static void fold_harmonics_bands(const struct psr_fold_harmonics *h, const double *part,
                                 struct psr_fold_coefs *of_band)
{
    memset(of_band, 0, h->nsub * sizeof *of_band);
    for (size_t k = 0; k < h->npart * h->nsub; k++)
        psr_fold_coefs_add(&of_band[k % h->nsub], &h->row[k], part[k / h->nsub]);
}

static void fold_harmonics_parts(const struct psr_fold_harmonics *h, const double *band,
                                 struct psr_fold_coefs *of_part)
{
    memset(of_part, 0, h->npart * sizeof *of_part);
    for (size_t k = 0; k < h->npart * h->nsub; k++)
        psr_fold_coefs_add(&of_part[k / h->nsub], &h->row[k], band[k % h->nsub]);
}

double psr_fold_harmonics_power(const struct psr_fold_harmonics *h,
                                const struct psr_fold_coefs *sum, size_t n)
{
    double var = 0, power = 0;
    for (size_t j = 0; j < h->nsub; j++)
        var += h->var[j];
    for (size_t k = 0; k < n; k++)
        power += creal(sum->h[k]) * creal(sum->h[k]) + cimag(sum->h[k]) * cimag(sum->h[k]);
    return var > 0 ? 2 * power / var : 0;
}

size_t psr_fold_harmonics_count(const struct psr_fold_harmonics *h,
                                const struct psr_fold_coefs *sum)
{
    size_t best = 1;
    double most = -INFINITY;
    for (size_t n = 1; n <= h->most; n++) {
        const double z = psr_fold_harmonics_power(h, sum, n) - 4 * (double)n;
        if (z > most) {
            most = z;
            best = n;
        }
    }
    return best;
}

/* Whether what was folded is in a small part of the band, and the rest is noise. */

/* The rest of the band is noise below this, in standard deviations: a pulsar whose scintles make an eighth of
 * the band bright is seen in the rest, too.  More than 3, since DM and period are those at which the rest
 * agrees best. */
static const double noise_sigma = 4;

/* Z^2 - 4 n of the small part, which noise exceeds once in 10^4. */
static const double least_excess = 23;

static void add(struct psr_fold_coefs *sum, const struct psr_fold_coefs *of_band, size_t first,
                size_t end)
{
    for (size_t j = first; j < end; j++)
        for (size_t k = 0; k < PSR_FOLD_HARMONICS; k++)
            sum->h[k] += of_band[j].h[k];
}

/* Z^2 of sub-bands begin .. end - 1 where these are all there is. */
static double power_of(const struct psr_fold_harmonics *h, const struct psr_fold_coefs *of_band,
                       size_t begin, size_t end, size_t n)
{
    const struct psr_fold_harmonics alone = {.nsub = end - begin, .var = h->var + begin};
    struct psr_fold_coefs sum = {.h = {0}};
    add(&sum, of_band, begin, end);
    return psr_fold_harmonics_power(&alone, &sum, n);
}

/* Whether the sub-bands from first on are significant, more so than all together, and their profile is
 * not in the others. */
static bool rest_is_noise(const struct psr_fold_harmonics *h, const struct psr_fold_coefs *of_band,
                          size_t first, size_t n)
{
    const size_t end = first + psr_band_span(h->nsub);
    struct psr_fold_coefs part = {.h = {0}}, rest = {.h = {0}};
    const double power = power_of(h, of_band, first, end, n);
    double var = 0;
    add(&part, of_band, first, end);
    add(&rest, of_band, 0, first);
    add(&rest, of_band, end, h->nsub);
    for (size_t j = 0; j < h->nsub; j++)
        var += j < first || j >= end ? h->var[j] : 0;
    return power - 4 * (double)n > least_excess && power > power_of(h, of_band, 0, h->nsub, n) &&
           psr_fold_coefs_project(&part, &rest, n) <
               noise_sigma * sqrt(psr_fold_coefs_project(&part, &part, n) * var / 2);
}

psr_status psr_fold_is_narrow(bool *narrow, const struct psr_pfd *fold, psr_err *err)
{
    const struct psr_fold_times times = {fold->stats[0].numdata * fold->tsamp_s, 1,
                                         fold->stats[0].numdata * fold->tsamp_s * fold->npart};
    const size_t nsub = (size_t)fold->nsub, npart = (size_t)fold->npart;
    struct psr_fold_harmonics h;
    *narrow = false;
    if (nsub < PSR_BAND_SHARES || fold->nbin < 3)
        return PSR_OK;
    psr_status st = psr_fold_harmonics_init(&h, fold, &times, err);
    if (st)
        return st;
    struct psr_fold_coefs *of_band = calloc(nsub, sizeof *of_band);
    double *work = calloc(npart + nsub, sizeof *work);
    unsigned char *counts = calloc(nsub, 1);
    if (of_band && work && counts) {
        /* Sub-bands at the best values, as prepfold advances them for these. */
        psr_fold_harmonics_best_turns(&h, fold, work);
        fold_harmonics_bands(&h, work, of_band);
        for (size_t j = 0; j < h.nsub; j++) {
            struct psr_fold_coefs row = of_band[j];
            memset(&of_band[j], 0, sizeof of_band[j]);
            psr_fold_coefs_add(&of_band[j], &row, fold->dm * h.per_dm[j]);
        }
        /* A sub-band's share of the sum's profile; noise projected on itself is taken off. */
        double *a = work + npart;
        struct psr_fold_coefs sum = {.h = {0}};
        size_t first = 0;
        add(&sum, of_band, 0, h.nsub);
        const size_t n = psr_fold_harmonics_count(&h, &sum);
        for (size_t j = 0; j < h.nsub; j++) {
            counts[j] = h.var[j] > 0;
            a[j] =
                counts[j] ? psr_fold_coefs_project(&sum, &of_band[j], n) - (double)n * h.var[j] : 0;
        }
        *narrow =
            psr_band_is_narrow(a, counts, h.nsub, &first) && rest_is_noise(&h, of_band, first, n);
    } else
        st = psr_fail_nomem(err, "sub-bands of a fold", (double)nsub * sizeof *of_band);
    free(of_band);
    free(work);
    free(counts);
    psr_fold_harmonics_clear(&h);
    return st;
}

/* --- period, p-dot and DM to a fraction of a trial: where the power of harmonics is largest --- */

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
    fold_harmonics_turns(&r->h, s->drift, r->part);
    for (size_t j = 0; j < r->h.nsub; j++)
        r->band[j] = s->dm * r->h.per_dm[j];
}

/* Linear and square drift are orthogonal but for the phase: they hardly affect each other. */
static double climb_drift(struct refinement *r, struct state *s, bool square)
{
    const struct line l = {r->of_part, r->part, r->shape, r->h.npart};
    double power;
    set_turns(r, s);
    fold_harmonics_parts(&r->h, r->band, r->of_part);
    fold_harmonics_turns(&r->h, (struct psr_fold_drift){.linear = !square, .square = square},
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
            fold_harmonics_bands(&r->h, r->part, r->of_band);
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
    fold_harmonics_parts(&r->h, r->band, r->of_part);
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
            fold_drift_of(&r.h, best->f - from->f, best->fd - from->fd, best->fdd - from->fdd),
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
