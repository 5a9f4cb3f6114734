/* gpudedisp.h: the pieces of gpudedisp: its setup, its loop, its events. */
#ifndef PSR_TOOLS_GPUDEDISP_H
#define PSR_TOOLS_GPUDEDISP_H

#include "options.h"
#include "subbands.h"
#include "tools/common/gnuplot.h"
#include <psrkit/barycentre.h>
#include <psrkit/compat.h>
#include <psrkit/fanout.h>
#include <psrkit/mask.h>
#include <psrkit/patch.h>
#include <psrkit/planfile.h>
#include <psrkit/resample.h>
#include <psrkit/series.h>
#include <psrkit/singlepulse.h>
#include <psrkit/source.h>

/* PRESTO reads lines of an .inf file into 100 bytes, four of them an indent. */
enum { GPUDEDISP_NOTE = 90 };

/* Spectra as they were read. */
struct gpudedisp_block {
    void *data; /* [n][nchan] packed; the caller may change it */
    size_t n;   /* 0 at the end of the input */
    struct psr_span *gap;
    size_t ngap; /* stretches of the input so far that hold no data */
    psr_status status;
    psr_err err;
};

enum gpudedisp_stage {
    STAGE_READ,
    STAGE_CLEAN,
    STAGE_DEDISPERSE,
    STAGE_WRITE,
    STAGE_SEARCH,
    NSTAGES
};

struct gpudedisp_bary {
    struct psr_obs obs; /* the observation as series tell it; borrows from the source's */
    double voverc;      /* 0 without barycentring */
    struct psr_bary_clock clock;
    struct psr_mjd *epoch; /* [ndm] of each series; NULL without barycentring */
};

/* A line of a dedispersion plan: trials that follow each other and share a sampling.  A run of
 * -lodm, -dmstep, -numdms or -dms is a plan of one line. */
struct gpudedisp_line {
    size_t first, ndm; /* trials [first, first + ndm) of the job */
    int64_t downsamp, nsub;
    const psr_dedisp *plan;       /* of the job's fan-out */
    psr_patch *patch;             /* NULL where cleaning leaves nothing to add */
    psr_resample *resample;       /* NULL without barycentring */
    psr_singlepulse *pulses;      /* NULL without -singlepulse */
    int64_t gaps_told, lost_told; /* spectra up to which the search knows of gaps, of masks */
    size_t stride;                /* samples of a trial in the job's out */
    int64_t most;                 /* samples of a series as dedispersed, or -1: no bound */
    int64_t ndedispersed;         /* of them so far */
    char note[GPUDEDISP_NOTE];    /* for the .inf files: what made the series */
    int64_t nout;                 /* samples out so far */
    bool resident;                /* series stay on devices, where they are searched */
};

struct gpudedisp_job {
    struct gpudedisp_options opt;
    struct cli tool;
    char **path; /* [npath] */
    size_t npath;
    psr_err err; /* of the step that failed */

    const char *plan_name;        /* for messages */
    struct psr_planfile planfile; /* empty without -plan */
    psr_source *source;
    double *dm; /* [ndm] of all lines */
    size_t ndm;
    struct gpudedisp_line *line; /* [nline] */
    size_t nline;
    struct gpudedisp_bary bary;
    unsigned char *keep;  /* [nchan] */
    struct psr_mask mask; /* empty without -mask */
    double dmconst;
    psr_clean *clean; /* NULL where nothing is to be cleaned */
    psr_fanout *fan;
    psr_series *series;            /* of all lines; NULL with -nowrite */
    psr_output_group *group;       /* all files but the plot */
    struct gpudedisp_found *found; /* what the plot will show */
    struct gnuplot plot;

    uint64_t input_digest;         /* of the input files */
    struct timespec input_changed; /* when the youngest of them was written */
    double *tsamp_s;               /* [ndm] of each series */
    const char **note;             /* [ndm] of each series: its line's */

    int nthread;
    int device[GPUDEDISP_DEVICES]; /* that -device names */
    struct gpudedisp_reader *reader;
    const struct gpudedisp_block *now; /* the block at work */
    void *in;                          /* its data, [block][nchan] packed */
    void *cleaned;      /* the same after zero-DM, which makes floats; NULL: cleaned in place */
    float *out;         /* [ndm][stride] of the line at work */
    size_t block;       /* spectra */
    unsigned long *crc; /* [ndm] CRC-32 of each series so far */
    int64_t nread;      /* spectra so far */
    double start_s;     /* when the run began, when everything was ready */
    double ready_s;
    double stage_s[NSTAGES];
};

