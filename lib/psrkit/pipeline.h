/* pipeline.h: processes telescope data into dedispersed series and search results, in one pass.
 *
 *   source -> clean -> dedisperse (all lines of a plan) -> mask correction -> barycentre -> sinks
 *
 * gpudedisp is a thin wrapper around this module.  To use it in a program:
 *
 *   struct psr_pipeline_desc d;
 *   psr_pipeline_defaults(&d);
 *   d.path = path, d.npath = 1, d.ndm = 100, d.root = "out", d.files = PSR_FILES_DAT;
 *   st = psr_pipeline_create(&p, &d, &err);    checks everything that can be checked beforehand
 *   st = psr_pipeline_run(p, &err);            until the input ends
 *   st = psr_pipeline_finish(p, &err);         renames the files to their final names
 *   psr_pipeline_destroy(p);
 *
 * Destroying an unfinished pipeline leaves no files.  Not thread-safe: use each pipeline from one
 * thread. */
#ifndef PSRKIT_PIPELINE_H
#define PSRKIT_PIPELINE_H

#include <psrkit/experimental/dedisp.h>
#include <psrkit/experimental/sink.h>
#include <psrkit/experimental/source.h>

PSR_API_BEGIN

typedef struct psr_pipeline psr_pipeline;

/* Limits of a line of trials; PSR_PRESTO_ are those of prepsubband. */
enum {
    PSR_PIPELINE_NDM = 1000000,
    PSR_PIPELINE_DOWNSAMP = 65536,
    PSR_PIPELINE_HALVE = 4,
    PSR_PIPELINE_FINE = 64,
    PSR_PRESTO_NDM = 10000,
    PSR_PRESTO_DOWNSAMP = 128,
    PSR_PRESTO_NSUB = 4096,
};

/* Files of series. */
enum psr_pipeline_files {
    PSR_FILES_NONE,
    PSR_FILES_DAT, /* PRESTO's .dat and .inf of each series */
    PSR_FILES_TIM, /* SIGPROC's .tim of each series */
    PSR_FILES_SUBBANDS, /* ROOT_DM12.00.sub0 and so on, as prepsubband -sub: the pipeline makes sub-bands and
                           no other series */
};

/* Call psr_pipeline_defaults first, then set fields.  Pointers are borrowed and must stay valid as
 * long as the pipeline. */
struct psr_pipeline_desc {
    size_t size; /* sizeof of this struct in the caller; new fields are added at the end */

    /* Input: files, or spectra passed to psr_pipeline_execute. */
    const char *const *path; /* [npath] as in psr_source_desc */
    size_t npath;
    const struct psr_obs *obs; /* if npath is 0: describes the spectra */
    enum psr_input input;
    int64_t if_choice; /* as in psr_source_desc, as are the next six; default -1 */
    enum psr_pols pols;
    bool no_weights, no_scales, no_offsets, invert, runavg;
    int64_t offset; /* spectra to skip at the start */
    double start;   /* or the fraction of a file to skip */
    double drop_s;  /* as in psr_source_desc; needs live */

    /* Cleaning. */
    const char *mask;       /* rfifind mask, or NULL */
    const char *ignorechan; /* channels, as for psr_ignore_channels, or NULL */
    double clip_sigma;      /* default 6; 0: no clipping */
    bool noclip, zerodm;    /* both disable clipping */
    bool clean_auto; /* as psr_clean_auto, with clip_sigma, noclip and zerodm; excludes mask, presto
                        and sub-bands; also writes ROOT.clean.json, .clean.mask and .clean.stats */
    bool clean_weights; /* with clean_auto: weights of psr_clean_auto_desc */

    /* Trials: from a plan, a file, an array, or a grid. */
    const char *plan;    /* file for psr_planfile_read, or NULL */
    const char *dms;     /* file for psr_dms_read, or NULL */
    const double *dm;    /* [ndm] pc cm^-3, or NULL */
    double lodm, dmstep; /* defaults 0, 1 */
    int64_t ndm;         /* default 10 */
    int64_t downsamp;    /* default 1; only without a plan, as is nsub */
    int64_t nsub;        /* sub-bands; 0: not given */
    double scrunch; /* ratio of psr_scrunch: trials become lines that sum 1, 2, 4 .. times downsamp
                            samples, by the mean smearing within a channel; 0: none.  Excludes plan,
                            presto and sub-bands */
    int64_t
        nhalve; /* with pulses: search parts of the band, too: halves, quarters .. 2^-nhalve of its
                            kept channels, each overlapping the next by half; 0 (default) to
                            PSR_PIPELINE_HALVE */
    double dmconst; /* MHz^2 s; default PRESTO's, see ddplan.h */
    /* With pulses: lines that sum samples are searched for pulses also with so many times fewer, and
     * DMs as much closer, to PSR_PIPELINE_FINE; 0 (default) and 1: not. */
    int64_t nfine;

