/* pulscan_blend.h: wide boxes that hold several signals side by side (private).
 *
 * The most significant box of two drifting signals may hold both.  Where more than PSR_PULSCAN_NEAR
 * bins in a row hold no more than noise, and those of the whole box on average far more, what is
 * on either side are parts: signals of their own, whose own boxes are to have their turn first. */
#ifndef PSR_SEARCH_PULSCAN_BLEND_H
#define PSR_SEARCH_PULSCAN_BLEND_H

#include "pulscan_residual.h"

/* chi^2 over noise that is in parts of n bins, but for the brightest one; no bin counts for more
 * than most. */
double psr_blend_power(struct psr_residual *r, int64_t first, int64_t n, float most);

#endif
