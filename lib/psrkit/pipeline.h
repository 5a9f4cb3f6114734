/* pipeline.h: from telescope data to whatever is made of its dedispersed series, in one pass.
 *
 *   source -> clean -> dedisperse (all lines of a plan) -> restore what was masked -> barycentre -> sinks
 *
 * A pipeline is what gpudedisp runs, for programs of their own:
 *
 *   struct psr_pipeline_desc d;
 *   psr_pipeline_defaults(&d);
 *   d.path = path, d.npath = 1, d.ndm = 100, d.root = "out", d.series.on = true;
 *   st = psr_pipeline_create(&p, &d, &err);    all that can be refused is refused here
 *   st = psr_pipeline_run(p, &err);            until the input ends
 *   st = psr_pipeline_finish(p, &err);         the files take their names
 *   psr_pipeline_destroy(p);
 *
 * A pipeline that is destroyed before it has finished leaves nothing.  One pipeline, one caller's
 * thread. */
#ifndef PSRKIT_PIPELINE_H
#define PSRKIT_PIPELINE_H

#include <psrkit/dedisp.h>
#include <psrkit/sink.h>
#include <psrkit/source.h>

PSR_API_BEGIN

typedef struct psr_pipeline psr_pipeline;

/* Upper limits of a line of trials; and those of prepsubband. */
enum {
    PSR_PIPELINE_NDM = 1000000,
    PSR_PIPELINE_DOWNSAMP = 65536,
    PSR_PRESTO_NDM = 10000,
    PSR_PRESTO_DOWNSAMP = 128,
    PSR_PRESTO_NSUB = 4096,
};

/* To be filled by psr_pipeline_defaults first.  Everything is borrowed, and lives as long as the
 * pipeline. */
struct psr_pipeline_desc {
    size_t size; /* of this struct as the caller knows it: fields may be added at its end */

    /* Input: files, or spectra that psr_pipeline_step is given. */
    const char *const *path; /* [npath] as in psr_source_desc */
    size_t npath;
    const struct psr_obs *obs; /* npath 0: what the spectra are */
    enum psr_input input;
    int64_t if_choice; /* as in psr_source_desc, as are the next five; default -1 */
    bool no_weights, no_scales, no_offsets, invert, runavg;
    int64_t offset; /* spectra left out at the start */
    double start;   /* or this fraction of a file */

    /* Cleaning. */
    const char *mask;       /* rfifind's, or NULL */
    const char *ignorechan; /* channels, as psr_ignore_channels takes them, or NULL */
    double clip_sigma;      /* default 6; 0: no clipping */
    bool noclip, zerodm;    /* no clipping either */

    /* Trials: of a plan, of a file, of an array, or of a grid. */
    const char *plan;    /* file of psr_planfile_read, or NULL */
    const char *dms;     /* file of psr_dms_read, or NULL */
    const double *dm;    /* [ndm] pc cm^-3, or NULL */
    double lodm, dmstep; /* defaults 0, 1 */
    int64_t ndm;         /* default 10 */
    int64_t downsamp;    /* default 1; without a plan, as is nsub */
    int64_t nsub;        /* sub-bands; 0: not given */
    double dmconst;      /* MHz^2 s; default PRESTO's, see delays.h */

    /* Method. */
    enum psr_dedisp_algo algo; /* PSR_DEDISP_SUBBAND for lines with nsub */
    int64_t tol;               /* as in psr_dedisp_desc */
    bool presto;               /* prepsubband's own numbers, losses, padding and names */

    /* Barycentring. */
    bool nobary;
    const char *position, *site; /* as psr_position_parse and psr_site_parse take them; NULL: the
                                    header tells */
    const char *ephem;           /* what was asked for and is not used, or NULL */

