/* report.h: what gpurfifind says of a run. */
#ifndef PSR_TOOLS_GPURFIFIND_REPORT_H
#define PSR_TOOLS_GPURFIFIND_REPORT_H

#include "tools/common/cli.h"

#include <psrkit/experimental/clean.h>

/* Prints how many cells are bad, and why, to standard error. */
void gpurfifind_print_cells(const struct cli *tool, const struct psr_rfi_run_report *r);

/* Prints bursts and lines of the sums of channels.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status gpurfifind_print_sums(const struct cli *tool,
                                                const struct psr_rfi_run_report *r, psr_err *err);

/* Prints the strongest birdies and those seen most often.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status gpurfifind_print_birdies(const struct cli *tool,
                                                   const struct psr_rfi_list *list, psr_err *err);

/* Cells of which one of these bits is set in flags [nint][nchan]. */
size_t gpurfifind_count_cells(const struct psr_rfi_run_report *r, const unsigned char *flags,
                              unsigned bits);

/* Prints times. */
void gpurfifind_print_times(const struct cli *tool, const struct psr_rfi_run_report *r);

#endif
