/* Marks pulses that are what interference makes. */
#include <psrkit/experimental/singlepulse.h>

#include "base/base.h"
#include "plan/ddplan_internal.h"
#include "search/singlepulse/singlepulse_internal.h"
#include <math.h>
#include <stdlib.h>

/* Standard deviations beyond which S/N at DM 0 and at a pulse's own DM reject that it is dispersed, and that it is not;
 * and how much more of what is not dispersed shines through where it does not fill the band evenly. */
static const double DISPERSED_SIGMA = 3, FLAT_SIGMA = 2, UNEVEN = 2;

/* Sweeps of the least DM of pulses below which few pulses have theirs. */
static const double NEARBY = 10;

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

/* The S/N at DM 0 differs by less than a hundredth. */
static bool is_flat(const struct marker *m, const struct psr_event *e)
{
    return 4 * m->d->sweep[e->trial] <= (size_t)e->width;
}

PSR_COMPARE(compare_boxes, struct box, PSR_RISING(first));

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

/* What is known of a pulse of S/N snr when it is compared with events at DM 0. */
struct trial_dm {
    struct box box;
    double sweep;                   /* over the band, ticks */
    double share, scatter, of_flat; /* at DM 0: least share of its S/N if it is dispersed, and its
                                       standard deviation; that of an S/N at its DM if it is not */
};

/* Delays from the best one on that fit a pulse as well as that does, in its noise. */
static double fitting_range(const struct trial_dm *p)
{
    const double noise = DISPERSED_SIGMA / p->box.snr, width = (double)(p->box.end - p->box.first);
    const double share = (1 - noise * noise) / (1 + noise * noise);
    return share > 0 ? width * sqrt((pow(share, -4) - 1) / 0.462) : INFINITY;
}

/* Of the DMs that fit a pulse, the nearest to DM 0 at which there are dispersed pulses. */
static double nearest_delay(const struct marker *m, const struct trial_dm *p)
{
    return fmax(m->d->dispersed_from, p->sweep - fitting_range(p));
}

/* Whether a pulse that may be at DM 0 is no dispersed one by its best DM: few of those lie below the least DM by their
 * noise, unless they are so long or so weak that any DM fits. */
static bool is_below_pulses(const struct marker *m, const struct trial_dm *p)
{
    const double least = m->d->dispersed_from;
    return p->sweep < least && p->sweep + fitting_range(p) <= NEARBY * least;
}

static double scatter_of(double share)
{
    return sqrt(1 - share * share);
}

/* Whether an event of S/N snr at DM 0, of which so much shines through, may be all of the pulse. */
static bool may_be_flat(const struct trial_dm *p, double snr, double shine)
{
    return p->box.snr <= fmin(snr + FLAT_SIGMA * p->of_flat, UNEVEN * shine);
}

static bool may_be_dispersed(const struct trial_dm *p, double snr)
{
    return snr <= p->share * p->box.snr + DISPERSED_SIGMA * p->scatter;
}

/* Where no event is there, S/N at DM 0 is at most a limit: that of events, or if DM 0 was not searched with such
 * boxcars, the pulse's own. */
static unsigned mark_unseen(const struct marker *m, const struct trial_dm *p)
{
    const int64_t width = p->box.end - p->box.first, middle = (int64_t)(p->sweep / 2);
    const bool searched = 4 * m->d->searched_from <= (double)width;
    const double snr = searched ? fmin(m->d->threshold, p->box.snr) : p->box.snr;
    const struct box flat = {p->box.first + middle, p->box.end + middle, snr};
    const double shine = shine_through(m->d, &flat, &p->box, fmax(p->sweep, 1));
    return may_be_flat(p, snr, shine) ? PSR_PULSE_DM_UNKNOWN : 0U;
}

static unsigned mark_dm(const struct marker *m, const struct psr_event *event)
{
    struct trial_dm p = {.box = box_of(m, event), .sweep = (double)sweep_of(m, event->trial)};
    const double width = (double)(p.box.end - p.box.first);
    p.share = psr_dispersed_share(nearest_delay(m, &p), width);
    p.scatter = scatter_of(p.share);
    p.of_flat = scatter_of(psr_dispersed_share(p.sweep, width));
    const struct box *e = &p.box;
    unsigned mark = mark_unseen(m, &p);
    size_t low = 0, high = m->nflat;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->flat[middle].first < e->first - m->longest)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < m->nflat && (double)m->flat[low].first < (double)e->end + p.sweep; low++) {
        const struct box *flat = &m->flat[low];
        if (flat->end <= e->first ||
            !may_be_flat(&p, flat->snr, shine_through(m->d, flat, e, fmax(p.sweep, 1))))
            continue;
        if (!may_be_dispersed(&p, flat->snr))
            return PSR_PULSE_DM0;
        mark = PSR_PULSE_DM_UNKNOWN;
    }
    return mark && is_below_pulses(m, &p) ? PSR_PULSE_DM0 : mark;
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
    if (!(d->searched_from >= 0) || !(d->dispersed_from >= 0))
        return psr_fail_field(err, PSR_EINVAL, "searched_from",
                              "marks: delays from %g and %g samples, must be 0 or more",
                              d->searched_from, d->dispersed_from);
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
        clusters[k].marks |= mark_dm(&m, best);
        clusters[k].marks |= is_at_edge(&m, best) ? PSR_PULSE_EDGE : 0U;
    }
    free(m.flat);
    return st;
}
