/* Determines the fundamental of a signal from the powers of its harmonics. */
#include "pulscan_boxes.h"

#include <psrkit/signif.h>

#include <math.h>
#include <string.h>

enum { MOST_FRACTION = 16, MOST_POSITIONS = 64, MOST_STEPS = 4, MOST_NARROW = 4 };
static const double POWERED = 0.9, STRANGE = 0.02, LEAST_MEAN = 3;
static const double LN_RATIO = 4.5, LN_KNOWN = 2; /* of a fraction; of harmonics of what is known */

struct psr_span psr_harmonics_bins(const struct psr_harmonics *lines, double h)
{
    double at = h * lines->r, half = h * lines->width / 2;
    int64_t lo = (int64_t)floor(at - half), hi = (int64_t)floor(at + half) + 1;
    return (struct psr_span){lo, hi - lo + 1};
}

struct psr_residual_source psr_harmonics_source(struct psr_residual *r,
                                                const struct psr_harmonics *lines, int h)
{
    const double at = h * lines->r, half = h * lines->width / 2, s = sin(M_PI * at);
    const double share = (lines->width <= 0 ? fmax(s * s, 0.5) : 0.5) / (M_PI * M_PI);
    const struct psr_span bins = psr_harmonics_bins(lines, h);
    const double power =
        lines->width <= 0
            ? 2 * psr_residual_line(r, at)
            : psr_residual_power(r, bins.first, bins.count, HUGE_VALF) - 2 * (double)bins.count;
    return (struct psr_residual_source){at - half, at + half, fmax(power, 0) * share};
}

static double evidence(struct psr_residual *r, const struct psr_harmonics *lines, double h)
{
    if (lines->width <= 0)
        return psr_residual_line_evidence(r, h * lines->r);
    struct psr_span bins = psr_harmonics_bins(lines, h);
    return psr_residual_evidence(r, bins.first, bins.first + bins.count - 1);
}

/* --- where the lines are ---------------------------------------------------------------------- */

static double sum_logs(struct psr_residual *r, double at, int nharm)
{
    double sum = 0;
    for (int h = 1; h <= nharm; h++)
        sum += log1p(psr_residual_line(r, h * at));
    return sum;
}

/* Moves r, within reach, to where most harmonics have power. */
static void centre(struct psr_residual *r, struct psr_harmonics *lines, double reach)
{
    double step = 0.25 / lines->nharm, best = -1, at = lines->r;
    for (double x = at - reach; x <= at + reach; x += step) {
        double sum = sum_logs(r, x, lines->nharm);
        if (sum > best) {
            best = sum;
            lines->r = x;
        }
    }
    for (int i = 0; i < 3; i++) {
        step /= 2;
        for (int side = -1; side <= 1; side += 2) {
            double sum = sum_logs(r, lines->r + side * step, lines->nharm);
            if (sum > best) {
                best = sum;
                lines->r += side * step;
            }
        }
    }
}

/* Whether half of what a box has above noise is in lines no wider than one bin. */
static bool is_narrow(struct psr_residual *r, const struct psr_harmonics *lines,
                      const struct psr_pulscan_hit *hit)
{
    double sum = 0;
    for (int h = 1; h <= lines->nharm; h++)
        sum += psr_residual_line(r, h * lines->r) - 1;
    return sum >= 0.25 * ((double)hit->power - psr_pulscan_dof(hit->nharm, hit->z));
}

/* Two bins (more, if there are no boxes of two) contain a line between them. */
static struct psr_harmonics lines_of(struct psr_residual *r, const struct psr_pulscan_hit *hit)
{
    struct psr_harmonics narrow = {(double)hit->first + hit->z / 2.0 + 0.25, 0, hit->nharm};
    if (hit->z <= MOST_NARROW)
        centre(r, &narrow, 0.75 + hit->z / 2.0);
    if (hit->z <= 1 || (hit->z <= MOST_NARROW && is_narrow(r, &narrow, hit)))
        return narrow;
    return (struct psr_harmonics){hit->r, hit->z, hit->nharm};
}

/* --- which of them hold power ----------------------------------------------------------------- */

/* Above the significance that another signal's line may have there it grows slowly, so that the
 * brighter of two weighs more. */
static double weight(double e, double mean)
{
    double more = log(POWERED / mean) + e * (1 - 1 / mean);
    double most = log(POWERED / STRANGE);
    return more > most ? most + 0.1 * log1p(more - most) : log(1 - POWERED + exp(more));
}

/* Mean evidence of the harmonics that are likely to have power. */
static double mean_evidence(const double *e, int n)
{
    double sum = 0;
    int held = 0;
    for (int h = 0; h < n; h++)
        if (e[h] > LEAST_MEAN) {
            sum += e[h];
            held++;
        }
    return held ? sum / held : LEAST_MEAN;
}

/* The weight of a fundamental that is m times the first of n harmonics, with the number of its own
 * harmonics that gives the largest weight. */
static double weigh(const double *e, int n, int m, double mean)
{
    double sum = 0, most = weight(e[m - 1], mean);
    for (int h = m; h <= n; h += m) {
        sum += weight(e[h - 1], mean);
        most = fmax(most, sum);
    }
    return most;
}

static int find_multiple(const double *e, int n, double mean)
{
    int found = 1;
    double most = weigh(e, n, 1, mean);
    for (int m = 2; m <= n; m++) {
        double sum = weigh(e, n, m, mean);
        if (sum > most) {
            most = sum;
            found = m;
        }
    }
    return found;
}

