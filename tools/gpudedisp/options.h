/* options.h: the command line of gpudedisp. */
#ifndef PSR_TOOLS_GPUDEDISP_OPTIONS_H
#define PSR_TOOLS_GPUDEDISP_OPTIONS_H

#include "tools/common/cli.h"
#include "tools/common/ffa_options.h"
#include "tools/common/fourier_options.h"

#include <psrkit/pipeline.h>

struct gpudedisp_options {
    struct psr_pipeline_desc run; /* most options are its fields */

    /* Options that are converted to its fields. */
    bool filterbank, psrfits;
    const char *state, *dmconst, *algo, *compat, *format, *clean, *weights, *lists;
    bool nowrite, sub, singlepulse, live;
    struct psr_sink_pulses_desc pulses;
    struct psr_sink_live_desc live_search; /* needs its callback */
    struct psr_sink_fourier_desc fourier_search;
    const char *events; /* where -live tells of pulses */
    double subdm;
    const char *accelsearch;        /* options of the search; NULL: none */
    struct fourier_options fourier; /* the same, read */
    bool segments;                  /* of series are searched by it, too */
    const char *slow;               /* options of the search for slow pulsars; NULL: none */
    struct ffa_options ffa;         /* the same, read */
    struct psr_sink_ffa_desc ffa_search;

    /* Options that are not part of it. */
    bool wapp, window; /* with numwapps: PRESTO's flags without effect here */
    int64_t numwapps;
    const char *plot;
    bool beams; /* each input is a beam */
    bool quiet, verbose;
    bool prepdata, shorts; /* run under that name; its -shorts */
};

/* Fills *table with options that set fields of *o. */
void gpudedisp_fill_table(struct cli_table *table, struct gpudedisp_options *o);

/* Reads the command line into o, whose run lacks its callbacks; mistakes end the program with exit
 * code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int gpudedisp_options_parse(struct gpudedisp_options *o, struct cli *tool, int argc, char **argv);

#endif
