/* Pictures of the spectra around a pulse: as they came, and shifted by its delays. */
#include "base/base.h"
#include <psrkit/experimental/singlepulse.h>

#include "singlepulse_internal.h"
#include "stats/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- spectra ---------------------------------------------------------------------------------- */

enum { FLANK_LEAST = 32 };
static const double steady_share = 0.75;

/* Samples of a channel. */
struct channel {
    int64_t delay;
    double pulse, beside; /* sums */
    int64_t npulse, nbeside;
};

struct psr_pulse_spectrum {
    size_t nchan;
    struct psr_own own;
    int64_t first, width, flank;
    struct channel *channel; /* [nchan] */
    size_t *present;         /* [3 width] channels, from a width before the boxcar */
    double *a;               /* [nchan] */
    unsigned char *counts;   /* [nchan] */
};

/* Status: PSR_EINVAL naming field, value and limit */
static psr_status pulse_spectrum_check(const struct psr_pulse_spectrum_desc *d, psr_err *err)
{
    const int64_t most = INT64_MAX / 16;
    if (d->nchan < 1)
        return psr_fail_field(err, PSR_EINVAL, "nchan", "spectrum of a pulse: no channels");
    if (d->width < 1 || d->width > (int64_t)1 << 28)
        return psr_fail_field(err, PSR_EINVAL, "width",
                              "spectrum of a pulse: width %lld, must be 1 to 2^28",
                              (long long)d->width);
    if (d->first < -most || d->first > most)
        return psr_fail_field(err, PSR_EINVAL, "first", "spectrum of a pulse: at spectrum %lld",
                              (long long)d->first);
    for (size_t c = 0; c < d->nchan; c++)
        if (d->delay[c] < 0 || d->delay[c] > most)
            return psr_fail_field(err, PSR_EINVAL, "delay",
                                  "spectrum of a pulse: channel %zu is late by %lld spectra", c,
                                  (long long)d->delay[c]);
    return PSR_OK;
}

psr_status psr_pulse_spectrum_create(psr_pulse_spectrum **out,
                                     const struct psr_pulse_spectrum_desc *desc, psr_err *err)
{
    struct psr_pulse_spectrum_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "spectrum of a pulse", err);
    if (!st)
        st = pulse_spectrum_check(&d, err);
    if (st)
        return st;
    psr_pulse_spectrum *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "the spectrum of a pulse", sizeof *p);
    p->nchan = d.nchan;
    p->first = d.first;
    p->width = d.width;
    p->flank = 2 * d.width > FLANK_LEAST ? 2 * d.width : FLANK_LEAST;
    p->channel = psr_own(&p->own, d.nchan, sizeof *p->channel);
    p->present = psr_own(&p->own, 3 * (size_t)d.width, sizeof *p->present);
    p->a = psr_own(&p->own, d.nchan, sizeof *p->a);
    p->counts = psr_own(&p->own, d.nchan, 1);
    if ((st = psr_own_check(&p->own, "the spectrum of a pulse", err))) {
        psr_pulse_spectrum_destroy(p);
        return st;
    }
    for (size_t c = 0; c < d.nchan; c++)
        p->channel[c].delay = d.delay[c];
    *out = p;
    return PSR_OK;
}

void psr_pulse_spectrum_range(const psr_pulse_spectrum *p, int64_t *first, int64_t *end)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t c = 0; c < p->nchan; c++) {
        least = p->channel[c].delay < least ? p->channel[c].delay : least;
        most = p->channel[c].delay > most ? p->channel[c].delay : most;
    }
    *first = p->first - p->flank + least;
    *end = p->first + p->width + p->flank + most;
}

/* Takes sample u of a channel, counted from the boxcar's begin. */
static void take_sample(psr_pulse_spectrum *p, struct channel *c, int64_t u, double x)
{
    if (!isfinite(x))
        return;
    if (u >= -p->width && u < 2 * p->width)
        p->present[u + p->width]++;
    if (u >= 0 && u < p->width) {
        c->pulse += x;
        c->npulse++;
    } else {
        c->beside += x;
        c->nbeside++;
    }
}

void psr_pulse_spectrum_push(psr_pulse_spectrum *p, int64_t first, size_t n, const float *x)
{
    for (size_t c = 0; c < p->nchan; c++) {
        struct channel *of = &p->channel[c];
        const int64_t zero = p->first + of->delay, end = zero + p->width + p->flank;
        int64_t t = zero - p->flank > first ? zero - p->flank : first;
        for (; t < end && t < first + (int64_t)n; t++)
            take_sample(p, of, t - zero, (double)x[(size_t)(t - first) * p->nchan + c]);
    }
}

