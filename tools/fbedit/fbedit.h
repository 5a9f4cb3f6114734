/* fbedit.h: the parts of fbedit. */
#ifndef PSR_TOOLS_FBEDIT_FBEDIT_H
#define PSR_TOOLS_FBEDIT_FBEDIT_H

#include "tools/common/cli.h"
#include "tools/common/signals.h"
#include <psrkit/experimental/filterbank.h>

/* --- the command line (options.c) ---------------------------------------------------- */

/* What the description has in another form. */
struct fbedit_words {
    bool filterbank, psrfits;
    int64_t if_choice;
    const char *state;
    const char *chans, *band, *order;
    struct cli_list set;
    const char *clean, *format, *gaps, *cutout;
};

struct fbedit_options {
    struct fbedit_words words;
    struct psr_edit_desc run; /* source is below */
    struct psr_source_desc source;
    struct cli_list add, addfile; /* signals */
    const char *truth;
    int64_t seed;       /* -1: the clock */
    const char *around; /* list of events; NULL: one output */
    double pad_s;
    bool bary;   /* its times are those of barycentred series */
    bool cutout; /* pictures of each for classifiers, instead of spectra */
    bool quiet, verbose;
};

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int fbedit_options_parse(struct fbedit_options *o, struct cli *tool, int argc, char **argv);

/* --- signals that are added, and the table of them (main.c) ------------------------------------ */

struct fbedit_add {
    struct fbedit_options *opt;
    struct signals signals;
    char *command, *name;    /* the command line, and the name of the table */
    psr_output_group *group; /* of the output and the table */
    psr_outfile *truth;      /* the group's; NULL: none */
};

/* --- cut-outs around the events of a list (main.c) ------------------------------------------ */

struct fbedit_around {
    struct psr_edit_burst *event; /* [n] */
    size_t n, room;
    double tsamp_s, length_s, lowest_mhz, highest_mhz; /* of the input */
    double rate;                                       /* seconds of the input in one of the list */
    char *name, start[40], end[40];                    /* of the cut-out in work */
};

/* --- the output of -v, before the first spectrum and after the last (main.c) ---------------- */

#endif
