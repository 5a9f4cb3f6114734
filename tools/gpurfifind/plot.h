/* plot.h: the picture of a run of gpurfifind. */
#ifndef PSR_TOOLS_GPURFIFIND_PLOT_H
#define PSR_TOOLS_GPURFIFIND_PLOT_H

#include "tools/common/gnuplot.h"

#include <psrkit/clean.h>

/* Draws means, standard deviations, largest powers and the mask by channel and interval, and the
 * bandpass, into a plot that is open; it is the caller's to abort on error.
 * Given:  name   of the input, for the title
 * Status: PSR_ENOMEM; those of gnuplot_begin and gnuplot_end */
PSR_MUST_CHECK psr_status gpurfifind_draw(const struct psr_rfi_run_report *r, const char *name,
                                          struct gnuplot *g, psr_err *err);

#endif