/* The steps that both ways of working share; on error j->err tells. */
PSR_MUST_CHECK psr_status gpudedisp_make_trials(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_open_source(struct gpudedisp_job *j);
/* The first input, as messages call it. */
const char *gpudedisp_input_name(const struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_choose_channels(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_read_mask(struct gpudedisp_job *j);

/* The lines and trials of -plan; and whether it was made for a band like the source's. */
PSR_MUST_CHECK psr_status gpudedisp_read_plan(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_check_band(struct gpudedisp_job *j);

/* Refuses outputs that would be written over a file that is read, and names that are too long. */
PSR_MUST_CHECK psr_status gpudedisp_check_names(struct gpudedisp_job *j);

/* Keeps other runs from making the same files; and, once the plans are there, refuses series that the
 * disk has no room for. */
PSR_MUST_CHECK psr_status gpudedisp_claim_outputs(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_check_room(struct gpudedisp_job *j);

/* Says of flags that do nothing that they do nothing. */
void gpudedisp_remark_flags(struct gpudedisp_job *j);

/* The whole of -sub in the default mode, in place of prepare, the loop and the end. */
PSR_MUST_CHECK psr_status gpudedisp_sub(struct gpudedisp_job *j);

/* Sub-bands that -sub writes. */
size_t gpudedisp_count_subbands(const struct gpudedisp_job *j);

/* Starts the files of -sub. */
PSR_MUST_CHECK psr_status gpudedisp_create_subbands(struct gpudedisp_job *j, size_t nsub,
                                                    enum subbands_rule rule,
                                                    struct subbands **bands);

/* Describes sub-bands of obs and names their files; bands is gone whatever the status. */
PSR_MUST_CHECK psr_status gpudedisp_finish_subbands(struct gpudedisp_job *j, struct subbands *bands,
                                                    const struct psr_obs *obs);

/* The whole of -compat presto, likewise; the second with -plan, a line after the other. */
PSR_MUST_CHECK psr_status gpudedisp_compat(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_compat_plan(struct gpudedisp_job *j);

/* Spectra that PRESTO skips for -start, of an input of nsamp. */
PSR_MUST_CHECK psr_status gpudedisp_compat_skip(struct gpudedisp_job *j, int64_t nsamp,
                                                int64_t *skip);

/* Cleaning in the default way of working: its plans; the spectra in j->in, or with nread 0 those
 * held back, cleaned: *n at *block; what replaced samples add to the n samples of a line in j->out;
 * and what its search must know of stretches without data. */
PSR_MUST_CHECK psr_status gpudedisp_create_clean(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_create_patch(struct gpudedisp_job *j, struct gpudedisp_line *l);
PSR_MUST_CHECK psr_status gpudedisp_clean_block(struct gpudedisp_job *j, size_t nread,
                                                const void **block, size_t *n);
PSR_MUST_CHECK psr_status gpudedisp_patch_series(struct gpudedisp_job *j, struct gpudedisp_line *l,
                                                 size_t n);
PSR_MUST_CHECK psr_status gpudedisp_tell_search(struct gpudedisp_job *j, struct gpudedisp_line *l);

/* As patch_series, for slabs of series on devices, and once for each push. */
PSR_MUST_CHECK psr_status gpudedisp_patch_slabs(struct gpudedisp_job *j, struct gpudedisp_line *l,
                                                const struct psr_slab *slab, size_t nslab, size_t n,
                                                bool again);

/* Blocks of the input: in memory that devices copy from, and read ahead where the input is a file;
 * or read as they are asked for.  A block is the caller's until the next is asked for; after an
 * empty one there is none.  The source is the reader's until it is stopped, but for
 * psr_source_obs. */
PSR_MUST_CHECK psr_status gpudedisp_reader_start(struct gpudedisp_job *j, bool for_device);
PSR_MUST_CHECK psr_status gpudedisp_reader_next(struct gpudedisp_job *j,
                                                struct gpudedisp_block **out);
double gpudedisp_reader_seconds(const struct gpudedisp_job *j);
void gpudedisp_reader_stop(struct gpudedisp_job *j); /* NULL is fine */

/* What -device says: "all" is every GPU, numbers are those GPUs, other words are the names of
 * backends. */
PSR_MUST_CHECK psr_status gpudedisp_choose_devices(struct gpudedisp_job *j,
                                                   struct psr_dedisp_desc *d);

/* Whether a line is dedispersed on devices; and, once its search and the series are there, whether
 * series stay there, as they may where nobody but the search looks at them. */
bool gpudedisp_is_on_device(const struct gpudedisp_line *l);
PSR_MUST_CHECK psr_status gpudedisp_choose_place(struct gpudedisp_job *j, struct gpudedisp_line *l);

/* What -mem leaves to dedispersion beside cleaning; a failure to do with that, in words of -mem; and
 * the spectra per block, whole blocks of cleaning, which is done in place but for what becomes
 * floats, once the plans are there. */
PSR_MUST_CHECK psr_status gpudedisp_share_memory(struct gpudedisp_job *j, int64_t *mem_bytes);
PSR_MUST_CHECK psr_status gpudedisp_fail_memory(struct gpudedisp_job *j);
size_t gpudedisp_choose_block(const struct gpudedisp_job *j);

/* Opens and creates everything but files of events.  On error j->err tells, and gpudedisp_release
 * cleans up. */
PSR_MUST_CHECK psr_status gpudedisp_prepare(struct gpudedisp_job *j);

/* The input may be shorter than the sweep of a line's highest DM, and then no sample is ever
 * complete.  Status: PSR_EINVAL where nsamp spectra are too few. */
PSR_MUST_CHECK psr_status gpudedisp_check_sweep(struct gpudedisp_job *j,
                                                const struct gpudedisp_line *l, int64_t nsamp);

/* The search of a line with -singlepulse; its plan is there. */
PSR_MUST_CHECK psr_status gpudedisp_create_search(struct gpudedisp_job *j,
                                                  struct gpudedisp_line *l);

/* Steps of gpudedisp_prepare that a resumed run takes twice. */
PSR_MUST_CHECK psr_status gpudedisp_create_plans(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_prepare_bary(struct gpudedisp_job *j);

/* What all series of the job have in common: all but their sampling times and notes. */
struct psr_series_desc gpudedisp_common_series(const struct gpudedisp_job *j,
                                               enum psr_series_format format);

/* Describes the series of all lines in what the job owns. */
PSR_MUST_CHECK psr_status gpudedisp_describe_series(struct gpudedisp_job *j,
                                                    struct psr_series_desc *desc);

/* Whether each trial of a line is what it is whatever the others are. */
bool gpudedisp_line_is_independent(const struct gpudedisp_job *j, const struct gpudedisp_line *l);

/* Sets the lines' notes: version, algorithm, the backend of floats, and a digest of the input and
 * of all options that decide on samples. */
PSR_MUST_CHECK psr_status gpudedisp_take_notes(struct gpudedisp_job *j);

/* Makes notes that no other run will match, where the input was changed since they were made. */
void gpudedisp_check_notes(struct gpudedisp_job *j);

/* With -resume, drops the trials whose files are there already; maybe all, and then ndm is 0. */
PSR_MUST_CHECK psr_status gpudedisp_resume(struct gpudedisp_job *j);

/* Takes the spectra that the fan-out was given last through every further stage of a line. */
PSR_MUST_CHECK psr_status gpudedisp_run_line(struct gpudedisp_job *j, struct gpudedisp_line *l);

/* Sampling time of a line's series. */
double gpudedisp_line_tsamp_s(const struct gpudedisp_job *j, const struct gpudedisp_line *l);

/* The line has all the samples that were asked for. */
bool gpudedisp_line_is_full(const struct gpudedisp_job *j, const struct gpudedisp_line *l);

/* CRC-32 of the series are to be told. */
bool gpudedisp_wants_sums(const struct gpudedisp_job *j);

/* Adds the time since *since_s to a stage and moves *since_s to now. */
void gpudedisp_charge(struct gpudedisp_job *j, enum gpudedisp_stage stage, double *since_s);

void gpudedisp_release(struct gpudedisp_job *j);

/* Decides on barycentring and fills j->bary and the lines' resample; to be called before there is a
 * plan.
 * Given:  obs   of the input; presto_block   0, or as in resample.h; then a header without a
 *               position is barycentred to 0, 0 as PRESTO does */
PSR_MUST_CHECK psr_status gpudedisp_bary_prepare(struct gpudedisp_job *j, const struct psr_obs *obs,
                                                 size_t presto_block);

/* The most samples that n of a line can become. */
size_t gpudedisp_bary_room(const struct gpudedisp_line *l, size_t n);

/* Resamples the *n samples of each of the line's series in j->out, in place; the line's stride is
 * at least gpudedisp_bary_room of *n. */
PSR_MUST_CHECK psr_status gpudedisp_bary_block(struct gpudedisp_job *j, struct gpudedisp_line *l,
                                               size_t *n);

/* Moves a span of the input, in samples of the line, to where its search finds it; to be called
 * before gpudedisp_bary_block has taken samples that draw on it. */
PSR_MUST_CHECK psr_status gpudedisp_bary_span(struct gpudedisp_job *j, struct gpudedisp_line *l,
                                              struct psr_span *span);

/* One line on standard error. */
void gpudedisp_bary_account(const struct gpudedisp_job *j, const struct gpudedisp_line *l);

/* Writes ROOT_DMxx.singlepulse and ROOT.cand under temporary names; and gives the files their names
 * where st, that of what came since, is PSR_OK, or else removes all.  Then it draws the plot: one
 * that fails costs nothing but itself.  Returned by the second: st, or what failed. */
PSR_MUST_CHECK psr_status gpudedisp_write_events(struct gpudedisp_job *j);
PSR_MUST_CHECK psr_status gpudedisp_name_events(struct gpudedisp_job *j, psr_status st);

#endif
