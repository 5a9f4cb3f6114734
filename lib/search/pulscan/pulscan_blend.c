/* Splits wide boxes that hold several signals side by side. */
#include "pulscan_blend.h"

#include <math.h>

enum { GAP = PSR_PULSCAN_NEAR + 1 };
static const double EMPTY = 20;  /* chi^2 over the mean that noise reaches in so many bins: 1.4 % */
static const double DENSE = 128; /* and at least what is there in a box that can have gaps */
static const double PART = 4;    /* scatters of noise that a part is above it */

struct parts {
    double sum, brightest; /* chi^2 over noise: of all parts */
};

static void end_part(struct parts *p, double excess, int64_t n)
{
    if (excess <= PART * sqrt(4 * (double)n))
        return;
    p->sum += excess;
    p->brightest = fmax(p->brightest, excess);
}

double psr_blend_power(struct psr_residual *r, int64_t first, int64_t n, float most)
{
    double sum[GAP + 1] = {0}; /* chi^2 over noise of the bins below, of each of the last bins */
    double below = 0;          /* of those below the part */
    struct parts parts = {0};
    int64_t begin = 0;
    if (n < 3 * GAP || psr_residual_power(r, first, n, most) < (2 + DENSE / GAP) * (double)n)
        return 0;
    for (int64_t k = 1; k <= n; k++) {
        double *now = &sum[k % (GAP + 1)];
        *now = sum[(k - 1) % (GAP + 1)] + psr_residual_power(r, first + k - 1, 1, most) - 2;
        const double before = k < GAP ? 0 : sum[(k - GAP) % (GAP + 1)];
        if (k < GAP || *now - before > EMPTY)
            continue;
        if (k - GAP > begin)
            end_part(&parts, before - below, k - GAP - begin);
        begin = k;
        below = *now;
    }
    if (n > begin)
        end_part(&parts, sum[n % (GAP + 1)] - below, n - begin);
    return parts.sum - parts.brightest;
}
