/* Decides whether a box is part of a better one. */
#include "pulscan_boxes.h"

#include "search/pulscan/pulscan_internal.h"

#include <math.h>
#include <psrkit/signif.h>

/* --- splits wide boxes that hold several signals side by side --------------------------------- */

enum { GAP = PSR_PULSCAN_NEAR + 1 };
static const double EMPTY = 20;  /* chi^2 over the mean that noise reaches in so many bins: 1.4 % */
static const double DENSE = 128; /* and at least what the fainter part, going on, leaves in a gap */
static const double PART = 4;    /* scatters of noise that a part is above it */

struct part {
    double excess; /* chi^2 over noise */
    int64_t first, end;
};

struct parts {
    struct part last;
    double sum, brightest; /* chi^2 over noise: of all parts before the last */
};

static double density(const struct part *p)
{
    return p->excess / (double)(p->end - p->first);
}

/* Whether neither part goes on in the gap between them, though it is as faint as there. */
static bool are_apart(const struct part *a, const struct part *b)
{
    return fmin(density(a), density(b)) * (double)(b->first - a->end) >= DENSE;
}

static void count_last(struct parts *p)
{
    p->sum += p->last.excess;
    p->brightest = fmax(p->brightest, p->last.excess);
}

/* Adds a part, to the last one where the gap between them may be noise's. */
static void end_part(struct parts *p, const struct part *next)
{
    if (next->excess <= PART * sqrt(4 * (double)(next->end - next->first)))
        return;
    if (p->last.excess > 0 && !are_apart(&p->last, next)) {
        p->last.excess += next->excess;
        p->last.end = next->end;
        return;
    }
    count_last(p);
    p->last = *next;
}

double psr_blend_power(struct psr_residual *r, int64_t first, int64_t n, float most)
{
    double sum[GAP + 1] = {0}; /* chi^2 over noise of the bins below, of each of the last bins */
    double below = 0;          /* of those below the part */
    struct parts parts = {0};
    int64_t begin = 0;
    if (n < GAP + 2)
        return 0;
    for (int64_t k = 1; k <= n; k++) {
        double *now = &sum[k % (GAP + 1)];
        *now = sum[(k - 1) % (GAP + 1)] + psr_residual_power(r, first + k - 1, 1, most) - 2;
        const double before = k < GAP ? 0 : sum[(k - GAP) % (GAP + 1)];
        if (k < GAP || *now - before > EMPTY)
            continue;
        if (k - GAP > begin)
            end_part(&parts, &(struct part){before - below, begin, k - GAP});
        begin = k;
        below = *now;
    }
    if (n > begin)
        end_part(&parts, &(struct part){sum[n % (GAP + 1)] - below, begin, n});
    count_last(&parts);
    return parts.sum - parts.brightest;
}

/* --- decides whether a box is part of a better one -------------------------------------------- */

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
