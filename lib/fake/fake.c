/* Makes the spectra of a synthetic observation. */
#include "base/base.h"

#include "base/obs_internal.h"
#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "fake_internal.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/fake.h>
#include <stdlib.h>
#include <string.h>

/* --- quantises floats to samples of 1 to 16 bits ---------------------------------------------- */

/* Full scale runs from -4 to 4. */
static const double range = 8, lowest = -4;

/* For one instruction set and one width of levels.  Adding 2^23 leaves a float's nearest whole
 * number in its low bits. */
#define DEFINE_LEVELS(LEVEL, SUFFIX, ISA)                                                          \
    ISA static void level_of_##LEVEL##_##SUFFIX(LEVEL *level, const float *x, size_t n,            \
                                                float scale, float offset, float top)              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            float v = x[i] * scale + offset;                                                       \
            v = v > 0.0f ? v : 0.0f;                                                               \
            v = v < top ? v : top;                                                                 \
            v += 8388608.0f;                                                                       \
            uint32_t bits;                                                                         \
            memcpy(&bits, &v, sizeof bits);                                                        \
            level[i] = (LEVEL)bits;                                                                \
        }                                                                                          \
    }

DEFINE_LEVELS(uint8_t, base, )
DEFINE_LEVELS(uint16_t, base, )
#if defined __x86_64__
DEFINE_LEVELS(uint8_t, avx2, PSR_ISA_FOR_AVX2)
DEFINE_LEVELS(uint16_t, avx2, PSR_ISA_FOR_AVX2)
DEFINE_LEVELS(uint8_t, avx512, PSR_ISA_FOR_AVX512)
DEFINE_LEVELS(uint16_t, avx512, PSR_ISA_FOR_AVX512)
#endif

static void (*const to_bytes[PSR_NISA])(uint8_t *, const float *, size_t, float, float,
                                        float) = PSR_ISA_TABLE(level_of_uint8_t);
static void (*const to_words[PSR_NISA])(uint16_t *, const float *, size_t, float, float,
                                        float) = PSR_ISA_TABLE(level_of_uint16_t);

/* The first sample is in the low bits. */
static void pack_levels(uint8_t *out, const uint8_t *level, size_t n, int nbit)
{
    if (nbit == 4)
        for (size_t i = 0; i < n / 2; i++)
            out[i] = (uint8_t)(level[2 * i] | level[2 * i + 1] << 4);
    else if (nbit == 2)
        for (size_t i = 0; i < n / 4; i++) {
            const uint8_t *l = level + 4 * i;
            out[i] = (uint8_t)(l[0] | l[1] << 2 | l[2] << 4 | l[3] << 6);
        }
    else
        for (size_t i = 0; i < n / 8; i++) {
            const uint8_t *l = level + 8 * i;
            out[i] = (uint8_t)(l[0] | l[1] << 1 | l[2] << 2 | l[3] << 3 | l[4] << 4 | l[5] << 5 |
                               l[6] << 6 | l[7] << 7);
        }
}

/* Stores n values as samples of 1 to 16 bits; n fills whole bytes.
 * Given: scratch   n bytes, for samples below 8 bits */
static void quantise(void *out, const float *x, size_t n, int nbit, uint8_t *scratch)
{
    const float top = (float)((1 << nbit) - 1);
    const float scale = (float)((double)top / range), offset = (float)(-lowest * (double)scale);
    enum psr_isa isa = psr_isa_find();
    if (nbit == 16) {
        to_words[isa](out, x, n, scale, offset, top);
    } else if (nbit == 8) {
        to_bytes[isa](out, x, n, scale, offset, top);
    } else {
        to_bytes[isa](scratch, x, n, scale, offset, top);
        pack_levels(out, scratch, n, nbit);
    }
}

/* Mean and variance of the quantised sample for noise of standard deviation sigma around x, in
 * units of x. */
