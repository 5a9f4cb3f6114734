/* Automatic cleaning: weights of channels by signal to noise. */
#include "clean_auto_plan.h"

#include "stats/quantile.h"
#include <math.h>

enum { HEAVIEST = 10, BESIDE = 8 };

static bool is_known(const psr_clean_auto *p, size_t c)
{
    return p->keep[c] && p->now_s[c] > 0;
}

/* The level around a channel, over its scatter; not a number if it is not known. */
static float find_ratio(const psr_clean_auto *p, size_t c)
{
    const size_t from = c > BESIDE ? c - BESIDE : 0, end = c + BESIDE + 1;
    float level[2 * BESIDE + 1];
    size_t n = 0;
    if (!is_known(p, c))
        return NAN;
    for (size_t k = from; k < end && k < p->d.nchan; k++)
        if (is_known(p, k))
            level[n++] = (float)p->now_l[k];
    return (float)(psr_quantile_median(level, n) / p->now_s[c]);
}

void psr_auto_weigh(psr_clean_auto *p)
{
    float *ratio = p->work, *sorted = p->work + p->d.nchan;
    size_t n = 0;
    for (size_t c = 0; c < p->d.nchan; c++) {
        ratio[c] = find_ratio(p, c);
        if (isfinite(ratio[c]))
            sorted[n++] = ratio[c];
    }
    const double middle = n ? psr_quantile_median(sorted, n) : 0;
    for (size_t c = 0; c < p->d.nchan; c++) {
        const double q = rint(PSR_AUTO_SIGMA * (double)ratio[c] / middle);
        p->weight[c] = !(middle > 0)  ? PSR_AUTO_SIGMA
                       : !(q > 0)     ? 0
                       : q > HEAVIEST ? HEAVIEST
                                      : (unsigned char)q;
    }
}
