/* dedisp_line.h: trials of many beams that sum the same number of samples (private). */
#ifndef PSR_SEARCH_DEDISP_BEAMS_DEDISP_LINE_H
#define PSR_SEARCH_DEDISP_BEAMS_DEDISP_LINE_H

#include "base/base.h"
#include "search/dedisp/cpu/dedisp_cpu.h"
#include <psrkit/experimental/dedisp.h>

/* --- circles of samples ------------------------------------------------------------------------ */

/* Channels have circles of different sizes: each holds samples as long as some trial needs them.
 * Sums of consecutive samples begin where the samples themselves are needed no more, so that a set
 * of circles is filled from those of the set before it. */

/* The same for all beams.  Samples are counted from the start of the stream; what came before is
 * blank. */
struct psr_rings {
    size_t nchan, store_bytes;
    int32_t *size; /* [nchan] samples */
    int32_t *skip; /* [nchan] a sample enters this many samples after its time */
    size_t *at;    /* [nchan] lanes before the circle */
    size_t lanes;  /* of all */
};

/* How far trials reach back, of which channel. */
struct psr_rings_need {
    const int32_t *youngest, *oldest; /* [nchan] samples before the latest one, >= 0 */
    size_t most;                      /* samples that arrive at a time */
};

/* Sizes the circles of a set.
 * Given:  next    the set filled from this one, already sized, and its ratio; NULL for the last
 *         arrive  samples enter at once
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rings_create(struct psr_rings *r, size_t nchan, size_t store_bytes,
                                           const struct psr_rings_need *need,
                                           const struct psr_rings *next, size_t ratio,
                                           size_t next_most, bool arrive, psr_err *err);

double psr_rings_bytes(const struct psr_rings *r);

/* Sets all samples to "blank"; memory holds psr_rings_bytes. */
void psr_rings_clear(const struct psr_rings *r, void *memory, uint32_t blank, int nthread);

/* Samples first .. first + n - 1 of every channel enter: lane[k * stride], at once. */
void psr_rings_push(const struct psr_rings *r, void *memory, const void *lane, size_t stride,
                    int64_t first, size_t n, int nthread);

/* The time of sums first .. first + n - 1, each of "ratio" samples of "from", has come: those enter
 * that are "skip" older. */
void psr_rings_sum(const struct psr_rings *r, void *memory, const struct psr_rings *from,
                   const void *from_memory, size_t ratio, int64_t first, size_t n, int nthread);

/* A sub-band: which parts of the band, its trials, and the rows of the output that they have. */
struct psr_dedisp_line_band {
    size_t first_row, ndm;
    size_t *trial; /* [ndm] */
    int32_t *row;  /* [ndm of the line] or -1 */
    size_t k0, nkept;
};

struct psr_dedisp_line {
    struct psr_own own; /* all but trial, out and the code of programs */
    size_t downsamp, ndm, most;
    size_t *trial; /* [ndm] numbers in the description */
    psr_dedisp *plan;
    const struct psr_dedisp_layout *layout;
    double *freq_mhz; /* [nkept] */
    struct psr_lanes lanes;
    struct psr_planner planner;
    struct psr_program *program; /* [nprogram] */
    size_t nprogram;
    double adds;                /* per output sample */
    int32_t *align;             /* [ndm] */
    int32_t *least, *largest;   /* [nkept] delay of any trial, aligned */
    int32_t *youngest, *oldest; /* [nkept] lag of any trial */
    struct psr_rings rings;     /* of each beam */
    struct psr_ring *ring;      /* [nkept] for the execute in progress */
    size_t nband;
    struct psr_dedisp_line_band *band;     /* [nband] */
    struct psr_merge_part_band *part_band; /* [nband] */
    size_t nrow;                           /* of the output */
    double *row_bias;                      /* [nrow] */
    float *out;                            /* [nrow][most] */
    uint64_t first;                        /* of the last execute */
    size_t nout;
};

/* Makes all but rings, programs and output.
 * Given:  desc    of the beams
 *         trial   [ndm] numbers of the trials by rising DM; becomes the line's
 *         most    output samples of an execute
 * Status: those of psr_dedisp_create */
PSR_MUST_CHECK psr_status psr_dedisp_line_create(struct psr_dedisp_line *l,
                                                 const struct psr_dedisp_beams_desc *desc,
                                                 size_t downsamp, size_t *trial, size_t ndm,
                                                 size_t most, psr_err *err);

/* Writes the programs, which only sums on the CPU need.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dedisp_line_program(struct psr_dedisp_line *l, psr_err *err);
void psr_dedisp_line_destroy(struct psr_dedisp_line *l);

/* Bytes but for rings and output, and those of a thread's scratch space. */
double psr_dedisp_line_bytes(const struct psr_dedisp_line *l);
size_t psr_dedisp_line_scratch(const struct psr_dedisp_line *l);

/* Sums output samples first .. first + n - 1 of all trials.
 * Given: memory    of the rings
 *        scratch   [nthread] */
void psr_dedisp_line_run(struct psr_dedisp_line *l, const void *memory, void *const *scratch,
                         int64_t first, size_t n);

/* --- what a kind of accelerator offers to dedispersion of beams --- */

struct psr_beams_device_ops {
    const char *name;
    /* Given:    line [nline]   with rings, without programs; outlive the state
     * Returned: line[].adds; *bytes_shared   on the device, for all beams
     * Status:   PSR_EDEVICE; PSR_EUNSUPPORTED for sums beyond 32 bits; PSR_ENOMEM also if mem_bytes, or
     *           the device's free memory if it is 0, cannot hold all beams */
    psr_status (*create)(void **state, const struct psr_dedisp_beams_desc *d,
                         struct psr_dedisp_line *line, size_t nline, double *bytes_shared,
                         psr_err *err);
    /* Takes spectra was .. was + nsamp - 1 of a beam; returns when "in" may be overwritten. */
    psr_status (*execute)(void *state, size_t beam, const void *in, uint64_t was, size_t nsamp,
                          psr_err *err);
    /* The same of spectra on the device, which are read in place.  A stream that is not NULL writes
     * them, and may overwrite them afterwards; else returns when they may be overwritten. */
    psr_status (*execute_device)(void *state, size_t beam, const void *d_in, void *stream,
                                 uint64_t was, size_t nsamp, psr_err *err);
    /* Blanks a beam; a failure is told by the next execute. */
    void (*reset)(void *state, size_t beam);
    void (*series)(void *state, size_t line, struct psr_device_series *series);
    void (*destroy)(void *state);
};

extern const struct psr_beams_device_ops psr_beams_cuda;

/* The plan of a line, for functions that return shifts and delays, and psr_mask_correction_create. */
const psr_dedisp *psr_dedisp_beams_plan(const psr_dedisp_beams *p, size_t line);

/* --- the trials of many beams, in the order of lines --- */

struct psr_beams_trial {
    double dm;
    size_t i, downsamp; /* its number in the description; the samples that it sums */
};

#endif
