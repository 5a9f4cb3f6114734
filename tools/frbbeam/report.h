/* report.h: prints the output of -v, before the first sample and after the last. */
#ifndef PSR_TOOLS_FRBBEAM_REPORT_H
#define PSR_TOOLS_FRBBEAM_REPORT_H

#include "tools/common/cli.h"
#include <psrkit/experimental/beam.h>

void frbbeam_print_plan(const struct cli *tool, const psr_beamformer *p);
void frbbeam_print_account(const struct cli *tool, const psr_beamformer *p);

#endif
