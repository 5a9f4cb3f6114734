/* dedisp_beams_rows.h: plans the levels of a line of beams for a CUDA device (private).  Apart from dedisp_line.h, since without CUDA
 * there are no types of kernels.
 *
 * A row of the tree is made once a block, at all delays at which rows above, or trials, use it. */
#ifndef PSR_SEARCH_DEDISP_BEAMS_DEDISP_BEAMS_ROWS_H
#define PSR_SEARCH_DEDISP_BEAMS_DEDISP_BEAMS_ROWS_H

#include "dedisp_line.h"

#include <dedisp/dedisp_beams_kernels.h>

struct psr_beams_level {
    enum beams_k_kind in, out;
    struct beams_k_row *row;
    int64_t *source;
    struct beams_k_group *group;
    size_t nrow, nsource, ngroup;
    size_t elements; /* of its rows, for blocks of the longest length; 0 for outputs */
};

/* From the leaves up; the last level makes the outputs of the line. */
struct psr_beams_rows {
    int nlevel;
    struct psr_beams_level level[PSR_MERGE_MAXLEVEL];
    double *bias; /* [outputs] in the order of the last level's rows */
    double adds;  /* per output sample */
};

size_t psr_beams_kind_bytes(enum beams_k_kind kind);

/* Given:    l       with rings
 *           pitch   elements from output to output, a multiple of 8
 * Status:   PSR_EUNSUPPORTED (sums beyond 32 bits), PSR_ENOMEM.  rows must be freed even then. */
PSR_MUST_CHECK psr_status psr_beams_rows_make(struct psr_beams_rows *rows,
                                              const struct psr_dedisp_line *l, size_t pitch,
                                              psr_err *err);
void psr_beams_rows_free(struct psr_beams_rows *rows);

#endif
