/* clean_delays_ref.h: which runs of spectra are dispersed, as psrkit/experimental/clean_auto.h defines it, by plain loops; a part of
 * clean_auto_ref.h. */
#ifndef PSR_TESTS_CLEAN_DELAYS_REF_H
#define PSR_TESTS_CLEAN_DELAYS_REF_H

/* Spectra first .. end - 1, and with a quarter as many on either side. */
struct ref_run {
    size_t first, end, from, to;
};

#include "clean_sweeps_ref.h"

/* A run with what is beside it, between low and high. */
static struct ref_run ref_widen(size_t first, size_t end, size_t low, size_t high)
{
    const size_t more = (size_t)ceil((double)(end - first) / 4);
    return (struct ref_run){first, end, low + more < first ? first - more : low,
                            end + more < high ? end + more : high};
}

/* Sums over a run: x and d of sub-bands, and of the band. */
struct ref_sums {
    double x[16], d[16], power, noise, slope;
    size_t lag;
};

/* Sub-bands of the run in sigmas, [n][ngroup], and their sums. */
static void ref_read_run(const struct ref_band *b, struct ref_run run, bool sparks, double *s,
                         double *band)
{
    for (size_t i = 0; i < run.to - run.from; i++)
        for (size_t g = 0; g < b->ngroup; g++) {
            const size_t t = run.from + i;
            const double count = b->enough[t] ? b->count[t * b->ngroup + g] : 0;
            if (count > 0 && (sparks || !b->spark[t]))
                s[i * b->ngroup + g] = b->u[t * b->ngroup + g] / (5 * sqrt(count));
            band[i] += s[i * b->ngroup + g];
        }
}

static struct ref_sums ref_sum_run(const double *s, const double *band, size_t n, size_t G)
{
    struct ref_sums m = {.lag = (n + 3) / 4};
    const size_t h = (m.lag + 1) / 2;
    double *weight = calloc(n, sizeof *weight), mean = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i > m.lag ? i - m.lag : 0; j <= i + m.lag && j < n; j++)
            weight[i] += j > i ? band[j] : j < i ? -band[j] : 0;
        mean += weight[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double w = weight[i] - mean;
        m.power += band[i] * band[i];
        m.noise += w * w;
        m.slope += w * ((i >= h ? band[i - h] : 0) - (i + h < n ? band[i + h] : 0));
        for (size_t g = 0; g < G; g++) {
            m.x[g] += s[i * G + g] * band[i];
            m.d[g] += s[i * G + g] * w;
        }
    }
    m.slope /= 2 * (double)h;
    free(weight);
    return m;
}

/* What is left of d^2 if c x is fitted on either side of a place of the band, at least 3 sub-bands each: the best place. */
static double ref_fit_receivers(const struct ref_sums *m, size_t G)
{
    double least = HUGE_VAL;
    for (size_t at = 0; at <= G; at++) {
        double xx[2] = {0}, xd[2] = {0}, left = 0;
        int have[2] = {0};
        for (size_t g = 0; g < G; g++) {
            xx[g < at] += m->x[g] * m->x[g];
            xd[g < at] += m->x[g] * m->d[g];
            have[g < at] += m->x[g] != 0;
        }
        for (size_t g = 0; g < G; g++)
            left += pow(m->d[g] - xd[g < at] / xx[g < at] * m->x[g], 2);
        if (have[0] >= 3 && have[1] >= 3)
            least = fmin(least, left);
    }
    return least;
}

/* Fits d / x by a line over the band, in weights x^2. */
static struct ref_delay ref_fit_line(const struct ref_sums *m, size_t nchan, size_t G)
{
    double place[16], xx = 0, middle = 0, level = 0, top = 0, bottom = 0, misfit = 0, have = 0;
    for (size_t g = 0; g < G; g++) {
        const double first = (double)(g * nchan / G), end = (double)((g + 1) * nchan / G);
        place[g] = (first + end) / 2 / (double)nchan - 0.5;
        xx += m->x[g] * m->x[g];
        middle += place[g] * m->x[g] * m->x[g];
        level += m->x[g] * m->d[g];
        have += m->x[g] != 0;
    }
    for (size_t g = 0; g < G; g++) {
        const double at = place[g] - middle / xx;
        top += at * m->x[g] * m->d[g];
        bottom += at * at * m->x[g] * m->x[g];
    }
    const double b = top / bottom;
    for (size_t g = 0; g < G; g++) {
        const double rest = m->d[g] - (level / xx + b * (place[g] - middle / xx)) * m->x[g];
        misfit += rest * rest;
    }
    const double sigma = have > 2 ? sqrt(fmax(m->noise, misfit / (have - 2)) / bottom) : 0;
    return (struct ref_delay){b * m->power / m->slope, sigma * m->power / -m->slope,
                              ref_fit_receivers(m, G) < misfit};
}

/* The delay of a run; sparks: they count. */
static struct ref_delay ref_delay_of(const struct ref_band *b, struct ref_run run, bool sparks)
{
    const size_t n = run.to - run.from;
    double *s = calloc(n * b->ngroup, sizeof *s), *band = calloc(n, sizeof *band);
    ref_read_run(b, run, sparks, s, band);
    const struct ref_sums m = ref_sum_run(s, band, n, b->ngroup);
    struct ref_delay d = ref_fit_line(&m, b->r->nchan, b->ngroup);
    free(s);
    free(band);
    d.noise = hypot(d.noise, 0.02 * (double)m.lag) * (d.noise > 0);
    return m.slope < 0 && isfinite(d.size) && d.noise > 0 ? d : (struct ref_delay){0};
}

