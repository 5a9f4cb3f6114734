/* pulscan: the search of random spectra against its definition in double precision. */
#include "search/pulscan/pulscan_internal.h"
#include "tests/support/pulscan_truth.h"

/* --- comparison ------------------------------------------------------------------------------- */

/* What is compared: blocks and widths, or boxes. */
struct block_sums {
    int boxes, hits, missed, extra, wrong;
};

/* --- the best of each block ------------------------------------------------------------------- */

static const struct psr_pulscan_hit *find_hit(const struct psr_pulscan_result *r, int nharm, int z,
                                              int64_t block, int64_t b)
{
    for (size_t k = 0; k < r->nhit; k++)
        if (r->hit[k].nharm == nharm && r->hit[k].z == z && (r->hit[k].first - 1) / block == b)
            return &r->hit[k];
    return NULL;
}

/* Powers may differ by 1e-5, so boxes that are equal to that may take each other's places, and
 * those at the threshold may come or not. */
static void compare_block(const struct truth *t, const struct psr_pulscan_desc *d,
                          const psr_pulscan *plan, const struct psr_pulscan_result *r, int nharm,
                          int z, int64_t b, struct block_sums *c)
{
    int64_t block = (int64_t)d->block;
    double best = -1;
    for (int64_t i = 1 + b * block; i < 1 + (b + 1) * block && i < (int64_t)t->nbin; i++)
        if (allowed(d, i, nharm, z))
            best = fmax(best, box_power(t, i, z));
    const struct psr_pulscan_hit *h = find_hit(r, nharm, z, block, b);
    c->boxes++;
    c->hits += h != NULL;
    if (best < 0 || psr_pulscan_sigma(plan, best * (1 + 1e-5), nharm, z, 1) <= d->sigma)
        c->extra += h != NULL;
    else if (!h)
        c->missed += psr_pulscan_sigma(plan, best * (1 - 1e-5), nharm, z, 1) > d->sigma;
    else {
        double here = d->rblock ? best : box_power(t, h->first, z);
        bool inside = d->compat || (h->r >= (double)h->first && h->r < (double)d->nbin / nharm);
        bool same = inside && fabs((double)h->power - here) <= 1e-5 * here &&
                    here >= best * (1 - 1e-5) && (d->rblock || allowed(d, h->first, nharm, z)) &&
                    h->sigma == psr_pulscan_sigma(plan, (double)h->power, nharm, z, 1);
        c->wrong += !same;
    }
}

static void compare_blocks(const struct truth *t, const struct psr_pulscan_desc *d,
                           const psr_pulscan *plan, const struct psr_pulscan_result *r, int nharm,
                           int z, struct block_sums *c)
{
    for (int64_t b = 0; b * (int64_t)d->block < (int64_t)d->nbin / nharm; b++)
        compare_block(t, d, plan, r, nharm, z, b, c);
}

/* --- peaks ------------------------------------------------------------------------------------ */

static int64_t reach_of(int z)
{
    return z > 15 ? z : 15;
}

/* The highest of power[lo .. hi - 1]. */
static double highest(const double *power, int64_t lo, int64_t hi)
{
    double most = -1;
    for (int64_t i = lo; i < hi; i++)
        most = fmax(most, power[i]);
    return most;
}

/* Whether none in reach has this share more power; of n boxes power[i] is none where it is below 0. */
static bool is_peak(const double *power, int64_t n, int64_t i, int z, double share)
{
    int64_t lo = i - reach_of(z), hi = i + reach_of(z) + 1;
    double least = power[i] * (1 + share);
    return highest(power, lo > 0 ? lo : 0, i) < least &&
           highest(power, i + 1, hi < n ? hi : n) < least;
}

static bool is_hit_right(const double *power, int64_t n, const struct psr_pulscan_desc *d,
                         const psr_pulscan *plan, const struct psr_pulscan_hit *h)
{
    double here = h->first > 0 && h->first < n ? power[h->first] : -1;
    return here >= 0 && fabs((double)h->power - here) <= 1e-5 * here &&
           is_peak(power, n, h->first, h->z, 2e-5) && h->r >= (double)h->first &&
           h->r < (double)d->nbin / h->nharm &&
           h->sigma == psr_pulscan_sigma(plan, (double)h->power, h->nharm, h->z, 1);
}

