/* sink_series.h: the built-in sinks (private). */
#ifndef PSR_RUN_DEDISPERSE_CONSUMERS_SINK_SERIES_H
#define PSR_RUN_DEDISPERSE_CONSUMERS_SINK_SERIES_H

#include <psrkit/experimental/sink.h>

extern const struct psr_sink_ops psr_sink_series, psr_sink_subbands, psr_sink_checksums,
    psr_sink_pulses, psr_sink_live, psr_sink_fourier, psr_sink_ffa;

/* Describes the files of series. */
struct psr_sink_series_desc {
    bool tim;   /* .tim; else .dat and .inf */
    bool nopad; /* do not pad to a good length */
};

/* Appends n samples to series i.  Threads append to different series at the same time. */
typedef psr_status psr_sink_append_one(void *ctx, size_t i, const float *x, size_t n, psr_err *err);

/* Appends a block on the host to all series of a line, each as far as it is complete.
 * Status: that of an append that failed */
PSR_MUST_CHECK psr_status psr_sink_append(const struct psr_sink_stream *stream, size_t line,
                                          const struct psr_block *block,
                                          psr_sink_append_one *append, void *ctx, psr_err *err);

/* Length to which the series of a line are padded or cut; -1: neither. */
int64_t psr_sink_series_length(const struct psr_sink_stream *stream, const struct psr_sink_end *end,
                               bool nopad);

#endif
