/* pipeline_check.h: checks the description of a pipeline (private). */
#ifndef PSR_RUN_DEDISPERSE_PIPELINE_CHECK_H
#define PSR_RUN_DEDISPERSE_PIPELINE_CHECK_H

#include <psrkit/pipeline.h>

/* Copies of descriptions that one of a pipeline points to. */
struct psr_pipeline_searches {
    struct psr_sink_pulses_desc pulses, live_pulses;
    struct psr_sink_fourier_desc fourier;
    struct psr_sink_ffa_desc ffa;
    struct psr_sink_live_desc live;
};

/* Copies a description of any size with those that it points to, and checks what the parts of the pipeline do not check
 * themselves.
 * Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pipeline_take_desc(struct psr_pipeline_desc *to,
                                                 struct psr_pipeline_searches *searches,
                                                 const struct psr_pipeline_desc *from,
                                                 psr_err *err);

#endif
