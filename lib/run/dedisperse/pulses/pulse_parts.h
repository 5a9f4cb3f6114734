/* pulse_parts.h: groups the events of the whole band and of its parts into pulses (private). */
#ifndef PSR_RUN_DEDISPERSE_PULSES_PULSE_PARTS_H
#define PSR_RUN_DEDISPERSE_PULSES_PULSE_PARTS_H

#include "burst.h"

struct psr_pulse_parts_desc {
    const struct psr_sink_stream *stream;
    const struct psr_pulse_clock *clock;
    int64_t time_tol; /* as in psr_cluster_desc, as is the next */
    size_t trial_tol;
    double threshold;              /* of events */
    const struct psr_event *event; /* [nevent] by line */
    size_t nevent;
    const struct psr_span *gap; /* [ngap] merged, in ticks */
    size_t ngap;
};

/* Whether a line has finer samples than those of the whole band. */
bool psr_pulse_line_is_fine(const struct psr_sink_line *l);

/* Trials of the whole band. */
size_t psr_pulse_parts_whole(const struct psr_sink_stream *stream);

/* Groups the events of the whole band, and those of each part by themselves, marks what interference they look like,
 * within their part of the band, and unites groups that are one pulse (cluster_parts.h).
 * Returned: *clusters [*n] best first; malloc'd, caller frees
 * Status:   those of psr_cluster_events and psr_cluster_mark */
PSR_MUST_CHECK psr_status psr_pulse_parts_group(const struct psr_pulse_parts_desc *d,
                                                struct psr_cluster **clusters, size_t *n,
                                                psr_err *err);

/* Writes ROOT.cand: as psr_cluster_write does, and if there are parts, with their edges.
 * Status: those of psr_outfile_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_parts_write(psr_outfile *f,
                                                const struct psr_sink_stream *stream,
                                                const struct psr_pulse_clock *clock,
                                                const struct psr_cluster *clusters, size_t n,
                                                psr_err *err);

#endif