    /* Output. */
    const char
        *root; /* what names begin with; "-" with one series of .tim, or with pulses alone, is
                             standard output; NULL: no files are wanted */
    int64_t dm_decimals; /* in names, 2 to 4; default 2 */
    bool sametail;       /* all series of a line end where that of the highest DM does, and not each
                            with its own last sample */
    int64_t numout;      /* samples of each series; 0: all */
    const char *also;    /* name of a file that the caller will write, which may be no input; NULL:
                             none */
    struct psr_sink_series_desc series;
    struct psr_sink_subbands_desc subbands;
    struct psr_sink_checksums_desc checksums;
    struct psr_sink_pulses_desc pulses;
    const struct psr_sink *sink; /* [nsink] more of them */
    size_t nsink;

    /* Running. */
    const char *device; /* as psr_devices_choose takes it; default "auto" */
    int64_t ncpus;      /* threads; 0: all cores */
    int64_t mem_bytes;  /* bound on memory; 0: a quarter of the machine */
    bool
        resume; /* trials whose files an earlier run with the same input and description has completed
                    stay as they are */
    const char *program; /* that headers name; default "psrkit" */
    struct psr_notes notes;
    bool (*should_stop)(void *ctx);             /* asked between blocks; NULL: never */
    void (*progress)(void *ctx, int64_t nread); /* told after every block; NULL: no one */
    void *ctx;                                  /* of both */
};

/* Sets size and all fields to their defaults. */
void psr_pipeline_defaults(struct psr_pipeline_desc *desc);

/* Opens the input and creates everything but the outputs' final names.  *out is NULL on error.
 * Status: PSR_EINVAL naming field, value and limit; those of what it is made of. */
PSR_MUST_CHECK psr_status psr_pipeline_create(psr_pipeline **out,
                                              const struct psr_pipeline_desc *desc, psr_err *err);

/* Takes the whole input through, or as much as is asked for.
 * Status: PSR_ESTOPPED where should_stop said so; those of what it is made of.  After an error the
 *         pipeline can only be described and destroyed. */
PSR_MUST_CHECK psr_status psr_pipeline_run(psr_pipeline *p, psr_err *err);

/* Takes the caller's next spectra, any number, of a pipeline without files: [nsamp][nchan] packed as
 * desc.obs says, each from a byte boundary.  Status: as psr_pipeline_run. */
PSR_MUST_CHECK psr_status psr_pipeline_step(psr_pipeline *p, const void *spectra, size_t nsamp,
                                            psr_err *err);

/* The input has ended: completes the outputs, which take their names here, all or none.
 * Status: PSR_EINVAL (no sample is complete), those of the sinks. */
PSR_MUST_CHECK psr_status psr_pipeline_finish(psr_pipeline *p, psr_err *err);

/* NULL is fine. */
void psr_pipeline_destroy(psr_pipeline *p);

/* --- what it does and did --------------------------------------------------------------------- */

struct psr_pipeline_line {
    size_t first, ndm; /* trials [first, first + ndm) */
    int64_t downsamp;
    bool dedispersed; /* there is a plan, and it is this */
    struct psr_dedisp_info plan;
    size_t maxshift;
    bool resident;        /* series stay on the devices that made them */
    int64_t nout, nleast; /* samples of the longest series so far, and of the shortest */
    bool moved;           /* barycentred, with so many bins */
    int64_t added, removed;
};

struct psr_pipeline_report {
    const char *input;         /* its name */
    const struct psr_obs *obs; /* of it */
    size_t ndm;                /* trials, without those that were there already; 0: nothing is to be
                                  done */
    const double *dm;          /* [ndm] */
    size_t nline;
    const struct psr_pipeline_line *line; /* [nline] valid until the next report */
    int nthread;
    int64_t nread;    /* spectra so far */
    size_t row_bytes; /* of a spectrum */
    bool cleaned;
    int64_t clipped; /* spectra so far */
    double setup_s, run_s;
    double read_s, clean_s, dedisperse_s, write_s, search_s; /* of the run */
};

/* Waits for work that is under way. */
void psr_pipeline_describe(psr_pipeline *p, struct psr_pipeline_report *report);

/* What came of a sink once the pipeline has finished, as sink.h says of it by its name; lives as long
 * as the pipeline.  NULL: there is none. */
const void *psr_pipeline_result(const psr_pipeline *p, const char *sink);

PSR_API_END

#endif
