/* Unites the pulses that were found in several parts of the band. */
#include "cluster_parts.h"

#include "base/tool.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/singlepulse.h>
#include <stdlib.h>

/* --- counts the beams in which a pulse is seen ------------------------------------------------ */

struct sorted {
    struct psr_beam_pulse pulse;
    size_t index;
};

PSR_COMPARE(compare_starts, struct sorted, PSR_RISING(pulse.first_s));

/* First pulse that does not begin before. */
static size_t find_start(const struct sorted *s, size_t n, double from_s)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s[middle].pulse.first_s < from_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Given: seen [nbeam]   the last pulse, counted from 1, that was found to be in a beam */
static size_t count_beams(const struct sorted *s, size_t n, size_t k, double longest_s,
                          double tol_s, size_t *seen)
{
    const struct psr_beam_pulse *own = &s[k].pulse;
    size_t count = 0;
    for (size_t j = find_start(s, n, own->first_s - tol_s - longest_s);
         j < n && s[j].pulse.first_s <= own->last_s + tol_s; j++) {
        const struct psr_beam_pulse *other = &s[j].pulse;
        if (other->last_s + tol_s < own->first_s || seen[other->beam] == k + 1)
            continue;
        seen[other->beam] = k + 1;
        count++;
    }
    return count;
}

psr_status psr_pulse_count_beams(const struct psr_beam_pulse *pulse, size_t n, size_t nbeam,
                                 double tol_s, size_t *count, psr_err *err)
{
    double longest_s = 0;
    if (!(tol_s >= 0) || !isfinite(tol_s))
        return psr_fail_field(err, PSR_EINVAL, "tol_s", "beams: a tolerance of %g s is below 0",
                              tol_s);
    for (size_t k = 0; k < n; k++)
        if (pulse[k].beam >= nbeam)
            return psr_fail_field(err, PSR_EINVAL, "beam", "beams: pulse %zu is in beam %zu of %zu",
                                  k, pulse[k].beam, nbeam);
        else if (!(pulse[k].last_s >= pulse[k].first_s) || !isfinite(pulse[k].first_s) ||
                 !isfinite(pulse[k].last_s))
            return psr_fail_field(err, PSR_EINVAL, "last_s", "beams: pulse %zu is from %g to %g s",
                                  k, pulse[k].first_s, pulse[k].last_s);
    struct sorted *s = malloc((n + 1) * sizeof *s);
    size_t *seen = calloc(nbeam + 1, sizeof *seen);
    if (!s || !seen) {
        free(s);
        free(seen);
        return psr_fail_nomem(err, "the pulses of beams", (double)n * sizeof *s);
    }
    for (size_t k = 0; k < n; k++) {
        s[k] = (struct sorted){pulse[k], k};
        longest_s = fmax(longest_s, pulse[k].last_s - pulse[k].first_s);
    }
    qsort(s, n, sizeof *s, compare_starts);
    for (size_t k = 0; k < n; k++)
        count[s[k].index] = count_beams(s, n, k, longest_s, tol_s, seen);
    free(s);
    free(seen);
    return PSR_OK;
}

/* --- unites the pulses that were found in several parts of the band --------------------------- */

/* A cluster, where its best event arrives in the middle of a range; ticks. */
struct arrival {
    double middle, width;
    size_t k;
};

struct field {
    const struct psr_cluster_parts_desc *d;
    struct psr_cluster *cluster; /* [n] */
    size_t n;
    size_t *parent; /* [n] the best one that a cluster is one pulse with; its own number: none */
    struct arrival *arrival; /* [narrival] of those that share frequencies with a range */
    size_t narrival;
    double widest;
    double part; /* of the range's delay, over which a pulse is spread at least */
};

static const struct psr_band_range *range_of(const struct field *f, size_t k)
{
    return &f->d->range[f->d->part[f->cluster[k].best.trial]];
}

static bool is_better(const struct field *f, size_t a, size_t b)
{
    const struct psr_event *p = &f->cluster[a].best, *q = &f->cluster[b].best;
    if (p->snr != q->snr)
        return p->snr > q->snr;
    if (p->trial != q->trial)
        return p->trial < q->trial;
    return p->sample != q->sample ? p->sample < q->sample : a < b;
}

/* --- arrivals --------------------------------------------------------------------------------- */

static double middle_mhz(const struct psr_band_range *r)
{
    return sqrt(2 / (1 / (r->low_mhz * r->low_mhz) + 1 / (r->high_mhz * r->high_mhz)));
}

PSR_COMPARE(compare_arrivals, struct arrival, PSR_THEN(PSR_RISING(middle), PSR_RISING(k)));

