/* pulscan_parts.h: signals side by side in one wide box (private).
 *
 * The most significant box of two drifting signals may hold both.  Where more than PSR_PULSCAN_NEAR
 * bins in a row hold no more than noise, and those of the whole box on average far more, what is
 * on either side are parts: signals of their own, whose own boxes are to have their turn first. */
#ifndef PSR_SEARCH_PULSCAN_PARTS_H
#define PSR_SEARCH_PULSCAN_PARTS_H

#include "pulscan_residual.h"

/* chi^2 over noise that is in parts of n bins, but for the brightest one; no bin counts for more
 * than most. */
double psr_multi_file_beside(struct psr_residual *r, int64_t first, int64_t n, float most);

#endif