static void quantised_moments(int nbit, double x, double sigma, double *mean, double *variance)
{
    if (nbit == 32) {
        *mean = x;
        *variance = sigma * sigma;
        return;
    }
    /* Beyond 10 bits finer levels change nothing that matters here. */
    const int top = (1 << (nbit < 10 ? nbit : 10)) - 1;
    const double scale = top / range;
    double first = 0, second = 0; /* sums of P(level >= q) and of (2 q - 1) P(level >= q) */
    for (int q = 1; q <= top; q++) {
        double from = (q - 0.5) / scale + lowest - x;
        double above = sigma > 0 ? 0.5 * erfc(from / sigma / sqrt(2)) : from <= 0;
        first += above;
        second += (2 * q - 1) * above;
    }
    *mean = first / scale + lowest;
    *variance = (second - first * first) / (scale * scale);
}

/* --- makes the spectra of a synthetic observation --------------------------------------------- */

/* Values worked on at a time: they stay in the second cache. */
enum { TILE_VALUES = 1 << 16, PARTS_PER_THREAD = 4 };

/* Share of the samples at a pulse's peak that may be clipped without a word. */
static const double clip_told = 0.01;
static const double highest_level = 4;

static psr_status check_desc(const struct psr_fake_desc *d, psr_err *err)
{
    const struct psr_obs *obs = d->obs;
    psr_status st = psr_obs_check(obs, "synthetic observation", err);
    if (st)
        return st;
    if (!(obs->nbit == 32 ? obs->kind == PSR_FLOAT : obs->kind == PSR_UINT))
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "kind",
            "synthetic observation: samples must be whole numbers of 1 to 16 bits, or "
            "floats of 32");
    if (obs->nchan * (size_t)obs->nif * (size_t)obs->nbit % 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbit",
                              "synthetic observation: %zu channels of %d bits end within a byte",
                              obs->nchan * (size_t)obs->nif, obs->nbit);
    if (obs->nsamp < 1)
        return psr_fail_field(err, PSR_EINVAL, "nsamp",
                              "synthetic observation: %lld spectra, must be at least 1",
                              (long long)obs->nsamp);
    if (!(d->noise_sigma >= 0 && d->red_sigma >= 0))
        return psr_fail_field(err, PSR_EINVAL, "noise_sigma",
                              "noise: sigma %g and %g, must not be below 0", d->noise_sigma,
                              d->red_sigma);
    return PSR_OK;
}

static psr_status copy_gain(psr_fake *p, const double *gain, psr_err *err)
{
    const size_t n = p->frame.obs.nchan;
    p->gain_offset = psr_own(&p->own, n, sizeof *p->gain_offset);
    p->gain = gain ? psr_own(&p->own, n, sizeof *p->gain) : NULL;
    psr_status st = psr_own_check(&p->own, "bandpass", err);
    for (size_t c = 0; c < n && gain && !st; c++) {
        if (!(gain[c] >= 0 && gain[c] <= 1e3))
            return psr_fail_field(err, PSR_EINVAL, "gain",
                                  "bandpass: %g in channel %zu, must be in 0..1000", gain[c], c);
        p->gain[c] = gain[c];
    }
    return st;
}

static void report_clipping(const struct psr_fake_part *part, size_t i, int nbit,
                            const struct psr_notes *notes)
{
    double clipped = 0.5 * erfc((highest_level - part->peak) / sqrt(2));
    if (nbit < 32 && clipped > clip_told)
        psr_note(notes,
                 "signal %zu: %.2g sigma high in a channel, so %.0f%% of its samples at the peak "
                 "are clipped at %g; 32 bits clip nothing",
                 i, part->peak, 100 * clipped, highest_level);
}

static psr_status make_parts(psr_fake *p, const struct psr_fake_desc *d, psr_err *err)
{
    psr_status st = PSR_OK;
    psr_err why;
    p->npart = d->nsignal;
    p->part = psr_own(&p->own, d->nsignal + 1, sizeof *p->part);
    if (!p->part)
        return psr_own_check(&p->own, "signals", err);
    for (size_t i = 0; i < p->npart && !st; i++) {
        st = psr_fake_part_make(&p->part[i], &p->frame, &d->signal[i], d->legacy_phase, &why);
        if (st)
            return psr_fail_field(err, st, why.field, "signal %zu: %s", i, why.msg);
        if (d->signal[i].kind == PSR_FAKE_PULSAR)
            st = psr_fake_part_prepare(&p->part[i], &p->frame, err);
        report_clipping(&p->part[i], i, p->frame.obs.nbit, &d->notes);
    }
    return st;
}

