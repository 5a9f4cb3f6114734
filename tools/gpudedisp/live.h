/* live.h: pulses of an endless input, told as they are found. */
#ifndef PSR_TOOLS_GPUDEDISP_LIVE_H
#define PSR_TOOLS_GPUDEDISP_LIVE_H

#include "line_output.h"
#include "tools/common/cli.h"

#include <psrkit/pipeline.h>

/* With -live among the words, begins the program anew with threads that sleep while they wait: between its short blocks
 * they would take more processor time than the search.  What the user has set in the environment stays. */
void gpudedisp_live_wait_asleep(int argc, char *const *argv);

/* For psr_sink_live_desc, with a struct line_output: writes a line, and opens the output anew after SIGHUP. */
PSR_MUST_CHECK psr_status gpudedisp_live_burst(void *ctx, const struct psr_burst *burst,
                                               psr_err *err);

/* On standard error: what was found, how fast it was told, and, with dumps, what became of the spectra around it. */
void gpudedisp_live_report(const struct cli *tool, const struct line_output *output,
                           psr_pipeline *p);

#endif