static bool is_hit(const struct psr_pulscan_hit *hit, size_t n, int64_t first)
{
    size_t k = 0;
    while (k < n && hit[k].first != first)
        k++;
    return k < n;
}

/* What side lobes of brighter hits of one bin may leave in a box, over its power over noise. */
static double lobe_share(const struct psr_pulscan_hit *line, size_t n, double power, int64_t first,
                         int nharm, int z)
{
    double own = power - nharm * (nharm + 1.0) * (z + 1), sum = 0;
    for (size_t k = 0; k < n; k++) {
        double excess = (double)line[k].power - nharm * (nharm + 1.0);
        for (int64_t i = first; i <= first + z; i++) {
            double d = (double)(i - line[k].first);
            bool apart = line[k].first < first || line[k].first > first + z;
            bool near = line[k].first >= first - 4096 && line[k].first <= first + z + 4096;
            sum += apart && near && excess > own ? excess / (d * d - 0.25) : 0;
        }
    }
    return own > 0 ? sum / own : sum > 0 ? INFINITY : 0;
}

/* Every peak above the threshold is a hit, and every hit is one; hits of a width rise in place.  Of
 * boxes that are equal within the errors, as where bins are zapped, any or none may be it; which,
 * tests/search/pulscan/t_pulscan_peaks.c asks of integers. */
static void compare_peaks(const struct truth *t, const struct psr_pulscan_desc *d,
                          const psr_pulscan *plan, const struct psr_pulscan_result *r, int nharm,
                          int z, struct block_sums *c)
{
    int64_t n = (int64_t)t->nbin / nharm;
    double *power = tap_take((size_t)n, sizeof *power);
    size_t first = 0, nhit = 0;
    for (int64_t i = 0; i < n; i++)
        power[i] = allowed(d, i, nharm, z) ? box_power(t, i, z) : -1;
    while (first < r->nhit && (r->hit[first].nharm != nharm || r->hit[first].z != z))
        first++;
    const struct psr_pulscan_hit *hit = r->hit + first, *line = r->hit;
    size_t nline = 0;
    while (line < r->hit + r->nhit && line->nharm != nharm)
        line++;
    while (line + nline < r->hit + r->nhit && line[nline].nharm == nharm && line[nline].z == 0)
        nline++;
    while (first + nhit < r->nhit && hit[nhit].nharm == nharm && hit[nhit].z == z)
        nhit++;
    for (size_t k = 0; k < nhit; k++) {
        double at_most = (double)hit[k].power * (1 + 1e-5);
        double own = (double)hit[k].power;
        c->wrong += !is_hit_right(power, n, d, plan, &hit[k]) ||
                    (k > 0 && hit[k].first - hit[k - 1].first <= reach_of(z)) ||
                    lobe_share(line, nline, own, hit[k].first, nharm, z) > 1.0001;
        c->extra += psr_pulscan_sigma(plan, at_most, nharm, z, 1) <= d->sigma;
    }
    for (int64_t i = 0; i < n; i++)
        c->missed += power[i] >= 0 && is_peak(power, n, i, z, -2e-5) &&
                     psr_pulscan_sigma(plan, power[i] * (1 - 1e-5), nharm, z, 1) > d->sigma &&
                     !is_hit(hit, nhit, i) &&
                     lobe_share(line, nline, power[i], i, nharm, z) < 0.9999;
    c->boxes += (int)n;
    c->hits += (int)nhit;
    free(power);
}

/* --- random searches -------------------------------------------------------------------------- */

static void compare(const float *in, const struct psr_pulscan_desc *d, const psr_pulscan *plan,
                    const struct psr_pulscan_result *r, struct block_sums *c)
{
    struct psr_pulscan_info info;
    psr_pulscan_describe(plan, &info);
    struct truth t = find_truth(in, d->nbin, info.normblock, d);
    for (size_t k = 0; k < d->nnharm; k++) {
        sum_harmonics(&t, d->nharm[k]);
        int end = d->zmax + !d->compat;
        for (int z = 0; z < end; z = d->logz ? (z ? 2 * z : 1) : z + (d->zstep ? d->zstep : 1))
            if (d->compat || d->rblock)
                compare_blocks(&t, d, plan, r, d->nharm[k], z, c);
            else
                compare_peaks(&t, d, plan, r, d->nharm[k], z, c);
    }
    free_truth(&t);
}

