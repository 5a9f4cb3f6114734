/* pipeline_by_lines.h: a plan as prepsubband does it, one line after the other (private). */
#ifndef PSR_PIPELINE_PIPELINE_BY_LINES_H
#define PSR_PIPELINE_PIPELINE_BY_LINES_H

#include "pipeline_state.h"

/* Reads the plan and checks what all lines have in common; the input is read anew for each line. */
PSR_MUST_CHECK psr_status psr_pipeline_prepare_by_lines(struct psr_pipeline *p, psr_err *err);

/* Makes a pipeline for each line, whose files join the group. */
PSR_MUST_CHECK psr_status psr_pipeline_run_by_lines(struct psr_pipeline *p, psr_err *err);

#endif
