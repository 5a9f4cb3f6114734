/* pipeline_by_lines.h: runs a plan line by line, as prepsubband does (private). */
#ifndef PSR_RUN_DEDISPERSE_PIPELINE_BY_LINES_H
#define PSR_RUN_DEDISPERSE_PIPELINE_BY_LINES_H

#include "pipeline_state.h"

/* Reads the plan and checks the properties common to all lines; the input is read again for each
 * line. */
/* prepsubband is run once for each line of a plan. */
bool psr_pipeline_runs_by_lines(const struct psr_pipeline *p);

PSR_MUST_CHECK psr_status psr_pipeline_prepare_by_lines(struct psr_pipeline *p, psr_err *err);

/* Creates a pipeline for each line; their files join the group. */
PSR_MUST_CHECK psr_status psr_pipeline_run_by_lines(struct psr_pipeline *p, psr_err *err);

#endif
