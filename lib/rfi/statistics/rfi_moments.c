/* Computes moments to the fourth order. */
#include "rfi_moments.h"

#include <math.h>

enum { LANES = 8 };

void psr_rfi_power_sums_add(struct psr_rfi_power_sums *s, int64_t x, int64_t count)
{
    const int64_t d = x - s->origin;
    psr_int128 power = count;
    s->n += count;
    for (int k = 0; k < 4; k++) {
        power *= d;
        s->sum[k] += power;
    }
}

/* About the integer next to the mean, exactly; what is left of the mean is then small, so that
 * nothing cancels. */
struct psr_rfi_moments psr_rfi_moments_from_sums(const struct psr_rfi_power_sums *s)
{
    const psr_int128 *const a = s->sum, n = s->n;
    if (s->n <= 0)
        return (struct psr_rfi_moments){0};
    const double count = (double)n;
    const int64_t near = (int64_t)llround((double)a[0] / count);
    const psr_int128 c = near;
    const double d = (double)(a[0] - n * c) / count;
    const double p2 = (double)(a[1] - 2 * c * a[0] + n * c * c) / count;
    const double p3 = (double)(a[2] - 3 * c * a[1] + 3 * c * c * a[0] - n * c * c * c) / count;
    const double p4 = (double)(a[3] - 4 * c * a[2] + 6 * c * c * a[1] - 4 * c * c * c * a[0] +
                               n * c * c * c * c) /
                      count;
    const double m2 = p2 - d * d;
    return (struct psr_rfi_moments){.n = count,
                                    .mean = (double)(s->origin + near) + d,
                                    .m2 = m2 > 0 ? m2 : 0,
                                    .m3 = p3 - 3 * d * p2 + 2 * d * d * d,
                                    .m4 = p4 - 4 * d * p3 + 6 * d * d * p2 - 3 * d * d * d * d};
}

/* Fourth powers of 17 bits fill 64, so that they are added in two halves. */
struct psr_rfi_moments psr_rfi_moments_of_integers(const float *x, size_t n)
{
    enum { MOST = 1 << 12 };
    struct psr_rfi_power_sums s = {(int64_t)n, 0, {0}};
    for (size_t t0 = 0; t0 < n; t0 += MOST) {
        const size_t end = n - t0 < MOST ? n : t0 + MOST;
        int64_t s1 = 0, s2 = 0, s3 = 0;
        uint64_t low = 0, high = 0;
        for (size_t t = t0; t < end; t++) {
            const int64_t d = (int64_t)x[t], square = d * d;
            const uint64_t fourth = (uint64_t)square * (uint64_t)square;
            s1 += d;
            s2 += square;
            s3 += square * d;
            low += fourth & 0xffffffff;
            high += fourth >> 32;
        }
        s.sum[0] += s1;
        s.sum[1] += s2;
        s.sum[2] += s3;
        s.sum[3] += ((psr_int128)high << 32) + low;
    }
    return psr_rfi_moments_from_sums(&s);
}

struct psr_rfi_moments psr_rfi_moments_of_floats(const float *x, size_t n)
{
    double sum[LANES] = {0}, p2[LANES] = {0}, p3[LANES] = {0}, p4[LANES] = {0};
    if (!n)
        return (struct psr_rfi_moments){0};
    for (size_t t = 0; t < n; t++)
        sum[t % LANES] += (double)x[t];
    for (size_t k = 1; k < LANES; k++)
        sum[0] += sum[k];
    const double mean = sum[0] / (double)n;
    for (size_t t = 0; t < n; t++) {
        const double d = (double)x[t] - mean, square = d * d;
        p2[t % LANES] += square;
        p3[t % LANES] += square * d;
        p4[t % LANES] += square * square;
    }
    for (size_t k = 1; k < LANES; k++) {
        p2[0] += p2[k];
        p3[0] += p3[k];
        p4[0] += p4[k];
    }
    return (struct psr_rfi_moments){(double)n, mean, p2[0] / (double)n, p3[0] / (double)n,
                                    p4[0] / (double)n};
}

double psr_rfi_skewness(const struct psr_rfi_moments *m)
{
    return m->m2 > 0 ? m->m3 / (m->m2 * sqrt(m->m2)) : 0;
}

double psr_rfi_kurtosis(const struct psr_rfi_moments *m)
{
    return m->m2 > 0 ? m->m4 / (m->m2 * m->m2) - 3 : 0;
}
