/* gnuplot_run.h: runs gnuplot as a child process (private to gnuplot.c). */
#ifndef PSR_TOOLS_GNUPLOT_RUN_H
#define PSR_TOOLS_GNUPLOT_RUN_H

#include <psrkit/status.h>
#include <stdio.h>

/* Returns an empty file in memory, NULL if it cannot be created. */
FILE *gnuplot_memory(const char *name);

/* Runs a gnuplot script.
 * Given:    path   of the plot, for messages
 *           script   read from its beginning
 * Returned: drawn   receives gnuplot's output
 * Status:   PSR_EIO if gnuplot is not in PATH, or if it cannot be run or fails (with
 *           its last line), or if a signal is caught meanwhile */
PSR_MUST_CHECK psr_status gnuplot_run(const char *path, FILE *script, FILE *drawn, psr_err *err);

#endif
