/* gnuplot.h: plots drawn by a gnuplot at the other end of a pipe.
 *
 * A tool opens a plot, prints gnuplot commands and inline data to g.pipe, and closes it.  The
 * file takes its name only when gnuplot has ended well, so that no half-drawn plot stays. */
#ifndef PSR_TOOLS_GNUPLOT_H
#define PSR_TOOLS_GNUPLOT_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct gnuplot {
    FILE *pipe; /* commands go here; the caller does not close it */
    pid_t pid;
    char *path, *part; /* the final name, and the one drawn to */
};

/* What the suffixes of plot files are, for --help: "png, pdf, svg, eps or ps". */
extern const char gnuplot_suffixes[];

bool gnuplot_has_suffix(const char *path);

/* Starts gnuplot and chooses its terminal by the suffix of path.  SIGPIPE is ignored from now on.
 * Given:  path   ends in one of gnuplot_suffixes; width_in, height_in   size of the page in inches
 * Status: PSR_EINVAL for another suffix; PSR_EUNSUPPORTED where there is no gnuplot to run;
 *         PSR_EIO; PSR_ENOMEM.  On error nothing needs to be closed. */
PSR_MUST_CHECK psr_status gnuplot_open(struct gnuplot *g, const char *path, double width_in,
                                       double height_in, psr_err *err);

/* Prints text as a string in gnuplot's single quotes, which no character of it can leave. */
void gnuplot_quote(struct gnuplot *g, const char *text);

/* Ends gnuplot and gives the file its name; g is done with whatever the status.
 * Status: PSR_EIO where gnuplot failed or the file cannot be renamed. */
PSR_MUST_CHECK psr_status gnuplot_close(struct gnuplot *g, psr_err *err);

/* Ends gnuplot and removes what it has drawn. */
void gnuplot_abort(struct gnuplot *g);

#endif
