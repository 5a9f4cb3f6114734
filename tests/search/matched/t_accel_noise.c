/* accelsearch: false alarms.  The best candidate of a spectrum of noise is above sigma in a share Q of
 * all spectra, Q the Gaussian's tail.
 *
 * `t_accel_noise` looks at few spectra; `t_accel_noise NSPEC [SEED]` at NSPEC of each setting, with
 * all cores, and prints the table of tests/science/accel_noise.txt. */
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/fake.h>
#include <psrkit/signif.h>

#include "fake/fake_internal.h"
#include "tests/support/tap.h"

struct setting {
    size_t nbin;
    int zmax, wmax, numharm, nspec; /* spectra of the short test */
};

static const struct setting settings[] = {
    {1 << 15, 0, 0, 1, 700},  {1 << 15, 0, 0, 8, 400}, {1 << 15, 0, 0, 32, 150},
    {1 << 13, 20, 0, 4, 120}, {1 << 14, 50, 0, 8, 40}, {1 << 16, 200, 0, 1, 0},
    {1 << 16, 200, 0, 8, 0},  {1 << 15, 20, 0, 16, 0}, {1 << 13, 20, 60, 4, 20},
    {1 << 14, 50, 100, 1, 0}, {1 << 18, 0, 0, 8, 0},
};
enum { NSETTING = sizeof settings / sizeof *settings, NSIGMA = 3 };

struct outcome {
    int above[NSIGMA]; /* spectra whose best candidate is above 1, 2, 3 */
    int nspec;
};

static void bail(const psr_err *err)
{
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

static psr_accelsearch *make_plan(const struct setting *how)
{
    const struct psr_accelsearch_desc d = {
        .size = sizeof d,
        .nbin = how->nbin,
        .zmax = how->zmax,
        .wmax = how->wmax,
        .numharm = how->numharm,
        .sigma = 1,
        .max = 1,
        .rlo = 100,
        .nthread = 1,
        .mem_bytes = INT64_C(1) << 30,
        .backend = "cpu",
    };
    psr_accelsearch *plan;
    psr_err err;
    if (psr_accelsearch_create(&plan, &d, &err))
        bail(&err);
    return plan;
}

static double best_sigma(psr_accelsearch *plan, const float *x)
{
    const struct psr_accelsearch_input in = {.x = x};
    struct psr_accelsearch_result r;
    psr_err err;
    if (psr_accelsearch_execute(plan, &in, &r, &err))
        bail(&err);
    return r.ncand > 0 ? r.cand[0].sigma : 0;
}

/* Spectrum k has its own numbers, whoever looks at it. */
static struct outcome run(const struct setting *how, int nspec, uint64_t seed)
{
    struct outcome o = {.nspec = nspec};
#pragma omp parallel
    {
        psr_accelsearch *plan = make_plan(how);
        float *x = tap_take(2 * how->nbin, sizeof *x);
#pragma omp for schedule(dynamic)
        for (int k = 0; k < nspec; k++) {
            psr_rng_normal(seed, (uint32_t)k, 0, 2 * how->nbin, x);
            double sigma = best_sigma(plan, x);
            for (int i = 0; i < NSIGMA; i++) {
#pragma omp atomic
                o.above[i] += sigma > i + 1;
            }
        }
        psr_accelsearch_destroy(plan);
        free(x);
    }
    return o;
}

static double share_above(double sigma)
{
    return exp(psr_gauss_logp(sigma).ln_sf);
}

/* As many as a share p of n would be, by five of the scatter that so many have; the share itself may
 * be off by a quarter. */
static bool is_likely(int found, int n, double p)
{
    double lo = 0.75 * p * n, hi = 1.25 * p * n;
    return found > lo - 5 * sqrt(lo) - 1 && found < hi + 5 * sqrt(hi) + 1;
}

static void test_setting(const struct setting *how, uint64_t seed)
{
    struct outcome o = run(how, how->nspec, seed);
    for (int i = 0; i < NSIGMA; i++)
        ok(is_likely(o.above[i], o.nspec, share_above(i + 1)),
           "%zu bins, zmax %d, wmax %d, %d harmonics: %d of %d above %d, %.1f expected", how->nbin,
           how->zmax, how->wmax, how->numharm, o.above[i], o.nspec, i + 1,
           o.nspec * share_above(i + 1));
}

static int print_table(int nspec, uint64_t seed)
{
    printf("%d spectra of noise each: those whose best candidate is above sigma, over what is "
           "expected\n\n   bins  zmax  wmax  harmonics   above 1        above 2        above 3\n",
           nspec);
    for (int k = 0; k < NSETTING; k++) {
        const struct setting *how = &settings[k];
        struct outcome o = run(how, nspec, seed + (uint64_t)k);
        printf("%7zu  %4d  %4d  %9d", how->nbin, how->zmax, how->wmax, how->numharm);
        for (int i = 0; i < NSIGMA; i++) {
            double expected = nspec * share_above(i + 1);
            printf("   %.2f +- %.2f", o.above[i] / expected, sqrt(fmax(1, o.above[i])) / expected);
        }
        printf("\n");
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return print_table(atoi(argv[1]), argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    uint64_t random = tap_seed();
    for (int k = 0; k < NSETTING; k++)
        if (settings[k].nspec > 0)
            test_setting(&settings[k], tap_random(&random));
    return done_testing();
}
