/* Eigenvalues of symmetric matrices: what they must satisfy, on random ones, repeated and huge values. */
#include "tests/support/tap.h"

#include "stats/stats.h"
#include <math.h>
#include <string.h>

enum { MOST = 16 };

/* Largest error of A v = x v and of the vectors' lengths and angles, in units of the largest value. */
static double error_of(const double *a, size_t n, const double *value, const double *vector)
{
    double worst = 0, size = 1e-300;
    for (size_t i = 0; i < n; i++)
        size = fmax(size, fabs(value[i]));
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++) {
            double product = 0, angle = k == i ? -1 : 0;
            for (size_t j = 0; j < n; j++) {
                product += a[i * n + j] * vector[k * n + j];
                angle += vector[k * n + j] * vector[i * n + j];
            }
            worst = fmax(worst, fabs(product - value[k] * vector[k * n + i]) / size);
            worst = fmax(worst, fabs(angle));
        }
    return worst;
}

/* kind 0: random; 1: of rank 1; 2: diagonal; 3: all the same; 4: of very different sizes */
static void fill(double *a, size_t n, int kind, uint64_t *seed)
{
    double v[MOST];
    for (size_t i = 0; i < n; i++)
        v[i] = tap_normal(seed) * (kind == 4 ? pow(10, -(double)i) : 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double x = kind == 0   ? tap_normal(seed)
                       : kind == 2 ? (i == j ? v[i] : 0)
                       : kind == 3 ? 1e150
                                   : v[i] * v[j];
            a[i * n + j] = a[j * n + i] = x;
        }
}

static void test_kind(int kind, const char *name, uint64_t *seed)
{
    double worst = 0;
    int unsorted = 0;
    for (size_t n = 1; n <= MOST; n++)
        for (int k = 0; k < 20; k++) {
            double a[MOST * MOST], work[MOST * MOST], value[MOST], vector[MOST * MOST];
            fill(a, n, kind, seed);
            memcpy(work, a, sizeof work);
            psr_eigen_symmetric(work, n, value, vector);
            worst = fmax(worst, error_of(a, n, value, vector));
            for (size_t i = 1; i < n; i++)
                unsorted += value[i] > value[i - 1];
        }
    ok(worst < 1e-13 && !unsorted, "%s: errors up to %.1e", name, worst);
}

int main(void)
{
    uint64_t seed = tap_seed();
    const double zero[4] = {0};
    double work[4] = {0}, value[2], vector[4];
    test_kind(0, "random matrices", &seed);
    test_kind(1, "of rank 1", &seed);
    test_kind(2, "diagonal ones", &seed);
    test_kind(3, "all numbers the same, and large", &seed);
    test_kind(4, "of rank 1, numbers of very different sizes", &seed);
    psr_eigen_symmetric(work, 2, value, vector);
    ok(value[0] == 0 && value[1] == 0 && error_of(zero, 2, value, vector) == 0, "zeros");
    return done_testing();
}
