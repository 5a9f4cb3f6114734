/* Finds the position of a signal within a box, and the sign of its drift. */
#include "candidate_refine_place.h"
#include "search/matched/response/accel_internal.h"

#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HALVINGS = 24, MARGIN = 16, MOST_BINS = 1 << 16, MOST_DRIFT = 1200 };
static const double SIGN_POWER = 3;    /* by which one sign must be better */
static const double CHANCE = 1e-3;     /* of noise giving as much, in all places looked at */
static const double LEAST_SHARE = 0.5; /* of the box's excess that a response has to hold */
static const double FINE = 0.1;        /* of an error */
static const double WIDTH_FROM = 0.4, WIDTH_TO = 1.6; /* drifts tried, in widths of the box */

/* --- the box ---------------------------------------------------------------------------------- */

/* Bins of harmonic h's part of the box, and beyond it as far as drifts reach. */
static struct psr_span bins_of(const struct psr_pulscan_hit *hit, int h)
{
    return (struct psr_span){h * hit->first, (int64_t)h * (hit->z + 1)};
}

static int64_t margin_of(const struct psr_pulscan_hit *hit, int h)
{
    return (int64_t)h * (hit->z + 1) / 2 + MARGIN;
}

static bool is_zapped(const struct psr_refine_desc *desc, int64_t k)
{
    for (size_t i = 0; i < desc->nzap; i++)
        if (k >= desc->zap[i].first && k < desc->zap[i].first + desc->zap[i].count)
            return true;
    return false;
}

/* What is zapped counts as noise in the box, and not at all in responses. */
static void weigh_harmonic(struct psr_refine_box *b, int h, struct psr_span bins, int64_t first,
                           size_t n, float *x, const struct psr_refine_desc *desc)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t k = first + (int64_t)i;
        bool inside = k >= bins.first && k < bins.first + bins.count;
        bool zapped = desc->nzap > 0 && is_zapped(desc, k);
        if (zapped)
            x[2 * i] = x[2 * i + 1] = 0;
        double re = (double)x[2 * i], im = (double)x[2 * i + 1];
        if (inside)
            sum += zapped ? 2 : re * re + im * im;
    }
    b->chi2[h - 1] = sum;
    b->excess[h - 1] = sum - 2 * (double)bins.count;
}

/* Keeps only harmonics that are a candidate's own: responses to others' harmonics are set to 0. */
static void leave_own(struct psr_refine_box *b, int h, float taken, float *x, size_t n)
{
    b->chi2[h - 1] -= (double)taken;
    b->excess[h - 1] -= (double)taken;
    if ((double)taken > fmax(b->excess[h - 1], 0))
        memset(x, 0, 2 * n * sizeof *x);
}

/* Reads one harmonic's bins and prepares responses to them. */
static psr_status take_harmonic(struct psr_refine_box *b, int h, float taken, psr_pulscan *plan,
                                size_t s, const struct psr_refine_desc *desc, psr_err *err)
{
    struct psr_span bins = bins_of(b->hit, h);
    int64_t margin = margin_of(b->hit, h), first = bins.first - margin;
    if (first < 0)
        first = 0;
    size_t n = (size_t)(bins.first + bins.count + margin - first);
    float *x = malloc(2 * n * sizeof *x);
    if (!x)
        return psr_fail_nomem(err, "a candidate's bins", (double)(2 * n * sizeof *x));
    psr_status st;
#pragma omp critical(psr_candidate_refine)
    st = psr_pulscan_amplitudes(plan, s, first, n, x, err);
    if (st == PSR_OK) {
        weigh_harmonic(b, h, bins, first, n, x, desc);
        leave_own(b, h, taken, x, n);
    }
    if (st == PSR_OK && n <= MOST_BINS)
        st = psr_accel_template_create(&b->matched[h - 1], x, first, n, err);
    free(x);
    return st;
}

psr_status psr_refine_box_take(struct psr_refine_box *b, psr_pulscan *plan, size_t s,
                               const struct psr_pulscan_cand *cand,
                               const struct psr_refine_desc *desc, psr_err *err)
{
    const struct psr_pulscan_hit *hit = &cand->best;
    struct psr_pulscan_info info;
    psr_pulscan_describe(plan, &info);
    *b = (struct psr_refine_box){.hit = hit, .lost = desc->boxes_only ? (double)info.block / 2 : 0};
    psr_status st = PSR_OK;
    for (int h = 1; h <= hit->nharm && st == PSR_OK && !desc->boxes_only; h++)
        st = take_harmonic(b, h, cand->taken[h - 1], plan, s, desc, err);
    return st;
}

void psr_refine_box_drop(struct psr_refine_box *b)
{
    for (int h = 0; h < PSR_PULSCAN_MAX_HARM; h++)
        psr_accel_template_destroy(b->matched[h]);
}

/* --- matched responses ------------------------------------------------------------------------ */

/* The lowest harmonic that is nearly as significant as the most significant one: low harmonics are
 * quickly searched, and high ones of wide boxes are not searched at all. */
static int choose_harmonic(const struct psr_refine_box *b)
{
    int nharm = b->hit->nharm, h = 1;
    double best = 0;
    while (nharm > 1 && nharm * (b->hit->z + 1) > MOST_DRIFT)
        nharm--;
    for (int k = 1; k <= nharm; k++)
        best = fmax(best, b->excess[k - 1] / sqrt(k));
    while (h < nharm && b->excess[h - 1] / sqrt(h) < 0.7 * best)
        h++;
    return h;
}

