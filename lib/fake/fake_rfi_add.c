/* Adds interference to the spectra of a synthetic observation, and loses packets. */
#include "fake_internal.h"
#include "fake_plan.h"

#include <math.h>

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Longest random event, in widths. */
static const double longest = 8;

/* Rows first .. first + n - 1 that are being filled. */
struct tile {
    const struct psr_fake *p;
    const struct psr_fake_rfi_part *part;
    int64_t first;
    size_t n;
    float *x, *normal;
};

/* Adds a height to the channels of a band in row t, in every IF. */
static void add_row(const struct tile *l, int64_t t, struct psr_fake_band band, double height)
{
    const struct psr_obs *obs = &l->p->frame.obs;
    const double modulation = l->part->d.modulation;
    const size_t nchan = obs->nchan;
    if (band.first >= band.end || height == 0)
        return;
    if (modulation > 0)
        psr_rng_normal(l->p->seed, l->part->stream + 1, (uint64_t)t * nchan + band.first,
                       band.end - band.first, l->normal + band.first);
    for (size_t k = 0; k < (size_t)obs->nif; k++) {
        float *x = l->x + (size_t)(t - l->first) * l->p->row_values + k * nchan;
        for (size_t c = band.first; c < band.end; c++) {
            double factor = modulation > 0 ? 1 + modulation * (double)l->normal[c] : 1;
            x[c] += (float)(height * factor);
        }
    }
}

/* Time within [from, to] that lies between begin and end. */
static double overlap(double from, double to, double begin, double end)
{
    double low = from > begin ? from : begin, high = to < end ? to : end;
    return high > low ? high - low : 0;
}

/* Time before t_s, counted from the train's begin, in which its pulses are on. */
static double time_on(double t_s, double period_s, double width_s)
{
    double turns = floor(t_s / period_s), into = t_s - turns * period_s;
    return t_s > 0 ? turns * width_s + fmin(into, width_s) : 0;
}

/* The fraction of sample t in which pulses from begin_s to end_s are on; without a period the train is
 * always on. */
