/* Decides whether a box is part of a better one. */
#include "pulscan_boxes.h"
#include "search/pulscan/pulscan_internal.h"

#include <psrkit/signif.h>

static bool are_adjacent(const struct psr_pulscan_hit *a, const struct psr_pulscan_hit *b)
{
    return a->first <= b->first + b->z + PSR_PULSCAN_NEAR &&
           b->first <= a->first + a->z + PSR_PULSCAN_NEAR;
}

/* Whether there is power all the way between the two boxes, as with red noise and wide drifts: the
 * weaker box is then no peak of its own.  No bin counts for more than a few bins of noise, so that
 * lines in between do not connect them. */
static bool is_bridged(struct psr_residual *r, const struct psr_pulscan_hit *best, int64_t owner,
                       const struct psr_pulscan_hit *h)
{
    static const float most = 8;
    static const double share = 1 / 3.0, ln_p = -5;
    const struct psr_pulscan_hit *low = h->first < best->first ? h : best,
                                 *high = low == h ? best : h;
    const int64_t from = low->first + low->z + 1, n = high->first - from, width = h->z + 1;
    if (n > (low->z > high->z ? low->z : high->z))
        return false;
    const double own = psr_residual_shared(r, h->first, width, most, owner) / (double)width;
    const double between = psr_residual_shared(r, from, n, most, owner);
    return between / (double)n - 2 >= share * (own - 2) &&
           psr_chi2_logp(between, 2 * (double)n).ln_sf < ln_p;
}

/* Whether box h is near a line that a better box holds, and significant without it. */
static bool is_beside_line(psr_pulscan *plan, size_t spec, const struct psr_pulscan_hit *better,
                           const struct psr_pulscan_hit *h, float power)
{
    const struct psr_pulscan_lines *lines = psr_pulscan_lines_of(plan);
    struct psr_pulscan_hit box = *h;
    double left;
    box.power = power;
    if (psr_pulscan_lines_in(lines, spec, (double)better->first,
                             (double)(better->first + better->z)) < 0 ||
        !psr_pulscan_lines_apart(lines, spec, &box, &left))
        return false;
    psr_pulscan_weigh_hit(plan, &box, (float)left);
    return box.sigma > psr_pulscan_least_sigma(plan);
}

bool psr_pulscan_touches(const struct psr_pulscan_hit *best, int64_t c,
                         const struct psr_pulscan_hit *h, const struct psr_pulscan_place *p)
{
    if (!are_adjacent(best, h) && !(p && is_bridged(p->residual, best, c, h)))
        return false;
    return !p || !is_beside_line(p->plan, p->spec, best, h, p->whole);
}
