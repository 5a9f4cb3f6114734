/* Checks and prepares the interference of a synthetic observation, and lists what happens when. */
#include "fake_internal.h"

#include <math.h>
#include <stdlib.h>

enum { WORDS = 32 }; /* uniform numbers of a slot */

/* Longest random event, in widths. */
static const double longest = 8;

static const double blank = 1e-12;

struct limit {
    const char *field, *name;
    double value, min, max;
};

static psr_status check_numbers(const struct psr_fake_rfi *r, psr_err *err)
{
    const bool drop = r->kind == PSR_FAKE_RFI_DROP, phone = r->kind == PSR_FAKE_RFI_PHONE,
               radar = r->kind == PSR_FAKE_RFI_RADAR, mains = r->kind == PSR_FAKE_RFI_MAINS,
               pulses = r->period_s > 0 || r->rate_hz > 0 || drop;
    const struct limit limits[] = {
        {"kind", "kind", r->kind, PSR_FAKE_RFI_TONE, PSR_FAKE_RFI_DROP},
        {"level", "level (sigma)", r->level, -1e6, 1e6},
        {"modulation", "modulation", r->modulation, 0, 1e3},
        {"freq_mhz", "freq (MHz)", r->freq_mhz, 0, 1e9},
        {"bw_mhz", "bw (MHz)", r->bw_mhz, 0, 1e9},
        {"drift_mhz_s", "drift (MHz/s)", r->drift_mhz_s, -1e9, 1e9},
        {"t_s", "t (s)", r->t_s, -1e9, 1e9},
        {"duration_s", "length (s)", r->duration_s, 0, 1e9},
        {"period_s", "period (s)", r->period_s, 0, 1e9},
        {"width_s", "width (s)", r->width_s, pulses ? 1e-9 : 0,
         r->period_s > 0 ? r->period_s : 1e6},
        {"rate_hz", "rate (Hz)", r->rate_hz, 0, 1e6},
        {"rotation_s", "rotation (s)", radar ? r->rotation_s : 1, 1e-6, 1e9},
        {"beam", "beam (turns)", radar ? r->beam : 1, 1e-6, 1},
        {"carrier_mhz", "carrier (MHz)", phone ? r->carrier_mhz : 1, 0, 1e9},
        {"frame_s", "frame (s)", phone ? r->frame_s : 1, 1e-9, 1e6},
        {"slot_s", "slot (s)", phone ? r->slot_s : 1, 1e-9, phone ? r->frame_s : 1},
        {"hz", "hz", mains ? r->hz : 1, 1e-6, 1e9},
        {"wander_hz", "wander (Hz)", r->wander_hz, 0, 1e9},
        {"wander_s", "wandertime (s)", mains ? r->wander_s : 1, 1e-6, 1e9},
        {"nharm", "harmonics", mains ? r->nharm : 1, 1, 1000},
        {"period_mhz", "ripple (MHz)", r->period_mhz, 0, 1e9},
        {"rolloff", "rolloff (share of the band)", r->rolloff, 0, 0.5},
        {"share", "share", r->share, 0, 1},
    };
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
        if (!(limits[k].value >= limits[k].min && limits[k].value <= limits[k].max))
            return psr_fail_field(err, PSR_EINVAL, limits[k].field, "%s %g, must be in %g..%g",
                                  limits[k].name, limits[k].value, limits[k].min, limits[k].max);
    return PSR_OK;
}

static bool fake_rfi_is_random(const struct psr_fake_rfi_part *part)
{
    return part->d.rate_hz > 0 &&
           (part->d.kind == PSR_FAKE_RFI_PHONE || part->d.kind == PSR_FAKE_RFI_SPARK ||
            part->d.kind == PSR_FAKE_RFI_JUMP);
}

static psr_status check_kind(const struct psr_fake_rfi *r, psr_err *err)
{
    const bool events = r->kind == PSR_FAKE_RFI_PHONE || r->kind == PSR_FAKE_RFI_SPARK;
    if (r->kind == PSR_FAKE_RFI_RADAR && !(r->period_s > 0))
        return psr_fail_field(err, PSR_EINVAL, "period_s", "period (s) %g, must be above 0",
                              r->period_s);
    if (events && !(r->rate_hz > 0))
        return psr_fail_field(err, PSR_EINVAL, "rate_hz", "rate (Hz) %g, must be above 0",
                              r->rate_hz);
    if (r->kind == PSR_FAKE_RFI_PHONE && !(r->freq_mhz > 0))
        return psr_fail_field(err, PSR_EINVAL, "freq_mhz", "freq (MHz) %g, must be above 0",
                              r->freq_mhz);
    return PSR_OK;
}

