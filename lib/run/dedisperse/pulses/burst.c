/* What the sinks of single pulses share: searches of lines, their common clock, marks, descriptions of pulses. */
#include "pulse_parts.h"

#include "base/obs_internal.h"
#include "base/tool.h"
#include "search/singlepulse/singlepulse_internal.h"
#include "stats/stats.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>

psr_status psr_pulse_search_check(const struct psr_sink_pulses_desc *d, psr_err *err)
{
    if (d->time_tol < 0)
        return psr_fail_field(err, PSR_EINVAL, "time_tol",
                              "single pulses: time_tol of %lld samples is below 0",
                              (long long)d->time_tol);
    if (d->trial_tol < 0)
        return psr_fail_field(err, PSR_EINVAL, "trial_tol",
                              "single pulses: trial_tol of %lld trials is below 0",
                              (long long)d->trial_tol);
    if (d->nview < 0 || d->nview > PSR_PULSE_SPECTRA)
        return psr_fail_field(err, PSR_EINVAL, "nview",
                              "single pulses: nview = %lld, must be 0 to %d", (long long)d->nview,
                              PSR_PULSE_SPECTRA);
    return PSR_OK;
}

double psr_pulse_wait_s(const struct psr_sink_pulses_desc *d, double tsamp_s)
{
    const size_t longest = 4 * psr_singlepulse_longest(d->maxwidth_s, tsamp_s);
    return (double)((longest > 256 ? longest : 256) + (size_t)d->time_tol) * tsamp_s;
}

psr_status psr_pulse_search_create(psr_singlepulse **out, const struct psr_sink_stream *stream,
                                   size_t line, const struct psr_sink_pulses_desc *d, bool causal,
                                   psr_err *err)
{
    const struct psr_sink_line *l = &stream->line[line];
    return psr_singlepulse_create(out,
                                  &(struct psr_singlepulse_desc){
                                      .size = sizeof(struct psr_singlepulse_desc),
                                      .nseries = l->nseries,
                                      .dm = stream->dm + l->first,
                                      .sweep = l->shift,
                                      .tsamp_s = l->tsamp_s,
                                      .threshold = d->threshold,
                                      .maxwidth_s = d->maxwidth_s,
                                      .detrend = d->detrend,
                                      .nthread = stream->nthread,
                                      .block = l->block,
                                      .causal = causal,
                                      .late = l->late,
                                  },
                                  err);
}

/* --- the clock -------------------------------------------------------------------------------- */

psr_status psr_pulse_clock_make(struct psr_pulse_clock *c, const struct psr_sink_stream *stream,
                                psr_err *err)
{
    int64_t tick = 0;
    c->scale = malloc(stream->ndm * sizeof *c->scale);
    c->sweep = malloc(stream->ndm * sizeof *c->sweep);
    if (!c->scale || !c->sweep)
        return psr_fail_nomem(err, "the clock of events", (double)stream->ndm * 16);
    for (size_t k = 0; k < stream->nline; k++)
        tick = psr_common_divisor(stream->line[k].downsamp, tick);
    for (const struct psr_sink_line *l = stream->line; l < stream->line + stream->nline; l++)
        for (size_t i = l->first; i < l->first + l->nseries; i++) {
            c->scale[i] = (size_t)(l->downsamp / tick);
            c->sweep[i] = l->shift[i - l->first];
        }
    c->tick = tick;
    c->tick_s = stream->obs->tsamp_s * (double)tick;
    return PSR_OK;
}

void psr_pulse_clock_clear(struct psr_pulse_clock *c)
{
    free(c->scale);
    free(c->sweep);
    *c = (struct psr_pulse_clock){0};
}

/* --- marks ------------------------------------------------------------------------------------ */

double psr_pulse_least_delay(const struct psr_pulse_clock *c, const struct psr_sink_stream *stream,
                             double low_mhz, double high_mhz)
{
    return (psr_delay_s(stream->dmconst, PSR_PULSE_LEAST_DM, low_mhz) -
            psr_delay_s(stream->dmconst, PSR_PULSE_LEAST_DM, high_mhz)) /
           c->tick_s;
}

/* Of the trials of the whole band, in ticks. */
static double least_sweep(const struct psr_pulse_clock *c, const struct psr_sink_stream *stream)
{
    double least = INFINITY;
    for (const struct psr_sink_line *l = stream->line; l < stream->line + stream->nline; l++)
        for (size_t i = l->first; !l->part && i < l->first + l->nseries; i++)
            least = fmin(least, (double)(c->sweep[i] * c->scale[i]));
    return least;
}

psr_status psr_pulse_clock_mark(const struct psr_pulse_clock *c,
                                const struct psr_sink_stream *stream, double threshold,
                                const struct psr_event *event, size_t nevent,
                                const struct psr_span *gap, size_t ngap,
                                struct psr_cluster *cluster, size_t n, psr_err *err)
{
    const double low_mhz = stream->line->low_mhz, high_mhz = stream->line->high_mhz;
    const struct psr_marks_desc d = {
        .size = sizeof d,
        .event = event,
        .nevent = nevent,
        .scale = c->scale,
        .sweep = c->sweep,
        .low_mhz = low_mhz,
        .high_mhz = high_mhz,
        .gap = gap,
        .ngap = ngap,
        .threshold = threshold,
        .searched_from = least_sweep(c, stream),
        .dispersed_from = psr_pulse_least_delay(c, stream, low_mhz, high_mhz),
    };
    return psr_cluster_mark(&d, cluster, n, err);
}

/* --- descriptions ----------------------------------------------------------------------------- */

/* Barycentred series begin at infinite frequency, others at the highest channel. */
struct psr_burst psr_burst_describe(const struct psr_pulse_clock *c,
                                    const struct psr_sink_stream *stream,
                                    const struct psr_cluster *cluster)
{
    const struct psr_event *e = &cluster->best;
    const struct psr_obs *obs = stream->obs;
    const struct psr_sink_line *line = &stream->line[psr_pulse_line_of(stream, e->trial)];
    const double dm = stream->dm[e->trial];
    const double tsamp_s = c->tick_s * (double)c->scale[e->trial];
    const double delay_s =
        psr_delay_s(stream->dmconst, dm, psr_obs_highest_mhz(obs) * (1 + stream->voverc));
    const double middle_s = ((double)(e->sample - e->width / 2) + 0.5 * e->width) * tsamp_s;
    const struct psr_mjd at = psr_mjd_add(stream->epoch[e->trial], middle_s);
    const bool moved = stream->voverc != 0;
    return (struct psr_burst){.mjd_inf = moved ? at : psr_mjd_add(at, -delay_s),
                              .mjd_top = moved ? psr_mjd_add(at, delay_s) : at,
                              .barycentric = moved || obs->barycentric,
                              .dm = dm,
                              .snr = e->snr,
                              .width_s = (double)e->width * tsamp_s,
                              .low_mhz = line->low_mhz,
                              .high_mhz = line->high_mhz,
                              .beam = obs->ibeam,
                              .members = cluster->members,
                              .marks = cluster->marks,
                              .latency_s = NAN};
}