static psr_status make_rooms(psr_fake *p, psr_err *err)
{
    const size_t values = p->tile_rows * p->row_values;
    p->room = psr_own(&p->own, (size_t)p->nthread, sizeof *p->room);
    for (int n = 0; p->room && n < p->nthread; n++) {
        p->room[n].x = psr_own(&p->own, values, sizeof(float));
        p->room[n].level = psr_own(&p->own, values, 1);
        p->room[n].normal = psr_own(&p->own, p->frame.obs.nchan, sizeof(float));
    }
    return psr_own_check(&p->own, "tiles of samples", err);
}

void psr_fake_destroy(psr_fake *p)
{
    if (!p)
        return;
    for (int n = 0; p->room && n < p->nthread; n++)
        free(p->room[n].cursor);
    for (size_t i = 0; p->part && i < p->npart; i++)
        psr_fake_part_clear(&p->part[i]);
    free(p->rfi);
    psr_own_free(&p->own);
    struct psr_fake_onto *onto = &p->onto;
    free(onto->scatter);
    free(onto->gained);
    free(onto->alive);
    free(onto->column);
    free(onto->word);
    psr_obs_clear(&p->frame.obs);
    free(p);
}

static psr_status create(psr_fake **out, const struct psr_fake_desc *d, psr_err *err)
{
    psr_status st = check_desc(d, err);
    if (st)
        return st;
    psr_fake *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "synthetic observation", sizeof *p);
    st = psr_obs_copy(&p->frame.obs, d->obs, err);
    p->frame.dmconst = d->dmconst;
    p->frame.highest_mhz = psr_obs_highest_mhz(d->obs);
    p->frame.chan_mhz = psr_obs_band(d->obs).chan_mhz;
    p->seed = d->seed;
    p->noise_sigma = (float)d->noise_sigma;
    p->red_sigma = (float)d->red_sigma;
    p->red_index = d->red_index;
    p->even_odd = d->even_odd;
    p->row_values = d->obs->nchan * (size_t)d->obs->nif;
    p->row_bytes = p->row_values * (size_t)d->obs->nbit / 8;
    p->tile_rows = p->row_values < TILE_VALUES ? TILE_VALUES / p->row_values : 1;
    p->nthread = psr_count_threads(d->nthread);
    if (!st)
        st = copy_gain(p, d->gain, err);
    if (!st)
        st = psr_fake_rfi_make(p, d->rfi, d->nrfi, err);
    if (!st)
        st = psr_fake_rfi_shape(p, err);
    if (!st) {
        for (size_t c = 0; p->gain && c < p->frame.obs.nchan; c++)
            p->gain_offset[c] = (float)(highest_level * (p->gain[c] - 1));
    }
    if (!st)
        st = make_parts(p, d, err);
    if (!st)
        st = make_rooms(p, err);
    if (st)
        psr_fake_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_fake_create(psr_fake **out, const struct psr_fake_desc *desc, psr_err *err)
{
    struct psr_fake_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "synthetic observation", err);
    if (!st && !d.obs)
        st = psr_fail_field(err, PSR_EINVAL, "obs", "synthetic observation: obs is NULL");
    return st ? st : create(out, &d, err);
}

size_t psr_fake_row_bytes(const psr_fake *p)
{
    return p->row_bytes;
}

void psr_fake_phase(const psr_fake *p, size_t i, double t_s, int64_t *turns, double *fraction)
{
    psr_spin_phase(&p->part[i].spin, t_s, turns, fraction);
}

/* --- one tile --------------------------------------------------------------------------------- */