/* What a channel has of the pulse.  Returned: whether it counts */
static bool find_excess(const psr_pulse_spectrum *p, size_t c, double *a)
{
    const struct channel *of = &p->channel[c];
    *a = 0;
    if (!of->npulse || of->nbeside < p->width)
        return false;
    *a = of->pulse - (double)of->npulse * of->beside / (double)of->nbeside;
    return true;
}

static bool is_at_edge(const psr_pulse_spectrum *p)
{
    size_t least = p->nchan, most = 0;
    for (int64_t u = 0; u < 3 * p->width; u++) {
        least = p->present[u] < least ? p->present[u] : least;
        most = p->present[u] > most ? p->present[u] : most;
    }
    return (double)least < steady_share * (double)most;
}

unsigned psr_pulse_spectrum_marks(psr_pulse_spectrum *p, double *a)
{
    for (size_t c = 0; c < p->nchan; c++)
        p->counts[c] = find_excess(p, c, &p->a[c]);
    if (a)
        memcpy(a, p->a, p->nchan * sizeof *a);
    const bool narrow = psr_band_is_narrow(p->a, p->counts, p->nchan, NULL);
    return (is_at_edge(p) ? PSR_PULSE_EDGE : 0U) | (narrow ? PSR_PULSE_NARROW : 0U);
}

void psr_pulse_spectrum_destroy(psr_pulse_spectrum *p)
{
    if (!p)
        return;
    psr_own_free(&p->own);
    free(p);
}

/* --- views ------------------------------------------------------------------------------------ */

enum { ROWS = 64, COLUMNS = 96, AROUND = 16, LEAST = 32 };

/* Sums over the samples of each channel in columns of time. */
struct cells {
    int64_t first, step;
    size_t nt;
    float *sum, *count; /* [nt][nchan] */
};

struct psr_pulse_view {
    struct psr_own own; /* all but what cells and pictures have */
    size_t nchan;
    int64_t *delay;
    double *sum, *square, *count; /* [nchan] of all samples, less the first one */
    float *zero;                  /* [nchan] that one */
    struct cells aligned, swept;
    float *aligned_value, *swept_value, *series;
};

static int64_t largest(const int64_t *delay, size_t n)
{
    int64_t most = 0;
    for (size_t c = 0; c < n; c++)
        most = delay[c] > most ? delay[c] : most;
    return most;
}

static psr_status make_cells(struct cells *p, size_t nchan, int64_t first, int64_t end,
                             psr_err *err)
{
    p->first = first;
    p->step = (end - first + COLUMNS - 1) / COLUMNS;
    p->nt = (size_t)((end - first + p->step - 1) / p->step);
    p->sum = calloc(p->nt * nchan, sizeof *p->sum);
    p->count = calloc(p->nt * nchan, sizeof *p->count);
    return p->sum && p->count
               ? PSR_OK
               : psr_fail_nomem(err, "the picture of a pulse", (double)p->nt * (double)nchan * 8);
}

static psr_status make_all(psr_pulse_view *p, const struct psr_pulse_spectrum_desc *d, psr_err *err)
{
    const int64_t side = AROUND * d->width > LEAST ? AROUND * d->width : LEAST;
    const int64_t sweep = largest(d->delay, d->nchan), end = d->first + d->width + side;
    p->nchan = d->nchan;
    p->delay = psr_own(&p->own, d->nchan, sizeof *p->delay);
    p->sum = psr_own(&p->own, d->nchan, sizeof *p->sum);
    p->square = psr_own(&p->own, d->nchan, sizeof *p->square);
    p->count = psr_own(&p->own, d->nchan, sizeof *p->count);
    p->zero = psr_own(&p->own, d->nchan, sizeof *p->zero);
    psr_status st = psr_own_check(&p->own, "the picture of a pulse", err);
    for (size_t c = 0; c < d->nchan && !st; c++)
        p->delay[c] = d->delay[c];
    if (!st)
        st = make_cells(&p->aligned, d->nchan, d->first - side, end, err);
    return st ? st : make_cells(&p->swept, d->nchan, d->first - side, end + sweep, err);
}

psr_status psr_pulse_view_create(psr_pulse_view **out, const struct psr_pulse_spectrum_desc *desc,
                                 psr_err *err)
{
    struct psr_pulse_spectrum_desc d;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "picture of a pulse", err);
    *out = NULL;
    if (!st)
        st = pulse_spectrum_check(&d, err);
    if (st)
        return st;
    psr_pulse_view *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "the picture of a pulse", sizeof *p);
    st = make_all(p, &d, err);
    if (st)
        psr_pulse_view_destroy(p);
    else
        *out = p;
    return st;
}

