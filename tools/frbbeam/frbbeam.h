/* frbbeam.h: the pieces of frbbeam: its command line, its setup, its sums, its scales, its
 * outputs. */
#ifndef PSR_TOOLS_FRBBEAM_H
#define PSR_TOOLS_FRBBEAM_H

#include "tools/common/cli.h"
#include "tools/common/errand.h"
#include "tools/common/run.h"
#include <psrkit/beam.h>
#include <psrkit/dada.h>
#include <psrkit/output_group.h>
#include <psrkit/pointing.h>

struct frbbeam_options {
    const char *array, *weights, *site;
    /* beams */
    const char *beams;
    bool grid;
    int64_t beam;     /* the only one wanted; -1: all */
    double cadence_s; /* of beams that track */
    /* sums */
    int64_t tds;          /* 0: about 1 ms */
    const char *tds_file; /* NULL: tds in all channels */
    /* output */
    const char *root;
    int64_t nbits;
    const char *scale;
    /* run */
    const char *device;
    int64_t ncpus; /* 0: all */
    int64_t mem_bytes;
    bool quiet, verbose;
};

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int frbbeam_options_parse(struct frbbeam_options *o, struct cli *tool, int argc, char **argv);

/* Where the time goes; reading and writing are what was waited for them. */
enum frbbeam_stage { STAGE_START, STAGE_READ, STAGE_BEAM, STAGE_WRITE, STAGE_END, NSTAGES };

enum { FRBBEAM_TURNS = 3, FRBBEAM_SLOTS = 4 };

/* Blocks that are read ahead, numbered from 0; the i-th is in in[i % FRBBEAM_SLOTS]. */
struct frbbeam_ring {
    size_t nt[FRBBEAM_SLOTS]; /* samples of a block that is there, 0: it is not yet */
    size_t first;             /* of those that the errand reads */
    size_t next, freed;       /* to be formed; whose memory is needed still */
    bool stop, over;          /* read no more; nothing is read any more */
    bool many;                /* many threads read */
};

/* What is to be done with n rows of each beam, [nbeam][stride]. */
struct frbbeam_job;
struct frbbeam_task {
    psr_status (*step)(struct frbbeam_job *j, const struct frbbeam_task *t, size_t b, psr_err *err);
    char *rows;
    size_t stride, n;
};

/* The task under way: beams that nobody has taken yet, and how many are not done. */
struct frbbeam_crew {
    struct frbbeam_task task;
    size_t next, end, left;
    psr_status status; /* of a step that failed */
    psr_err err;
};

struct frbbeam_job {
    struct frbbeam_options opt;
    struct cli tool;
    char **path; /* [npath] */
    size_t npath;
    psr_err err; /* of the step that failed */

    psr_voltages *voltages;
    struct psr_array array;
    double *freq_mhz; /* [nfreq] */
    size_t nfreq;
    size_t *sum;    /* [nfreq] samples in a sum of each channel */
    size_t tds;     /* the shortest of them: samples in a row of output */
    size_t unit;    /* samples in which all channels' sums end together */
    double tsamp_s; /* of the voltages */
    struct psr_aim_frame frame;
    struct psr_aims aims; /* beams of -beams that are wanted; none with -grid */
    size_t first_beam;    /* number of the first one wanted, and of how many there are in all */
    size_t nbeam_all;
    double *theta_ns, *theta_ew; /* [nfreq][nbeam] as last pointed */

    psr_beam *plan;
    const char *backend;
    size_t nbeam;
    int nthread;
    size_t n_ew;          /* beams of a row where they are a product; 0 where they are none */
    int64_t mem_bytes;    /* bound on memory */
    float *offset, *gain; /* [nfreq] of quantised output */

    /* While scales are measured: rows of floats, [nbeam][kept_most]. */
    bool measures;
    float *kept;
    size_t kept_most, kept_n;
    size_t kept_begun; /* rows to keep that are begun, or there */

    size_t sample_bytes, block; /* block: samples */
    int64_t nread, nrow;        /* samples in, rows out so far */

    /* Voltages come and rows go by threads of their own. */
    pthread_mutex_t lock; /* of the ring and the crew */
    pthread_cond_t changed;
    void *in[FRBBEAM_SLOTS];
    struct frbbeam_ring ring;
    struct frbbeam_crew crew;
    struct errand read, write;