static void start_values(const struct psr_fake *p, int64_t first, size_t rows, float *x)
{
    const size_t n = rows * p->row_values, nchan = p->frame.obs.nchan;
    if (p->even_odd) {
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(i % nchan % 2);
    } else if (p->noise_sigma > 0) {
        psr_rng_normal(p->seed, PSR_FAKE_NOISE, (uint64_t)first * p->row_values, n, x);
        for (size_t i = 0; p->noise_sigma != 1 && i < n; i++)
            x[i] *= p->noise_sigma;
    } else {
        memset(x, 0, n * sizeof *x);
    }
}

static void apply_gain(const struct psr_fake *p, size_t rows, float *x)
{
    const size_t nchan = p->frame.obs.nchan;
    for (size_t r = 0; r < rows * (size_t)p->frame.obs.nif; r++)
        for (size_t c = 0; c < nchan; c++)
            x[r * nchan + c] = x[r * nchan + c] * (float)p->gain[c] + p->gain_offset[c];
}

struct psr_fake_cursor psr_fake_find_pulse(const struct psr_fake *p,
                                           const struct psr_fake_ready *ready, size_t c, int64_t t)
{
    const struct psr_fake_place place = psr_fake_place(ready, c), *at = &place;
    const double tsamp_s = p->frame.obs.tsamp_s;
    size_t low = 0, high = ready->npulse;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (psr_fake_pulse_end(at, &ready->pulse[middle], tsamp_s) <= t)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t begin =
        low < ready->npulse ? psr_fake_pulse_begin(at, &ready->pulse[low], tsamp_s) : INT64_MAX;
    return (struct psr_fake_cursor){begin, low};
}

void psr_fake_add_pulses(const struct psr_fake *p, const struct psr_fake_ready *ready, size_t c,
                         struct psr_fake_cursor *cursor, struct psr_fake_column *to)
{
    const double tsamp_s = p->frame.obs.tsamp_s;
    const int64_t first = to->first, n = to->n;
    const struct psr_fake_place at = psr_fake_place(ready, c);
    while (cursor->begin < first + n) {
        const struct psr_pulse *pulse = &ready->pulse[cursor->pulse];
        int64_t end = psr_fake_pulse_end(&at, pulse, tsamp_s);
        int64_t from = cursor->begin > first ? cursor->begin : first;
        int64_t stop = end < first + n ? end : first + n;
        for (size_t k = 0; k < to->nif && from < stop && at.fluence != 0; k++)
            psr_fake_pulse_add(&at, pulse, tsamp_s, from, stop,
                               to->x + (size_t)(from - first) * to->stride + k * to->nchan,
                               to->stride);
        to->low = from < to->low ? from : to->low;
        to->high = stop > to->high ? stop : to->high;
        if (end > first + n)
            break;
        cursor->pulse++;
        cursor->begin = cursor->pulse < ready->npulse
                            ? psr_fake_pulse_begin(&at, &ready->pulse[cursor->pulse], tsamp_s)
                            : INT64_MAX;
    }
}

static const double straight_share = 2.0 / 3;

/* --- makes red noise as a sum of octaves ------------------------------------------------------ */

/* Red noise is a sum of white ones, an octave apart in time scale: each is drawn at nodes and runs
 * straight between them, which takes two thirds of its variance.  Nodes lie in random numbers by
 * their place, so any stretch can be had at any time. */
enum { NODES = 66 };

/* Adds one octave to rows first .. first + n - 1, NODES - 2 stretches between nodes at a time. */
static void add_octave(const struct psr_fake *p, int octave, int64_t spacing, float height,
                       int64_t first, int64_t n, float *x)
{
    float node[NODES];
    for (int64_t done = 0; done < n;) {
        int64_t base = (first + done) / spacing, end = (base + NODES - 1) * spacing;
        int64_t stop = end - first < n ? end - first : n;
        psr_rng_normal(p->seed, PSR_FAKE_RED + (uint32_t)octave, (uint64_t)base, NODES, node);
        for (; done < stop; done++) {
            int64_t k = (first + done) / spacing - base;
            float share = (float)((first + done) % spacing) / (float)spacing;
            float value = height * (node[k] + share * (node[k + 1] - node[k]));
            float *row = x + (size_t)done * p->row_values;
            for (size_t i = 0; i < p->row_values; i++)
                row[i] += value;
        }
    }
}

