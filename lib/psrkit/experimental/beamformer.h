/* beamformer.h: turns voltages of a grid of dishes into one filterbank file per beam, in one pass.
 *
 *   voltage files -> blocks -> beams (beam.h) -> 4, 8 or 32-bit rows -> ROOT_beam0000.fil ...
 *
 * frbbeam is a thin wrapper around this module.  To use it in a program:
 *
 *   struct psr_beamformer_desc d;
 *   psr_beamformer_defaults(&d);
 *   d.path = path, d.npath = 1, d.array = "chord.array", d.grid = true, d.root = "out";
 *   st = psr_beamformer_create(&p, &d, &err);    checks everything that can be checked beforehand
 *   st = psr_beamformer_run(p, &err);            until the input ends
 *   st = psr_beamformer_finish(p, &err);         renames the files to their final names
 *   psr_beamformer_destroy(p);
 *
 * Destroying an unfinished beamformer leaves no files.  Not thread-safe: use each beamformer from
 * one thread. */
#ifndef PSRKIT_BEAMFORMER_H
#define PSRKIT_BEAMFORMER_H

#include <psrkit/experimental/beam.h>

PSR_API_BEGIN

typedef struct psr_beamformer psr_beamformer;

/* Call psr_beamformer_defaults first, then set fields.  Pointers are borrowed and must stay valid
 * as long as the beamformer.  The file name "-" is standard input or standard output. */
struct psr_beamformer_desc {
    size_t size; /* sizeof of this struct in the caller; new fields are added at the end */

    /* Input. */
    const char *const *path; /* [npath] voltage files, as in psr_voltages_desc */
    size_t npath;
    const char *array;   /* file for psr_array_read */
    const char *site;    /* as for psr_array_set_site; NULL: from the array file */
    const char *weights; /* file for psr_gains_read; NULL: all 1 */

    /* Beams: from a list, or the half-integer grid. */
    const char *beams; /* file of directions, or NULL */
    bool grid;
    int64_t beam;     /* form only this beam, from 0; default -1: all */
    double cadence_s; /* seconds between updates of tracking beams; default 1 */

    /* Sums. */
    int64_t tds;          /* voltage samples per intensity sample; default 0: about 1 ms */
    const char *tds_file; /* rows "MHZ SAMPLES" instead of tds; NULL: none */

    /* Output. */
    const char *root;  /* prefix of file names; "-" with one beam is standard output */
    int64_t nbits;     /* 4, 8 (default) or 32: floats */
    const char *scale; /* scales written by an earlier run; NULL: measured */

    /* Running. */
    const char *device; /* as for psr_device_choose; default "auto" */
    int64_t nthread;    /* threads; 0: all cores */
    int64_t mem_bytes;  /* memory limit; 0: a quarter of the machine's */
    struct psr_notes notes;
    bool (*should_stop)(void *ctx);             /* polled often, from any thread; NULL: never */
    void (*progress)(void *ctx, int64_t nread); /* called after every block; may be NULL */
    void *ctx;                                  /* passed to both */
};

/* Sets size and all fields to their defaults, those that a description of "size" bytes has. */
void psr_beamformer_set_defaults(struct psr_beamformer_desc *desc, size_t size);
#define psr_beamformer_defaults(desc) psr_beamformer_set_defaults((desc), sizeof *(desc))

/* Opens the input and creates the outputs under temporary names.  *out is NULL on error.
 * Status: PSR_EINVAL naming field, value and limit; those of the modules it uses */
PSR_MUST_CHECK psr_status psr_beamformer_create(psr_beamformer **out,
                                                const struct psr_beamformer_desc *desc,
                                                psr_err *err);

/* Processes the whole input.
 * Status: PSR_ESTOPPED if should_stop returned true; PSR_EINVAL if no sum is complete; those of the
 *         modules it uses.  After an error the beamformer can only be described and destroyed. */
PSR_MUST_CHECK psr_status psr_beamformer_run(psr_beamformer *p, psr_err *err);

/* Completes the files and renames them to their final names, all or none.
 * Status: those of psr_output_group_commit */
PSR_MUST_CHECK psr_status psr_beamformer_finish(psr_beamformer *p, psr_err *err);

/* Frees the beamformer; NULL is allowed. */
void psr_beamformer_destroy(psr_beamformer *p);

/* State and statistics of a beamformer. */
struct psr_beamformer_report {
    size_t size;       /* sizeof the struct */
    const char *input; /* name of the first file */
    size_t nfreq;
    const double *freq_mhz; /* [nfreq] */
    size_t ndish, m, n;     /* dishes, and grid size M and N */
    double tsamp_s;         /* of the voltages, as are the next two fields */
    int64_t nsamp;          /* -1: unknown until the input ends */
    size_t sample_bytes;
    size_t nbeam;
    size_t shortest, longest; /* samples per sum */
    const struct psr_beam_info *plan;
    int nthread;
    size_t block;        /* largest number of samples per block */
    size_t kept;         /* rows of each beam used to measure the scales */
    int64_t nread, nrow; /* samples read and rows written per beam so far */
    /* Time spent; read_s and write_s count only time waiting for reads and writes. */
    double start_s, read_s, beam_s, write_s, end_s;
};
void psr_beamformer_describe_sized(const psr_beamformer *p, struct psr_beamformer_report *report,
                                   size_t size);
#define psr_beamformer_describe(p, report)                                                         \
    psr_beamformer_describe_sized((p), (report), sizeof *(report))

PSR_API_END

#endif
