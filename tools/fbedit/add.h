/* add.h: signals that fbedit adds, and the table of them. */
#ifndef PSR_TOOLS_FBEDIT_ADD_H
#define PSR_TOOLS_FBEDIT_ADD_H

#include "options.h"
#include "tools/common/signals.h"

struct fbedit_add {
    struct fbedit_options *opt;
    struct signals signals;
    char *command, *name;    /* the command line, and the name of the table */
    psr_output_group *group; /* of the output and the table */
    psr_outfile *truth;      /* the group's; NULL: none */
};

/* Prepares what o asks for, and o's description; the table gets a temporary name.
 * Given:  notes   for remarks on files
 * Status: those of psr_output_group_create; PSR_EINVAL */
PSR_MUST_CHECK psr_status fbedit_add_begin(struct fbedit_add *a, struct fbedit_options *o,
                                           struct psr_notes notes, psr_err *err);

/* Writes the table, once the edit has run; gives it and the finished output their names. */
PSR_MUST_CHECK psr_status fbedit_add_write(struct fbedit_add *a, const psr_edit *p, psr_err *err);
PSR_MUST_CHECK psr_status fbedit_add_finish(struct fbedit_add *a, psr_err *err);

void fbedit_add_end(struct fbedit_add *a);

#endif