static void make_tile(const struct psr_fake *p, const size_t *active, size_t nactive,
                      struct psr_fake_room *room, int64_t first, size_t rows, uint8_t *out)
{
    const size_t nchan = p->frame.obs.nchan, n = rows * p->row_values;
    float *x = p->frame.obs.nbit == 32 ? (float *)(void *)out : room->x;
    start_values(p, first, rows, x);
    for (size_t k = 0; k < nactive; k++)
        for (size_t c = 0; c < nchan; c++) {
            struct psr_fake_column to = {.x = x + c,
                                         .stride = p->row_values,
                                         .nif = (size_t)p->frame.obs.nif,
                                         .nchan = nchan,
                                         .first = first,
                                         .n = (int64_t)rows};
            psr_fake_add_pulses(p, &p->part[active[k]].ready, c, &room->cursor[k * nchan + c], &to);
        }
    if (p->red_sigma > 0) {
        /* Adds red noise to rows first .. first + n - 1 of x. */
        const int64_t nsamp = p->frame.obs.nsamp;
        int i = 0;
        while (nsamp >> i > 1)
            i++;
        const int octaves = i;
        double total = 0;
        for (int j = 0; j < octaves; j++)
            total += exp2(j * (1 + p->red_index));
        for (int j = 0; j < octaves; j++) {
            double share = exp2(j * (1 + p->red_index)) / total;
            double height = p->red_sigma * sqrt(share / straight_share);
            int64_t spacing = (p->frame.obs.nsamp >> j) + 1;
            add_octave(p, j, spacing, (float)height, first, (int64_t)rows, x);
        }
    }
    if (p->nrfi)
        psr_fake_rfi_add(p, first, rows, x, room->normal);
    if (p->gain)
        apply_gain(p, rows, x);
    if (p->nrfi)
        psr_fake_rfi_drop(p, first, rows, x);
    if (p->frame.obs.nbit < 32)
        quantise(out, x, n, p->frame.obs.nbit, room->level);
}

/* --- one block -------------------------------------------------------------------------------- */

/* Rows first .. first + n - 1, tile by tile. */
static void make_part(const struct psr_fake *p, const size_t *active, size_t nactive,
                      struct psr_fake_room *room, int64_t first, size_t n, uint8_t *out)
{
    const size_t nchan = p->frame.obs.nchan;
    for (size_t k = 0; k < nactive; k++)
        for (size_t c = 0; c < nchan; c++) {
            const struct psr_fake_ready *ready = &p->part[active[k]].ready;
            room->cursor[k * nchan + c] = psr_fake_find_pulse(p, ready, c, first);
        }
    for (size_t done = 0; done < n; done += p->tile_rows) {
        size_t rows = n - done < p->tile_rows ? n - done : p->tile_rows;
        make_tile(p, active, nactive, room, first + (int64_t)done, rows, out + done * p->row_bytes);
    }
}

psr_status psr_fake_find_active(psr_fake *p, int64_t first, size_t nsamp, size_t *active,
                                size_t *nactive, psr_err *err)
{
    psr_status st = PSR_OK;
    *nactive = 0;
    for (size_t i = 0; i < p->npart && !st; i++) {
        struct psr_fake_part *part = &p->part[i];
        st = psr_fake_part_list(part, &p->frame, first, (int64_t)nsamp, p->nthread, err);
        if (!st && part->ready.npulse > 0) {
            st = psr_fake_part_prepare(part, &p->frame, err);
            active[(*nactive)++] = i;
        } else if (part->desc.kind == PSR_FAKE_BURST) {
            psr_fake_ready_clear(&part->ready);
        }
    }
    return st;
}

