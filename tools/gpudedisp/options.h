/* options.h: what gpudedisp's command line says. */
#ifndef PSR_TOOLS_GPUDEDISP_OPTIONS_H
#define PSR_TOOLS_GPUDEDISP_OPTIONS_H

#include "tools/common/cli.h"

enum { GPUDEDISP_NSUB = 32 }; /* sub-bands where -nsub does not say */

/* Upper limits, here and in prepsubband. */
enum {
    GPUDEDISP_NUMDMS = 1000000,
    GPUDEDISP_DOWNSAMP = 65536,
    GPUDEDISP_DEVICES = 64,
    GPUDEDISP_PRESTO_NUMDMS = 10000,
    GPUDEDISP_PRESTO_DOWNSAMP = 128,
    GPUDEDISP_PRESTO_NSUB = 4096,
};

struct gpudedisp_options {
    /* input */
    bool filterbank, psrfits, no_weights, no_scales, no_offsets, invert;
    int64_t if_choice; /* -1: summed */
    int64_t offset;    /* spectra */
    double start;      /* fraction of the input */
    /* cleaning */
    const char *ignorechan, *mask;
    double clip_sigma; /* 0: no clipping */
    bool noclip, zerodm, runavg;
    int64_t numwapps; /* with wapp and window: flags of PRESTO that say nothing here */
    bool wapp, window;
    /* trials */
    double lodm, dmstep;
    int64_t numdms;
    const char *dms;
    const char *plan; /* and then lodm, dmstep, numdms, dms, downsamp and nsub are not given */
    const char *dmconst;
    /* method */
    int64_t downsamp;
    const char *algo;
    int64_t nsub; /* 0: not given */
    int64_t tol;
    /* barycentring */
    bool nobary;
    const char *site, *position, *ephem;
    /* as PRESTO */
    const char *compat; /* "presto", or NULL */
    bool sub;
    double subdm;
    /* output */
    const char *root;
    const char *format;
    int64_t dmprec;
    int64_t numout; /* 0: not given */
    bool nopad, nowrite;
    /* single pulses */
    bool singlepulse;
    double threshold, maxwidth_s;
    const char *plot;
    /* run */
    const char *device;
    int64_t ncpus; /* 0: all */
    int64_t mem_bytes;
    bool resume, quiet, verbose;
};

/* Fills *table with options that set fields of *o. */
void gpudedisp_fill_table(struct cli_table *table, struct gpudedisp_options *o);

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int gpudedisp_options_parse(struct gpudedisp_options *o, struct cli *tool, int argc, char **argv);

#endif
