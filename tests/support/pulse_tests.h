/* pulse_tests.h: noise and series for tests of the single-pulse search. */
#ifndef PSR_PULSE_TESTS_H
#define PSR_PULSE_TESTS_H

#include "search/singlepulse/singlepulse_internal.h"
#include "tap.h"

#include <string.h>

static const int list_of_widths[] = {1, 2, 3, 4, 6, 9, 14, 20, 30, 45, 70, 100, 150, 220, 300};
enum { NLIST = sizeof list_of_widths / sizeof *list_of_widths };

__attribute__((unused)) static float *make_noise(uint64_t *seed, size_t n, double mean,
                                                 double sigma)
{
    float *x = malloc((n + 1) * sizeof *x);
    if (!x)
        exit(EXIT_FAILURE);
    for (size_t t = 0; t < n; t++)
        x[t] = (float)(mean + sigma * tap_normal(seed));
    return x;
}

/* Noise with some pulses, steps of level, a slope and a few bad samples. */
__attribute__((unused)) static float *make_series(uint64_t *seed, size_t nseries, size_t n)
{
    float *x = make_noise(seed, nseries * n, 50, 3);
    for (int pulse = 0; pulse < 40 && n > 0; pulse++) {
        int64_t i = tap_between(seed, 0, (int64_t)nseries - 1);
        int64_t t = tap_between(seed, 0, (int64_t)n - 1), w = tap_between(seed, 1, 200);
        for (int64_t j = t; j < t + w && j < (int64_t)n; j++)
            x[i * (int64_t)n + j] += (float)(3 * 12 / sqrt((double)w));
        x[tap_between(seed, 0, (int64_t)(nseries * n) - 1)] = pulse % 2 ? NAN : INFINITY;
    }
    for (size_t t = 0; t < n; t++)
        x[t] += (float)t * 0.01f;
    return x;
}

/* A plan for series sampled each millisecond, all of DM 0; or the end of the test. */
__attribute__((unused)) static psr_singlepulse *plan_search(struct psr_singlepulse_desc desc)
{
    psr_err err;
    psr_singlepulse *p;
    double *dm = tap_take(desc.nseries, sizeof *dm);
    desc.dm = dm;
    desc.tsamp_s = 1e-3;
    if (psr_singlepulse_create(&p, &desc, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    free(dm);
    return p;
}

__attribute__((unused)) static int count_differences(const psr_singlepulse *a,
                                                     const psr_singlepulse *b, size_t nseries)
{
    int wrong = 0;
    for (size_t i = 0; i < nseries; i++) {
        const struct psr_event *p, *q;
        size_t n = psr_singlepulse_events(a, i, &p), m = psr_singlepulse_events(b, i, &q);
        wrong += n != m;
        for (size_t k = 0; k < n && k < m; k++)
            wrong += memcmp(&p[k].snr, &q[k].snr, sizeof p->snr) != 0 ||
                     p[k].sample != q[k].sample || p[k].width != q[k].width ||
                     p[k].trial != q[k].trial;
    }
    return wrong;
}

#endif
