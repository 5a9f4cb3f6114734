/* Keeps the list of candidates as accelsearch does: neighbours, order and sigma. */
#include "presto_list.h"

#include "base/grow.h"

#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- sigma ------------------------------------------------------------------------------------ */

/* ln of the upper incomplete gamma function for large z (Abramowitz and Stegun 6.5.32), which ends
 * of itself where a is whole. */
static double ln_upper_gamma(double a, double z)
{
    double term = 1, sum = 1;
    for (int k = 1; fabs(term) > 1e-15; k++) {
        term *= (a - k) / z;
        sum += term;
    }
    return (a - 1) * log(z) - z + log(sum);
}

/* Abramowitz and Stegun 6.1.41 to four terms, for all a. */
static double ln_gamma(double a)
{
    double y = 1 / (a * a);
    double tail = ((-y / 1680 + 1.0 / 1260) * y - 1.0 / 360) * y + 1.0 / 12;
    return (a - 0.5) * log(a) - a + 0.5 * log(2 * M_PI) + tail / a;
}

/* Abramowitz and Stegun 26.2.23. */
static double far_sigma(double ln_p)
{
    double t = sqrt(-2 * ln_p);
    double above = 2.515517 + t * (0.802853 + t * 0.010328);
    return t - above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

double psr_presto_sigma(double power, int nharm, double trials)
{
    const double chi2 = 2 * power, dof = 2.0 * nharm;
    if (power <= 0)
        return 0;
    double ln_p = chi2 > 1200 || (dof > 30 && chi2 > 100)
                      ? ln_upper_gamma(dof / 2, chi2 / 2) - ln_gamma(dof / 2)
                      : psr_chi2_logp(chi2, dof).ln_sf;
    ln_p += log(trials);
    double sigma = ln_p < -600 ? far_sigma(ln_p) : psr_gauss_sigma(psr_logp_from_sf(ln_p));
    return sigma < 0 ? 0 : sigma;
}

/* --- the list --------------------------------------------------------------------------------- */

/* The first candidate but the last whose r is not below, or the last. */
static size_t find_next(const struct psr_presto_list *list, double r)
{
    size_t lo = 0, hi = list->n - 1;
    if (list->inversions > 0) {
        while (lo < hi && list->cand[lo].r < r)
            lo++;
        return lo;
    }
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (list->cand[mid].r < r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static size_t falls_around(const struct psr_presto_list *list, size_t at)
{
    size_t n = 0;
    if (at > 0 && at < list->n)
        n += list->cand[at - 1].r > list->cand[at].r;
    if (at + 1 < list->n)
        n += list->cand[at].r > list->cand[at + 1].r;
    return n;
}

static void replace(struct psr_presto_list *list, size_t at, const struct psr_presto_cand *cand)
{
    list->inversions -= falls_around(list, at);
    list->cand[at] = *cand;
    list->inversions += falls_around(list, at);
}

static void count_falls(struct psr_presto_list *list)
{
    list->inversions = 0;
    for (size_t k = 1; k < list->n; k++)
        list->inversions += list->cand[k - 1].r > list->cand[k].r;
}

static void take_out(struct psr_presto_list *list, size_t at)
{
    list->n--;
    memmove(list->cand + at, list->cand + at + 1, (list->n - at) * sizeof *list->cand);
    count_falls(list);
}

static psr_status put_in(struct psr_presto_list *list, size_t at,
                         const struct psr_presto_cand *cand, psr_err *err)
{
    psr_status st =
        psr_grow(&list->cand, &list->room, list->n, sizeof *list->cand, "candidates", err);
    if (st)
        return st;
    memmove(list->cand + at + 1, list->cand + at, (list->n - at) * sizeof *list->cand);
    list->cand[at] = *cand;
    list->n++;
    if (list->inversions > 0 || falls_around(list, at) > 0)
        count_falls(list);
    return PSR_OK;
}

/* Replaces near candidates of lower sigma. */
static bool take_place(struct psr_presto_list *list, size_t next, bool prev_near, bool next_near,
                       const struct psr_presto_cand *cand)
{
    bool prev_beaten = prev_near && list->cand[next - 1].sigma < cand->sigma;
    bool next_beaten = next_near && list->cand[next].sigma < cand->sigma;
    if (prev_beaten)
        replace(list, next - 1, cand);
    if (prev_beaten && next_beaten)
        take_out(list, next);
    else if (next_beaten)
        replace(list, next, cand);
    return prev_beaten || next_beaten;
}

psr_status psr_presto_list_add(struct psr_presto_list *list, const struct psr_presto_cand *cand,
                               bool *added, psr_err *err)
{
    bool ignored;
    added = added ? added : &ignored;
    *added = true;
    if (list->n == 0)
        return put_in(list, 0, cand, err);
    size_t next = find_next(list, cand->r);
    bool prev_near = next > 0 && fabs(cand->r - list->cand[next - 1].r) < PSR_ACCEL_CLOSEST;
    bool next_near = fabs(cand->r - list->cand[next].r) < PSR_ACCEL_CLOSEST;
    if (prev_near || next_near) {
        *added = take_place(list, next, prev_near, next_near, cand);
        return PSR_OK;
    }
    bool behind = next == list->n - 1 && list->cand[next].r < cand->r - PSR_ACCEL_CLOSEST;
    return put_in(list, next + behind, cand, err);
}

/* --- in order --------------------------------------------------------------------------------- */

struct ranked {
    const struct psr_presto_cand *cand;
    size_t rank;
};

static int by_sigma(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->cand->sigma > b->cand->sigma || a->cand->sigma < b->cand->sigma)
        return a->cand->sigma > b->cand->sigma ? -1 : 1;
    if (a->cand->power > b->cand->power || a->cand->power < b->cand->power)
        return a->cand->power > b->cand->power ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

psr_status psr_presto_list_sort(const struct psr_presto_list *list, struct psr_accel_peaks *peaks,
                                psr_err *err)
{
    struct ranked *order = malloc((list->n + 1) * sizeof *order);
    psr_status st = order ? PSR_OK : psr_fail_nomem(err, "candidates", 16.0 * (double)list->n);
    peaks->n = 0;
    for (size_t k = 0; k < list->n && !st; k++)
        order[k] = (struct ranked){&list->cand[k], k};
    if (!st)
        qsort(order, list->n, sizeof *order, by_sigma);
    for (size_t k = 0; k < list->n && !st; k++) {
        const struct psr_presto_cand *c = order[k].cand;
        st = psr_grow(&peaks->peak, &peaks->room, peaks->n, sizeof *peaks->peak, "candidates", err);
        if (!st)
            peaks->peak[peaks->n++] = (struct psr_accel_peak){
                .r = c->r,
                .z = c->z,
                .w = c->w,
                .sigma = (double)c->sigma,
                .power = (double)c->power,
                .nharm = c->nharm,
            };
    }
    free(order);
    return st;
}
