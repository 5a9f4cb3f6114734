/* accelsearch: places above the cut against harmonic sums by their definition. */
#include "search/matched/accel_plan.h"

#include "tests/support/accel_truth.h"

#include <psrkit/experimental/accelsearch.h>

/* How far amplitudes may be off, as a share of the root of |x|^2 over the bins they are made of:
 * normalised bins, responses and their products are in single precision, 1e-7 each. */
static const double SHARE = 4e-7;

static void bail(const psr_err *err)
{
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

/* --- spectra ---------------------------------------------------------------------------------- */

/* Noise of some mean power, and lines that drift. */
static float *make_spectrum(size_t nbin, uint64_t *random)
{
    float *x = tap_take(2 * nbin, sizeof *x);
    double scale = pow(10, 6 * tap_uniform(random) - 3);
    for (size_t i = 0; i < 2 * nbin; i++)
        x[i] = (float)(scale * tap_normal(random));
    for (int n = (int)tap_between(random, 0, 3); n > 0; n--) {
        double r = tap_uniform(random) * (double)nbin, z = 20 * tap_uniform(random) - 10;
        double a = scale * pow(10, 3 * tap_uniform(random));
        for (size_t k = 0; k < nbin; k++) {
            if (fabs((double)k - r) > 250)
                continue;
            double complex v = a * truth_response((double)k - r, z, 0);
            x[2 * k] += (float)creal(v);
            x[2 * k + 1] += (float)cimag(v);
        }
    }
    return x;
}

static bool is_zapped(const struct psr_accelsearch_desc *d, size_t k)
{
    for (size_t i = 0; i < d->nzap; i++)
        if ((int64_t)k >= d->zap[i].first && (int64_t)k < d->zap[i].first + d->zap[i].count)
            return true;
    return false;
}

/* Short spectra are one block. */
static double complex *normalise(const struct psr_accelsearch_desc *d, const float *x)
{
    double complex *y = tap_take(d->nbin, sizeof *y);
    float *power = tap_take(d->nbin, sizeof *power);
    size_t n = 0;
    for (size_t k = 1; k < d->nbin; k++)
        if (!is_zapped(d, k))
            power[n++] = x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1];
    tap_sort_floats(power, n);
    double median = ((double)power[n / 2] + (double)power[(n - 1) / 2]) / 2;
    for (size_t k = 1; k < d->nbin; k++)
        if (!is_zapped(d, k))
            y[k] = ((double)x[2 * k] + I * (double)x[2 * k + 1]) / sqrt(median / log(2));
    free(power);
    return y;
}

/* --- a search --------------------------------------------------------------------------------- */

static struct psr_accel_hits search(const struct psr_accelsearch_desc *d, const float *x, int reach,
                                    struct psr_accel_search *s)
{
    struct psr_accel_hits hits = {0};
    struct psr_accel_normalise *level = NULL;
    struct psr_accelsearch_input in = {.x = x};
    const struct psr_accel_batch batch = {.n = 1, .in = &in, .norm = &level, .hits = &hits};
    void *state = NULL;
    psr_err err;
    if (psr_accelsearch_check(d, &err) || psr_accel_search_resolve(s, d, &err) ||
        psr_accel_normalise_create(&level, s, reach, &err) ||
        psr_accel_cpu.create(&state, s, 1, &err) || psr_accel_cpu.search(state, &batch, &err))
        bail(&err);
    psr_accel_cpu.destroy(state);
    psr_accel_normalise_destroy(level);
    return hits;
}

static int by_place(const void *pa, const void *pb)
{
    const struct psr_accel_hit *a = pa, *b = pb;
    if (a->stage != b->stage)
        return a->stage - b->stage;
    return (a->i > b->i) - (a->i < b->i);
}

