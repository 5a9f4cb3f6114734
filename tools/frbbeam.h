/* frbbeam.h: the pieces of frbbeam: its command line, its setup, its scales, its outputs. */
#ifndef PSR_TOOLS_FRBBEAM_H
#define PSR_TOOLS_FRBBEAM_H

#include "cli.h"
#include "errand.h"
#include "run.h"
#include <psrkit/beam.h>
#include <psrkit/dada.h>
#include <psrkit/outfile.h>
#include <psrkit/pointing.h>

struct frbbeam_options {
    const char *array, *weights, *site;
    /* beams */
    const char *beams;
    bool grid;
    int64_t beam;     /* the only one wanted; -1: all */
    double cadence_s; /* of beams that track */
    /* sums */
    int64_t tds; /* 0: about 1 ms */
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

enum frbbeam_stage { STAGE_READ, STAGE_BEAM, STAGE_WRITE, NSTAGES };

struct frbbeam_job {
    struct frbbeam_options opt;
    struct cli tool;
    char **path; /* [npath] */
    size_t npath;
    psr_err err; /* of the step that failed */

    psr_voltages *voltages;
    struct psr_array array;
    double *freq_mhz; /* [nchan] */
    size_t nfreq, tds;
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
    float *offset, *gain; /* [nfreq] of quantised output */
    struct frbbeam_moments *moments; /* while they are measured */

    size_t sample_bytes, block; /* block: samples */
    size_t stride;              /* rows of a beam in out */
    int64_t nread, nrow;        /* samples in, rows out so far */

    /* While one buffer is worked on the other is read, or written. */
    uint8_t *in[2];
    void *out[2];         /* [nbeam][stride] rows */
    int reading, forming; /* which of in is being read, which of out is being filled */
    size_t in_n;          /* samples that were read */
    size_t out_n;         /* rows that are being written */
    struct errand read, write;
    struct run_progress progress;

    psr_outfile **file; /* [nbeam] */
    double stage_s[NSTAGES];
};

/* Opens and creates everything but output files.  On error j->err tells, and frbbeam_release cleans
 * up. */
psr_status frbbeam_prepare(struct frbbeam_job *j);
void frbbeam_release(struct frbbeam_job *j);

/* Date of sample t of the input. */
struct psr_mjd frbbeam_date(const struct frbbeam_job *j, int64_t t);

/* Fills theta_ns and theta_ew for a date. */
psr_status frbbeam_aim(struct frbbeam_job *j, struct psr_mjd now);

/* Forms the beams of samples j->nread ... of the stream, nt of them at in, pointing tracking beams
 * anew when it is time, and gives each stretch of rows, in j->out[j->forming], to use. */
psr_status frbbeam_form(struct frbbeam_job *j, const uint8_t *in, size_t nt,
                        psr_status (*use)(struct frbbeam_job *j, size_t nrow));

/* Scales of quantised output, from -scale or measured: begin tells how many samples are to be
 * formed with add for their use (0: none), and end hands the scales to the plan, which then begins
 * anew. */
psr_status frbbeam_scales_begin(struct frbbeam_job *j, size_t *nsamp);
psr_status frbbeam_scales_add(struct frbbeam_job *j, size_t nrow);
psr_status frbbeam_scales_end(struct frbbeam_job *j);
void frbbeam_scales_release(struct frbbeam_job *j);
psr_status frbbeam_write_scales(struct frbbeam_job *j, psr_outfile *f);

/* Filterbanks: one a beam, which take their names when all are whole. */
psr_status frbbeam_output_open(struct frbbeam_job *j);
psr_status frbbeam_output_write(struct frbbeam_job *j, const void *out, size_t nrow, psr_err *err);
psr_status frbbeam_output_close(struct frbbeam_job *j);

#endif
