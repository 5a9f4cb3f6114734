/* sinks.h: all sinks of a run, used as one (private). */
#ifndef PSR_RUN_DEDISPERSE_CONSUMERS_SINKS_H
#define PSR_RUN_DEDISPERSE_CONSUMERS_SINKS_H

#include <psrkit/pipeline.h>

typedef struct psr_sinks psr_sinks;

/* Whether it makes a file of each series. */
static inline bool psr_pipeline_has_series(const struct psr_pipeline_desc *d)
{
    return d->files == PSR_FILES_DAT || d->files == PSR_FILES_TIM;
}

/* Collects the sinks that desc enables, followed by those of the caller.  *out is NULL on error.
 * Given:  desc   complete; must outlive the sinks
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sinks_create(psr_sinks **out, const struct psr_pipeline_desc *desc,
                                           psr_err *err);

/* Same as the operations of a single sink. */
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

/* True if there are sinks and all accept series on devices; true if any sink needs gaps. */
bool psr_sinks_take_devices(const psr_sinks *s);
bool psr_sinks_take_gaps(const psr_sinks *s);

/* Seconds spent in sinks that write, and in sinks that search. */
double psr_sinks_write_s(const psr_sinks *s);
double psr_sinks_search_s(const psr_sinks *s);

/* Frees the object; NULL is allowed. */
void psr_sinks_abort(psr_sinks *s);

#endif
