/* options.h: the command line of accelsift. */
#ifndef PSR_TOOLS_ACCELSIFT_OPTIONS_H
#define PSR_TOOLS_ACCELSIFT_OPTIONS_H

#include "tools/common/cli.h"

#include <psrkit/experimental/sift.h>

struct accelsift_options {
    struct psr_sift_desc run; /* most options are its fields */

    /* Options that are converted to its fields. */
    struct cli_list known_p, known_f;
    const char *compat, *birds, *lines, *catalogue;
    int64_t ncpus;

    /* Options that are not part of it. */
    struct cli_list outputs; /* files, or -; their endings say the format */
    bool csv, json;          /* of what has no such ending */
    const char *rejects;     /* file, or - */
    const char *folds;       /* gpufold's lines of JSON; NULL: none */
    const char *list;        /* names of lists, one per line */
    const char *pattern;     /* of their names */
    bool quiet, verbose;
};

/* Reads the command line into o, whose run lacks birds, catalogue and callbacks; mistakes end the
 * program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int accelsift_options_parse(struct accelsift_options *o, struct cli *tool, int argc, char **argv);

#endif
