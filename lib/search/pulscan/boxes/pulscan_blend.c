/* Splits wide boxes that hold several signals side by side. */
#include "pulscan_boxes.h"

#include <math.h>

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