static int find_fraction(struct psr_residual *r, const struct psr_harmonics *lines, double mean)
{
    double best = LN_RATIO;
    int found = 1;
    for (int k = 2; k <= MOST_FRACTION; k++) {
        /* By how much 1/k of the frequency weighs more; 0 if there is no power below the
         * frequency, as a signal's power begins at its fundamental. */
        double e[MOST_POSITIONS] = {0}, below = 0;
        int top = k * (lines->nharm > 1 ? lines->nharm : 2);
        top = top < MOST_POSITIONS ? top : MOST_POSITIONS;
        for (int h = 1; h <= top; h++) {
            e[h - 1] = evidence(r, lines, (double)h / k);
            below += h < k ? weight(e[h - 1], mean) : 0;
        }
        double sum = below > 0 ? weigh(e, top, 1, mean) - weigh(e, top, k, mean) : 0;
        if (sum > best) {
            best = sum;
            found = k;
        }
    }
    return found;
}

bool psr_harmonics_above(struct psr_residual *r, struct psr_harmonics *lines, int n, double *e)
{
    const double nbin = (double)psr_residual_bins(r);
    struct psr_harmonics better = {lines->r, lines->width, 2 * n};
    if (n * lines->r >= nbin || n * lines->width > lines->r / 8) {
        memset(e, 0, (size_t)n * sizeof *e);
        return false;
    }
    if (lines->width <= 0)
        centre(r, &better, 0.5 / n);
    for (int h = n + 1; h <= 2 * n; h++)
        e[h - n - 1] = evidence(r, &better, h);
    if (weigh(e, n, 1, mean_evidence(e, n)) < LN_KNOWN)
        return false;
    lines->r = better.r;
    return true;
}

/* --- the box there ---------------------------------------------------------------------------- */

/* The index of the width of the search that is nearest to z. */
static size_t nearest_width(const struct psr_pulscan_search *s, double z)
{
    size_t k = 0;
    while (k + 1 < s->nz && fabs(s->z[k + 1] - z) < fabs(s->z[k] - z))
        k++;
    return k;
}

static bool allowed(const struct psr_pulscan_search *s, int nharm, int z, int64_t first)
{
    return first >= 1 && nharm * first >= s->rlo && nharm * (first + z + 1) <= (int64_t)s->nbin &&
           first + z <= s->rhi && first >= (nharm - 1) * (z + 1);
}

/* The most significant box of the search that begins at a bin, if it is more significant than best. */
static void try_boxes(struct psr_residual *r, psr_pulscan *plan, size_t z, int64_t first,
                      struct psr_pulscan_hit *best)
{
    const struct psr_pulscan_search *s = psr_pulscan_resolved(plan);
    double power = 0;
    for (size_t k = 0, h = 1; k < s->nharm; k++) {
        if (!allowed(s, s->harm[k], s->z[z], first))
            return;
        for (; h <= (size_t)s->harm[k]; h++)
            power +=
                psr_residual_power(r, (int64_t)h * first, (int64_t)h * (s->z[z] + 1), HUGE_VALF);
        struct psr_pulscan_hit hit = psr_pulscan_make_hit(
            plan,
            &(struct psr_pulscan_peak){
                .first = first, .power = (float)power, .harm = (uint32_t)k, .z = (uint32_t)z});
        if (hit.sigma > best->sigma)
            *best = hit;
    }
}

/* --- all -------------------------------------------------------------------------------------- */

struct psr_pulscan_hit psr_pulscan_fundamental(struct psr_residual *r, psr_pulscan *plan,
                                               const struct psr_pulscan_hit *hit,
                                               struct psr_harmonics *lines)
{
    const struct psr_harmonics before = *lines = lines_of(r, hit);
    double e[PSR_PULSCAN_MAX_HARM] = {0};
    /* Of wherever in the box's bins, as lines that wander. */
    for (int h = 1; h <= hit->nharm; h++)
        e[h - 1] =
            fmax(evidence(r, lines, h),
                 psr_residual_evidence(r, h * hit->first, h * (hit->first + hit->z + 1) - 1));
    const double mean = mean_evidence(e, hit->nharm);
    const int m = find_multiple(e, hit->nharm, mean);
    lines->r *= m;
    lines->width *= m;
    lines->nharm /= m;
    int divisor = 1;
    for (int i = 0; i < MOST_STEPS; i++) {
        int k = find_fraction(r, lines, mean);
        if (k == 1)
            break;
        divisor *= k;
        lines->r /= k;
        lines->width /= k;
        lines->nharm =
            lines->nharm * k < PSR_PULSCAN_MAX_HARM ? lines->nharm * k : PSR_PULSCAN_MAX_HARM;
        if (lines->width <= 0)
            centre(r, lines, 0.5 / lines->nharm);
    }
    if (m == divisor)
        return *hit;
    struct psr_pulscan_hit best = {.sigma = psr_pulscan_least_sigma(plan)};
    const struct psr_pulscan_search *s = psr_pulscan_resolved(plan);
    size_t width = nearest_width(s, lines->width);
    for (size_t z = width; z <= width + 1 && z < s->nz; z++) {
        int64_t first = (int64_t)floor(lines->r - s->z[z] / 2.0);
        for (int64_t i = first - 1; i <= first + 1; i++)
            try_boxes(r, plan, z, i, &best);
    }
    if (best.power > 0)
        return best;
    *lines = before;
    return *hit;
}
