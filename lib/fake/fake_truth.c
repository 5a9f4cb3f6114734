/* Reports the true parameters of a synthetic observation: S/N and motion of each signal. */
#include "fake_parts.h"
#include "fake_plan.h"

#include "base/copy_desc.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>

/* Pulses of a pulsar that are looked at; they differ in where samples cut them. */
enum { LOOKED_AT = 64, NRESPONSE = 257 };

/* What a signal of a height adds to the mean of the stored sample. */
struct response {
    double step, added[NRESPONSE], sigma;
};

static void make_response(struct response *r, int nbit, double highest)
{
    double none, mean, variance;
    psr_quantised_moments(nbit, 0, 1, &none, &variance);
    r->sigma = sqrt(variance);
    r->step = fmax(highest, 1e-6) / (NRESPONSE - 1);
    for (int i = 0; i < NRESPONSE; i++) {
        psr_quantised_moments(nbit, i * r->step, 1, &mean, &variance);
        r->added[i] = mean - none;
    }
}

static double respond(const struct response *r, double height)
{
    double at = fmin(fmax(height / r->step, 0), NRESPONSE - 1.001);
    int i = (int)at;
    return r->added[i] + (at - i) * (r->added[i + 1] - r->added[i]);
}

/* Sums of a pulse in the dedispersed series, over samples. */
struct measured {
    double squares, box; /* the largest sum over w of them, over the root of w */
};

static double find_box(double *sum, size_t n)
{
    const double step = 1.02; /* from width to width: finer ones change nothing that matters */
    double best = 0;
    for (size_t t = 1; t < n; t++)
        sum[t] += sum[t - 1];
    for (size_t w = 1; w < n; w = (size_t)fmax((double)w + 1, (double)w * step)) {
        double most = sum[w - 1];
        for (size_t t = w; t < n; t++)
            most = fmax(most, sum[t] - sum[t - w]);
        best = fmax(best, most / sqrt((double)w));
    }
    return best;
}

static psr_status measure_pulse(const struct psr_fake *p, const struct psr_fake_part *part,
                                const struct psr_pulse *pulse, const struct response *response,
                                struct measured *m, psr_err *err)
{
    const struct psr_obs *obs = &p->frame.obs;
    const double tsamp_s = obs->tsamp_s;
    int64_t begin = (int64_t)floor((pulse->t_s + part->before_x / pulse->hz) / tsamp_s) - 2;
    int64_t end = (int64_t)ceil((pulse->t_s + part->after_x / pulse->hz) / tsamp_s) + 2;
    size_t n = (size_t)(end - begin);
    double *sum = calloc(n, sizeof *sum);
    float *x = calloc(n, sizeof *x);
    for (size_t c = 0; sum && x && c < obs->nchan; c++) {
        if (p->onto.alive && !p->onto.alive[c])
            continue;
        struct psr_fake_place at = psr_fake_place(&part->ready, c);
        int64_t shift = psr_delay_samples(p->frame.dmconst, part->desc.dm, psr_obs_freq_mhz(obs, c),
                                          p->frame.highest_mhz, tsamp_s);
        for (size_t t = 0; t < n; t++)
            x[t] = 0;
        psr_fake_pulse_add(&at, pulse, tsamp_s, begin + shift, end + shift, x, 1);
        for (size_t t = 0; t < n; t++)
            sum[t] += respond(response, (double)x[t]);
    }
    *m = (struct measured){0, 0};
    for (size_t t = 0; sum && x && t < n; t++)
        m->squares += sum[t] * sum[t];
    if (sum && x)
        m->box = find_box(sum, n);
    psr_status st = sum && x ? PSR_OK : psr_fail_nomem(err, "pulse", 12.0 * (double)n);
    free(sum);
    free(x);
    return st;
}

static void report_motion(const struct psr_fake *p, const struct psr_fake_part *part,
                          struct psr_fake_truth *truth)
{
    const double observed_s = (double)p->frame.obs.nsamp * p->frame.obs.tsamp_s;
    int64_t turns, turns0;
    double fraction, fraction0;
    psr_spin_phase(&part->spin, 0, &turns0, &fraction0);
    psr_spin_phase(&part->spin, observed_s, &turns, &fraction);
    struct psr_motion m = psr_spin_motion(&part->spin, observed_s / 2);
    truth->pulses = (double)(turns - turns0) + (fraction - fraction0);
    truth->mean_hz = truth->pulses / observed_s;
    truth->middle_hz = m.d1;
    truth->r = truth->pulses;
    truth->z = m.d2 * observed_s * observed_s;
    truth->w = m.d3 * observed_s * observed_s * observed_s;
    truth->t_s = psr_spin_pulse(&part->spin, fraction0 > 0.5 ? turns0 + 1 : turns0).value;
}

/* The pulse looked at as number i of n, spread over the observation. */
static struct psr_pulse pick_pulse(const struct psr_fake_part *part, double pulses, int i, int n)
{
    if (part->desc.kind == PSR_FAKE_BURST)
        return psr_pulse_of_burst(part);
    double start = ceil(part->desc.phase - 0.5);
    int64_t rotation = (int64_t)start + (int64_t)((i + 0.5) / n * pulses);
    return psr_pulse_of_rotation(part, rotation);
}

psr_status psr_fake_describe(const psr_fake *p, size_t i, struct psr_fake_truth *truth,
                             psr_err *err)
{
    struct psr_fake_part part = p->part[i];
    const bool burst = part.desc.kind == PSR_FAKE_BURST;
    struct response response;
    struct measured one, all = {0, 0};
    double tallest = 0;
    const double nchan = (double)(p->onto.alive ? p->onto.nalive : p->frame.obs.nchan);
    psr_status st = psr_fake_part_prepare(&part, &p->frame, err);
    *truth = (struct psr_fake_truth){.dm = part.desc.dm,
                                     .t_s = part.desc.t_s,
                                     .width_s = part.desc.width_s,
                                     .peak = part.peak,
                                     .pulses = 1};
    if (st)
        return st;
    if (!burst)
        report_motion(p, &part, truth);
    for (size_t c = 0; c < p->frame.obs.nchan; c++)
        tallest = fmax(tallest, part.ready.fluence[c] / part.shape.area);
    make_response(&response, p->frame.obs.nbit, tallest);
    const int n = burst ? 1 : (int)fmin(fmax(truth->pulses, 1), LOOKED_AT);
    for (int k = 0; k < n && !st; k++) {
        struct psr_pulse pulse = pick_pulse(&part, truth->pulses, k, n);
        st = measure_pulse(p, &part, &pulse, &response, &one, err);
        all.squares += st ? 0 : one.squares / n;
        all.box += st ? 0 : one.box / n;
    }
    truth->snr_single = sqrt(all.squares / fmax(nchan, 1)) / response.sigma;
    truth->snr_folded = truth->snr_single * sqrt(truth->pulses);
    truth->snr_boxcar = all.box / sqrt(fmax(nchan, 1)) / response.sigma;
    if (!p->part[i].ready.row)
        psr_fake_ready_clear(&part.ready);
    return st;
}

psr_status psr_fake_report_sized(const psr_fake *p, size_t i, struct psr_fake_truth *truth,
                                 size_t size, psr_err *err)
{
    struct psr_fake_truth all = p->part[i].truth;
    psr_status st = p->part[i].scaled ? PSR_OK : psr_fake_describe(p, i, &all, err);
    if (p->onto.is_set && !p->part[i].scaled) /* outside: nothing was added */
        all.peak = all.snr_single = all.snr_folded = all.snr_boxcar = 0;
    psr_give_desc(truth, size, &all, sizeof all);
    return st;
}
