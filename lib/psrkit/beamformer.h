/* beamformer.h: from voltages of a grid of dishes to a filterbank of each beam, in one pass.
 *
 *   files of voltages -> blocks -> beams (beam.h) -> rows, 4 or 8 bits or floats -> ROOT_beam0000.fil ...
 *
 * A beamformer is what frbbeam runs, for programs of their own:
 *
 *   struct psr_beamformer_desc d;
 *   psr_beamformer_defaults(&d);
 *   d.path = path, d.npath = 1, d.array = "chord.array", d.grid = true, d.root = "out";
 *   st = psr_beamformer_create(&p, &d, &err);    all that can be refused is refused here
 *   st = psr_beamformer_run(p, &err);            until the input ends
 *   st = psr_beamformer_finish(p, &err);         the files take their names
 *   psr_beamformer_destroy(p);
 *
 * A beamformer that is destroyed before it has finished leaves nothing.  One beamformer, one caller's
 * thread. */
#ifndef PSRKIT_BEAMFORMER_H
#define PSRKIT_BEAMFORMER_H

#include <psrkit/beam.h>

PSR_API_BEGIN

typedef struct psr_beamformer psr_beamformer;

/* To be filled by psr_beamformer_defaults first.  Everything is borrowed, and lives as long as the
 * beamformer.  Names of files: "-" is standard input, or standard output. */
struct psr_beamformer_desc {
    size_t size; /* of this struct as the caller knows it: fields may be added at its end */

    /* Input. */
    const char *const *path; /* [npath] files of voltages, as in psr_voltages_desc */
    size_t npath;
    const char *array;   /* file of psr_array_read */
    const char *site;    /* as psr_array_set_site takes it; NULL: the array file's */
    const char *weights; /* file of psr_gains_read; NULL: all 1 */

    /* Beams: of a list, or those of the half-integer grid. */
    const char *beams; /* file of directions, or NULL */
    bool grid;
    int64_t beam;     /* the only one wanted, from 0; default -1: all */
    double cadence_s; /* how often beams that track are pointed anew; default 1 */

    /* Sums. */
    int64_t tds;          /* samples of voltage in one of intensity; default 0: about 1 ms */
    const char *tds_file; /* rows "MHZ SAMPLES" instead; NULL: none */

    /* Output. */
    const char *root;  /* what names begin with; "-" with one beam is standard output */
    int64_t nbits;     /* 4, 8 (default) or 32: floats */
    const char *scale; /* file of scales of an earlier run; NULL: they are measured */

    /* Running. */
    const char *device; /* as psr_device_choose takes it; default "auto" */
    int64_t ncpus;      /* threads; 0: all cores */
    int64_t mem_bytes;  /* bound on memory; 0: a quarter of the machine */
    struct psr_notes notes;
    bool (*should_stop)(void *ctx);             /* asked often, by any thread; NULL: never */
    void (*progress)(void *ctx, int64_t nread); /* told after every block; NULL: no one */
    void *ctx;                                  /* of both */
};

/* Sets size and all fields to their defaults. */
void psr_beamformer_defaults(struct psr_beamformer_desc *desc);

/* Opens the input and creates everything but the outputs' final names.  *out is NULL on error.
 * Status: PSR_EINVAL naming field, value and limit; those of what it is made of. */
PSR_MUST_CHECK psr_status psr_beamformer_create(psr_beamformer **out,
                                                const struct psr_beamformer_desc *desc,
                                                psr_err *err);

/* Takes the whole input through.
 * Status: PSR_ESTOPPED where should_stop said so; PSR_EINVAL (no sum is complete); those of what it
 *         is made of.  After an error the beamformer can only be described and destroyed. */
PSR_MUST_CHECK psr_status psr_beamformer_run(psr_beamformer *p, psr_err *err);

/* Completes the files, which take their names here, all or none.
 * Status: those of psr_output_group_commit. */
PSR_MUST_CHECK psr_status psr_beamformer_finish(psr_beamformer *p, psr_err *err);

/* NULL is fine. */
void psr_beamformer_destroy(psr_beamformer *p);

/* What it does and did. */
struct psr_beamformer_report {
    const char *input; /* name of the first file */
    size_t nfreq;
    const double *freq_mhz; /* [nfreq] */
    size_t ndish, m, n;     /* dishes, and the grid's places along each axis */
    double tsamp_s;         /* of the voltages, as are the next two */
    int64_t nsamp;          /* -1: only the end of the input will tell */
    size_t sample_bytes;
    size_t nbeam;
    size_t shortest, longest; /* samples in a sum */
    struct psr_beam_info plan;
    int nthread;
    size_t block;        /* samples that are formed at once, at most */
    size_t kept;         /* rows of each beam that scales were measured on */
    int64_t nread, nrow; /* samples in, and rows of each beam out, so far */
    /* Where the time went; read_s and write_s are what reading and writing were waited for. */
    double start_s, read_s, beam_s, write_s, end_s;
};
void psr_beamformer_describe(const psr_beamformer *p, struct psr_beamformer_report *report);

PSR_API_END

#endif
