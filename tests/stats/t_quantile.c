/* order: the k-th smallest of numbers of many shapes, against a sorted copy. */
#include "stats/stats.h"

#include "tests/support/tap.h"
#include <string.h>

enum shape { GAUSS, STEPS, HEAVY, EQUAL, SORTED, TWO, TINY, NSHAPE };
static const char *const shape_name[NSHAPE] = {"Gaussian",  "of few values", "heavy-tailed",
                                               "all equal", "sorted",        "of two values",
                                               "denormal"};

static float draw(enum shape shape, size_t i, uint64_t *seed)
{
    switch (shape) {
    case GAUSS:
        return (float)tap_normal(seed) * 3e7f + 1e8f;
    case STEPS:
        return floorf((float)tap_normal(seed) * 2);
    case HEAVY:
        return copysignf(powf(10, 5 * fabsf((float)tap_normal(seed))), (float)tap_normal(seed));
    case EQUAL:
        return -3.25f;
    case SORTED:
        return (float)i - 100;
    case TWO:
        return tap_random(seed) & 1 ? 3e38f : -3e38f;
    case TINY:
    default:
        return (float)tap_between(seed, -9, 9) * 1e-45f;
    }
}

static bool right(enum shape shape, size_t n, uint64_t *seed)
{
    float *x = tap_take(n, sizeof *x), *sorted = tap_take(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        x[i] = draw(shape, i, seed);
    memcpy(sorted, x, n * sizeof *x);
    tap_sort_floats(sorted, n);
    size_t ks[] = {0, (n - 1) / 2, n - 1, (size_t)tap_between(seed, 0, (int64_t)n - 1)};
    bool pass = true;
    for (size_t j = 0; j < sizeof ks / sizeof *ks; j++)
        pass = pass && psr_quantile_select(x, n, ks[j]) == sorted[ks[j]];
    double median = ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2;
    pass = pass && psr_quantile_median(x, n) == median;
    free(x);
    free(sorted);
    return pass;
}

/* The median of numbers of which some are none: it lies among the others, or is none. */
static bool survives(size_t n, uint64_t *seed)
{
    float *x = tap_take(n, sizeof *x), low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        x[i] = tap_uniform(seed) < 0.5 ? NAN : draw(GAUSS, i, seed);
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    const double median = psr_quantile_median(x, n);
    free(x);
    return isnan(median) || (median >= (double)low && median <= (double)high);
}

int main(void)
{
    uint64_t seed = tap_seed();
    static const size_t length[] = {1, 2, 3, 15, 16, 17, 96, 97, 98, 500, 4096, 20001};
    for (enum shape s = GAUSS; s < NSHAPE; s++) {
        bool pass = true;
        for (size_t i = 0; i < sizeof length / sizeof *length; i++)
            for (int repeat = 0; repeat < 5; repeat++)
                pass = pass && right(s, length[i], &seed);
        ok(pass, "numbers %s", shape_name[s]);
    }
    bool pass = true;
    for (size_t n = 1; n < 40; n++)
        for (int repeat = 0; repeat < 20; repeat++)
            pass = pass && survives(n, &seed);
    ok(pass, "half of them NaN");
    return done_testing();
}