static double observed_s(const struct psr_fake_frame *frame)
{
    return (double)frame->obs.nsamp * frame->obs.tsamp_s;
}

psr_status psr_fake_rfi_make(psr_fake *p, const struct psr_fake_rfi *rfi, size_t n, psr_err *err)
{
    psr_err why;
    p->nrfi = n;
    p->rfi = calloc(n + 1, sizeof *p->rfi);
    if (!p->rfi)
        return psr_fail_nomem(err, "interference", (double)n * sizeof *p->rfi);
    for (size_t i = 0; i < n; i++) {
        struct psr_fake_rfi_part *part = &p->rfi[i];
        psr_status st = check_numbers(&rfi[i], &why);
        if (!st)
            st = check_kind(&rfi[i], &why);
        if (st)
            return psr_fail_field(err, st, why.field, "interference %zu: %s", i, why.msg);
        part->d = rfi[i];
        part->stream = PSR_FAKE_RFI_STREAM + 2 * (uint32_t)i;
        part->begin_s = rfi[i].t_s;
        part->end_s = rfi[i].duration_s > 0 ? rfi[i].t_s + rfi[i].duration_s : INFINITY;
        const struct psr_fake_frame *frame = &p->frame;
        const double samples = rint(part->d.width_s / frame->obs.tsamp_s);
        const double channels = rint(part->d.bw_mhz / frame->chan_mhz);
        const size_t nchan = frame->obs.nchan;
        part->packet_samples = samples > 1 ? (int64_t)fmin(samples, 1e15) : 1;
        part->packet_channels = channels > 1 ? (size_t)fmin(channels, (double)nchan) : 1;
        if (part->d.bw_mhz == 0)
            part->packet_channels = nchan;
        part->ngroup = (nchan + part->packet_channels - 1) / part->packet_channels;
    }
    return PSR_OK;
}

/* --- the bandpass ----------------------------------------------------------------------------- */

static double bandpass_of(const struct psr_fake_rfi *r, const struct psr_obs *obs, size_t c)
{
    double gain = 1, from = ((double)c + 0.5) / (double)obs->nchan, y = fmin(from, 1 - from);
    if (r->period_mhz > 0)
        gain += r->level * cos(2 * M_PI * psr_obs_freq_mhz(obs, c) / r->period_mhz);
    if (r->rolloff > 0)
        gain *= pow(sin(M_PI / 2 * fmin(1, y / r->rolloff)), 2);
    return fmax(gain, 0);
}

psr_status psr_fake_rfi_shape(psr_fake *p, psr_err *err)
{
    const size_t nchan = p->frame.obs.nchan;
    for (size_t i = 0; i < p->nrfi; i++) {
        if (p->rfi[i].d.kind != PSR_FAKE_RFI_BANDPASS)
            continue;
        if (!p->gain) {
            double *gain = psr_own(&p->own, nchan, sizeof *gain);
            for (size_t c = 0; gain && c < nchan; c++)
                gain[c] = 1;
            p->gain = gain;
        }
        if (!p->gain)
            return psr_fail_nomem(err, "bandpass", (double)nchan * sizeof *p->gain);
        for (size_t c = 0; c < nchan; c++)
            p->gain[c] *= bandpass_of(&p->rfi[i].d, &p->frame.obs, c);
    }
    return PSR_OK;
}

/* --- bands and events ------------------------------------------------------------------------- */