static double fraction_on(const struct tile *l, int64_t t, double begin_s, double end_s,
                          double period_s, double width_s)
{
    const double tsamp_s = l->p->frame.obs.tsamp_s;
    double from = (double)t * tsamp_s, to = (double)(t + 1) * tsamp_s;
    if (!(period_s > 0))
        return overlap(from, to, begin_s, end_s) / tsamp_s;
    from = fmin(fmax(from, begin_s), end_s) - begin_s;
    to = fmin(fmax(to, begin_s), end_s) - begin_s;
    return (time_on(to, period_s, width_s) - time_on(from, period_s, width_s)) / tsamp_s;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static double beam_factor(const struct psr_fake_rfi *r, double t_s)
{
    double turns = (t_s - r->t_s) / r->rotation_s, x = turns - rint(turns);
    return exp2(-4 * x * x / (r->beam * r->beam));
}

/* Tones, radar and a jump without a rate. */
static void add_steady(const struct tile *l)
{
    const struct psr_fake_rfi *r = &l->part->d;
    const double tsamp_s = l->p->frame.obs.tsamp_s;
    struct psr_fake_band band = psr_fake_rfi_band(&l->p->frame, r->freq_mhz, r->bw_mhz);
    for (int64_t t = l->first; t < l->first + (int64_t)l->n; t++) {
        double t_s = ((double)t + 0.5) * tsamp_s, height = r->level;
        double share = fraction_on(l, t, l->part->begin_s, l->part->end_s, r->period_s, r->width_s);
        if (r->kind == PSR_FAKE_RFI_RADAR && share > 0)
            height *= beam_factor(r, t_s);
        if (r->drift_mhz_s != 0 && share > 0) {
            double freq = r->freq_mhz + r->drift_mhz_s * (t_s - r->t_s);
            band = freq > 0 ? psr_fake_rfi_band(&l->p->frame, freq, r->bw_mhz)
                            : (struct psr_fake_band){0, 0};
        }
        add_row(l, t, band, height * share);
    }
}

static void add_event(const struct tile *l, const struct psr_fake_rfi_random *event)
{
    const struct psr_fake_rfi *r = &l->part->d;
    const double tsamp_s = l->p->frame.obs.tsamp_s, end_s = event->begin_s + event->length_s;
    const bool phone = r->kind == PSR_FAKE_RFI_PHONE;
    const int64_t beyond = l->first + (int64_t)l->n;
    int64_t from = (int64_t)fmax(floor(event->begin_s / tsamp_s) - 1, (double)l->first);
    int64_t to = (int64_t)fmin(ceil(end_s / tsamp_s) + 1, (double)beyond);
    if (from >= to || event->length_s <= 0)
        return;
    const struct psr_fake_band band =
        psr_fake_rfi_band(&l->p->frame, event->freq_mhz, event->bw_mhz);
    for (int64_t t = from; t < to; t++) {
        double share = fraction_on(l, t, event->begin_s, end_s, phone ? r->frame_s : 0, r->slot_s);
        add_row(l, t, band, event->height * share);
    }
}

static void add_random(const struct tile *l)
{
    const struct psr_fake_rfi_part *part = l->part;
    const double tsamp_s = l->p->frame.obs.tsamp_s, rate = part->d.rate_hz;
    double low = ((double)l->first * tsamp_s - part->begin_s - longest * part->d.width_s) * rate;
    double high = ((double)(l->first + (int64_t)l->n) * tsamp_s - part->begin_s) * rate;
    struct psr_fake_rfi_random event[PSR_FAKE_RFI_EVENTS];
    for (int64_t slot = (int64_t)fmax(floor(low) - 1, 0); (double)slot <= high; slot++) {
        int n = psr_fake_rfi_slot(l->p, part, slot, event);
        for (int e = 0; e < n; e++)
            add_event(l, &event[e]);
    }
}

static double mains_power(const struct tile *l, double t_s)
{
    const struct psr_fake_rfi *r = &l->part->d;
    const double at = t_s / r->wander_s, whole = floor(at), x = at - whole;
    double phase = r->hz * t_s, sum = 0;
    float node[2];
    if (r->wander_hz > 0) {
        psr_rng_normal(l->p->seed, l->part->stream + 1, (uint64_t)whole, 2, node);
        double q = (double)node[0] + (double)(node[1] - node[0]) * (3 - 2 * x) * x * x;
        phase += r->wander_hz * r->wander_s * q;
    }
    for (int h = 1; h <= r->nharm; h++)
        sum += cos(2 * M_PI * h * (phase - floor(phase))) / h;
    return r->level * sum;
}

static void add_mains(const struct tile *l)
{
    const struct psr_fake_rfi *r = &l->part->d;
    const double tsamp_s = l->p->frame.obs.tsamp_s;
    const struct psr_fake_band band = psr_fake_rfi_band(&l->p->frame, r->freq_mhz, r->bw_mhz);
    for (int64_t t = l->first; t < l->first + (int64_t)l->n; t++) {
        double share = fraction_on(l, t, l->part->begin_s, l->part->end_s, 0, 0);
        if (share > 0)
            add_row(l, t, band, share * mains_power(l, ((double)t + 0.5) * tsamp_s));
    }
}

void psr_fake_rfi_add(const psr_fake *p, int64_t first, size_t n, float *x, float *normal)
{
    for (size_t i = 0; i < p->nrfi; i++) {
        const struct tile l = {p, &p->rfi[i], first, n, x, normal};
        enum psr_fake_rfi_kind kind = p->rfi[i].d.kind;
        if (psr_fake_rfi_is_random(&p->rfi[i]))
            add_random(&l);
        else if (kind == PSR_FAKE_RFI_MAINS)
            add_mains(&l);
        else if (kind == PSR_FAKE_RFI_TONE || kind == PSR_FAKE_RFI_RADAR ||
                 kind == PSR_FAKE_RFI_JUMP)
            add_steady(&l);
    }
}

/* --- lost packets ----------------------------------------------------------------------------- */

static void drop_row(const struct tile *l, int64_t t, size_t group)
{
    const size_t nchan = l->p->frame.obs.nchan, first = group * l->part->packet_channels;
    const size_t end =
        first + l->part->packet_channels < nchan ? first + l->part->packet_channels : nchan;
    for (size_t k = 0; k < (size_t)l->p->frame.obs.nif; k++) {
        float *x = l->x + (size_t)(t - l->first) * l->p->row_values + k * nchan;
        for (size_t c = first; c < end; c++)
            x[c] = -4;
    }
}

void psr_fake_rfi_drop(const psr_fake *p, int64_t first, size_t n, float *x)
{
    for (size_t i = 0; i < p->nrfi; i++) {
        const struct psr_fake_rfi_part *part = &p->rfi[i];
        const struct tile l = {p, part, first, n, x, NULL};
        if (part->d.kind != PSR_FAKE_RFI_DROP)
            continue;
        const int64_t beyond = first + (int64_t)n, each = part->packet_samples;
        for (int64_t a = first / each; a * each < beyond; a++)
            for (size_t b = 0; b < part->ngroup; b++) {
                uint64_t k = (uint64_t)a * part->ngroup + b;
                int64_t from = a * each > first ? a * each : first;
                int64_t to = (a + 1) * each < beyond ? (a + 1) * each : beyond;
                if (!(psr_rng_uniform(p->seed, part->stream, k) < part->d.share))
                    continue;
                for (int64_t t = from; t < to; t++)
                    drop_row(&l, t, b);
            }
    }
}