static bool same_hits(struct psr_accel_hits *a, struct psr_accel_hits *b)
{
    bool same = a->n == b->n;
    if (a->n)
        qsort(a->hit, a->n, sizeof *a->hit, by_place);
    if (b->n)
        qsort(b->hit, b->n, sizeof *b->hit, by_place);
    for (size_t k = 0; same && k < a->n; k++)
        same = by_place(&a->hit[k], &b->hit[k]) == 0 && a->hit[k].j == b->hit[k].j &&
               a->hit[k].l == b->hit[k].l && !(a->hit[k].power < b->hit[k].power) &&
               !(a->hit[k].power > b->hit[k].power);
    return same;
}

/* The least that a search does with, to a twentieth. */
static int64_t least_memory(const struct psr_accelsearch_desc *d, int reach)
{
    struct psr_accelsearch_desc less = *d;
    int64_t enough = 0;
    psr_status st = PSR_OK;
    for (less.mem_bytes = INT64_C(1) << 30; !st; less.mem_bytes = less.mem_bytes * 19 / 20) {
        struct psr_accel_search s;
        struct psr_accel_normalise *level = NULL;
        void *state = NULL;
        psr_err err;
        if (psr_accel_search_resolve(&s, &less, &err) ||
            psr_accel_normalise_create(&level, &s, reach, &err))
            bail(&err);
        st = psr_accel_cpu.create(&state, &s, 1, &err);
        if (!st) {
            enough = less.mem_bytes;
            psr_accel_cpu.destroy(state);
        }
        psr_accel_normalise_destroy(level);
        psr_accel_search_forget(&s);
    }
    return enough;
}

/* --- against the definition ------------------------------------------------------------------- */

struct block_sums {
    size_t above, missing, extra, weaker;
    double worst; /* error of a power over what it may be */
};

struct best {
    double power, slack;
};

/* The most of a cell's half bins, drifts and jerks. */
static struct best best_of_cell(const struct truth_plane *p, const struct psr_accel_search *s,
                                int64_t first, int cell, int nharm)
{
    struct best best = {0, 0};
    for (int64_t i = first; i < first + cell; i++) {
        double most = 0;
        for (int l = -s->lmax; l <= s->lmax && i >= s->ilo && i <= s->ihi; l++)
            for (int j = -s->jmax; j <= s->jmax; j++)
                most = fmax(most, truth_sum(p, i, j, l, nharm));
        best.power = fmax(best.power, most);
        best.slack = fmax(best.slack, truth_slack(p, i, nharm, SHARE, most));
    }
    return best;
}

static const struct psr_accel_hit *find_hit(const struct psr_accel_hits *hits, int64_t first,
                                            int cell, int stage)
{
    for (size_t k = 0; k < hits->n; k++)
        if (hits->hit[k].stage == stage && hits->hit[k].i >= first && hits->hit[k].i < first + cell)
            return &hits->hit[k];
    return NULL;
}

static void compare_cell(struct block_sums *t, const struct truth_plane *p,
                         const struct psr_accel_search *s, const struct psr_accel_hits *hits,
                         int64_t first, int cell, int stage)
{
    const double cut = (double)s->cut[stage];
    struct best best = best_of_cell(p, s, first, cell, 1 << stage);
    const struct psr_accel_hit *hit = find_hit(hits, first, cell, stage);
    t->above += best.power > cut;
    t->missing += best.power - best.slack > cut && !hit;
    t->extra += best.power + best.slack < cut && hit;
    if (!hit)
        return;
    double here = truth_sum(p, hit->i, hit->j, hit->l, 1 << stage);
    double slack = truth_slack(p, hit->i, 1 << stage, SHARE, here);
    t->worst = fmax(t->worst, fabs((double)hit->power - here) / slack);
    t->weaker += here + slack < best.power - best.slack;
}

