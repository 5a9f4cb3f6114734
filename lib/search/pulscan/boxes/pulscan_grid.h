/* pulscan_grid.h: indexes candidates by frequency (private). */
#ifndef PSR_SEARCH_PULSCAN_BOXES_PULSCAN_GRID_H
#define PSR_SEARCH_PULSCAN_BOXES_PULSCAN_GRID_H

#include <psrkit/status.h>

#include <stddef.h>
#include <stdint.h>

/* Cell k lists the candidates whose r is in [k, k + 1) cell widths. */
struct psr_grid {
    double width;
    size_t ncell;
    int64_t *head; /* [ncell] the last candidate inserted; -1: none */
    int64_t *next; /* [ncand] the one inserted before it */
};

/* Given: width   minimum width of a cell
 *        reach   the highest r
 *        n   maximum number of candidates */
PSR_MUST_CHECK psr_status psr_grid_create(struct psr_grid *g, double width, double reach, size_t n,
                                          psr_err *err);
void psr_grid_free(struct psr_grid *g);

size_t psr_grid_cell(const struct psr_grid *g, double r);
void psr_grid_put(struct psr_grid *g, int64_t c, double r);

#endif
