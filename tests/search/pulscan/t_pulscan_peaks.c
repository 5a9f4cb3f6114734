/* pulscan: which boxes are peaks, to the bit, of sums that are small integers, so that many boxes
 * are equal; and the bound on how many there may be. */
#include "search/pulscan/pulscan_internal.h"

#include "tests/support/tap.h"
#include <string.h>

static const int sums[] = {1};

/* --- the definition --------------------------------------------------------------------------- */

/* A search of one sum with floors that are integers, too, which always looks at every width. */
static void make_search(struct psr_pulscan_search *s, uint64_t *seed)
{
    const int64_t nbin = tap_between(seed, 16, tap_random(seed) % 3 ? 3000 : 14000);
    const int64_t widest = nbin / 2 - 1, zmax = tap_random(seed) % 3 ? 40 : 1500;
    struct psr_pulscan_desc d = {
        .size = sizeof d,
        .nbin = (size_t)nbin,
        .zmax = (int)tap_between(seed, 0, zmax < widest ? zmax : widest),
        .logz = tap_random(seed) & 1,
        .zstep = (int)tap_between(seed, 1, 90),
        .nharm = sums,
        .nnharm = 1,
        .rlo = tap_random(seed) % 2 ? tap_between(seed, 0, nbin / 4) : 0,
    };
    d.rhi = tap_random(seed) % 2 ? tap_between(seed, d.rlo, nbin) : 0;
    struct psr_significance significance;
    psr_err err;
    if (psr_pulscan_resolve(s, &significance, &d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    s->nprefilter[0] = 1;
    s->prefilter[0] = (struct psr_prefilter){s->z[s->nz - 1] + 1, -1};
    for (size_t z = 0; z < s->nz; z++)
        s->boxes[z].floor = (float)tap_between(seed, -1, 2 * s->z[z] + 6);
}

/* Small numbers, and now and then stretches of one number, and bright bins. */
static float *make_sums(size_t n, size_t pad, uint64_t *seed)
{
    float *x = tap_take(n + pad, sizeof *x);
    int64_t most = tap_between(seed, 1, 6);
    for (size_t i = 1; i < n; i++)
        x[i] = (float)tap_between(seed, 0, most);
    for (int b = 0; b < 6; b++) {
        size_t first = (size_t)tap_between(seed, 1, (int64_t)n - 1);
        size_t count = (size_t)tap_between(seed, 1, 300);
        float value = (float)tap_between(seed, 0, 9);
        for (size_t i = first; i < n && i < first + count; i++)
            x[i] = value;
        x[tap_between(seed, 1, (int64_t)n - 1)] = (float)tap_between(seed, 10, 1000);
    }
    return x;
}

/* Boxes of one width, -1 those that are not searched. */
static void sum_boxes(const float *x, int64_t n, int z, const struct psr_boxes *all, double *power)
{
    for (int64_t i = 0; i < n; i++) {
        power[i] = 0;
        for (int64_t k = i; k <= i + z && k < n; k++)
            power[i] += (double)x[k];
        if (i < all->lo || i >= all->hi)
            power[i] = -1;
    }
}

static bool is_peak(const double *power, int64_t n, int64_t i, int64_t reach)
{
    for (int64_t k = i - reach; k <= i + reach; k++)
        if (k >= 0 && k < n && (k < i ? power[k] >= power[i] : power[k] > power[i]))
            return false;
    return power[i] >= 0;
}

static int by_place(const void *pa, const void *pb)
{
    const struct psr_pulscan_peak *a = pa, *b = pb;
    if (a->z != b->z)
        return a->z < b->z ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

struct block_sums {
    size_t peaks, wrong;
};

static void compare(const struct psr_pulscan_search *s, const float *x,
                    const struct psr_pulscan_found *found, struct block_sums *c)
{
    const int64_t n = (int64_t)s->nbin;
    double *power = tap_take(s->nbin, sizeof *power);
    size_t k = 0;
    for (size_t z = 0; z < s->nz; z++) {
        const struct psr_boxes *all = &s->boxes[z];
        sum_boxes(x, n, s->z[z], all, power);
        for (int64_t i = 0; i < n; i++) {
            if (!(power[i] > (double)all->floor) ||
                !is_peak(power, n, i, s->z[z] > 15 ? s->z[z] : 15))
                continue;
            const struct psr_pulscan_peak *got = k < found->n ? &found->peak[k++] : NULL;
            c->peaks++;
            c->wrong += !got || got->z != z || got->first != i || (double)got->power != power[i];
        }
    }
    c->wrong += found->n - k;
    free(power);
}

static void search_random(uint64_t *seed, struct block_sums *c)
{
    struct psr_pulscan_search s;
    struct psr_pulscan_found found = {.most = SIZE_MAX};
    psr_err err;
    make_search(&s, seed);
    float *x = make_sums(s.nbin, psr_tile_work(&s), seed);
    float *work = tap_take(psr_tile_work(&s), sizeof *work);
    for (int64_t first = 1; first < (int64_t)s.nbin; first += PSR_TILE)
        if (psr_tile_search(&s, 0, x, first, work, &found, &err)) {
            printf("Bail out! %s\n", err.msg);
            exit(EXIT_FAILURE);
        }
    if (found.n > 0)
        qsort(found.peak, found.n, sizeof *found.peak, by_place);
    compare(&s, x, &found, c);
    free(x);
    free(work);
    free(found.peak);
    psr_pulscan_forget(&s);
}

static void test_definition(uint64_t *seed)
{
    struct block_sums c = {0};
    for (int n = 0; n < 60; n++)
        search_random(seed, &c);
    ok(c.peaks > 1000 && c.wrong == 0, "%zu peaks, %zu wrong", c.peaks, c.wrong);
}

/* --- signals side by side --------------------------------------------------------------------- */

/* A bright signal hides none that is further away than its reach, in which there are boxes of 13
 * bins 16 bins away. */
static void test_neighbours(uint64_t *seed)
{
    enum { NBIN = 20000, AT = 9000 };
    static const int64_t away[] = {16, 40, 300, 4000};
    static const int harm[] = {1, 2, 3, 4};
    const struct psr_pulscan_desc d = {.size = sizeof d,
                                       .nbin = NBIN,
                                       .zmax = 12,
                                       .nharm = harm,
                                       .nnharm = 4,
                                       .sigma = 4,
                                       .backend = "cpu"};
    psr_pulscan *plan;
    psr_err err;
    if (psr_pulscan_create(&plan, &d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    float *x = tap_take(2 * NBIN, sizeof *x);
    const float *in = x;
    for (size_t i = 0; i < 2 * NBIN; i++)
        x[i] = (float)tap_normal(seed);
    x[2 * AT] = 150;
    for (size_t k = 0; k < sizeof away / sizeof *away; k++)
        x[2 * (AT + away[k])] = x[2 * (AT - away[k])] = (float)(20 + k);
    struct psr_pulscan_result r;
    bool done = !psr_pulscan_execute(plan, 1, &in, &r, &err);
    for (size_t k = 0; k < 2 * sizeof away / sizeof *away; k++) {
        int64_t at = AT + (k % 2 ? 1 : -1) * away[k / 2];
        bool alone = false, drifting = false;
        for (size_t h = 0; done && h < r.nhit; h++) {
            const struct psr_pulscan_hit *it = &r.hit[h];
            alone |= it->nharm == 1 && it->z == 0 && it->first == at;
            drifting |= it->nharm == 1 && it->z == 12 && it->first <= at && it->first + 12 >= at;
        }
        ok(alone && (drifting || k < 2), "a signal %lld bins from one of 50 times its power",
           (long long)(at - AT));
    }
    free(x);
    psr_pulscan_destroy(plan);
}

/* Sums of two harmonics have no box of two bins that begins at bin 1: beside a line there, the box that
 * begins at bin 2 is in its side lobes, though no box of its width holds the line; and is a hit where
 * the line is fainter. */
static void test_edge(uint64_t *seed)
{
    enum { NBIN = 600 };
    static const int harm[] = {2};
    const struct psr_pulscan_desc d = {.size = sizeof d,
                                       .nbin = NBIN,
                                       .zmax = 1,
                                       .nharm = harm,
                                       .nnharm = 1,
                                       .sigma = 5,
                                       .backend = "cpu"};
    psr_pulscan *plan;
    psr_err err;
    if (psr_pulscan_create(&plan, &d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    float *x = tap_take(2 * NBIN, sizeof *x);
    const float *in = x;
    bool listed[2] = {false, false};
    for (int bright = 0; bright < 2; bright++) {
        for (size_t i = 0; i < 2 * NBIN; i++)
            x[i] = (float)tap_normal(seed);
        x[2] = bright ? 30 : 5;
        x[2 * 3] = 12;
        x[2 * 5] = 20; /* of its second harmonic; a box that begins at 4 or 5 has only this one */
        struct psr_pulscan_result r;
        bool done = !psr_pulscan_execute(plan, 1, &in, &r, &err);
        for (size_t k = 0; done && k < r.nhit; k++)
            listed[bright] |= r.hit[k].z == 1 && r.hit[k].first == 2;
    }
    ok(listed[0] && !listed[1], "a box beside a line that no box of its width can hold");
    free(x);
    psr_pulscan_destroy(plan);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void test_room(void)
{
    struct psr_pulscan_found found = {.most = 1000};
    psr_err err;
    bool grown = true;
    for (; found.n < 1000; found.n++)
        grown = grown && !psr_pulscan_room(&found, 1, &err) && found.cap > found.n;
    ok(grown, "room for as many peaks as may be");
    ok(psr_pulscan_room(&found, 1, &err) == PSR_ENOMEM && strstr(err.msg, "1001 boxes") &&
           strstr(err.msg, "which are 1000"),
       "and for no more: %s", err.msg);
    free(found.peak);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_definition(&seed);
    test_neighbours(&seed);
    test_edge(&seed);
    test_room();
    return done_testing();
}
