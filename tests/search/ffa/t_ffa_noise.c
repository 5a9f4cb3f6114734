/* ffa: false alarms of the default threshold in noise, one in ten series.
 *   t_ffa_noise [series [samples [seed]]] */
#include "search/ffa/ffa_internal.h"

#include "fake/fake_internal.h"
#include "tests/support/tap.h"

static const struct config {
    const char *name;
    struct psr_ffa_range range;
    size_t share; /* of the samples */
} configs[] = {
    {"16 to 20 bins", {0.1, 0.4, 16, 20, 0.5}, 1},
    {"32 to 40 bins", {0.1, 0.3, 32, 40, 0.3}, 1},
    {"240 to 260 bins", {1, 6, 240, 260, 0.3}, 1},
    {"480 to 520 bins, few rows", {0.5, 2, 480, 520, 0.1}, 2},
};

/* Series of noise with a peak. */
static size_t count_alarms(psr_ffa *plan, const struct psr_ffa_desc *d, size_t nseries,
                           uint64_t seed)
{
    float *x = tap_take(d->nsamp, sizeof *x);
    size_t above = 0;
    for (size_t i = 0; i < nseries; i++) {
        struct psr_ffa_result result;
        psr_err err;
        psr_rng_normal(seed, (uint32_t)i, 0, d->nsamp, x);
        if (psr_ffa_execute(plan, 1, (const float *const *)&x, &result, &err)) {
            printf("Bail out! %s\n", err.msg);
            exit(EXIT_FAILURE);
        }
        above += result.npeak > 0;
    }
    free(x);
    return above;
}

int main(int argc, char **argv)
{
    const size_t nseries = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
    const size_t nsamp = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : tap_seed();
    for (size_t k = 0; k < sizeof configs / sizeof *configs; k++) {
        const struct config *c = &configs[k];
        struct psr_ffa_desc d = {.size = sizeof d,
                                 .nsamp = nsamp / c->share,
                                 .tsamp_s = 1e-3,
                                 .range = &c->range,
                                 .nrange = 1,
                                 .nthread = 1};
        struct psr_ffa_info info;
        psr_ffa *plan;
        psr_err err;
        if (psr_ffa_create(&plan, &d, &err)) {
            ok(false, "%s", err.msg);
            continue;
        }
        psr_ffa_describe(plan, &info);
        const double n = (double)nseries,
                     above = (double)count_alarms(plan, &d, nseries, tap_random(&seed));
        /* Between a half and twice as many, and 4 sigma of a binomial number. */
        ok(above > 0.05 * n - 4 * sqrt(0.05 * n) && above < 0.2 * n + 4 * sqrt(0.2 * n),
           "%s, threshold %.2f: %.0f false alarms in %.0f series", c->name, info.sigma, above, n);
        psr_ffa_destroy(plan);
    }
    return done_testing();
}
