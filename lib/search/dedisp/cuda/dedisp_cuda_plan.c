/* Which trials share a block and which channels a group: where delays drift apart slowly, matrix
 * products are small.  Nothing here needs a device. */
#include "dedisp_cuda.h"

#include "base/tool.h"

#include <stdlib.h>
#include <string.h>

enum { GATHERED = 100 }; /* sums made one by one in the time of a stage, per sample */

struct ranked {
    double dm;
    uint32_t i;
};

PSR_COMPARE(by_rising_dm, struct ranked, PSR_THEN(PSR_RISING(dm), PSR_RISING(i)));

static psr_status sort_trials(struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                              psr_err *err)
{
    struct ranked *rank = calloc(s->ndm, sizeof *rank);
    plan->dm = calloc(s->ndm, sizeof *plan->dm);
    plan->row = calloc(s->ndm, sizeof *plan->row);
    if (!rank || !plan->dm || !plan->row) {
        free(rank);
        return psr_fail_nomem(err, "trials", 28.0 * (double)s->ndm);
    }
    for (size_t i = 0; i < s->ndm; i++)
        rank[i] = (struct ranked){s->dm[i], (uint32_t)i};
    qsort(rank, s->ndm, sizeof *rank, by_rising_dm);
    for (size_t i = 0; i < s->ndm; i++) {
        plan->dm[i] = rank[i].dm;
        plan->row[i] = rank[i].i;
    }
    free(rank);
    return PSR_OK;
}

/* Samples by which the delays between two coeffs grow over a range of DM. */
static double drift(const struct psr_dedisp_layout *s, double range, double coeff, double coeff_ref)
{
    return (range / coeff - range / coeff_ref) / s->dt_s;
}

/* Delays are rounded, so that their differences are off by up to this. */
static int slack(const struct psr_dedisp_layout *s)
{
    return s->tol ? 4 : 2;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* DM over the block, and over the wider of its halves. */
struct extent {
    double whole, half;
};

static struct extent extent_of(const double *dm, size_t n)
{
    size_t half = (n + 1) / 2;
    double early = dm[half - 1] - dm[0], late = half < n ? dm[n - 1] - dm[half] : 0;
    return (struct extent){dm[n - 1] - dm[0], early > late ? early : late};
}

/* Samples by which the delays of n channels grow apart from that of the middle one. */
static double drift_of_group(const struct psr_dedisp_layout *s, double range, size_t k0, size_t n)
{
    const double mid = s->coeff[k0 + n / 2];
    double above = drift(s, range, mid, s->coeff[k0]),
           below = drift(s, range, s->coeff[k0 + n - 1], mid);
    return above > below ? above : below;
}

/* The number of channels from k0 on that costs least per channel: a group costs as much as ten
 * relative delays, and each of those once more.  Of wide blocks half the drift counts, as their
 * halves have windows of their own. */
static size_t choose_group(const struct psr_dedisp_layout *s, int kind, struct extent e, size_t k0)
{
    static const size_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, DEDISP_CHANNELS};
    size_t best = 1, left = s->nkept - k0;
    double least = 12;
    for (size_t j = 1; j < sizeof sizes / sizeof *sizes; j++) {
        size_t n = sizes[j] < left ? sizes[j] : left;
        double x = drift_of_group(s, e.whole, k0, n);
        double cost = (12 + (kind == DEDISP_WIDE ? x / 2 : x)) / (double)n;
        if (!dedisp_k_fits(kind, x, drift_of_group(s, e.half, k0, n), s->tol))
            break;
        if (cost < least) {
            least = cost;
            best = n;
        }
        if (n == left)
            break;
    }
    return best;
}

