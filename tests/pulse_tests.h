/* pulse_tests.h: noise, and the single-pulse search written out plainly, for its tests. */
#ifndef PSR_PULSE_TESTS_H
#define PSR_PULSE_TESTS_H

#include "search/singlepulse/pulse.h"
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

/* The whole of x flattened at once: z [n], minus infinity where there are no data. */
__attribute__((unused)) static double *flatten_plainly(const float *x, size_t n, size_t maxwidth)
{
    size_t length = psr_pulse_piece_length(maxwidth);
    int64_t npiece = (int64_t)((n + length - 1) / length);
    struct pulse_piece *piece = calloc((size_t)npiece + 1, sizeof *piece);
    struct pulse_baseline_node *node = calloc((size_t)npiece + 1, sizeof *node);
    float *work = malloc(PULSE_WORK(length) * sizeof *work);
    double *z = malloc((n + 1) * sizeof *z);
    if (!piece || !node || !work || !z)
        exit(EXIT_FAILURE);
    for (int64_t k = 0; k < npiece; k++) {
        size_t from = (size_t)k * length;
        psr_pulse_measure(&piece[k], x + from, n - from < length ? n - from : length, (int64_t)from,
                          work);
    }
    for (int64_t k = 0; k < npiece; k++) {
        struct pulse_piece ring[PULSE_RING] = {0};
        for (int64_t q = k - PULSE_REACH; q <= k + PULSE_REACH; q++)
            if (q >= 0 && q < npiece)
                ring[q % PULSE_RING] = piece[q];
        psr_pulse_baseline_node(&node[k], ring, k, npiece - 1, length);
    }
    for (size_t t = 0; t < n; t++) {
        int64_t k = (int64_t)(t / length), other = t % length < length / 2 ? k - 1 : k + 1;
        const struct pulse_baseline_node *own = &node[k];
        z[t] = -INFINITY;
        if (!own->known || own->dead || !(fabsf(x[t]) <= PULSE_HUGE))
            continue;
        double level = own->level + own->slope * ((double)t - own->pos), scale = 1 / own->sigma;
        if (other >= 0 && other < npiece && node[other].known) {
            const struct pulse_baseline_node *to = &node[other];
            double part = ((double)t - own->pos) / (to->pos - own->pos);
            level = own->level + part * (to->level - own->level);
            scale += part * (1 / to->sigma - 1 / own->sigma);
        }
        z[t] = ((double)x[t] - level) * scale;
    }
    free(piece);
    free(node);
    free(work);
    return z;
}

/* S/N of the boxcar [first, first + width) of z [n]; minus infinity where it does not fit. */
__attribute__((unused)) static double boxcar_plainly(const double *z, size_t n, int64_t first,
                                                     int width)
{
    if (first < 0 || first + width > (int64_t)n)
        return -INFINITY;
    double sum = 0;
    for (int64_t t = first; t < first + width; t++)
        sum += z[t];
    return sum / sqrt((double)width);
}

static int compare_plainly(const void *a, const void *b)
{
    const struct psr_event *p = a, *q = b;
    if (p->snr != q->snr)
        return p->snr > q->snr ? -1 : 1;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

static int compare_in_time(const void *a, const void *b)
{
    const struct psr_event *p = a, *q = b;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

static bool overlap_plainly(const struct psr_event *p, const struct psr_event *q)
{
    int64_t a = p->sample - p->width / 2, b = q->sample - q->width / 2;
    return a < b + q->width && b < a + p->width;
}

/* Best first, what overlaps no event becomes one; then by sample.  Returned: how many are left. */
__attribute__((unused)) static size_t compete_plainly(struct psr_event *e, size_t n)
{
    size_t kept = 0;
    qsort(e, n, sizeof *e, compare_plainly);
    for (size_t j = 0; j < n; j++) {
        bool meets = false;
        for (size_t k = 0; k < kept && !meets; k++)
            meets = overlap_plainly(&e[k], &e[j]);
        if (!meets)
            e[kept++] = e[j];
    }
    qsort(e, kept, sizeof *e, compare_in_time);
    return kept;
}

/* The search of one series.  Returned: *events, malloc'd, and how many */
__attribute__((unused)) static size_t search_plainly(const float *x, size_t n, size_t maxwidth,
                                                     double threshold, size_t trial,
                                                     struct psr_event **events)
{
    double *z = flatten_plainly(x, n, maxwidth);
    struct psr_event *e = malloc((n + 1) * sizeof *e);
    if (!e)
        exit(EXIT_FAILURE);
    size_t count = 0;
    for (size_t t = 0; t < n; t++) {
        struct psr_event best = {-INFINITY, (int64_t)t, 1, trial};
        for (int i = 0; i < NLIST && list_of_widths[i] <= (int)maxwidth; i++) {
            int w = list_of_widths[i];
            double snr = boxcar_plainly(z, n, (int64_t)t - w / 2, w);
            if (snr > best.snr)
                best.snr = snr, best.width = w;
        }
        if (best.snr >= threshold)
            e[count++] = best;
    }
    free(z);
    *events = e;
    return compete_plainly(e, count);
}

#endif