static double ref_sigmas(struct ref_delay d)
{
    return d.noise > 0 ? d.size / d.noise : 0;
}

/* The delay that half of the evidence of the last 64 runs is below; 0 if that is not beyond noise. */
static double ref_source(const struct ref *r)
{
    const size_t n = r->ndelay < 64 ? r->ndelay : 64;
    double sum = 0, all = 0, best = HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        sum += fmin(fmax(ref_sigmas(r->past_delay[i]), -3), 3);
    if (!n || fabs(sum) / sqrt((double)n) < 5)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const double z = fmin(fmax(ref_sigmas(r->past_delay[i]), -3), 3);
        all += z * sum > 0 ? z * z : 0;
    }
    for (size_t i = 0; i < n; i++) {
        double below = 0;
        for (size_t k = 0; k < n; k++) {
            const double z = fmin(fmax(ref_sigmas(r->past_delay[k]), -3), 3);
            below += z * sum > 0 && r->past_delay[k].size <= r->past_delay[i].size ? z * z : 0;
        }
        if (ref_sigmas(r->past_delay[i]) * sum > 0 && 2 * below >= all)
            best = fmin(best, r->past_delay[i].size);
    }
    return best;
}

static bool ref_dispersed(struct ref_delay d, double source)
{
    if (d.noise <= 0)
        return false;
    const double less = source > 0 ? source - d.size : d.size - source;
    return fabs(d.size) > 4 * d.noise || (source != 0 && less < 3 * d.noise);
}

/* Of runs that are no sparks. */
static bool ref_delayed(struct ref_delay d, double source)
{
    return !d.of_receivers && ref_dispersed(d, source) && fabs(d.size) > 2 * d.noise;
}

static void ref_mark_burst(const struct ref_band *b, struct ref_run run)
{
    for (size_t t = run.from; t < run.to; t++)
        b->burst[t] = b->pulse[t] = 1;
}

/* Runs of rows that are marked.  Returned: their number */
static size_t ref_runs(const struct ref_band *b, const unsigned char *mark, struct ref_run *run)
{
    size_t n = 0;
    for (size_t t = 0; t < b->n; t++) {
        if (mark[t] && (t == 0 || !mark[t - 1]))
            run[n++].first = t;
        if (mark[t])
            run[n - 1].end = t + 1;
    }
    for (size_t k = 0; k < n; k++)
        run[k] = ref_widen(run[k].first, run[k].end, k ? run[k - 1].end : 0,
                           k + 1 < n ? run[k + 1].first : b->n);
    return n;
}

/* Of the band, in sigmas of its sub-bands. */
static double ref_band_sum(const struct ref_band *b, size_t first, size_t end)
{
    double sum = 0;
    for (size_t k = first * b->ngroup; k < end * b->ngroup; k++) {
        const double count = b->enough[k / b->ngroup] ? b->count[k] : 0;
        sum += count > 0 && !b->spark[k / b->ngroup] ? b->u[k] / (5 * sqrt(count)) : 0;
    }
    return sum;
}

/* Spectra that more than half of the sub-bands that count have within 2 sigmas of 0, the lowest there is, have no data. */
static void ref_lost(struct ref_band *b)
{
    for (size_t t = 0; t < b->n; t++) {
        size_t n = 0, low = 0;
        for (size_t g = 0; g < b->ngroup; g++) {
            const double count = b->count[t * b->ngroup + g];
            n += count > 0;
            low += count > 0 && 32 + b->u[t * b->ngroup + g] / count < 10;
        }
        if (2 * low > n) {
            b->spark[t] = 1;
            b->burst[t] = 0;
        }
    }
}

/* Sparks that are dispersed, and pulses, become bursts; too many pulses are none. */
static void ref_bursts(struct ref_band *b)
{
    struct ref *r = b->r;
    struct ref_run *run = malloc((b->n / 2 + 1) * sizeof *run);
    struct ref_delay *delay = malloc((b->n / 2 + 1) * sizeof *delay);
    unsigned char *mark = malloc(b->n);
    size_t n = ref_runs(b, b->spark, run), pulses = 0, above = 0, below = 0;
    for (size_t k = 0; k < n; k++)
        r->past_delay[r->ndelay++ % 64] = delay[k] = ref_delay_of(b, run[k], true);
    const double source = ref_source(r);
    for (size_t k = 0; k < n; k++)
        if (ref_dispersed(delay[k], source) ||
            ref_fits_delay(b, run[k], k ? run[k - 1].end : 0,
                           k + 1 < n ? run[k + 1].first : b->n)) {
            memset(b->spark + run[k].first, 0, run[k].end - run[k].first);
            ref_mark_burst(b, run[k]);
        }
    for (size_t t = 0; t < b->n; t++)
        mark[t] = b->pulse[t] && !b->spark[t] && !b->burst[t];
    n = ref_runs(b, mark, run);
    for (size_t k = 0; k < n; k++) {
        delay[k] = ref_delay_of(b, run[k], false);
        if (ref_delayed(delay[k], source))
            ref_mark_burst(b, run[k]);
    }
    for (size_t t = 0; t < b->n; t++)
        pulses += b->pulse[t] && !b->burst[t];
    for (size_t k = 0; k < n; k++)
        if (!b->burst[run[k].first])
            *(ref_band_sum(b, run[k].first, run[k].end) < 0 ? &below : &above) +=
                run[k].end - run[k].first;
    for (size_t t = 0; t < b->n && (7 * pulses > b->n || 2 * below > above); t++)
        b->pulse[t] = b->burst[t];
    free(run);
    free(delay);
    free(mark);
}

#endif
