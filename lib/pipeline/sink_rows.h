/* sink_rows.h: the built-in sinks (private). */
#ifndef PSR_PIPELINE_SINK_ROWS_H
#define PSR_PIPELINE_SINK_ROWS_H

#include <psrkit/sink.h>

extern const struct psr_sink_ops psr_sink_series, psr_sink_subbands, psr_sink_checksums,
    psr_sink_pulses, psr_sink_fourier;

/* Length to which the series of a line are padded or cut; -1: neither. */
int64_t psr_sink_series_length(const struct psr_sink_stream *stream, const struct psr_sink_end *end,
                               bool nopad);

#endif
