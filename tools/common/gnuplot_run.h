/* gnuplot_run.h: gnuplot as a child process (private to gnuplot.c). */
#ifndef PSR_TOOLS_GNUPLOT_RUN_H
#define PSR_TOOLS_GNUPLOT_RUN_H

#include <psrkit/status.h>
#include <stdio.h>

/* An empty file in memory, NULL where there is none to be had. */
FILE *gnuplot_memory(const char *name);

/* Has gnuplot do a script.
 * Given:    path     of the plot, for messages
 *           script   read from its beginning on
 * Returned: drawn    gets what gnuplot printed
 * Status:   PSR_EUNSUPPORTED where there is no gnuplot in PATH; PSR_EIO where it cannot be run,
 *           fails (its last line tells why), or a signal is caught meanwhile */
PSR_MUST_CHECK psr_status gnuplot_run(const char *path, FILE *script, FILE *drawn, psr_err *err);

#endif