    /* Method. */
    enum psr_dedisp_algo algo; /* PSR_DEDISP_SUBBAND for lines with nsub, PSR_DEDISP_TREE for all */
    int64_t tol;               /* as in psr_dedisp_desc */
    double smear;              /* as in psr_dedisp_desc */
    bool presto;               /* reproduce prepsubband's numbers, losses, padding and names */

    /* Barycentring. */
    bool nobary;
    const char *position, *site; /* as for psr_position_parse and psr_site_parse; NULL: from the
                                    header */
    const char *ephem;           /* requested ephemeris, which is not used, or NULL */

    /* Output: files of series. */
    const char *root; /* prefix of file names; "-" with one .tim series, or with pulses only,
                            is standard output; NULL: no files */
    enum psr_pipeline_files files;
    bool nopad;     /* do not pad series in files to a good length */
    bool sametail;  /* all series of a line end where that of the highest DM ends, instead
                            of each at its own last sample */
    int64_t numout; /* samples of each series; 0: all */
    int64_t
        dm_decimals; /* decimals of the DM in names, 2 to 4; default 2; 0: of one trial, named ROOT alone */
    const char *also;          /* file that the caller will write, and can do without: it must be no
                            other file of the run; NULL: none */
    const char *const *beside; /* [nbeside] other files that no output may overwrite */
    size_t nbeside;

    /* Output: consumers of series, see sink.h.  Descriptions of those that are not NULL are copied. */
    bool checksums;
    const struct psr_sink_pulses_desc *pulses;
    const struct psr_sink_fourier_desc *fourier; /* search complete series */
    const struct psr_sink_live_desc
        *live;                   /* search an endless input; should_stop then ends the input
                                              instead of failing the run.  Needs nobary */
    const struct psr_sink *sink; /* [nsink] additional ones */
    size_t nsink;

    /* With live. */
    double block_s; /* longest block, in seconds of the input; 0: as is fastest.  With live, so long
                         after its last sample a pulse is told at most, so that what boxcars wait
                         (psr_live_found.bound_s) is taken off; PSR_EINVAL if nothing is left; 0:
                         0.1 s more */
    double ring_s;  /* hold the last spectra of the input for so long; 0: none */
    const char
        *dump; /* folder for those around each pulse, a SIGPROC filterbank each; needs ring_s */

    /* Running. */
    const char *device; /* as for psr_devices_choose; default "auto" */
    int64_t nthread;    /* threads; 0: all cores */
    int64_t mem_bytes;  /* memory limit; 0: a quarter of the machine's */
    size_t nshare;      /* pipelines that share mem_bytes; 0: 1 */
    bool resume; /* skip trials that an earlier run with the same input and description completed */
    const char *program; /* program name in headers; default "psrkit" */
    struct psr_notes notes;
    bool (*should_stop)(void *ctx);             /* polled often; NULL: never */
    void (*progress)(void *ctx, int64_t nread); /* called after every block; may be NULL */
    void *ctx;                                  /* passed to both */

    const struct psr_sink_ffa_desc
        *ffa;  /* a consumer of series as those above: search complete series for slow
                                            pulsars */
    bool pack; /* with a root: the lists and .inf files that searches make of every series go into
                  ROOT.lists (psrkit-formats(5)) */
    void (*searched)(void *ctx, int64_t done,
                     int64_t total); /* called by any thread, one at a time, as series
                                                                 are searched at the end; NULL: not */
    void (*marked)(void *ctx, int64_t done,
                   int64_t total); /* likewise, as pulses are marked after all that; NULL: not */
};

/* Sets size and all fields to their defaults, those that a description of "size" bytes has. */
void psr_pipeline_set_defaults(struct psr_pipeline_desc *desc, size_t size);
#define psr_pipeline_defaults(desc) psr_pipeline_set_defaults((desc), sizeof *(desc))

/* Opens the input and creates the outputs under temporary names.  *out is NULL on error.
 * Status: PSR_EINVAL naming field, value and limit; those of the modules it uses */
PSR_MUST_CHECK psr_status psr_pipeline_create(psr_pipeline **out,
                                              const struct psr_pipeline_desc *desc, psr_err *err);

/* Processes the whole input, or the part that numout requires.
 * Status: PSR_ESTOPPED if should_stop returned true; those of the modules it uses.  After an error
 *         the pipeline can only be described and destroyed. */
PSR_MUST_CHECK psr_status psr_pipeline_run(psr_pipeline *p, psr_err *err);

