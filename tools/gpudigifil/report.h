/* report.h: prints the output of -v, before the first sample and after the last. */
#ifndef PSR_TOOLS_GPUDIGIFIL_REPORT_H
#define PSR_TOOLS_GPUDIGIFIL_REPORT_H

#include "tools/common/cli.h"
#include <psrkit/experimental/filterbank.h>

void digifil_print_plan(const struct cli *tool, const psr_filterbank *p);
void digifil_print_account(const struct cli *tool, const psr_filterbank *p);

/* How late the rows of a pipe or a network stream were; nothing of other inputs. */
void digifil_print_latency(const struct cli *tool, const psr_filterbank *p);

#endif
