/* Groups the events of the whole band and of its parts into pulses. */
#include "pulse_parts.h"

#include "search/singlepulse/pulses/cluster_parts.h"

#include "base/tool.h"
#include "search/singlepulse/singlepulse_internal.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

struct grouper {
    const struct psr_pulse_parts_desc *d;
    struct psr_cluster *cluster; /* [n] of all ranges so far */
    size_t n, room;
    struct psr_event *event; /* [d->nevent] of a part, as its highest frequency sees them */
    size_t *sweep;           /* [ndm] over the part */
    size_t taken;            /* events so far */
};

bool psr_pulse_line_is_fine(const struct psr_sink_line *l)
{
    return l->part && l->least_width == 1;
}

size_t psr_pulse_parts_whole(const struct psr_sink_stream *stream)
{
    for (const struct psr_sink_line *l = stream->line; l < stream->line + stream->nline; l++)
        if (l->part)
            return l->first;
    return stream->ndm;
}

static size_t count_parts(const struct psr_sink_stream *stream)
{
    return stream->line[stream->nline - 1].part;
}

static const struct psr_sink_line *first_line(const struct psr_sink_stream *stream, size_t part)
{
    const struct psr_sink_line *l = stream->line;
    while (l->part < part)
        l++;
    return l;
}

/* The events of a part follow those of the part before, which end at "first".  Returned: how many */
static size_t find_events(const struct psr_pulse_parts_desc *d, size_t part, size_t first)
{
    const struct psr_sink_stream *s = d->stream;
    size_t end_trial = 0, end = first;
    for (const struct psr_sink_line *l = s->line; l < s->line + s->nline && l->part <= part; l++)
        end_trial = l->first + l->nseries;
    while (end < d->nevent && d->event[end].trial < end_trial)
        end++;
    return end - first;
}

/* --- marks ------------------------------------------------------------------------------------ */

static double delay_s(const struct psr_sink_stream *s, size_t trial, double mhz)
{
    return psr_delay_s(s->dmconst, s->dm[trial], mhz * (1 + s->voverc));
}

/* Samples from the highest channel of the band to the highest frequency of the part that the trial is of. */
static int64_t samples_above(const struct grouper *g, const struct psr_sink_line *l, size_t trial)
{
    const struct psr_sink_stream *s = g->d->stream;
    const double late_s =
        delay_s(s, trial, l->high_mhz) - delay_s(s, trial, psr_obs_highest_mhz(s->obs));
    return (int64_t)fmax(0, floor(late_s / l->tsamp_s + 0.5));
}

/* Returned: the least of them, in ticks */
static double measure_sweeps(struct grouper *g, size_t part)
{
    const struct psr_sink_stream *s = g->d->stream;
    double least = INFINITY;
    for (const struct psr_sink_line *l = s->line; l < s->line + s->nline; l++)
        for (size_t i = l->first; l->part == part && i < l->first + l->nseries; i++) {
            const double sweep_s = delay_s(s, i, l->low_mhz) - delay_s(s, i, l->high_mhz);
            g->sweep[i] = (size_t)floor(sweep_s / l->tsamp_s + 0.5);
            least = fmin(least, (double)(g->sweep[i] * g->d->clock->scale[i]));
        }
    return least;
}

static void move_event(const struct grouper *g, struct psr_event *e, int64_t sign)
{
    const struct psr_sink_stream *s = g->d->stream;
    const struct psr_sink_line *l = &s->line[psr_pulse_line_of(s, e->trial)];
    e->sample += sign * samples_above(g, l, e->trial);
}

/* In a part, what its highest frequency sees is late. */
static psr_status mark_part(struct grouper *g, size_t part, size_t first, size_t nevent,
                            struct psr_cluster *cluster, size_t n, psr_err *err)
{
    const struct psr_pulse_parts_desc *d = g->d;
    const struct psr_sink_line *l = first_line(d->stream, part);
    const struct psr_marks_desc marks = {
        .size = sizeof marks,
        .event = g->event,
        .nevent = nevent,
        .scale = d->clock->scale,
        .sweep = g->sweep,
        .low_mhz = l->low_mhz,
        .high_mhz = l->high_mhz,
        .gap = d->gap,
        .ngap = d->ngap,
        .threshold = d->threshold,
        .searched_from = measure_sweeps(g, part),
        .dispersed_from = psr_pulse_least_delay(d->clock, d->stream, l->low_mhz, l->high_mhz)};
    memcpy(g->event, d->event + first, nevent * sizeof *g->event);
    for (size_t k = 0; k < nevent; k++)
        move_event(g, &g->event[k], 1);
    for (size_t k = 0; k < n; k++)
        move_event(g, &cluster[k].best, 1);
    psr_status st = psr_cluster_mark(&marks, cluster, n, err);
    for (size_t k = 0; k < n; k++)
        move_event(g, &cluster[k].best, -1);
    return st;
}

static psr_status mark(struct grouper *g, size_t part, size_t first, size_t nevent,
                       struct psr_cluster *cluster, size_t n, psr_err *err)
{
    const struct psr_pulse_parts_desc *d = g->d;
    const bool fine = part && psr_pulse_line_is_fine(first_line(d->stream, part));
    if (part && !fine)
        return mark_part(g, part, first, nevent, cluster, n, err);
    if (fine) { /* low DMs are those of other lines: events at DM 0 are theirs */
        first = 0;
        nevent = find_events(d, 0, 0);
    }
    return psr_pulse_clock_mark(d->clock, d->stream, d->threshold, d->event + first, nevent, d->gap,
                                d->ngap, cluster, n, err);
}

