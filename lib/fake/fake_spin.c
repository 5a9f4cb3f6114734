/* Computes the spin phase of a pulsar in a binary. */
#include "astro/barycentre.h"
#include "fake_internal.h"

#include <math.h>

void psr_spin_make(struct psr_spin *spin, const struct psr_fake_signal *s, bool legacy)
{
    *spin = (struct psr_spin){.period_s = s->period_s,
                              .pdot = s->pdot,
                              .phase = s->phase,
                              .binary = s->binary,
                              .legacy = legacy,
                              .orbit = s->orbit};
    if (s->binary)
        spin->delay0_s = psr_orbit_delay(&s->orbit, 0).value;
}

/* log(1 + x) / x - 1, without the cancellation near 0. */
static double log_ratio_less_one(double x)
{
    if (fabs(x) > 1e-3)
        return log1p(x) / x - 1;
    return x * (-1.0 / 2 + x * (1.0 / 3 + x * (-1.0 / 4 + x * (1.0 / 5 + x * (-1.0 / 6)))));
}

/* The apparent period and its derivatives by the observer's time, as fake takes them: d1 is P. */
static struct psr_motion legacy_period(const struct psr_spin *spin, double t_s)
{
    struct psr_motion v = {0, 0, 0, 0};
    if (spin->binary)
        v = psr_orbit_delay(&spin->orbit, t_s);
    double p = spin->period_s + spin->pdot * t_s;
    return (struct psr_motion){.d1 = p * (1 + v.d1),
                               .d2 = spin->pdot * (1 + v.d1) + p * v.d2,
                               .d3 = 2 * spin->pdot * v.d2 + p * v.d3};
}

static struct psr_motion legacy_motion(const struct psr_spin *spin, double t_s)
{
    struct psr_motion p = legacy_period(spin, t_s);
    double q = 1 / p.d1;
    return (struct psr_motion){.value = t_s,
                               .d1 = q - t_s * p.d2 * q * q,
                               .d2 = q * q * (2 * t_s * p.d2 * p.d2 * q - 2 * p.d2 - t_s * p.d3)};
}

/* Received at t = u + delay(u) - delay(0); derivatives of the phase by t, from those by u. */
static struct psr_motion motion_from(const struct psr_spin *spin, double u_s)
{
    struct psr_motion r = {0, 0, 0, 0};
    if (spin->binary)
        r = psr_orbit_delay(&spin->orbit, u_s);
    double p = spin->period_s + spin->pdot * u_s;
    double s1 = 1 / p, s2 = -spin->pdot * s1 * s1, s3 = -2 * spin->pdot * s1 * s2;
    double u1 = 1 / (1 + r.d1), u2 = -r.d2 * u1 * u1 * u1;
    double u3 = 3 * u2 * u2 / u1 - r.d3 * u1 * u1 * u1 * u1;
    return (struct psr_motion){
        .value = u_s + r.value - spin->delay0_s,
        .d1 = s1 * u1,
        .d2 = s2 * u1 * u1 + s1 * u2,
        .d3 = s3 * u1 * u1 * u1 + 3 * s2 * u1 * u2 + s1 * u3,
    };
}

static double emission_s(const struct psr_spin *spin, double t_s)
{
    return spin->binary ? psr_orbit_emission_s(&spin->orbit, t_s + spin->delay0_s) : t_s;
}

struct psr_motion psr_spin_motion(const struct psr_spin *spin, double t_s)
{
    return spin->legacy ? legacy_motion(spin, t_s) : motion_from(spin, emission_s(spin, t_s));
}

/* t / P is kept as a quotient and its remainder; all that is added to it is small. */
void psr_spin_phase(const struct psr_spin *spin, double t_s, int64_t *turns, double *fraction)
{
    double p = spin->period_s, rest = spin->phase;
    if (spin->legacy) {
        p = legacy_period(spin, t_s).d1;
    } else {
        double u = emission_s(spin, t_s);
        rest += (spin->binary ? spin->delay0_s - psr_orbit_delay(&spin->orbit, u).value : 0) / p;
        rest += u / p * log_ratio_less_one(spin->pdot * u / p);
    }
    double whole = t_s / p, left = fma(-whole, p, t_s) / p;
    double turn = floor(whole), restturn = floor(rest);
    double f = (whole - turn) + (rest - restturn) + left;
    double carry = floor(f);
    *turns = (int64_t)turn + (int64_t)restturn + (int64_t)carry;
    *fraction = f - carry < 1 ? f - carry : 0;
}

struct psr_motion psr_spin_pulse(const struct psr_spin *spin, int64_t n)
{
    double turns = (double)n + (0.5 - spin->phase), growth = spin->pdot * turns;
    if (spin->legacy) {
        double t_s = turns * spin->period_s;
        for (int i = 0; i < 100; i++) {
            double next = turns * legacy_period(spin, t_s).d1, step = next - t_s;
            t_s = next;
            if (fabs(step) <= 1e-15 * fabs(t_s))
                break;
        }
        return legacy_motion(spin, t_s);
    }
    double stretch = fabs(growth) > 1e-12 ? expm1(growth) / growth : 1 + growth / 2;
    return motion_from(spin, spin->period_s * turns * stretch);
}
