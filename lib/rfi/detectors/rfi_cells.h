/* rfi_cells.h: statistics and periodic signals of the channels of one interval (private). */
#ifndef PSR_RFI_DETECTORS_RFI_CELLS_H
#define PSR_RFI_DETECTORS_RFI_CELLS_H

#include "dsp/block_sums.h"
#include "rfi/statistics/rfi_periodic.h"
#include <psrkit/experimental/clean.h>

enum { PSR_RFI_TILE = 16 }; /* channels processed together */

typedef struct psr_rfi_cells psr_rfi_cells;

struct psr_rfi_cells_desc {
    struct psr_layout layout;
    size_t n;                  /* spectra per interval */
    const unsigned char *keep; /* [nchan] in the order of the data; borrowed */
    double freq_sigma;
    bool presto; /* search as PRESTO does: see psr_rfi_search */
    int nthread;
    void (*meanwhile)(void *ctx); /* called by one of several threads, once for each interval; NULL:
                                     nothing */
    void *ctx;
};

/* Which spectra are replaced, and by what. */
struct psr_rfi_replaced {
    const uint32_t *bad; /* [nbad] */
    size_t nbad;
    const float *level; /* [nchan] */
};

/* Statistics of an interval, and what was found in each channel; all in the order of the data. */
struct psr_rfi_row {
    float *power, *mean, *sd;  /* [nchan] */
    struct psr_rfi_hits *hits; /* [nchan], reused: each becomes as long as there are detections */
    struct psr_rfi_cell *cell; /* [nchan], without replaced samples; NULL: not wanted */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_cells_create(psr_rfi_cells **out,
                                               const struct psr_rfi_cells_desc *desc, psr_err *err);

/* Given:  in   [n] spectra
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_cells_measure(psr_rfi_cells *p, const void *in,
                                                const struct psr_rfi_replaced *replaced,
                                                const struct psr_rfi_row *row, psr_err *err);

void psr_rfi_cells_destroy(psr_rfi_cells *p);

#endif
