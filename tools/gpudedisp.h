/* gpudedisp.h: the pieces of gpudedisp: its command line, its setup, its loop, its events. */
#ifndef PSR_TOOLS_GPUDEDISP_H
#define PSR_TOOLS_GPUDEDISP_H

#include "cli.h"
#include <psrkit/barycentre.h>
#include <psrkit/dedisp.h>
#include <psrkit/resample.h>
#include <psrkit/series.h>
#include <psrkit/singlepulse.h>
#include <psrkit/source.h>

struct gpudedisp_options {
    /* input */
    bool filterbank, psrfits, no_weights, no_scales, no_offsets, invert;
    int64_t if_choice; /* -1: summed */
    int64_t offset;    /* spectra */
    double start;      /* fraction of the input */
    const char *ignorechan;
    /* trials */
    double lodm, dmstep;
    int64_t numdms;
    const char *dms;
    const char *dmconst;
    /* method */
    int64_t downsamp;
    const char *algo;
    int64_t nsub; /* 0: not given */
    int64_t tol;
    /* barycentring */
    bool nobary;
    const char *site, *position, *ephem;
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
    bool quiet, verbose;
};

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int gpudedisp_options_parse(struct gpudedisp_options *o, struct cli *tool, int argc, char **argv);

enum gpudedisp_stage { STAGE_READ, STAGE_DEDISPERSE, STAGE_WRITE, STAGE_SEARCH, NSTAGES };

struct gpudedisp_bary {
    struct psr_obs obs; /* the observation as series tell it; borrows from the source's */
    double voverc;      /* 0 without barycentring */
    struct psr_bary_clock clock;
    struct psr_mjd *epoch;  /* [ndm] of each series; NULL without barycentring */
    psr_resample *resample; /* NULL without barycentring */
};

struct gpudedisp_job {
    struct gpudedisp_options opt;
    struct cli tool;
    char **path; /* [npath] */
    size_t npath;
    psr_err err; /* of the step that failed */

    psr_source *source;
    double *dm; /* [ndm] */
    size_t ndm;
    struct gpudedisp_bary bary;
    unsigned char *keep; /* [nchan] */
    double dmconst;
    psr_dedisp *plan;
    psr_series *series;      /* NULL with -nowrite */
    psr_singlepulse *pulses; /* NULL without -singlepulse */
    size_t gaps_told;        /* gaps of the source that the search knows to their ends */
    int64_t gaps_end;        /* spectrum up to which it knows of gaps */

    int nthread;
    void *in;            /* [block][nchan] packed */
    float *out;          /* [ndm][stride] */
    size_t block;        /* spectra */
    size_t stride;       /* samples */
    unsigned long *crc;  /* [ndm] CRC-32 of each series so far */
    int64_t nread, nout; /* spectra in, samples out so far */
    double stage_s[NSTAGES];
};

/* Opens and creates everything but files of events.  On error j->err tells, and gpudedisp_release
 * cleans up. */
psr_status gpudedisp_prepare(struct gpudedisp_job *j);

/* The input may be shorter than the sweep of the highest DM, and then no sample is ever complete.
 * Status: PSR_EINVAL where nsamp spectra are too few. */
psr_status gpudedisp_check_sweep(struct gpudedisp_job *j, int64_t nsamp);

void gpudedisp_release(struct gpudedisp_job *j);

/* Decides on barycentring and fills j->bary; to be called before there is a plan.
 * Given:  obs   of the input; presto_block   0, or as in resample.h; then a header without a
 *               position is barycentred to 0, 0 as PRESTO does */
psr_status gpudedisp_bary_prepare(struct gpudedisp_job *j, const struct psr_obs *obs,
                                  size_t presto_block);

/* The most samples that n can become. */
size_t gpudedisp_bary_room(const struct gpudedisp_job *j, size_t n);

/* Resamples a block x [ndm][stride] of *n samples of each series, in place; stride is at least
 * gpudedisp_bary_room of *n. */
psr_status gpudedisp_bary_block(struct gpudedisp_job *j, float *x, size_t stride, size_t *n);

/* Moves a span of the input to where the search finds it; to be called before gpudedisp_bary_block
 * has taken samples that draw on it. */
psr_status gpudedisp_bary_span(struct gpudedisp_job *j, struct psr_span *span);

/* One line on standard error. */
void gpudedisp_bary_account(const struct gpudedisp_job *j);

void gpudedisp_bary_release(struct gpudedisp_job *j);

/* Writes ROOT_DMxx.singlepulse, ROOT.cand and the plot, all or none. */
psr_status gpudedisp_write_events(struct gpudedisp_job *j);

#endif
