/* beam.h: forms intensity beams of a grid of dishes from a stream of 4-bit voltages, and makes files of them.
 *
 *   F[t][f][p](theta, theta') = sum over m, n of W[f][p][mn] E[t][f][p][mn]
 *                                                   exp(2 pi i (m theta / M + n theta' / N)),
 *   J[f][k](theta, theta') = sum over t in k T_ds .. (k + 1) T_ds - 1 and both p of |F|^2,
 *
 * where T_ds is that of channel f and grid positions without a dish contribute zero (Smith 2022 eqs
 * 2, 3, 50, 51).  J in any direction is a weighted sum of its values I at the 2M x 2N half-integer
 * coordinates (eqs 6 to 8), which one zero-padded transform computes.  Any number of beams
 * therefore costs one transform per sample and matrix products at the output rate.
 *
 * A plan processes a stream: each execute takes the next samples and returns the sums that are
 * complete; incomplete sums are kept for the next call.  Not thread-safe: use each plan from one
 * thread. */
#ifndef PSRKIT_BEAM_H
#define PSRKIT_BEAM_H

#include <psrkit/experimental/array.h>
#include <psrkit/experimental/dada.h>

PSR_API_BEGIN

typedef struct psr_beam psr_beam;

enum { PSR_BEAM_NPOL = 2 };

/* Which beams a plan forms, and in which order. */
enum psr_beam_pattern {
    PSR_BEAM_GRID,    /* half-integer grid: beam 2N p + q is at (p/2, q/2), p < 2M, q < 2N */
    PSR_BEAM_POINTS,  /* beam b at (theta_ns[f][b], theta_ew[f][b]) */
    PSR_BEAM_PRODUCT, /* beam n_ew i + j at (theta_ns[f][i], theta_ew[f][j]) */
};

struct psr_beam_desc {
    size_t size;                   /* sizeof the struct */
    const struct psr_array *array; /* copied */
    size_t nfreq;
    const size_t *tds; /* [nfreq] samples per sum, 1 to 2^20, even or odd; copied */
    struct psr_nibbles nibbles;
    const float *weight; /* [nfreq][2][ndish][2] gain of channel, polarisation and dish: real,
                            imaginary; NULL: all 1; copied */
    enum psr_beam_pattern pattern;
    size_t nbeam;           /* POINTS */
    size_t n_ns, n_ew;      /* PRODUCT */
    const double *theta_ns; /* POINTS [nfreq][nbeam], PRODUCT [nfreq][n_ns]; copied */
    const double *theta_ew; /* POINTS [nfreq][nbeam], PRODUCT [nfreq][n_ew]; copied */
    int nthread;            /* 0: all cores */
    int64_t mem_bytes;      /* limit on the plan's memory plus the blocks that psr_beam_block
                               suggests; 0: a quarter of the machine's.  For cuda it limits
                               device memory plus page-locked memory for voltages that are not
                               page-locked yet (the driver rounds up each allocation and uses
                               some memory of its own) */
    const char *backend;    /* "auto" "cpu" "cuda"; NULL is "auto" */
    int device;             /* of the backend */
};

/* Properties of the plan, for reports and tests. */
struct psr_beam_info {
    size_t size; /* sizeof the struct */
    const char
        *backend;  /* static storage; to be passed to psr_beam_free and psr_beam_free_device */
    int64_t bytes; /* allocated by the plan */
};

/* --- from files to files ---------------------------------------------------------------------- */

/* Turns voltages of a grid of dishes into one filterbank file per beam, in one pass.
 *
 *   voltage files -> blocks -> beams -> 4, 8 or 32-bit rows -> ROOT_beam0000.fil ...
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
