/* pipeline_check.h: checks the description of a pipeline (private). */
#ifndef PSR_RUN_DEDISPERSE_PIPELINE_CHECK_H
#define PSR_RUN_DEDISPERSE_PIPELINE_CHECK_H

#include <psrkit/pipeline.h>

/* Copies a description of any size, and checks what the parts of the pipeline do not check
 * themselves.
 * Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pipeline_take_desc(struct psr_pipeline_desc *to,
                                                 const struct psr_pipeline_desc *from,
                                                 psr_err *err);

#endif