/* Whether the block's groups, at the end of the table, are those of the block before. */
static bool same_groups(const struct psr_cuda_plan *plan, const struct dedisp_k_block *b)
{
    const struct dedisp_k_block *before = b - 1;
    return b > plan->block && before->ngroup == b->ngroup &&
           !memcmp(plan->group + before->group, plan->group + b->group,
                   b->ngroup * sizeof *plan->group);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Samples by which delays against those of the middle spread over a range of DM. */
static int spread_over(const struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                       double range)
{
    double above = drift(s, range, plan->coeff_mid, s->coeff[0]);
    double below = drift(s, range, s->coeff[s->nkept - 1], plan->coeff_mid);
    return (int)(above > below ? above : below) + 2 + slack(s);
}

/* ...and those of the middle themselves. */
static int late_over(const struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                     double range)
{
    return (int)drift(s, range, plan->coeff_mid, s->coeff_top) + 2;
}

/* Trials from "first" on whose delays stay within the spread. */
static size_t count_trials(const struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                           int kind, size_t first, int max_spread)
{
    const size_t most = DEDISP_TRIALS_OF(kind);
    size_t n = 1;
    for (; n < most && first + n < s->ndm; n++) {
        double range = plan->dm[first + n] - plan->dm[first];
        if (spread_over(plan, s, range) > max_spread ||
            late_over(plan, s, range) >= DEDISP_FRONT - 64)
            break;
    }
    return n;
}

/* Of the first nkind kinds, that of which a thread block makes most sums from trial "first" on, as
 * all take about as long. */
static int choose_kind(const struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                       size_t first, int nkind, const int *max_spread, size_t *ntrial)
{
    size_t most = 0;
    int best = 0;
    *ntrial = 1;
    for (int kind = 0; kind < nkind; kind++) {
        size_t n = count_trials(plan, s, kind, first, max_spread[kind]);
        if (n * DEDISP_SAMPLES_OF(kind) <= most)
            continue;
        most = n * DEDISP_SAMPLES_OF(kind);
        *ntrial = n;
        best = kind;
    }
    return best;
}

/* Number of blocks, and thread blocks per sample. */
static double count_blocks(const struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                           int nkind, const int *max_spread, size_t *nblock)
{
    double cost = 0;
    *nblock = 0;
    for (size_t i = 0, n; i < s->ndm; i += n, ++*nblock)
        cost += 1.0 / DEDISP_SAMPLES_OF(choose_kind(plan, s, i, nkind, max_spread, &n));
    return cost;
}

static psr_status make_block(struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                             int kind, size_t first, size_t n, size_t *room, psr_err *err)
{
    struct dedisp_k_block *b = plan->block + plan->nblock++;
    b->first = (uint32_t)first;
    b->n = (uint32_t)n;
    double range = plan->dm[first + n - 1] - plan->dm[first];
    int spread = spread_over(plan, s, range);
    b->late = (uint64_t)late_over(plan, s, range);
    plan->spread[kind] = spread > plan->spread[kind] ? spread : plan->spread[kind];
    plan->late = b->late > plan->late ? (size_t)b->late : plan->late;
    struct extent e = extent_of(plan->dm + b->first, b->n);
    if (plan->ngroup + s->nkept > *room) {
        psr_status st = psr_reserve(&plan->group, room, 2 * *room + s->nkept, sizeof *plan->group,
                                    "groups of channels", err);
        if (st)
            return st;
    }
    b->group = (uint32_t)plan->ngroup;
    struct dedisp_k_group *g = plan->group + plan->ngroup;
    for (size_t k = 0; k < s->nkept; k += g[b->ngroup++].n)
        g[b->ngroup] = (struct dedisp_k_group){(uint32_t)k, (uint32_t)choose_group(s, kind, e, k)};
    if (same_groups(plan, b))
        b->group = b[-1].group;
    else
        plan->ngroup += b->ngroup;
    return PSR_OK;
}

static psr_status make_blocks(struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                              const int *max_spread, psr_err *err)
{
    size_t room = 0, count, n;
    int nkind = DEDISP_KINDS;
    /* A kind more is a launch more, and its last wave. */
    double cost = count_blocks(plan, s, nkind, max_spread, &count);
    if (cost > 0.95 * count_blocks(plan, s, 1, max_spread, &n)) {
        nkind = 1;
        count = n;
    }
    plan->block = calloc(count, sizeof *plan->block);
    if (!plan->block)
        return psr_fail_nomem(err, "blocks of trials", (double)count * sizeof *plan->block);
    for (int kind = 0; kind < nkind; kind++) {
        for (size_t i = 0; i < s->ndm; i += n) {
            psr_status st = PSR_OK;
            if (choose_kind(plan, s, i, nkind, max_spread, &n) == kind)
                st = make_block(plan, s, kind, i, n, &room, err);
            if (st)
                return st;
        }
        plan->nwide = kind == DEDISP_WIDE ? plan->nblock : plan->nwide;
    }
    return PSR_OK;
}

static psr_status make_batches(struct psr_cuda_plan *plan, size_t max_stages, psr_err *err)
{
    plan->batch = calloc(plan->nblock + 1, sizeof *plan->batch);
    if (!plan->batch)
        return psr_fail_nomem(err, "batches of blocks", (double)plan->nblock * sizeof *plan->batch);
    size_t n = 0;
    for (size_t b = 0; b < plan->nblock; b++) {
        struct dedisp_k_block *block = plan->block + b;
        const size_t done = b - plan->batch[plan->nbatch];
        if (done && (n + block->ngroup > max_stages || done == DEDISP_LAUNCH)) {
            plan->batch[++plan->nbatch] = b;
            n = 0;
        }
        block->stage = n;
        n += block->ngroup;
        plan->nstage = n > plan->nstage ? n : plan->nstage;
    }
    plan->batch[++plan->nbatch] = plan->nblock;
    return PSR_OK;
}

/* --- the plan --------------------------------------------------------------------------------- */

static int planes_for(uint64_t sample_max)
{
    int n = 0;
    for (; sample_max; sample_max >>= 8)
        n++;
    return n;
}

void psr_cuda_plan_batch(const struct psr_cuda_plan *plan, size_t batch,
                         size_t nblock[DEDISP_KINDS])
{
    const size_t from = plan->batch[batch], end = plan->batch[batch + 1];
    const size_t wide = plan->nwide > end ? end : plan->nwide;
    nblock[DEDISP_WIDE] = wide > from ? wide - from : 0;
    nblock[DEDISP_NARROW] = end - from - nblock[DEDISP_WIDE];
}

psr_status psr_cuda_plan_make(struct psr_cuda_plan *plan, const struct psr_dedisp_layout *s,
                              const int max_spread[DEDISP_KINDS], size_t max_stages, psr_err *err)
{
    uint64_t sample_max = psr_dedisp_layout_sample_max(s);
    memset(plan, 0, sizeof *plan);
    plan->nplane = planes_for(sample_max);
    plan->coeff_mid = 2 / (1 / s->coeff[0] + 1 / s->coeff[s->nkept - 1]);
    psr_status st = sort_trials(plan, s, err);
    if (st || s->algo == PSR_DEDISP_TREE || !sample_max ||
        max_spread[DEDISP_NARROW] < 2 + slack(s) || sample_max * s->nkept > UINT32_MAX)
        return st;
    if ((st = make_blocks(plan, s, max_spread, err)))
        return st;
    double stages = 0;
    for (size_t b = 0; b < plan->nblock; b++)
        stages += plan->block[b].ngroup;
    plan->multiply = stages * GATHERED < (double)s->ndm * (double)s->nkept;
    return plan->multiply ? make_batches(plan, max_stages, err) : PSR_OK;
}

void psr_cuda_plan_free(struct psr_cuda_plan *plan)
{
    free(plan->dm);
    free(plan->row);
    free(plan->block);
    free(plan->group);
    free(plan->batch);
}