    /* Rows of several blocks are gathered in a buffer, [nbeam][stride], before it is kept or
     * written.  While that happens the next one fills, and rows for the one after may be begun. */
    void *out[FRBBEAM_TURNS];
    size_t stride;        /* rows of a beam in out: */
    size_t stride_floats; /* while scales are measured, a block's */
    size_t stride_rows;   /* else */
    bool gathers;         /* else each block's rows go on by themselves */
    unsigned nout;        /* buffer that rows are begun in, counted on */
    size_t begun;         /* rows begun in it */
    size_t came;          /* rows that have come where the last ones did */
    size_t coming;        /* of the last block begun */
    unsigned coming_to;   /* and where to */
    struct run_progress progress;

    psr_outfile **file; /* [nbeam]; NULL once they are the group's */
    psr_output_group *group;
    double stage_s[NSTAGES];
};

/* Opens and creates everything but output files.  On error j->err tells, and frbbeam_release cleans
 * up. */
psr_status frbbeam_prepare(struct frbbeam_job *j);
void frbbeam_release(struct frbbeam_job *j);

/* Reading ahead, to the end of the input or until it is told to stop.  next gives a block of *n
 * samples, 0 at the end or when a signal has come; release says that all but the last of them are
 * not needed any more. */
void frbbeam_read_start(struct frbbeam_job *j);
psr_status frbbeam_read_next(struct frbbeam_job *j, const uint8_t **in, size_t *n);
void frbbeam_read_release(struct frbbeam_job *j);
void frbbeam_read_stop(struct frbbeam_job *j);

/* Has a task done by whoever has time, the caller of wait among them; one at a time.  help does
 * some of it, and says whether there was any to do.  end takes back what nobody has begun. */
void frbbeam_crew_start(struct frbbeam_job *j, const struct frbbeam_task *t);
bool frbbeam_crew_help(struct frbbeam_job *j);
psr_status frbbeam_crew_wait(struct frbbeam_job *j);
void frbbeam_crew_end(struct frbbeam_job *j);

/* What -v says: before the first sample and after the last. */
void frbbeam_report_plan(const struct frbbeam_job *j);
void frbbeam_report_account(const struct frbbeam_job *j);

/* Samples in a sum of each channel, from the command line or a file by frequency. */
psr_status frbbeam_sums_read(struct frbbeam_job *j);

/* Rows that n more samples complete in all channels. */
size_t frbbeam_sums_rows(const struct frbbeam_job *j, size_t n);

/* Repeats the sums of channels with longer ones over nrow rows of a beam, so that each stands in all
 * rows of its time; floats that are given to the user become means over those. */
void frbbeam_sums_spread(const struct frbbeam_job *j, void *rows, size_t nrow);

/* Directions: choose reads or makes the list and takes out what is wanted; aim fills theta_ns and
 * theta_ew for a date. */
psr_status frbbeam_beams_choose(struct frbbeam_job *j);
psr_status frbbeam_beams_aim(struct frbbeam_job *j, struct psr_mjd now);

/* What the file of beam b says of it. */
void frbbeam_describe_beam(const struct frbbeam_job *j, size_t b, struct psr_obs *obs);

/* Date of sample t of the input. */
struct psr_mjd frbbeam_date(const struct frbbeam_job *j, int64_t t);

/* Threads that share beams: one that has nothing to do is still waited for, and cores are busy. */
int frbbeam_threads(const struct frbbeam_job *j);

/* Scales of quantised output.  begin takes those of -scale, or prepares to measure them: then n rows
 * go to keep, as floats, until there are kept_most of them or the input ends, and end hands the
 * scales to the plan and starts to write what was kept. */
psr_status frbbeam_scales_begin(struct frbbeam_job *j);
void frbbeam_scales_keep(struct frbbeam_job *j, char *rows, size_t n);
psr_status frbbeam_scales_end(struct frbbeam_job *j);
psr_status frbbeam_write_scales(struct frbbeam_job *j, psr_outfile *f);

/* Filterbanks: one a beam, which take their names when all are whole. */
psr_status frbbeam_output_open(struct frbbeam_job *j, psr_err *err);
psr_status frbbeam_output_write(struct frbbeam_job *j, const struct frbbeam_task *t, size_t b,
                                psr_err *err);
psr_status frbbeam_output_close(struct frbbeam_job *j);
void frbbeam_output_abort(struct frbbeam_job *j); /* removes what has no name yet */

#endif
