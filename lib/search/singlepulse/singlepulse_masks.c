/* Masks of a stream: blanks samples, and drops those that are no longer needed. */
#include "singlepulse_internal.h"

#include <math.h>

/* Samples [from, to) of n. */
static void blank(float *x, size_t n, int64_t from, int64_t to)
{
    for (int64_t j = from > 0 ? from : 0; j < to && j < (int64_t)n; j++)
        x[j] = NAN;
}

void psr_pulse_blank(const struct psr_singlepulse *p, size_t i, int64_t pos, float *x, size_t n)
{
    const int64_t sweep = (int64_t)p->sweep[i];
    for (size_t s = 0; s < p->nmask; s++) {
        const int64_t from = p->mask[s].first - pos, to = from + p->mask[s].count;
        if (p->late)
            blank(x, n, from, to + sweep);
        else
            blank(x, n, from - sweep, to);
    }
    if (p->late)
        blank(x, n, 0, sweep - pos);
}

void psr_pulse_forget_masks(struct psr_singlepulse *p)
{
    const int64_t reach = p->late ? (int64_t)p->maxsweep : 0;
    size_t kept = 0;
    for (size_t s = 0; s < p->nmask; s++)
        if (p->mask[s].first + p->mask[s].count + reach > p->pos)
            p->mask[kept++] = p->mask[s];
    p->nmask = kept;
}
