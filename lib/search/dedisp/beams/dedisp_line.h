/* dedisp_line.h: trials of many beams that sum the same number of samples (private). */
#ifndef PSR_SEARCH_DEDISP_BEAMS_DEDISP_LINE_H
#define PSR_SEARCH_DEDISP_BEAMS_DEDISP_LINE_H

#include "search/dedisp/cpu/dedisp_rings.h"

#include <psrkit/experimental/dedisp.h>

/* A sub-band: which parts of the band, its trials, and the rows of the output that they have. */
struct psr_dedisp_line_band {
    size_t first_row, ndm;
    size_t *trial; /* [ndm] */
    int32_t *row;  /* [ndm of the line] or -1 */
    size_t k0, nkept;
};

struct psr_dedisp_line {
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

#endif
