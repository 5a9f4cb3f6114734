/* gnuplot.h: plots drawn by gnuplot.
 *
 * gnuplot is given commands and data, and no name of a file: what it draws comes back through its
 * standard output and takes its name when it is whole.  Of the environment it sees a few variables,
 * and no settings of the user's. */
#ifndef PSR_TOOLS_GNUPLOT_H
#define PSR_TOOLS_GNUPLOT_H

#include <psrkit/experimental/outfile.h>
#include <stdbool.h>
#include <stdio.h>

struct gnuplot_terminal;

/* Not open where it is all zeros. */
struct gnuplot {
    FILE *script; /* commands and inline data go here, between begin and end */
    char *path;
    psr_outfile *out;
    const struct gnuplot_terminal *terminal;
};

/* What the suffixes of plot files are, for --help: "png, pdf, svg, eps or ps". */
extern const char gnuplot_suffixes[];

bool gnuplot_has_suffix(const char *path);

/* Makes sure that there will be a plot before the work that it shows is done: runs gnuplot with the
 * terminal that the suffix asks for, and begins the file.
 * Given:  path   ends in one of gnuplot_suffixes
 * Status: PSR_EINVAL for another suffix; PSR_EIO where there is no gnuplot in PATH, or
 *         where it fails; those of psr_outfile_create.  On error g is not open. */
PSR_MUST_CHECK psr_status gnuplot_open(struct gnuplot *g, const char *path, psr_err *err);

/* Begins the script, of a page of so many inches.  Status: PSR_EIO */
PSR_MUST_CHECK psr_status gnuplot_begin(struct gnuplot *g, double width_in, double height_in,
                                        psr_err *err);

/* Prints text as a string of gnuplot's, taken literally: every text that does not stand in the
 * source goes through here.  Whatever the text, gnuplot reads letters, digits, blanks and
 * octal escapes; control characters and what is no UTF-8 become '?'. */
void gnuplot_text(struct gnuplot *g, const char *text);

/* Draws, and gives the file its name; g is not open then, whatever the status.
 * Status: PSR_EIO where gnuplot fails or a signal comes; those of psr_outfile_commit */
PSR_MUST_CHECK psr_status gnuplot_end(struct gnuplot *g, psr_err *err);

/* Gives up the plot; fine where g is not open. */
void gnuplot_abort(struct gnuplot *g);

#endif