/* --- groups ----------------------------------------------------------------------------------- */

static psr_status group_part(struct grouper *g, size_t part, psr_err *err)
{
    const struct psr_pulse_parts_desc *d = g->d;
    const struct psr_sink_line *l = first_line(d->stream, part);
    const struct psr_cluster_desc how = {.size = sizeof how,
                                         .scale = d->clock->scale,
                                         .sweep = d->clock->sweep,
                                         .time_tol = d->time_tol,
                                         .trial_tol = d->trial_tol,
                                         .band_ratio = l->high_mhz / l->low_mhz};
    struct psr_cluster *cluster;
    const size_t first = g->taken, nevent = find_events(d, part, first);
    size_t n;
    g->taken += nevent;
    psr_status st = psr_cluster_events(&how, d->event + first, nevent, &cluster, &n, err);
    if (!st)
        st = mark(g, part, first, nevent, cluster, n, err);
    if (!st) {
        for (size_t k = 0; k < n && !st; k++) {
            st = psr_grow(&g->cluster, &g->room, g->n, sizeof *g->cluster, "clusters", err);
            if (!st)
                g->cluster[g->n++] = cluster[k];
        }
    }
    free(cluster);
    return st;
}

static psr_status unite(struct grouper *g, psr_err *err)
{
    const struct psr_sink_stream *s = g->d->stream;
    const size_t nrange = count_parts(s) + 1;
    struct psr_band_range *range = calloc(nrange, sizeof *range);
    size_t *part = calloc(s->ndm, sizeof *part);
    psr_status st = range && part
                        ? PSR_OK
                        : psr_fail_nomem(err, "pulses in parts of the band", 8 * (double)s->ndm);
    for (const struct psr_sink_line *l = s->line; !st && l < s->line + s->nline; l++) {
        range[l->part] =
            (struct psr_band_range){l->low_mhz * (1 + s->voverc), l->high_mhz * (1 + s->voverc)};
        for (size_t i = l->first; i < l->first + l->nseries; i++)
            part[i] = l->part;
    }
    const struct psr_cluster_parts_desc how = {
        .range = range,
        .nrange = nrange,
        .part = part,
        .dm = s->dm,
        .scale = g->d->clock->scale,
        .time_tol = g->d->time_tol,
        .tick_s = g->d->clock->tick_s,
        .dmconst = s->dmconst,
        .ref_mhz = psr_obs_highest_mhz(s->obs) * (1 + s->voverc),
    };
    if (!st)
        st = psr_cluster_unite(&how, g->cluster, &g->n, err);
    free(range);
    free(part);
    return st;
}

psr_status psr_pulse_parts_group(const struct psr_pulse_parts_desc *d,
                                 struct psr_cluster **clusters, size_t *n, psr_err *err)
{
    const size_t npart = count_parts(d->stream);
    struct grouper g = {.d = d};
    psr_status st = PSR_OK;
    *clusters = NULL;
    *n = 0;
    g.event = malloc((d->nevent + 1) * sizeof *g.event);
    g.sweep = calloc(d->stream->ndm, sizeof *g.sweep);
    if (!g.event || !g.sweep)
        st = psr_fail_nomem(err, "pulses", (double)d->nevent * sizeof *g.event);
    for (size_t part = 0; part <= npart && !st; part++)
        st = group_part(&g, part, err);
    if (!st && npart)
        st = unite(&g, err);
    free(g.event);
    free(g.sweep);
    if (st) {
        free(g.cluster);
        return st;
    }
    *clusters = g.cluster;
    *n = g.n;
    return PSR_OK;
}

/* --- the list --------------------------------------------------------------------------------- */

/* The trial of the whole band with the DM nearest to that of a trial, and one that sums as many samples if any does. */
static size_t find_whole(const struct psr_sink_stream *s, const struct psr_sink_line *of, double dm)
{
    size_t found = 0;
    for (const struct psr_sink_line *l = s->line; !l->part; l++)
        for (size_t i = l->first; i < l->first + l->nseries; i++)
            if (s->dm[i] == dm && l->downsamp == of->downsamp)
                return i;
            else if (fabs(s->dm[i] - dm) <= fabs(s->dm[found] - dm))
                found = i;
    return found;
}

/* Parts that are the whole band are not told. */
static bool has_narrower_parts(const struct psr_sink_stream *s)
{
    bool any = false;
    for (const struct psr_sink_line *l = s->line; l < s->line + s->nline; l++)
        any |= l->part && !l->least_width;
    return any;
}

psr_status psr_pulse_parts_write(psr_outfile *f, const struct psr_sink_stream *s,
                                 const struct psr_pulse_clock *clock,
                                 const struct psr_cluster *clusters, size_t n, psr_err *err)
{
    if (!count_parts(s))
        return psr_cluster_write(f, s->dm, clock->scale, clock->tick_s, clusters, n, err);
    struct psr_pulse_band *band = calloc(s->ndm, sizeof *band);
    if (!band)
        return psr_fail_nomem(err, "parts of the band", (double)s->ndm * sizeof *band);
    const double told = has_narrower_parts(s) ? 1 : 0;
    for (const struct psr_sink_line *l = s->line; l < s->line + s->nline; l++)
        for (size_t i = l->first; i < l->first + l->nseries; i++)
            band[i] = (struct psr_pulse_band){told * l->low_mhz, told * l->high_mhz,
                                              l->part ? find_whole(s, l, s->dm[i]) : i};
    psr_status st =
        psr_cluster_write_bands(f, s->dm, clock->scale, clock->tick_s, band, clusters, n, err);
    free(band);
    return st;
}
