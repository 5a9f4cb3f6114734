/* beam: the main theorem of Smith 2022 and its kernel. */
#include "beam/beam_internal.h"
#include "tests/support/beam_ref.h"

/* Eq. 7 */
static double slow_kernel(size_t n, double theta, size_t q)
{
    double sum = 0;
    for (size_t s = 0; s <= n; s++)
        sum += (s == 0 || s == n ? 0.5 : 1) *
               cos(M_PI * (2 * theta - (double)q) * (double)s / (double)n);
    return sum / (double)n;
}

static void test_kernel(uint64_t *seed)
{
    double worst = 0, worst_half = 0, u[128];
    for (int i = 0; i < 4000; i++) {
        size_t n = (size_t)tap_between(seed, 1, 64);
        double theta = (tap_uniform(seed) - 0.5) * 6 * (double)n;
        if (i % 4 == 0) /* next to a half-integer */
            theta = rint(2 * theta) / 2 + pow(10, -16 * tap_uniform(seed));
        psr_beam_kernel(n, theta, u);
        for (size_t q = 0; q < 2 * n; q++)
            worst = fmax(worst, fabs(u[q] - slow_kernel(n, theta, q)));
    }
    ok(worst < 3e-13, "eq. 8 is eq. 7 (worst %.2g)", worst);
    for (size_t n = 1; n <= 64; n++)
        for (size_t h = 0; h < 6 * n; h++) {
            psr_beam_kernel(n, (double)h / 2 - 2 * (double)n, u);
            for (size_t q = 0; q < 2 * n; q++)
                worst_half = fmax(worst_half, fabs(u[q] - (h % (2 * n) == q ? 1 : 0)));
        }
    ok(worst_half == 0, "at a half-integer it picks that beam and no other");
}

/* |sum of E exp(...)|^2 at a direction, E [m][n]. */
static double direct(const double complex *e, size_t m, size_t n, double ns, double ew)
{
    double complex sum = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < n; k++)
            sum += e[i * n + k] *
                   cexp(2 * M_PI * I * ((double)i * ns / (double)m + (double)k * ew / (double)n));
    return creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
}

static void test_theorem(uint64_t *seed)
{
    static const size_t size[][2] = {{8, 8}, {8, 12}, {16, 20}, {24, 24}, {5, 7}, {1, 9}};
    double worst = 0;
    for (size_t g = 0; g < sizeof size / sizeof *size; g++) {
        size_t m = size[g][0], n = size[g][1];
        double complex *e = tap_take(m * n, sizeof *e);
        double *grid = tap_take(4 * m * n, sizeof *grid), u[48], v[48], brightest = 0;
        for (size_t i = 0; i < m * n; i++)
            e[i] = (double)tap_between(seed, -8, 7) + (double)tap_between(seed, -8, 7) * I;
        for (size_t i = 0; i < 4 * m * n; i++) {
            grid[i] = direct(e, m, n, (double)(i / (2 * n)) / 2, (double)(i % (2 * n)) / 2);
            brightest = fmax(brightest, grid[i]);
        }
        for (int i = 0; i < 1000; i++) {
            double ns = (tap_uniform(seed) - 0.5) * 3 * (double)m, sum = 0;
            double ew = (tap_uniform(seed) - 0.5) * 3 * (double)n;
            psr_beam_kernel(m, ns, u);
            psr_beam_kernel(n, ew, v);
            for (size_t k = 0; k < 4 * m * n; k++)
                sum += u[k / (2 * n)] * v[k % (2 * n)] * grid[k];
            worst = fmax(worst, fabs(sum - direct(e, m, n, ns, ew)) / brightest);
        }
        free(e);
        free(grid);
    }
    ok(worst < 1e-12, "main theorem at 1000 random directions of 6 grids (worst %.2g)", worst);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_kernel(&seed);
    test_theorem(&seed);
    return done_testing();
}
