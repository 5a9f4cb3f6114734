/* Which boxes are tested, so that few are summed: every width of a search belongs to one test, of a
 * box that holds all boxes of its widths that start at, or less than 4^step bins behind, the test's
 * place.  A test that noise passes now and then costs little: the piece is searched in full. */
#include "pulscan_cuda.h"

#include <psrkit/signif.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* What tests of each step cost, per start; measured in instructions. */
static const double step_cost[PULSCAN_STEPS] = {3.2, 1.3};

/* How often noise may pass a test. */
static const double ln_rare = -10.8; /* 2e-5 */

enum { MAX_START = INT_MAX - (1 << 20) };

static int step_bins(int step)
{
    return 1 << 2 * step;
}

/* Whether any box of this width can be a hit: no sum of powers reaches 1e37. */
static bool is_searched(const struct psr_boxes *b)
{
    return b->lo < b->hi && b->floor < 1e37f;
}

/* The box of a test for widths up to z + 1. */
static int test_bins(int z, int step)
{
    int each = step_bins(step);
    return (z + each + each - 1) / each * each;
}

/* From width k on: how many widths a test of this step can stand for, 0 where noise would pass it
 * too often even for one.  Tests of step 0 always can. */
static size_t reach(const struct psr_pulscan_search *s, size_t h, size_t k, int step, float *floor)
{
    const struct psr_boxes *box = s->boxes + h * s->nz;
    size_t n = 0;
    float lowest = INFINITY;
    for (; k + n < s->nz; n++) {
        int bins = test_bins(s->z[k + n], step);
        float next = is_searched(&box[k + n]) ? fminf(lowest, box[k + n].floor) : lowest;
        double dof = psr_pulscan_dof(s->harm[h], bins - 1);
        bool exact = step == 0 && n == 0;
        if (!exact && isfinite(next) && psr_chi2_logp((double)next, dof).ln_sf > ln_rare)
            break;
        lowest = next;
    }
    *floor = lowest;
    return n;
}

/* The test that spares most work. */
static size_t choose_test(const struct psr_pulscan_search *s, size_t h, size_t k, int *step,
                          float *floor)
{
    size_t best = 0;
    double gain = 0;
    for (int n = 0; n < PULSCAN_STEPS; n++) {
        float lowest;
        size_t count = reach(s, h, k, n, &lowest);
        if ((double)count / step_cost[n] <= gain)
            continue;
        gain = (double)count / step_cost[n];
        best = count;
        *step = n;
        *floor = lowest;
    }
    return best;
}

/* Tests of one sum, with floors still as floats. */
struct draft {
    int step, bins;
    float floor;
    uint32_t groups;
};

static size_t draft_tests(const struct psr_boxes_plan *p, const struct psr_pulscan_search *s,
                          size_t h, struct draft *draft)
{
    size_t n = 0;
    for (size_t k = 0; k < s->nz;) {
        struct draft *d = &draft[n];
        size_t count = choose_test(s, h, k, &d->step, &d->floor);
        int last = s->z[k + count - 1];
        d->bins = test_bins(last, d->step);
        int z0 = s->z[k];
        d->groups = 0;
        for (int g = z0 >> p->group_shift; g <= last >> p->group_shift; g++)
            d->groups |= UINT32_C(1) << g;
        n += isfinite(d->floor);
        k += count;
    }
    return n;
}

/* The kernels' sums differ from exact ones by less than 3e-5. */
static uint32_t scaled_floor(float floor, float scale)
{
    double f = (double)floor * (1 - 3e-5) * (double)scale;
    return f > 0 ? (uint32_t)f : 0;
}