static const int sums[] = {1, 2, 3, 4, 8, 16};

static struct psr_pulscan_desc random_desc(uint64_t *seed, struct psr_span *zap, size_t nzap)
{
    struct psr_pulscan_desc d = {
        .size = sizeof d,
        .nbin = (size_t)tap_between(seed, 64, tap_random(seed) % 4 ? 3000 : 12000),
        .zmax = (int)tap_between(seed, 0, 31),
        .zstep = (int)tap_between(seed, 0, 4),
        .logz = tap_random(seed) & 1,
        .nharm = sums,
        .nnharm = (size_t)tap_between(seed, 1, 6),
        .block = (size_t)tap_between(seed, 20, 3000),
        .normblock = (size_t)tap_between(seed, 33, 1500),
        .rblock = tap_random(seed) % 4 == 0,
        .sigma = (double)tap_between(seed, -8, 12),
        .batch = 2,
        .nthread = (int)tap_between(seed, 1, 3),
        .backend = "cpu",
    };
    d.compat = d.zmax > 0 && tap_random(seed) % 4 == 0;
    if (d.compat) {
        d.nnharm = (size_t)tap_between(seed, 1, 4);
        d.rblock = false;
        return d;
    }
    d.significance = tap_random(seed) % 4 ? PSR_PULSCAN_EXACT : PSR_PULSCAN_POLY;
    d.rlo = tap_random(seed) % 2 ? tap_between(seed, 0, (int64_t)d.nbin / 8) : 0;
    d.rhi = tap_random(seed) % 2 ? tap_between(seed, d.rlo, 2 * (int64_t)d.nbin) : 0;
    for (size_t k = 0; k < nzap; k++)
        zap[k] =
            (struct psr_span){tap_between(seed, -5, (int64_t)d.nbin + 5), tap_between(seed, 0, 20)};
    for (size_t k = 0; k < nzap; k++)
        if (zap[k].first < 0)
            zap[k].first = 0;
    d.zap = zap;
    d.nzap = nzap;
    return d;
}

static void search_random(uint64_t *seed, struct block_sums *blocks, struct block_sums *peaks)
{
    struct psr_span zap[6];
    struct psr_pulscan_desc d = random_desc(seed, zap, 6);
    struct block_sums *c = d.compat || d.rblock ? blocks : peaks;
    float *in[2];
    for (int s = 0; s < 2; s++)
        in[s] = make_spectrum(d.nbin, 5, seed);
    psr_pulscan *plan;
    psr_err err;
    struct psr_pulscan_result r[2];
    if (psr_pulscan_create(&plan, &d, &err) ||
        psr_pulscan_execute(plan, 2, (const float *const *)in, r, &err)) {
        diag("%s", err.msg);
        c->wrong++;
    } else
        for (int s = 0; s < 2; s++)
            compare(in[s], &d, plan, &r[s], c);
    psr_pulscan_destroy(plan);
    free(in[0]);
    free(in[1]);
}

static void judge(const struct block_sums *c, const char *what)
{
    diag("%s: %d looked at, %d hits", what, c->boxes, c->hits);
    ok(c->hits > 1000 && c->hits < c->boxes, "%s: searches that find and that do not", what);
    ok(c->missed == 0, "%s above the threshold are there: %d missed", what, c->missed);
    ok(c->extra == 0, "%s below it are not: %d too many", what, c->extra);
    ok(c->wrong == 0, "%s: powers, places and sigmas: %d wrong", what, c->wrong);
}

static void test_definition(uint64_t *seed)
{
    struct block_sums blocks = {0}, peaks = {0};
    for (int i = 0; i < 160; i++)
        search_random(seed, &blocks, &peaks);
    judge(&blocks, "blocks");
    judge(&peaks, "peaks");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_definition(&seed);
    return done_testing();
}
