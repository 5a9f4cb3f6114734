/* pulscan: the search of random spectra against its definition in double precision. */
#include "pulscan_truth.h"

/* --- comparison ------------------------------------------------------------------------------- */

struct block_sums {
    int boxes, hits, missed, extra, wrong;
};

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
            for (int64_t b = 0; b * (int64_t)d->block < (int64_t)d->nbin / d->nharm[k]; b++)
                compare_block(&t, d, plan, r, d->nharm[k], z, b, c);
    }
    free_truth(&t);
}

/* --- random searches -------------------------------------------------------------------------- */

static const int sums[] = {1, 2, 3, 4, 8, 16};

static struct psr_pulscan_desc random_desc(uint64_t *seed, struct psr_span *zap, size_t nzap)
{
    struct psr_pulscan_desc d = {
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

static void search_random(uint64_t *seed, struct block_sums *c)
{
    struct psr_span zap[6];
    struct psr_pulscan_desc d = random_desc(seed, zap, 6);
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

static void test_definition(uint64_t *seed)
{
    struct block_sums c = {0};
    for (int i = 0; i < 120; i++)
        search_random(seed, &c);
    diag("%d blocks and widths, %d hits", c.boxes, c.hits);
    ok(c.hits > 1000 && c.hits < c.boxes, "searches that find and that do not");
    ok(c.missed == 0, "every box above the threshold is there: %d missed", c.missed);
    ok(c.extra == 0, "and none below: %d too many", c.extra);
    ok(c.wrong == 0, "powers, places and sigmas: %d wrong", c.wrong);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_definition(&seed);
    return done_testing();
}
