/* report.h: reports a run of gpudedisp. */
#ifndef PSR_TOOLS_GPUDEDISP_REPORT_H
#define PSR_TOOLS_GPUDEDISP_REPORT_H

#include "tools/common/cli.h"
#include "tools/common/plotfile.h"

#include <psrkit/pipeline.h>

/* On standard error: what is going to be done, and what was done. */
void gpudedisp_print_plan(const struct cli *tool, psr_pipeline *p);
void gpudedisp_print_account(const struct cli *tool, psr_pipeline *p, int dm_decimals);

/* On standard output, where zapbirds' users of prepdata look for it. */
void gpudedisp_print_velocity(psr_pipeline *p);

/* Says how many candidates of a Fourier search are in no list. */
void gpudedisp_note_left_out(struct cli *tool, psr_pipeline *p);

/* Draws the pulses that were found; f is open.  Status: those of pulseplot_draw. */
PSR_MUST_CHECK psr_status gpudedisp_draw(psr_pipeline *p, struct plotfile *f, psr_err *err);

#endif