static void test_shape(uint64_t *random, int numharm, int zmax, int wmax)
{
    struct psr_span zap[2] = {{tap_between(random, 0, 900), tap_between(random, 0, 5)},
                              {tap_between(random, -3, 900), tap_between(random, 0, 40)}};
    struct psr_accelsearch_desc d = {
        .size = sizeof d,
        .nbin = (size_t)tap_between(random, 150, 900),
        .zmax = zmax,
        .wmax = wmax,
        .numharm = numharm,
        .sigma = tap_uniform(random),
        .rlo = tap_uniform(random) * 60,
        .rhi = tap_between(random, 0, 1) ? (double)tap_between(random, 70, 1000) : 0,
        .zap = zap,
        .nzap = (size_t)tap_between(random, 0, 2),
        .nthread = 1,
    };
    const int reach = truth_halfwidth(zmax, wmax), cell = numharm <= 8 ? 4 : 32 / numharm;
    float *x = make_spectrum(d.nbin, random);
    double complex *y = normalise(&d, x);
    struct psr_accel_search s, other;
    struct psr_accel_hits hits = search(&d, x, reach, &s);
    struct truth_plane p = truth_make(y, d.nbin, s.jmax, s.lmax);
    struct block_sums t = {0};
    for (int stage = 0; stage < s.nstage; stage++)
        for (int64_t i = 0; i < p.nhalf; i += cell)
            compare_cell(&t, &p, &s, &hits, i, cell, stage);
    ok(t.missing + t.extra + t.weaker == 0 && t.worst < 1,
       "%zu bins, zmax %d, wmax %d, %d harmonics: %zu of %zu cells, powers off by %.2f of a bound",
       d.nbin, zmax, wmax, numharm, hits.n, t.above, t.worst);
    if (t.missing + t.extra + t.weaker)
        diag("%zu missing, %zu extra, %zu not the best", t.missing, t.extra, t.weaker);
    d.nthread = 3;
    d.mem_bytes = least_memory(&d, reach);
    struct psr_accel_hits again = search(&d, x, reach, &other);
    ok(same_hits(&hits, &again), "the same on three threads and in %.1f MB",
       (double)d.mem_bytes / 1e6);
    psr_accel_search_forget(&s);
    psr_accel_search_forget(&other);
    free(again.hit);
    free(hits.hit);
    free(p.power);
    free(p.energy);
    free(x);
    free(y);
}

/* Bright lines, so that there is something to find with any seed. */
static void add_lines(float *x, size_t nbin)
{
    for (size_t k = 5000; k + 50 < nbin; k += 10000) {
        double mean = 0;
        for (size_t i = 2 * k - 100; i < 2 * k + 100; i++)
            mean += fabs((double)x[i]) / 200;
        x[2 * k] += (float)(40 * mean);
    }
}

/* A spectrum of many blocks, levels between their middles, and bands of frequency. */
static void test_long(uint64_t *random)
{
    struct psr_accelsearch_desc d = {.size = sizeof d,
                                     .nbin = 40000,
                                     .zmax = 20,
                                     .numharm = 8,
                                     .sigma = 1,
                                     .rlo = 100,
                                     .nthread = 1};
    const int reach = truth_halfwidth(d.zmax, d.wmax);
    float *x = make_spectrum(d.nbin, random);
    add_lines(x, d.nbin);
    struct psr_accel_search s;
    struct psr_accel_hits hits = search(&d, x, reach, &s);
    d.nthread = 4;
    psr_accel_search_forget(&s);
    struct psr_accel_hits threads = search(&d, x, reach, &s);
    d.mem_bytes = least_memory(&d, reach);
    psr_accel_search_forget(&s);
    struct psr_accel_hits bands = search(&d, x, reach, &s);
    ok(hits.n > 0 && same_hits(&hits, &threads), "%zu places: the same on four threads", hits.n);
    ok(same_hits(&hits, &bands), "the same in %.1f MB", (double)d.mem_bytes / 1e6);
    psr_accel_search_forget(&s);
    free(hits.hit);
    free(threads.hit);
    free(bands.hit);
    free(x);
}

int main(void)
{
    static const struct {
        int numharm, zmax, wmax;
    } shapes[] = {{1, 0, 0},  {2, 2, 0},   {4, 9, 0},  {8, 20, 0}, {16, 12, 0},
                  {32, 6, 0}, {4, 10, 50}, {2, 0, 40}, {8, 4, 20}, {1, 40, 100}};
    uint64_t random = tap_seed();
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        test_shape(&random, shapes[k].numharm, shapes[k].zmax, shapes[k].wmax);
    test_long(&random);
    return done_testing();
}
