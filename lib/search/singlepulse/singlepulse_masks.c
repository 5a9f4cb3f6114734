/* Drops masks of a stream that are no longer needed. */
#include "singlepulse_plan.h"

void psr_pulse_forget_masks(struct psr_singlepulse *p)
{
    size_t kept = 0;
    for (size_t s = 0; s < p->nmask; s++)
        if (p->mask[s].first + p->mask[s].count > p->pos)
            p->mask[kept++] = p->mask[s];
    p->nmask = kept;
}
