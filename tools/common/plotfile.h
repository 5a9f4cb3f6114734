/* plotfile.h: a picture that a run was asked for, in a file that appears complete or not at all. */
#ifndef PSR_TOOLS_PLOTFILE_H
#define PSR_TOOLS_PLOTFILE_H

#include "canvas.h"

/* Not open where it is all zeros. */
struct plotfile {
    psr_outfile *out;
    enum canvas_format format;
};

/* What the suffixes of plots are, for --help: "png, pdf, svg, eps or ps". */
extern const char plotfile_suffixes[];

bool plotfile_has_suffix(const char *path);

/* Makes sure that there will be a plot before the work that it shows is done: begins the file, and a picture.
 * Given:  path   ends in one of plotfile_suffixes
 * Status: PSR_EINVAL for another suffix; those of canvas_create_for and psr_outfile_create.  On error f is not open. */
PSR_MUST_CHECK psr_status plotfile_open(struct plotfile *f, const char *path, psr_err *err);

/* Writes the picture, and gives the file its name; f is not open then, and c destroyed, whatever the status.
 * Status: those of canvas_write and psr_outfile_commit */
PSR_MUST_CHECK psr_status plotfile_end(struct plotfile *f, struct canvas *c, psr_err *err);

/* Gives up the plot; fine where f is not open. */
void plotfile_abort(struct plotfile *f);

#endif