/* Those of the range, and of others as wide, or wider, that share frequencies with it. */
static void list_arrivals(struct field *f, const struct psr_band_range *r)
{
    const double width_mhz = r->high_mhz - r->low_mhz, mhz = middle_mhz(r);
    f->narrival = 0;
    f->widest = 0;
    f->part = PSR_PULSE_LEAST_PART * psr_band_spread(r->high_mhz / r->low_mhz);
    for (size_t k = 0; k < f->n; k++) {
        const struct psr_band_range *o = range_of(f, k);
        if (o->high_mhz - o->low_mhz < width_mhz || o->low_mhz > r->high_mhz ||
            o->high_mhz < r->low_mhz)
            continue;
        const struct psr_cluster_parts_desc *d = f->d;
        const struct psr_event *e = &f->cluster[k].best;
        const double scale = (double)d->scale[e->trial], dm = d->dm[e->trial];
        const double late_s =
            psr_delay_s(d->dmconst, dm, mhz) - psr_delay_s(d->dmconst, dm, d->ref_mhz);
        const double middle = (double)(e->sample - e->width / 2) + 0.5 * e->width;
        const struct arrival a = {middle * scale + late_s / d->tick_s, e->width * scale, k};
        f->widest = a.width > f->widest ? a.width : f->widest;
        f->arrival[f->narrival++] = a;
    }
    qsort(f->arrival, f->narrival, sizeof *f->arrival, compare_arrivals);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static double tolerance_of(const struct field *f, size_t a, size_t b)
{
    const size_t *scale = f->d->scale;
    const size_t one = scale[f->cluster[a].best.trial], other = scale[f->cluster[b].best.trial];
    return (double)f->d->time_tol * (double)(one > other ? one : other);
}

/* Ticks by which two pulses of the best events' DMs are late over a range with respect to each other. */
static double delay_apart(const struct field *f, const struct psr_band_range *r, size_t a, size_t b)
{
    const struct psr_cluster_parts_desc *d = f->d;
    const double dm = d->dm[f->cluster[a].best.trial] - d->dm[f->cluster[b].best.trial];
    return (psr_delay_s(d->dmconst, dm, r->low_mhz) - psr_delay_s(d->dmconst, dm, r->high_mhz)) /
           d->tick_s;
}

/* Pulses of different DM that cross in the middle of a range are not one. */
static bool is_one(const struct field *f, const struct psr_band_range *r,
                   const struct arrival *high, const struct arrival *low)
{
    const double s = f->cluster[high->k].best.snr, other = f->cluster[low->k].best.snr;
    return psr_pulse_explains(s, high->width, other, low->width) &&
           psr_pulse_leaves(s, high->width, other, low->width, delay_apart(f, r, high->k, low->k),
                            f->part);
}

/* Of a range that one of them is of. */
static void join(struct field *f, const struct psr_band_range *r, const struct arrival *a,
                 const struct arrival *b)
{
    const bool first = is_better(f, a->k, b->k);
    const struct arrival *high = first ? a : b, *low = first ? b : a;
    if (b->middle - a->middle > (a->width + b->width) / 2 + tolerance_of(f, a->k, b->k) ||
        !is_one(f, r, high, low))
        return;
    size_t *parent = &f->parent[low->k];
    if (*parent == low->k || is_better(f, high->k, *parent))
        *parent = high->k;
}

/* Pairs of which one is of the range, and the other is not. */
static void join_range(struct field *f, const struct psr_band_range *r)
{
    size_t most_scale = 1;
    list_arrivals(f, r);
    for (size_t k = 0; k < f->n; k++) {
        const size_t scale = f->d->scale[f->cluster[k].best.trial];
        most_scale = scale > most_scale ? scale : most_scale;
    }
    const double reach = f->widest + (double)f->d->time_tol * (double)most_scale;
    for (size_t i = 0; i < f->narrival; i++)
        for (size_t j = i + 1; j < f->narrival; j++) {
            const struct arrival *a = &f->arrival[i], *b = &f->arrival[j];
            if (b->middle - a->middle > reach)
                break;
            if ((range_of(f, a->k) == r) != (range_of(f, b->k) == r))
                join(f, r, a, b);
        }
}

/* --- all -------------------------------------------------------------------------------------- */

static size_t find_root(const size_t *parent, size_t k)
{
    while (parent[k] != k)
        k = parent[k];
    return k;
}

static void add_members(struct psr_cluster *to, const struct psr_cluster *from)
{
    to->members += from->members;
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
}

PSR_COMPARE(compare_clusters, struct psr_cluster,
            PSR_THEN(PSR_FALLING(best.snr),
                     PSR_THEN(PSR_RISING(best.trial), PSR_RISING(best.sample))));

psr_status psr_cluster_unite(const struct psr_cluster_parts_desc *d, struct psr_cluster *clusters,
                             size_t *n, psr_err *err)
{
    struct field f = {.d = d, .cluster = clusters, .n = *n};
    f.parent = malloc((*n + 1) * sizeof *f.parent);
    f.arrival = malloc((*n + 1) * sizeof *f.arrival);
    psr_status st = f.parent && f.arrival
                        ? PSR_OK
                        : psr_fail_nomem(err, "pulses in parts of the band", 32 * (double)*n);
    if (!st) {
        for (size_t k = 0; k < *n; k++)
            f.parent[k] = k;
        for (size_t r = 1; r < d->nrange; r++)
            join_range(&f, &d->range[r]);
        size_t i = 0;
        for (size_t k = 0; k < f.n; k++)
            if (f.parent[k] != k)
                add_members(&f.cluster[find_root(f.parent, k)], &f.cluster[k]);
        for (size_t k = 0; k < f.n; k++)
            if (f.parent[k] == k)
                f.cluster[i++] = f.cluster[k];
        if (i)
            qsort(f.cluster, i, sizeof *f.cluster, compare_clusters);
        *n = i;
    }
    free(f.parent);
    free(f.arrival);
    return st;
}