psr_status psr_fake_execute(psr_fake *p, int64_t first, size_t nsamp, void *out, psr_err *err)
{
    size_t nactive = 0, *active = malloc((p->npart + 1) * sizeof *active);
    if (!active)
        return psr_fail_nomem(err, "signals", (double)p->npart * sizeof *active);
    psr_status st =
        first < 0 ? psr_fail(err, PSR_EINVAL, "sample %lld, must not be below 0", (long long)first)
                  : psr_fake_find_active(p, first, nsamp, active, &nactive, err);
    if (!st) {
        for (int n = 0; n < p->nthread && !st && nactive; n++) {
            size_t bytes = nactive * p->frame.obs.nchan * sizeof *p->room[n].cursor;
            free(p->room[n].cursor);
            p->room[n].cursor = malloc(bytes);
            if (!p->room[n].cursor)
                st = psr_fail_nomem(err, "pulses under way", (double)bytes);
        }
    }
    /* Parts are whole tiles, and the noise of a tile begins where a group of numbers does. */
    size_t parts = (size_t)p->nthread * PARTS_PER_THREAD;
    size_t tiles = (nsamp + p->tile_rows - 1) / p->tile_rows;
    size_t rows = (tiles + parts - 1) / parts * p->tile_rows;
    if (!st && nsamp > 0) {
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
        for (size_t begin = 0; begin < nsamp; begin += rows) {
            size_t n = nsamp - begin < rows ? nsamp - begin : rows;
            make_part(p, active, nactive, &p->room[psr_thread_number()], first + (int64_t)begin, n,
                      (uint8_t *)out + begin * p->row_bytes);
        }
    }
    free(active);
    return st;
}

/* Reports the true parameters of a synthetic observation: S/N and motion of each signal. */

/* Pulses of a pulsar that are looked at; they differ in where samples cut them. */
enum { LOOKED_AT = 64, NRESPONSE = 257 };

/* What a signal of a height adds to the mean of the stored sample. */
struct response {
    double step, added[NRESPONSE], sigma;
};

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
    const double first = floor((pulse->t_s + part->before_x / pulse->hz) / tsamp_s) - 2;
    const double after = ceil((pulse->t_s + part->after_x / pulse->hz) / tsamp_s) + 2;
    *m = (struct measured){0, 0};
    if (!(fabs(first) < 0x1p60 && after - first < 0x1p40))
        return psr_fail_nomem(err, "pulse", 12 * (after - first));
    const int64_t begin = (int64_t)first, end = (int64_t)after;
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
    for (size_t t = 0; sum && x && t < n; t++)
        m->squares += sum[t] * sum[t];
    if (sum && x)
        m->box = find_box(sum, n);
    psr_status st = sum && x ? PSR_OK : psr_fail_nomem(err, "pulse", 12.0 * (double)n);
    free(sum);
    free(x);
    return st;
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
    if (!burst) {
        const double observed_s = (double)p->frame.obs.nsamp * p->frame.obs.tsamp_s;
        int64_t turns, turns0;
        double fraction, fraction0;
        psr_spin_phase(&part.spin, 0, &turns0, &fraction0);
        psr_spin_phase(&part.spin, observed_s, &turns, &fraction);
        struct psr_motion m = psr_spin_motion(&part.spin, observed_s / 2);
        truth->pulses = (double)(turns - turns0) + (fraction - fraction0);
        truth->mean_hz = truth->pulses / observed_s;
        truth->middle_hz = m.d1;
        truth->r = truth->pulses;
        truth->z = m.d2 * observed_s * observed_s;
        truth->w = m.d3 * observed_s * observed_s * observed_s;
        truth->t_s = psr_spin_pulse(&part.spin, fraction0 > 0.5 ? turns0 + 1 : turns0).value;
    }
    for (size_t c = 0; c < p->frame.obs.nchan; c++)
        tallest = fmax(tallest, part.ready.fluence[c] / part.shape.area);
    const int nbit = p->frame.obs.nbit;
    double none, mean, variance;
    quantised_moments(nbit, 0, 1, &none, &variance);
    response.sigma = sqrt(variance);
    response.step = fmax(tallest, 1e-6) / (NRESPONSE - 1);
    for (int j = 0; j < NRESPONSE; j++) {
        quantised_moments(nbit, j * response.step, 1, &mean, &variance);
        response.added[j] = mean - none;
    }
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
