/* The spectrum of a pulse, and what it says of where the pulse comes from. */
#include <psrkit/experimental/singlepulse.h>

#include "base/copy_desc.h"
#include "pulse_spectrum.h"
#include "search/singlepulse/singlepulse_internal.h"
#include "stats/band_share.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    int64_t first, width, flank;
    struct channel *channel; /* [nchan] */
    size_t *present;         /* [3 width] channels, from a width before the boxcar */
    double *a;               /* [nchan] */
    unsigned char *counts;   /* [nchan] */
};

psr_status psr_pulse_spectrum_check(const struct psr_pulse_spectrum_desc *d, psr_err *err)
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
        st = psr_pulse_spectrum_check(&d, err);
    if (st)
        return st;
    psr_pulse_spectrum *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "the spectrum of a pulse", sizeof *p);
    p->nchan = d.nchan;
    p->first = d.first;
    p->width = d.width;
    p->flank = 2 * d.width > FLANK_LEAST ? 2 * d.width : FLANK_LEAST;
    p->channel = calloc(d.nchan, sizeof *p->channel);
    p->present = calloc(3 * (size_t)d.width, sizeof *p->present);
    p->a = calloc(d.nchan, sizeof *p->a);
    p->counts = calloc(d.nchan, 1);
    if (!p->channel || !p->present || !p->a || !p->counts) {
        psr_pulse_spectrum_destroy(p);
        return psr_fail_nomem(err, "the spectrum of a pulse", (double)d.nchan * sizeof *p->channel);
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
    free(p->channel);
    free(p->present);
    free(p->a);
    free(p->counts);
    free(p);
}