void psr_pulse_view_range(const psr_pulse_view *p, int64_t *first, int64_t *end)
{
    *first = p->swept.first;
    *end = p->swept.first + (int64_t)p->swept.nt * p->swept.step;
}

static void add_to(struct cells *to, size_t nchan, int64_t t, size_t c, float x)
{
    const int64_t u = t - to->first;
    if (u < 0 || u >= (int64_t)to->nt * to->step)
        return;
    const size_t at = (size_t)(u / to->step) * nchan + c;
    to->sum[at] += x;
    to->count[at]++;
}

void psr_pulse_view_push(psr_pulse_view *p, int64_t first, size_t n, const float *x)
{
    int64_t low, high;
    psr_pulse_view_range(p, &low, &high);
    for (size_t k = 0; k < n; k++, x += p->nchan) {
        const int64_t t = first + (int64_t)k;
        for (size_t c = 0; c < p->nchan && t >= low && t < high; c++) {
            if (!isfinite(x[c]))
                continue;
            if (p->count[c] == 0)
                p->zero[c] = x[c];
            const float y = x[c] - p->zero[c];
            p->sum[c] += (double)y;
            p->square[c] += (double)y * (double)y;
            p->count[c]++;
            add_to(&p->swept, p->nchan, t, c, y);
            add_to(&p->aligned, p->nchan, t - p->delay[c], c, y);
        }
    }
}

/* --- pictures --------------------------------------------------------------------------------- */

static size_t channels_of_row(const psr_pulse_view *p)
{
    return (p->nchan + ROWS - 1) / ROWS;
}

static float *draw(const psr_pulse_view *p, const struct cells *of, size_t per)
{
    const size_t nf = (p->nchan + per - 1) / per;
    float *value = malloc(nf * of->nt * sizeof *value);
    for (size_t r = 0; r < nf && value; r++)
        for (size_t k = 0; k < of->nt; k++) {
            /* S/N of the channels [first, end) in a column; not a number without samples. */
            const size_t first = r * per;
            const size_t end = (r + 1) * per < p->nchan ? (r + 1) * per : p->nchan;
            double sum = 0, n = 0;
            for (size_t c = first; c < end; c++) {
                const double count = (double)of->count[k * p->nchan + c];
                const double mean = p->count[c] > 0 ? p->sum[c] / p->count[c] : 0;
                const double variance =
                    p->count[c] > 0 ? p->square[c] / p->count[c] - mean * mean : 0;
                if (count < 1 || !(variance > 0))
                    continue;
                sum += ((double)of->sum[k * p->nchan + c] - count * mean) / sqrt(variance);
                n += count;
            }
            value[r * of->nt + k] = n > 0 ? (float)(sum / sqrt(n)) : NAN;
        }
    return value;
}

static void free_cells(struct cells *p)
{
    free(p->sum);
    free(p->count);
    p->sum = p->count = NULL;
}

psr_status psr_pulse_view_finish(psr_pulse_view *p, psr_err *err)
{
    const size_t per = channels_of_row(p);
    p->aligned_value = draw(p, &p->aligned, per);
    p->swept_value = draw(p, &p->swept, per);
    p->series = draw(p, &p->aligned, p->nchan);
    free_cells(&p->aligned);
    free_cells(&p->swept);
    return p->aligned_value && p->swept_value && p->series
               ? PSR_OK
               : psr_fail_nomem(err, "the picture of a pulse", ROWS * COLUMNS * 8);
}

static struct psr_pulse_picture describe(const struct cells *of, const float *value, size_t nf,
                                         size_t per)
{
    return (struct psr_pulse_picture){of->first, of->step, of->nt, nf, per, value};
}

void psr_pulse_view_pictures(const psr_pulse_view *p, struct psr_pulse_picture *aligned,
                             struct psr_pulse_picture *swept, struct psr_pulse_picture *series)
{
    const size_t per = channels_of_row(p), nf = (p->nchan + per - 1) / per;
    *aligned = describe(&p->aligned, p->aligned_value, nf, per);
    *swept = describe(&p->swept, p->swept_value, nf, per);
    *series = describe(&p->aligned, p->series, 1, p->nchan);
}

void psr_pulse_view_destroy(psr_pulse_view *p)
{
    if (!p)
        return;
    free_cells(&p->aligned);
    free_cells(&p->swept);
    psr_own_free(&p->own);
    free(p->aligned_value);
    free(p->swept_value);
    free(p->series);
    free(p);
}
