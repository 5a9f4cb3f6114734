/* burst.h: describes pulses for lists, and what the sinks of single pulses share (private). */
#ifndef PSR_RUN_DEDISPERSE_PULSES_BURST_H
#define PSR_RUN_DEDISPERSE_PULSES_BURST_H

#include <psrkit/experimental/sink.h>

/* Lines of a plan differ in sampling: the clock common to all ticks at the greatest common divisor of what they
 * sum. */
struct psr_pulse_clock {
    size_t *scale, *sweep; /* [ndm] as in psr_cluster_desc */
    int64_t tick;          /* spectra */
    double tick_s;
};

/* Status: PSR_ENOMEM; clear it also then */
PSR_MUST_CHECK psr_status psr_pulse_clock_make(struct psr_pulse_clock *c,
                                               const struct psr_sink_stream *stream, psr_err *err);
void psr_pulse_clock_clear(struct psr_pulse_clock *c);

/* The search of a line. */
PSR_MUST_CHECK psr_status psr_pulse_search_create(psr_singlepulse **out,
                                                  const struct psr_sink_stream *stream, size_t line,
                                                  const struct psr_sink_pulses_desc *d, bool causal,
                                                  psr_err *err);

/* How long the causal search of a line takes at most to tell of a pulse that has ended, in seconds of its samples: 4
 * longest boxcars, or 256 samples if these are longer, and time_tol. */
double psr_pulse_wait_s(const struct psr_sink_pulses_desc *d, double tsamp_s);

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pulse_search_check(const struct psr_sink_pulses_desc *d,
                                                 psr_err *err);

/* Sorts gaps and joins those that touch: all lines announce the same.  Returned: how many there are then */
size_t psr_pulse_gaps_merge(struct psr_span *gap, size_t n);

/* Delay over the whole band of the least DM that pulses have, in ticks. */
double psr_pulse_least_delay(const struct psr_pulse_clock *c, const struct psr_sink_stream *stream,
                             double low_mhz, double high_mhz);

/* What interference the clusters look like.  Given:  threshold   of events; gap [ngap] merged, in ticks */
PSR_MUST_CHECK psr_status psr_pulse_clock_mark(const struct psr_pulse_clock *c,
                                               const struct psr_sink_stream *stream,
                                               double threshold, const struct psr_event *event,
                                               size_t nevent, const struct psr_span *gap,
                                               size_t ngap, struct psr_cluster *cluster, size_t n,
                                               psr_err *err);

/* As it is told, without latency. */
struct psr_burst psr_burst_describe(const struct psr_pulse_clock *c,
                                    const struct psr_sink_stream *stream,
                                    const struct psr_cluster *cluster);

#endif