/* The best drift of one sign, in bins of harmonic h. */
static size_t search_side(const struct psr_refine_box *b, int h, int sign, int zmax,
                          struct psr_accel_template_peak *peak)
{
    struct psr_span bins = bins_of(b->hit, h);
    double width = (double)bins.count, most = (double)zmax * h;
    double from = fmax(0, WIDTH_FROM * width - 4), to = fmin(WIDTH_TO * width + 4, most);
    double step = width < 64 ? 2 : 4;
    double rlo = (double)bins.first - 1, rhi = (double)(bins.first + bins.count);
    if (to < from)
        from = to;
    if (sign > 0)
        return psr_accel_template_search(b->matched[h - 1], rlo, rhi, from, to, step, peak);
    return psr_accel_template_search(b->matched[h - 1], rlo, rhi, -to, -from, step, peak);
}

/* Summed power at (r, z) of the fundamental. */
static double sum_power(const struct psr_refine_box *b, double r, double z)
{
    double sum = 0;
    for (int h = 1; h <= b->hit->nharm; h++)
        sum += psr_accel_template_power(b->matched[h - 1], h * r, h * z, 0);
    return sum;
}

/* Ransom, Eikenberry and Middleditch 2002, for the fundamental of several harmonics: harmonic h
 * determines r and z h times as precisely. */
static void find_errors(const struct psr_refine_box *b, struct psr_refine_place *p)
{
    double weight = 0;
    for (int h = 1; h <= b->hit->nharm; h++)
        weight +=
            h * h * psr_accel_template_power(b->matched[h - 1], h * p->r.value, h * p->z.value, 0);
    weight = fmax(weight, PSR_REFINE_LEAST_POWER);
    p->r.error = 3 / (M_PI * sqrt(6 * weight));
    p->z.error = 3 * sqrt(10 / weight) / M_PI;
}

/* Moves to a neighbour that is higher, if one is. */
static bool step(const struct psr_refine_box *b, struct psr_refine_place *p, double *best,
                 double dr, double dz)
{
    const double move[4][2] = {{dr, 0}, {-dr, 0}, {0, dz}, {0, -dz}};
    for (int k = 0; k < 4; k++) {
        double r = p->r.value + move[k][0], z = p->z.value + move[k][1];
        double power = sum_power(b, r, z);
        if (power <= *best)
            continue;
        *best = power;
        p->r.value = r;
        p->z.value = z;
        return true;
    }
    return false;
}

/* Climbs in steps that are halved if no neighbour is higher, until they are small against the errors.
 */
static void climb(const struct psr_refine_box *b, struct psr_refine_place *p, double dr, double dz)
{
    double best = sum_power(b, p->r.value, p->z.value);
    for (int halvings = 0; halvings < MOST_HALVINGS; halvings++, dr /= 2, dz /= 2) {
        while (step(b, p, &best, dr, dz))
            continue;
        find_errors(b, p);
        if (dr < FINE * p->r.error && dz < FINE * p->z.error)
            break;
    }
}

/* Errors are those of boxes around signals of constant drift, roughly. */
static struct psr_refine_place place_of_box(const struct psr_refine_box *b, int sign, int zmax)
{
    double width = b->hit->z + 1, z = fmin(b->hit->z, zmax);
    return (struct psr_refine_place){.r = {b->hit->r, 0.5 + 0.1 * width + b->lost},
                                     .z = {z > 0 ? sign * z : 0, 1 + 0.2 * width}};
}

/* From the best place of harmonic h to one of the fundamental. */
static struct psr_refine_place refine_place(const struct psr_refine_box *b, int h,
                                            const struct psr_accel_template_peak *peak, int zmax)
{
    struct psr_refine_place p = {.matched = true, .r = {peak->r / h, 0}, .z = {peak->z / h, 0}};
    climb(b, &p, 0.25 / h, zmax > 0 ? 1.0 / h : 0);
    return p;
}

int psr_refine_places(const struct psr_refine_box *b, const struct psr_refine_desc *desc,
                      struct psr_refine_place place[2], bool *known)
{
    struct psr_accel_template_peak side[2] = {{.power = 0}, {.power = 0}}; /* z above, below 0 */
    const int h = choose_harmonic(b);
    size_t looked = 0;
    if (!desc->boxes_only && b->matched[b->hit->nharm - 1])
        for (int k = 0; k < 2; k++)
            looked += search_side(b, h, k ? -1 : 1, desc->zmax, &side[k]);
    const int better = side[1].power > side[0].power;
    const double power = side[better].power;
    *known = power - side[!better].power >= SIGN_POWER;
    const bool stands_out =
        power > log((double)(looked + 1) / CHANCE) && power > LEAST_SHARE * b->excess[h - 1] / 2;
    if (stands_out) {
        place[0] = refine_place(b, h, &side[better], desc->zmax);
        return 1;
    }
    place[0] = place_of_box(b, better ? -1 : 1, desc->zmax);
    place[1] = place_of_box(b, better ? 1 : -1, desc->zmax);
    return *known || fabs(place[0].z.value) <= place[0].z.error ? 1 : 2;
}
