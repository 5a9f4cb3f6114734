/* Masks of a stream: blanks samples, and drops those that are no longer needed. */
#include "singlepulse_plan.h"

#include <math.h>

void psr_pulse_blank(const struct psr_singlepulse *p, size_t i, int64_t pos, float *x, size_t n)
{
    for (size_t s = 0; s < p->nmask; s++) {
        int64_t from = p->mask[s].first - (int64_t)p->sweep[i] - pos;
        int64_t to = p->mask[s].first + p->mask[s].count - pos;
        for (int64_t j = from > 0 ? from : 0; j < to && j < (int64_t)n; j++)
            x[j] = NAN;
    }
}

void psr_pulse_forget_masks(struct psr_singlepulse *p)
{
    size_t kept = 0;
    for (size_t s = 0; s < p->nmask; s++)
        if (p->mask[s].first + p->mask[s].count > p->pos)
            p->mask[kept++] = p->mask[s];
    p->nmask = kept;
}
