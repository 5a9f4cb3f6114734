/* Marks pulses that are what interference makes. */
#include <psrkit/singlepulse.h>

#include "base/copy_desc.h"
#include <math.h>
#include <stdlib.h>

/* A pulse is that of DM 0 if so much of its S/N is of power there. */
static const double DM0_SHARE = 0.5;

/* A boxcar on the common clock: [first, end). */
struct box {
    int64_t first, end;
    double snr;
};

struct marker {
    const struct psr_marks_desc *d;
    struct box *flat; /* [nflat] events that are not dispersed, by first sample */
    size_t nflat;
    int64_t longest; /* of these */
};

static int64_t scale_of(const struct marker *m, size_t trial)
{
    return m->d->scale ? (int64_t)m->d->scale[trial] : 1;
}

static int64_t sweep_of(const struct marker *m, size_t trial)
{
    return (int64_t)m->d->sweep[trial] * scale_of(m, trial);
}

static struct box box_of(const struct marker *m, const struct psr_event *e)
{
    int64_t scale = scale_of(m, e->trial), first = (e->sample - e->width / 2) * scale;
    return (struct box){first, first + e->width * scale, e->snr};
}

/* --- DM 0 ------------------------------------------------------------------------------------- */

static bool is_flat(const struct marker *m, const struct psr_event *e)
{
    return m->d->sweep[e->trial] <= (size_t)e->width;
}

static int compare_boxes(const void *a, const void *b)
{
    const struct box *p = a, *q = b;
    return (p->first > q->first) - (p->first < q->first);
}

static psr_status find_flat(struct marker *m, psr_err *err)
{
    const struct psr_marks_desc *d = m->d;
    size_t n = 0;
    for (size_t k = 0; k < d->nevent; k++)
        n += is_flat(m, &d->event[k]);
    m->flat = malloc((n + 1) * sizeof *m->flat);
    if (!m->flat)
        return psr_fail_nomem(err, "the events at DM 0", (double)n * sizeof *m->flat);
    for (size_t k = 0; k < d->nevent; k++) {
        if (!is_flat(m, &d->event[k]))
            continue;
        struct box b = box_of(m, &d->event[k]);
        m->longest = b.end - b.first > m->longest ? b.end - b.first : m->longest;
        m->flat[m->nflat++] = b;
    }
    qsort(m->flat, m->nflat, sizeof *m->flat, compare_boxes);
    return PSR_OK;
}

/* Share of the band that is above the frequency at which a dispersed pulse is late by a share x of its
 * sweep. */
static double band_above(const struct psr_marks_desc *d, double x)
{
    double high = 1 / (d->high_mhz * d->high_mhz), low = 1 / (d->low_mhz * d->low_mhz);
    x = fmin(fmax(x, 0), 1);
    return (d->high_mhz - 1 / sqrt(high + x * (low - high))) / (d->high_mhz - d->low_mhz);
}

/* S/N that a burst at DM 0 has in a boxcar that follows a sweep: of the channels that meet it, what both
 * boxcars have in common. */
static double shine_through(const struct psr_marks_desc *d, const struct box *flat,
                            const struct box *e, double sweep)
{
    double w = (double)(flat->end - flat->first), v = (double)(e->end - e->first);
    double from = (double)(flat->first - e->end), to = (double)(flat->end - e->first);
    double band = band_above(d, to / sweep) - band_above(d, from / sweep);
    return flat->snr * band * fmin(v, w) / sqrt(v * w);
}

static bool is_dm0(const struct marker *m, const struct psr_event *event)
{
    const struct box e = box_of(m, event);
    const int64_t sweep = sweep_of(m, event->trial);
    size_t low = 0, high = m->nflat;
    if (is_flat(m, event))
        return true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->flat[middle].first < e.first - m->longest)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < m->nflat && m->flat[low].first < e.end + sweep; low++)
        if (m->flat[low].end > e.first &&
            shine_through(m->d, &m->flat[low], &e, (double)sweep) >= DM0_SHARE * e.snr)
            return true;
    return false;
}

/* --- edges ------------------------------------------------------------------------------------ */

/* Series lose samples by their sweep before a gap.  Gaps ascend, and do not overlap. */
static bool is_at_edge(const struct marker *m, const struct psr_event *event)
{
    const struct psr_marks_desc *d = m->d;
    const struct box e = box_of(m, event);
    const int64_t width = e.end - e.first, sweep = sweep_of(m, event->trial);
    size_t low = 0, high = d->ngap;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->gap[middle].first + d->gap[middle].count + width < e.first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->ngap && d->gap[low].first - sweep <= e.end + width;
}

/* --- all -------------------------------------------------------------------------------------- */

static psr_status check_desc(const struct psr_marks_desc *d, psr_err *err)
{
    if (!d->sweep)
        return psr_fail_field(err, PSR_EINVAL, "sweep", "marks: no sweeps");
    if (!(d->low_mhz > 0) || !(d->high_mhz >= d->low_mhz) || !isfinite(d->high_mhz))
        return psr_fail_field(err, PSR_EINVAL, "low_mhz",
                              "marks: a band from %g to %g MHz, must ascend from above 0",
                              d->low_mhz, d->high_mhz);
    for (size_t k = 1; k < d->ngap; k++)
        if (d->gap[k].first < d->gap[k - 1].first + d->gap[k - 1].count)
            return psr_fail_field(err, PSR_EINVAL, "gap", "marks: gap %zu begins before %zu ends",
                                  k, k - 1);
    return PSR_OK;
}

psr_status psr_cluster_mark(const struct psr_marks_desc *desc, struct psr_cluster *clusters,
                            size_t n, psr_err *err)
{
    struct psr_marks_desc d;
    struct marker m = {.d = &d};
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "marks", err);
    if (!st)
        st = check_desc(&d, err);
    if (!st)
        st = find_flat(&m, err);
    for (size_t k = 0; k < n && !st; k++) {
        const struct psr_event *best = &clusters[k].best;
        clusters[k].marks |= is_dm0(&m, best) ? PSR_PULSE_DM0 : 0U;
        clusters[k].marks |= is_at_edge(&m, best) ? PSR_PULSE_EDGE : 0U;
    }
    free(m.flat);
    return st;
}