static psr_status set_tests(struct psr_boxes_plan *p, const struct psr_pulscan_search *s, size_t h,
                            psr_err *err)
{
    struct pulscan_k_sum *sum = &p->sum[h];
    struct draft *draft = calloc(s->nz, sizeof *draft);
    if (!draft)
        return psr_fail_nomem(err, "tests of boxes", (double)s->nz * sizeof *draft);
    size_t n = draft_tests(p, s, h, draft);
    /* Powers are cut above all floors and scaled so that no box of a test reaches 2^32. */
    double most = 1, widest = 1;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, (double)draft[i].floor);
        widest = fmax(widest, draft[i].bins);
    }
    most *= 1.001;
    sum->cut = (float)most;
    sum->scale = (float)exp2(floor(log2(0x1p32 / (widest * (most + 1)))));
    while ((ceil(most * (double)sum->scale) + 1) * widest >= 0x1p32)
        sum->scale /= 2;
    for (int step = 0; step < PULSCAN_STEPS; step++) {
        sum->test[step] = (uint32_t)p->ntest;
        for (size_t i = 0; i < n; i++) {
            const struct draft *d = &draft[i];
            if (d->step != step)
                continue;
            p->test[p->ntest++] = (struct pulscan_k_test){
                .m = (uint32_t)(d->bins / step_bins(step)),
                .floor = scaled_floor(d->floor, sum->scale),
                .groups = d->groups,
            };
            p->halo = d->bins > p->halo ? d->bins : p->halo;
        }
    }
    sum->test[PULSCAN_STEPS] = (uint32_t)p->ntest;
    free(draft);
    return PSR_OK;
}

static uint32_t count_pieces(const struct psr_pulscan_search *s, int end)
{
    int64_t last = end > 1 ? end - 2 : 0;
    return (uint32_t)(last / s->block + 1) * pulscan_k_pieces(s->block);
}

psr_status psr_boxes_plan_make(struct psr_boxes_plan *p, const struct psr_pulscan_search *s,
                               psr_err *err)
{
    int zmax = s->z[s->nz - 1], widest = test_bins(zmax, PULSCAN_STEPS - 1);
    *p = (struct psr_boxes_plan){.begin = INT_MAX, .nwidth = (zmax + 8) / 8 * 8, .group_shift = 3};
    if (widest > pulscan_k_max_halo())
        return psr_fail_field(err, PSR_EUNSUPPORTED, "zmax",
                              "search on CUDA: zmax %d is above its limit of %d", zmax,
                              pulscan_k_max_halo() - 2 * step_bins(PULSCAN_STEPS - 1));
    if (s->nbin > MAX_START)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbin",
                              "search on CUDA: %zu bins are above its limit of %d", s->nbin,
                              MAX_START);
    while (zmax >> p->group_shift >= PULSCAN_GROUPS)
        p->group_shift++;
    p->sum = calloc(s->nharm, sizeof *p->sum);
    p->test = calloc(s->nharm * s->nz + 1, sizeof *p->test);
    p->width = calloc(s->nharm * (size_t)p->nwidth, sizeof *p->width);
    if (!p->sum || !p->test || !p->width)
        return psr_fail_nomem(err, "tests of boxes", 48.0 * (double)(s->nharm * s->nz));
    psr_status st = PSR_OK;
    for (size_t h = 0; !st && h < s->nharm; h++) {
        struct pulscan_k_sum *sum = &p->sum[h];
        struct pulscan_k_width *width = p->width + h * (size_t)p->nwidth;
        *sum = (struct pulscan_k_sum){.nharm = s->harm[h], .begin = INT_MAX};
        for (int z = 0; z < p->nwidth; z++)
            width[z].floor = INFINITY;
        for (size_t k = 0; k < s->nz; k++) {
            const struct psr_boxes *b = &s->boxes[h * s->nz + k];
            if (!is_searched(b))
                continue;
            width[s->z[k]] =
                (struct pulscan_k_width){b->floor, (int)b->lo, (int)b->hi, (uint32_t)k};
            sum->begin = (int)b->lo < sum->begin ? (int)b->lo : sum->begin;
            sum->end = (int)b->hi > sum->end ? (int)b->hi : sum->end;
        }
        p->begin = sum->begin < p->begin ? sum->begin : p->begin;
        p->end = sum->end > p->end ? sum->end : p->end;
        st = set_tests(p, s, h, err);
    }
    p->npiece = count_pieces(s, p->end);
    return st;
}

void psr_boxes_plan_free(struct psr_boxes_plan *p)
{
    free(p->sum);
    free(p->test);
    free(p->width);
    *p = (struct psr_boxes_plan){0};
}
