/* pulscan_touch.h: decides whether a box is part of a better one (private). */
#ifndef PSR_SEARCH_PULSCAN_BOXES_PULSCAN_TOUCH_H
#define PSR_SEARCH_PULSCAN_BOXES_PULSCAN_TOUCH_H

#include "pulscan_residual.h"

/* The spectrum of a box, and the power that it has there. */
struct psr_pulscan_place {
    struct psr_residual *residual;
    psr_pulscan *plan;
    size_t spec;
    float whole;
};

/* Whether a box is near the best of candidate c, or there is power all the way between them; but not
 * where the candidate has a bright line, without which the box is significant and has most of its
 * power.
 * Given:    p   NULL: only whether it is near */
bool psr_pulscan_touches(const struct psr_pulscan_hit *best, int64_t c,
                         const struct psr_pulscan_hit *h, const struct psr_pulscan_place *p);

#endif
