/* beams.h: many beams of a pointing in one run. */
#ifndef PSR_TOOLS_GPUDEDISP_BEAMS_H
#define PSR_TOOLS_GPUDEDISP_BEAMS_H

#include "options.h"

/* Runs a pipeline for each input, in turn block by block: the output of FOLDER/NAME.fil is ROOT_NAME.
 * Given:  o   with its callbacks; path and npath of its run are the beams
 * Status: those of psr_pipeline_create and psr_pipeline_run_beams; PSR_EINVAL for two beams of one name, or whose
 *         channels or samples differ */
PSR_MUST_CHECK psr_status gpudedisp_run_beams(const struct gpudedisp_options *o, struct cli *tool,
                                              psr_err *err);

#endif
