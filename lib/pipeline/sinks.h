/* sinks.h: the sinks of a run, as one (private). */
#ifndef PSR_PIPELINE_SINKS_H
#define PSR_PIPELINE_SINKS_H

#include <psrkit/sink.h>

typedef struct psr_sinks psr_sinks;

struct psr_pipeline_desc;

/* Takes those that desc switches on, and then those of the caller.
 * Given:  desc   whole, and lives as long as the sinks
 * Status: PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_sinks_create(psr_sinks **out, const struct psr_pipeline_desc *desc,
                                           psr_err *err);

/* As the operations of one sink. */
PSR_MUST_CHECK psr_status psr_sinks_names(const psr_sinks *s, const struct psr_sink_stream *stream,
                                          psr_status (*check)(void *ctx, const char *name,
                                                              psr_err *err),
                                          void *ctx, psr_err *err);
PSR_MUST_CHECK psr_status psr_sinks_begin(psr_sinks *s, const struct psr_sink_stream *stream,
                                          psr_err *err);
PSR_MUST_CHECK psr_status psr_sinks_push(psr_sinks *s, size_t line, const struct psr_block *series,
                                         psr_err *err);
PSR_MUST_CHECK psr_status psr_sinks_gap(psr_sinks *s, size_t line, struct psr_span span,
                                        psr_err *err);
PSR_MUST_CHECK psr_status psr_sinks_finish(psr_sinks *s, const struct psr_sink_end *end,
                                           psr_err *err);
const void *psr_sinks_result(const psr_sinks *s, const char *name); /* NULL: there is none */

/* Whether there are any and all take series on devices; whether any wants to know of gaps. */
bool psr_sinks_take_devices(const psr_sinks *s);
bool psr_sinks_take_gaps(const psr_sinks *s);

/* Seconds that sinks took which write, and which search. */
double psr_sinks_write_s(const psr_sinks *s);
double psr_sinks_search_s(const psr_sinks *s);

/* NULL is fine. */
void psr_sinks_abort(psr_sinks *s);

#endif
