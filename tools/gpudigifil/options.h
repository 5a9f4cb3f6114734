/* options.h: gpudigifil's command line. */
#ifndef PSR_TOOLS_GPUDIGIFIL_OPTIONS_H
#define PSR_TOOLS_GPUDIGIFIL_OPTIONS_H

#include "tools/common/cli.h"
#include <psrkit/experimental/filterbank.h>

struct digifil_options {
    struct psr_filterbank_desc run;
    bool quiet, verbose;
};

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int digifil_options_parse(struct digifil_options *o, struct cli *tool, int argc, char **argv);

#endif
