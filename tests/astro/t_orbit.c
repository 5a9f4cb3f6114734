/* Kepler orbits against long double and against their own differences. */
#include <psrkit/fake.h>

#include "astro/barycentre.h"
#include "tests/support/tap.h"
#include <string.h>

static const double two_pi = 6.283185307179586476925;

/* Bisection, 80 halvings. */
static long double kepler_by_halves(long double mean, long double e)
{
    long double low = mean - e, high = mean + e;
    for (int i = 0; i < 80; i++) {
        long double middle = (low + high) / 2;
        if (middle - e * sinl(middle) > mean)
            high = middle;
        else
            low = middle;
    }
    return (low + high) / 2;
}

static void test_anomaly(uint64_t *state)
{
    static const double eccs[] = {0, 1e-9, 0.1, 0.5, 0.9, 0.99, 0.9999};
    for (size_t k = 0; k < sizeof eccs / sizeof *eccs; k++) {
        double worst = 0, e = eccs[k];
        for (int i = 0; i < 3000; i++) {
            double mean = two_pi * (tap_uniform(state) - 0.5);
            if (i % 3 == 0)
                mean *= 1e-6;
            double got = psr_orbit_eccentric_anomaly(mean, e);
            worst = fmax(worst, (double)fabsl((long double)got - kepler_by_halves(mean, e)));
        }
        /* At e near 1 and small M, a last bit of M is more than a last bit of E. */
        ok(worst < (e > 0.99 ? 1e-12 : 1e-13), "e = %g: anomaly to %.1e", e, worst);
    }
    near(psr_orbit_eccentric_anomaly(20 * two_pi + 1, 0.3) - 20 * two_pi,
         psr_orbit_eccentric_anomaly(1, 0.3), 1e-13, "the anomaly stays in its turn");
    near(psr_orbit_eccentric_anomaly(two_pi + 1, 0.3) - two_pi, psr_orbit_eccentric_anomaly(1, 0.3),
         1e-14, "the next turn's too");
    near(psr_orbit_eccentric_anomaly(-1, 0.3), -psr_orbit_eccentric_anomaly(1, 0.3), 0,
         "and is odd");
}

static struct psr_orbit random_orbit(uint64_t *state)
{
    return (struct psr_orbit){.period_s = 1000 + 1e5 * tap_uniform(state),
                              .ecc = 0.95 * tap_uniform(state),
                              .asini_s = 10 * tap_uniform(state),
                              .omega_rad = two_pi * tap_uniform(state),
                              .t0_s = 1e5 * tap_uniform(state)};
}

static void test_derivatives(uint64_t *state)
{
    double worst[3] = {0};
    for (int i = 0; i < 300; i++) {
        struct psr_orbit o = random_orbit(state);
        o.ecc *= 0.8; /* where differences are good */
        double t = 1e6 * tap_uniform(state), h = o.period_s * 1e-5;
        struct psr_motion a = psr_orbit_delay(&o, t - h), m = psr_orbit_delay(&o, t),
                          b = psr_orbit_delay(&o, t + h);
        double n = two_pi / o.period_s / pow(1 - o.ecc, 1.5), size = o.asini_s * n;
        worst[0] = fmax(worst[0], fabs((b.value - a.value) / (2 * h) - m.d1) / size);
        worst[1] = fmax(worst[1], fabs((b.d1 - a.d1) / (2 * h) - m.d2) / (size * n));
        worst[2] = fmax(worst[2], fabs((b.d2 - a.d2) / (2 * h) - m.d3) / (size * n * n));
    }
    for (int k = 0; k < 3; k++)
        ok(worst[k] < 1e-6, "derivative %d is that of the one before (%.1e)", k + 1, worst[k]);
}

static void test_emission(uint64_t *state)
{
    double worst = 0;
    for (int i = 0; i < 1000; i++) {
        struct psr_orbit o = random_orbit(state);
        double t = 1e5 * tap_uniform(state), u = psr_orbit_emission_s(&o, t);
        worst = fmax(worst, fabs(u + psr_orbit_delay(&o, u).value - t));
    }
    ok(worst < 1e-10, "emission and delay add up to reception (%.1e s)", worst);
}

static void test_kepler_law(void)
{
    /* Hulse and Taylor's pulsar, as measured: 7.751939 h, x = 2.341776 s, masses 1.438 and 1.390.
     */
    double x = psr_orbit_asini_s(27906.98, asin(0.7327), 1.438, 1.390);
    near(x, 2.3418, 0.005, "the third law gives B1913+16's projected semi-major axis");
    near(psr_orbit_asini_s(27906.98, 0, 1.438, 1.390), 0, 1e-12, "and none face on");
}

static void refuse(struct psr_orbit o, const char *what)
{
    psr_err err = {0};
    ok(psr_orbit_check(&o, &err) == PSR_EINVAL && strstr(err.msg, what), "refused: %s", err.msg);
}

int main(void)
{
    uint64_t state = tap_seed();
    const struct psr_orbit good = {36000, 0.5, 10, 1, 0};
    struct psr_orbit o = good;
    test_anomaly(&state);
    test_derivatives(&state);
    test_emission(&state);
    test_kepler_law();
    ok(psr_orbit_check(&good, NULL) == PSR_OK, "a good orbit passes");
    refuse((o.ecc = 1, o), "eccentricity");
    refuse((o = good, o.period_s = 0, o), "period");
    refuse((o = good, o.asini_s = 1e5, o), "speed of light");
    refuse((o = good, o.omega_rad = NAN, o), "not a number");
    return done_testing();
}