/* Creates the pipelines of n beams as psr_pipeline_create does, each of which makes what it makes alone.
 * With algo PSR_DEDISP_TREE they share a psr_dedisp_beams if they have the same channels, kept channels and
 * trials, integers of 16 bits at most, DMs that rise within each line, lines whose downsamp are different,
 * each a multiple of the one before, nhalve and nfine 0, no device but one, the same barycentric velocity (nobary, or
 * one position and start), and memory for all; otherwise each has plans of its own.  Each mem_bytes is that
 * pipeline's part of the memory (nshare).
 * Given:    desc [n]   each borrowed as by psr_pipeline_create
 * Returned: out [n], all NULL on error
 * Status:   as psr_pipeline_create, of the first that fails */
PSR_MUST_CHECK psr_status psr_pipeline_create_beams(psr_pipeline **out,
                                                    const struct psr_pipeline_desc *const *desc,
                                                    size_t n, psr_err *err);

/* Processes the inputs of n pipelines, a block of each in turn.  Each makes what it makes alone.
 * Status: as psr_pipeline_run, of the first that fails; after an error all can only be described and destroyed */
PSR_MUST_CHECK psr_status psr_pipeline_run_beams(psr_pipeline *const *p, size_t n, psr_err *err);

/* Processes the next spectra, any number, in a pipeline without input files: [nsamp][nchan] packed
 * as in desc.obs, each spectrum starting on a byte boundary.
 * Status: as psr_pipeline_run */
PSR_MUST_CHECK psr_status psr_pipeline_execute(psr_pipeline *p, const void *spectra, size_t nsamp,
                                               psr_err *err);

/* Ends the input, completes the outputs and renames them to their final names, all or none.
 * Status: PSR_EINVAL (no sample is complete), those of the sinks */
PSR_MUST_CHECK psr_status psr_pipeline_finish(psr_pipeline *p, psr_err *err);

/* Frees the pipeline; NULL is allowed. */
void psr_pipeline_destroy(psr_pipeline *p);

/* --- state and statistics --------------------------------------------------------------------- */

struct psr_pipeline_line {
    size_t first, ndm; /* trials [first, first + ndm) */
    int64_t downsamp;
    const struct psr_dedisp_info *plan; /* NULL: the line is not dedispersed */
    size_t maxshift;
    bool resident;        /* series stay on the devices that computed them */
    int64_t nout, nleast; /* samples of the longest and of the shortest series so far */
    bool moved;           /* barycentred, with this many bins added and removed */
    int64_t added, removed;
};

/* What became of the spectra around pulses. */
struct psr_dump_counts {
    int64_t npulse; /* pulses for which files were begun */
    int64_t nfile;  /* files that are complete: pulses may share one */
    int64_t nlate;  /* pulses whose first spectra had left the ring */
    int64_t nbusy;  /* pulses that came while too many files were being written */
    int64_t
        nslow; /* files that were given up because the ring overwrote what was not written yet */
    int64_t nfailed; /* files that could not be written */
};

struct psr_pipeline_report {
    size_t size;               /* sizeof the struct */
    const char *input;         /* its name */
    const struct psr_obs *obs; /* of the input */
    size_t ndm;                /* trials, without those skipped by resume; 0: nothing to do */
    const double *dm;          /* [ndm] */
    size_t nline;
    const struct psr_pipeline_line *const
        *line; /* [nline] valid until the next report, as is dumps */
    int nthread;
    int64_t nread;    /* spectra so far */
    size_t row_bytes; /* bytes per spectrum */
    bool cleaned;
    int64_t clipped; /* spectra so far; with clean_auto, masked as sparks */
    double setup_s, run_s;
    double read_s, clean_s, dedisperse_s, write_s, search_s; /* of the run */
    const struct psr_dump_counts *dumps;                     /* NULL: none are kept */
    size_t npart,
        npart_series; /* parts of the band that are searched, too; and their series in all */
    size_t nsharing;  /* pipelines that share one plan of dedispersion, whose lines above have the
                            bytes of this one alone; 0: it has plans of its own */
    double shared_bytes; /* of that plan, for all */
    double voverc;       /* mean velocity of the telescope away from the source over c; 0: not
                            barycentred */
};

/* Fills a report of "size" bytes.  Waits until running work is complete. */
void psr_pipeline_describe_sized(psr_pipeline *p, struct psr_pipeline_report *report, size_t size);
#define psr_pipeline_describe(p, report)                                                           \
    psr_pipeline_describe_sized((p), (report), sizeof *(report))

/* Result of a sink after the pipeline has finished, as sink.h defines it for the sink of that name;
 * valid as long as the pipeline.  NULL: none. */
const void *psr_pipeline_result(const psr_pipeline *p, const char *sink);

PSR_API_END

#endif
