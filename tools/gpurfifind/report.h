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

/* Draws means, standard deviations, largest powers and the mask by channel and interval, with the
 * bandpass and the shares that are masked, and numbers.
 * Given:  name   of the run, for the title
 * Status: PSR_EINVAL in a build without cairo, PSR_ENOMEM, those of psr_outfile_write */
PSR_MUST_CHECK psr_status gpurfifind_draw(psr_outfile *f, const struct psr_rfi_run_report *r,
                                          const char *name, psr_err *err);

struct canvas;

#endif
