/* plotfile.h: a picture that a run was asked for, in a file that appears complete or not at all. */
#ifndef PSR_TOOLS_PLOTFILE_H
#define PSR_TOOLS_PLOTFILE_H

#include "base/tool.h"
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

/* Where a search puts what nobody opens: mask, plan, logs and records. */
#define FOLDER_STEPS "steps/"

/* Adds all names in a folder, in their order, to an empty list.
 * Status: PSR_EIO (no such folder, or it cannot be read), PSR_ENOMEM */
PSR_MUST_CHECK psr_status folder_list(struct psr_names *names, const char *folder, psr_err *err);

/* Likewise of the folder of a search: also those in its FOLDER_STEPS, if it has one, after this word. */
PSR_MUST_CHECK psr_status folder_list_search(struct psr_names *names, const char *folder,
                                             psr_err *err);

/* A name of such a list without its folder. */
const char *folder_basename(const char *name);

#endif
