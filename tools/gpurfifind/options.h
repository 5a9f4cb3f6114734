/* options.h: the command line of gpurfifind. */
#ifndef PSR_TOOLS_GPURFIFIND_OPTIONS_H
#define PSR_TOOLS_GPURFIFIND_OPTIONS_H

#include "tools/common/cli.h"

#include <psrkit/experimental/clean.h>

struct gpurfifind_options {
    struct psr_rfi_run_desc run; /* most options are its fields */

    struct psr_source_desc source;
    struct psr_rfi_rules rules;

    /* Options that are converted to its fields. */
    bool filterbank, psrfits, noclip;
    const char *state, *compat;
    int64_t if_choice, ncpus, mem_bytes;

    /* Options that are not part of it. */
    bool wapp, window, xwin, rfixwin, rfips; /* with numwapps: without effect here */
    int64_t numwapps;
    const char *plot;
    double iqrm, sk, skewness, kurtosis, bursts, burst_share, lines; /* below 0: not given */
    bool quiet, verbose;
};

/* Reads the command line into o, whose run lacks its callbacks; mistakes end the program with exit
 * code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int gpurfifind_options_parse(struct gpurfifind_options *o, struct cli *tool, int argc, char **argv);

#endif
