/* beam: the main theorem of Smith 2022 and its kernel. */
#include "beam/beam_internal.h"
#include "tests/support/beam_ref.h"

/* The kernel of the main theorem (eqs 7 and 8): the intensity in a direction is the sum over p and
 * q of U_p^M(theta) U_q^N(theta') I_pq.
 * Returned: u[2n]: U_q^n(theta) for q < 2n, accurate to 1e-15 at any finite theta
 *
 * Eq. 8 in the distance x = 2 theta - q from each half-integer, brought to (-n, n] where the
 * cotangent's only pole is that of x = 0.  Its sine is that of the fraction of 2 theta, with a sign
 * that alternates. */
static void beam_kernel(size_t n, double theta, double *u)
{
    const double period = 2 * (double)n;
    double twice = 2 * theta - period * floor(2 * theta / period);
    double nearest = rint(twice), off = twice - nearest; /* [-1/2, 1/2] */
    double sine = sin(M_PI * off) / period;
    for (size_t q = 0; q < 2 * n; q++) {
        double step = nearest - (double)q;
        double angle = M_PI * (step + off) / period;
        double sign = fmod(step, 2) != 0 ? -1 : 1;
        bool on_it = fabs(step) < 0.5 || fabs(step) > period - 0.5;
        if (on_it)
            u[q] = off == 0 ? 1 : sine / tan(M_PI * off / period);
        else
            u[q] = sign * sine / tan(angle);
    }
}

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
        beam_kernel(n, theta, u);
        for (size_t q = 0; q < 2 * n; q++)
            worst = fmax(worst, fabs(u[q] - slow_kernel(n, theta, q)));
    }
    ok(worst < 3e-13, "eq. 8 is eq. 7 (worst %.2g)", worst);
    for (size_t n = 1; n <= 64; n++)
        for (size_t h = 0; h < 6 * n; h++) {
            beam_kernel(n, (double)h / 2 - 2 * (double)n, u);
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
            beam_kernel(m, ns, u);
            beam_kernel(n, ew, v);
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
