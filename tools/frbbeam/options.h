/* options.h: frbbeam's command line. */
#ifndef PSR_TOOLS_FRBBEAM_OPTIONS_H
#define PSR_TOOLS_FRBBEAM_OPTIONS_H

#include "tools/common/cli.h"
#include <psrkit/experimental/beam.h>

struct frbbeam_options {
    struct psr_beamformer_desc run;
    bool quiet, verbose;
};

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int frbbeam_options_parse(struct frbbeam_options *o, struct cli *tool, int argc, char **argv);

#endif
