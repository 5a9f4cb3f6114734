/* plot.h: panels of the plot of single pulses: only in a build that draws. */
#ifndef PSR_TOOLS_PSRREPORT_PLOT_H
#define PSR_TOOLS_PSRREPORT_PLOT_H

#include "psrreport.h"

#include "tools/common/canvas.h"

/* Draws the number of bursts over S/N or DM, between the panel's limits of x; those of y are set. */
void plot_histogram(struct canvas *c, struct canvas_panel p, const struct report *r, bool snr);

#endif