/* The first channel whose frequency has passed a limit, in the order of the data. */
static size_t find_channel(const struct psr_obs *obs, bool ascending, double limit_mhz)
{
    size_t low = 0, high = obs->nchan;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        double f = psr_obs_freq_mhz(obs, middle);
        if (ascending ? f >= limit_mhz : f < limit_mhz)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct psr_fake_band fake_rfi_band(const struct psr_fake_frame *frame, double freq_mhz,
                                          double bw_mhz)
{
    const struct psr_obs *obs = &frame->obs;
    const bool ascending = psr_obs_freq_mhz(obs, 0) < psr_obs_freq_mhz(obs, obs->nchan - 1);
    const double half = fmax(bw_mhz, frame->chan_mhz) / 2;
    if (!(freq_mhz > 0))
        return (struct psr_fake_band){0, obs->nchan};
    size_t low = find_channel(obs, ascending, freq_mhz - half),
           high = find_channel(obs, ascending, freq_mhz + half);
    return ascending ? (struct psr_fake_band){low, high} : (struct psr_fake_band){high, low};
}

/* The events of a slot.  Returned: how many */
static int fake_rfi_slot(const psr_fake *p, const struct psr_fake_rfi_part *part, int64_t slot,
                         struct psr_fake_rfi_random event[PSR_FAKE_RFI_EVENTS])
{
    const struct psr_fake_rfi *r = &part->d;
    const uint64_t base = (uint64_t)slot * WORDS;
    const double uniform = psr_rng_uniform(p->seed, part->stream, base);
    double term = exp(-1), sum = term;
    int n = 0;
    while (n < PSR_FAKE_RFI_EVENTS && uniform >= sum) {
        term /= ++n;
        sum += term;
    }
    for (int e = 0; e < n; e++) {
        const uint64_t k = base + 4 * (uint64_t)e;
        const double draw = psr_rng_uniform(p->seed, part->stream, k + 3);
        const double length = -log1p(-psr_rng_uniform(p->seed, part->stream, k + 2));
        float normal = 0;
        event[e] = (struct psr_fake_rfi_random){
            .begin_s = part->begin_s +
                       ((double)slot + psr_rng_uniform(p->seed, part->stream, k + 1)) / r->rate_hz,
            .length_s = r->width_s * fmin(length, longest),
            .height = r->level,
            .freq_mhz = r->freq_mhz,
            .bw_mhz = r->bw_mhz,
        };
        if (r->kind == PSR_FAKE_RFI_SPARK) {
            event[e].height = -r->level * log1p(-draw);
        } else if (r->kind == PSR_FAKE_RFI_JUMP) {
            psr_rng_normal(p->seed, part->stream + 1, 8 * (uint64_t)slot + (uint64_t)e, 1, &normal);
            event[e].height = r->level * (double)normal;
        } else {
            event[e].freq_mhz = fmax(r->freq_mhz + r->bw_mhz * (draw - 0.5), blank);
            event[e].bw_mhz = r->carrier_mhz;
        }
        if (event[e].begin_s >= part->end_s)
            event[e].length_s = 0;
    }
    return n;
}

/* --- the account ------------------------------------------------------------------------------ */

struct listing {
    const psr_fake *p;
    const struct psr_fake_rfi_part *part;
    psr_status (*take)(void *ctx, const struct psr_fake_rfi_event *event, psr_err *err);
    void *ctx;
};

static psr_status list_event(const struct listing *l, double t_s, double width_s,
                             struct psr_fake_band band, double level, psr_err *err)
{
    const struct psr_obs *obs = &l->p->frame.obs;
    if (band.first >= band.end) /* it reaches no channel */
        return PSR_OK;
    double first = psr_obs_freq_mhz(obs, band.first), last = psr_obs_freq_mhz(obs, band.end - 1);
    return l->take(
        l->ctx,
        &(struct psr_fake_rfi_event){t_s, width_s, fmin(first, last), fmax(first, last), level},
        err);
}

static psr_status list_random(const struct listing *l, psr_err *err)
{
    struct psr_fake_rfi_random event[PSR_FAKE_RFI_EVENTS];
    const struct psr_fake_rfi_part *part = l->part;
    const double end_s = fmin(part->end_s, observed_s(&l->p->frame));
    psr_status st = PSR_OK;
    for (int64_t slot = 0; part->begin_s + (double)slot / part->d.rate_hz < end_s && !st; slot++) {
        int n = fake_rfi_slot(l->p, part, slot, event);
        for (int e = 0; e < n && !st; e++)
            if (event[e].begin_s < end_s && event[e].begin_s >= 0)
                st = list_event(l, event[e].begin_s, event[e].length_s,
                                fake_rfi_band(&l->p->frame, event[e].freq_mhz, event[e].bw_mhz),
                                event[e].height, err);
    }
    return st;
}

static psr_status list_packets(const struct listing *l, psr_err *err)
{
    const struct psr_fake_rfi_part *part = l->part;
    const struct psr_obs *obs = &l->p->frame.obs;
    const double packet_s = (double)part->packet_samples * obs->tsamp_s;
    const int64_t npacket = (obs->nsamp + part->packet_samples - 1) / part->packet_samples;
    psr_status st = PSR_OK;
    for (int64_t a = 0; a < npacket && !st; a++)
        for (size_t b = 0; b < part->ngroup && !st; b++) {
            uint64_t k = (uint64_t)a * part->ngroup + b;
            size_t first = b * part->packet_channels, end = first + part->packet_channels;
            if (psr_rng_uniform(l->p->seed, part->stream, k) < part->d.share)
                st = list_event(l, (double)a * packet_s, packet_s,
                                (struct psr_fake_band){first, end < obs->nchan ? end : obs->nchan},
                                -4, err);
        }
    return st;
}

/* The channels over which a band drifts. */
static struct psr_fake_band sweep_band(const struct listing *l, double begin_s, double end_s)
{
    const struct psr_fake_rfi *r = &l->part->d;
    const double width = fmax(r->bw_mhz, l->p->frame.chan_mhz);
    const double first = r->freq_mhz + r->drift_mhz_s * (begin_s - r->t_s);
    const double last = r->freq_mhz + r->drift_mhz_s * (end_s - r->t_s);
    if (r->freq_mhz == 0 || r->drift_mhz_s == 0 || !(end_s > begin_s))
        return fake_rfi_band(&l->p->frame, r->freq_mhz, r->bw_mhz);
    const double low = fmin(first, last) - width / 2, high = fmax(first, last) + width / 2;
    if (!(high > 0))
        return (struct psr_fake_band){0, 0};
    return fake_rfi_band(&l->p->frame, fmax((low + high) / 2, blank), high - low);
}

psr_status psr_fake_rfi_list(const psr_fake *p, size_t i,
                             psr_status (*take)(void *ctx, const struct psr_fake_rfi_event *event,
                                                psr_err *err),
                             void *ctx, psr_err *err)
{
    const struct listing l = {p, &p->rfi[i], take, ctx};
    const struct psr_fake_rfi_part *part = &p->rfi[i];
    const double begin_s = fmax(part->begin_s, 0), end_s = fmin(part->end_s, observed_s(&p->frame));
    if (fake_rfi_is_random(part))
        return list_random(&l, err);
    if (part->d.kind == PSR_FAKE_RFI_DROP)
        return list_packets(&l, err);
    return list_event(&l, begin_s, fmax(end_s - begin_s, 0), sweep_band(&l, begin_s, end_s),
                      part->d.level, err);
}

/* Adds interference to the spectra of a synthetic observation, and loses packets. */

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

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
    struct psr_fake_band band = fake_rfi_band(&l->p->frame, r->freq_mhz, r->bw_mhz);
    for (int64_t t = l->first; t < l->first + (int64_t)l->n; t++) {
        double t_s = ((double)t + 0.5) * tsamp_s, height = r->level;
        double share = fraction_on(l, t, l->part->begin_s, l->part->end_s, r->period_s, r->width_s);
        if (r->kind == PSR_FAKE_RFI_RADAR && share > 0)
            height *= beam_factor(r, t_s);
        if (r->drift_mhz_s != 0 && share > 0) {
            double freq = r->freq_mhz + r->drift_mhz_s * (t_s - r->t_s);
            band = freq > 0 ? fake_rfi_band(&l->p->frame, freq, r->bw_mhz)
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
    const struct psr_fake_band band = fake_rfi_band(&l->p->frame, event->freq_mhz, event->bw_mhz);
    for (int64_t t = from; t < to; t++) {
        double share = fraction_on(l, t, event->begin_s, end_s, phone ? r->frame_s : 0, r->slot_s);
        add_row(l, t, band, event->height * share);
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

void psr_fake_rfi_add(const psr_fake *p, int64_t first, size_t n, float *x, float *normal)
{
    for (size_t i = 0; i < p->nrfi; i++) {
        const struct tile l = {p, &p->rfi[i], first, n, x, normal};
        enum psr_fake_rfi_kind kind = p->rfi[i].d.kind;
        if (fake_rfi_is_random(&p->rfi[i])) {
            const struct psr_fake_rfi_part *part = l.part;
            const double tsamp_s = l.p->frame.obs.tsamp_s, rate = part->d.rate_hz;
            double low =
                ((double)l.first * tsamp_s - part->begin_s - longest * part->d.width_s) * rate;
            double high = ((double)(l.first + (int64_t)l.n) * tsamp_s - part->begin_s) * rate;
            struct psr_fake_rfi_random event[PSR_FAKE_RFI_EVENTS];
            for (int64_t slot = (int64_t)fmax(floor(low) - 1, 0); (double)slot <= high; slot++) {
                int j = fake_rfi_slot(l.p, part, slot, event);
                for (int e = 0; e < j; e++)
                    add_event(&l, &event[e]);
            }
        } else if (kind == PSR_FAKE_RFI_MAINS) {
            const struct psr_fake_rfi *r = &l.part->d;
            const double tsamp_s = l.p->frame.obs.tsamp_s;
            const struct psr_fake_band band = fake_rfi_band(&l.p->frame, r->freq_mhz, r->bw_mhz);
            for (int64_t t = l.first; t < l.first + (int64_t)l.n; t++) {
                double share = fraction_on(&l, t, l.part->begin_s, l.part->end_s, 0, 0);
                if (share > 0)
                    add_row(&l, t, band, share * mains_power(&l, ((double)t + 0.5) * tsamp_s));
            }
        } else if (kind == PSR_FAKE_RFI_TONE || kind == PSR_FAKE_RFI_RADAR ||
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
