/* options.h: fbedit's command line. */
#ifndef PSR_TOOLS_FBEDIT_OPTIONS_H
#define PSR_TOOLS_FBEDIT_OPTIONS_H

#include "tools/common/cli.h"
#include <psrkit/experimental/filterbank.h>

struct fbedit_options {
    struct psr_edit_desc run; /* source is below */
    struct psr_source_desc source;
    struct cli_list add, addfile; /* signals */
    const char *truth;
    int64_t seed;       /* -1: the clock */
    const char *around; /* list of events; NULL: one output */
    double pad_s;
    bool quiet, verbose;
};

/* What the description has in another form. */
struct fbedit_words {
    bool filterbank, psrfits;
    int64_t if_choice;
    const char *state;
    const char *chans, *band, *order;
    struct cli_list set;
    const char *clean, *format;
};

/* Fills *list with options that set fields of *o and *w. */
void fbedit_fill_table(struct cli_table *list, struct fbedit_options *o, struct fbedit_words *w);

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int fbedit_options_parse(struct fbedit_options *o, struct cli *tool, int argc, char **argv);

#endif
