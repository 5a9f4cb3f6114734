/* pulscan_blend.h: splits wide boxes that hold several signals side by side (private).
 *
 * The most significant box of two drifting signals may contain both.  If more than PSR_PULSCAN_NEAR
 * consecutive bins have no more than noise, while the mean of the whole box is much higher, the
 * bins on either side are parts: separate signals, whose own boxes are processed first. */
#ifndef PSR_SEARCH_PULSCAN_BOXES_PULSCAN_BLEND_H
#define PSR_SEARCH_PULSCAN_BOXES_PULSCAN_BLEND_H

#include "pulscan_residual.h"

/* chi^2 over noise that is in parts of n bins, but for the brightest one; no bin counts for more
 * than most. */
double psr_blend_power(struct psr_residual *r, int64_t first, int64_t n, float most);

#endif
