/* Levels of a band before, in and after a pulse, by sub-bands. */
#include "singlepulse_internal.h"

#include "base/tool.h"

#include <math.h>
#include <stdlib.h>

enum { BANDS = 16, LEAST_BANDS = 8, HALF_LEAST = 16, LONG_SWEEP = 16 };

/* Windows: two halves of what is before the boxcar, the boxcar, two halves of what is after it. */
enum { FAR_BEFORE, BEFORE, IN, AFTER, FAR_AFTER, WINDOWS };

/* Standard deviations: of a level that is no pulse, of a step beyond the pulse, of scatter between windows that noise has,
 * by which a sub-band may exceed the median, and of the S/N that must be left then. */
static const double NO_PULSE = 1, STEP = 4, CALM = 2, ABOVE_MEDIAN = 2, LEFT_SNR = 6;

struct channel {
    int64_t delay;
    double sum[WINDOWS], square; /* the square of samples outside the boxcar */
    int64_t count[WINDOWS];
};

struct psr_pulse_levels {
    size_t nchan;
    int64_t first, width, half;
    struct channel *channel; /* [nchan] */
};

/* Means of windows in units of the noise of one boxcar, of so many channels. */
struct levels {
    double level[WINDOWS];
    size_t nchan;
};

psr_status psr_pulse_levels_create(psr_pulse_levels **out,
                                   const struct psr_pulse_spectrum_desc *desc, psr_err *err)
{
    psr_pulse_levels *p = calloc(1, sizeof *p);
    *out = p;
    if (p)
        p->channel = calloc(desc->nchan, sizeof *p->channel);
    if (!p || !p->channel) {
        psr_pulse_levels_destroy(p);
        *out = NULL;
        return psr_fail_nomem(err, "the levels beside a pulse",
                              (double)desc->nchan * sizeof(struct channel));
    }
    p->nchan = desc->nchan;
    p->first = desc->first;
    p->width = desc->width;
    p->half = desc->width > HALF_LEAST ? desc->width : HALF_LEAST;
    for (size_t c = 0; c < p->nchan; c++)
        p->channel[c].delay = desc->delay[c];
    return PSR_OK;
}

void psr_pulse_levels_destroy(psr_pulse_levels *p)
{
    if (!p)
        return;
    free(p->channel);
    free(p);
}

/* The window of sample u, counted from the boxcar's begin. */
static int window_of(const psr_pulse_levels *p, int64_t u)
{
    if (u < 0)
        return u < -p->half ? FAR_BEFORE : BEFORE;
    if (u < p->width)
        return IN;
    return u < p->width + p->half ? AFTER : FAR_AFTER;
}

void psr_pulse_levels_push(psr_pulse_levels *p, int64_t first, size_t n, const float *x)
{
    const int64_t flank = 2 * p->half;
    for (size_t c = 0; c < p->nchan; c++) {
        struct channel *of = &p->channel[c];
        const int64_t zero = p->first + of->delay, end = zero + p->width + flank;
        int64_t t = zero - flank > first ? zero - flank : first;
        for (; t < end && t < first + (int64_t)n; t++) {
            const double y = (double)x[(size_t)(t - first) * p->nchan + c];
            const int w = window_of(p, t - zero);
            if (!isfinite(y))
                continue;
            of->sum[w] += y;
            of->square += w == IN ? 0 : y * y;
            of->count[w]++;
        }
    }
}

/* --- levels ----------------------------------------------------------------------------------- */

/* Adds a channel that has samples in all windows, and noise. */
static void add_channel(const psr_pulse_levels *p, const struct channel *c, struct levels *to)
{
    double sum = 0, n = 0;
    for (int w = 0; w < WINDOWS; w++) {
        if (!c->count[w])
            return;
        sum += w == IN ? 0 : c->sum[w];
        n += w == IN ? 0 : (double)c->count[w];
    }
    const double mean = sum / n, variance = c->square / n - mean * mean;
    if (!(variance > 1e-9 * mean * mean))
        return;
    for (int w = 0; w < WINDOWS; w++)
        to->level[w] +=
            (c->sum[w] / (double)c->count[w] - mean) * sqrt((double)p->width / variance);
    to->nchan++;
}

static void scale(struct levels *l)
{
    for (int w = 0; w < WINDOWS && l->nchan; w++)
        l->level[w] /= sqrt((double)l->nchan);
}

/* The scatter of levels on each side of the boxcar; 1 or less in noise. */
static double scatter(const struct levels *l)
{
    const double before = l->level[FAR_BEFORE] - l->level[BEFORE],
                 after = l->level[AFTER] - l->level[FAR_AFTER];
    return sqrt((before * before + after * after) / 4);
}

/* What moves up and down on both sides, as the hum of the mains that cleaning takes away, says nothing of a step. */
static bool is_step(const struct levels *all)
{
    const double unrest = fmax(0, scatter(all) - CALM), pulse = all->level[IN];
    const double step = fabs(all->level[FAR_BEFORE] + all->level[BEFORE] - all->level[AFTER] -
                             all->level[FAR_AFTER]) /
                        2;
    return pulse < NO_PULSE - unrest || step > fmax(pulse, 0) + STEP + 2 * unrest;
}

/* --- sub-bands -------------------------------------------------------------------------------- */

PSR_COMPARE_VALUES(compare_doubles, double);

/* Chi-squared that one in a thousand even pulses exceeds (Wilson and Hilferty 1931). */
static double find_limit(size_t n)
{
    const double dof = (double)n - 1, part = 2 / (9 * dof);
    return dof * pow(1 - part + 3.09 * sqrt(part), 3);
}

/* The S/N of n sub-bands: z, ascending; and calm, in units of the scatter of their levels. */
struct sub_bands {
    double z[BANDS], calm[BANDS];
    size_t n;
};

/* Whether they are no even pulse, and little without what exceeds the median.  A dispersed pulse that scintillates is
 * bright, or has a delay that tells. */
static bool is_patchy(const struct sub_bands *s)
{
    const size_t n = s->n;
    const double median = (s->z[n / 2] + s->z[(n - 1) / 2]) / 2;
    double mean = 0, left = 0, chi = 0;
    for (size_t b = 0; b < n; b++) {
        mean += s->calm[b] / (double)n;
        left += fmin(s->z[b], median + ABOVE_MEDIAN) / sqrt((double)n);
    }
    for (size_t b = 0; b < n; b++)
        chi += (s->calm[b] - mean) * (s->calm[b] - mean);
    return left < LEFT_SNR && chi > find_limit(n);
}

static bool is_long_sweep(const psr_pulse_levels *p)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t c = 0; c < p->nchan; c++) {
        least = p->channel[c].delay < least ? p->channel[c].delay : least;
        most = p->channel[c].delay > most ? p->channel[c].delay : most;
    }
    return most - least > LONG_SWEEP * p->width;
}

unsigned psr_pulse_levels_marks(psr_pulse_levels *p)
{
    struct levels all = {.nchan = 0}, band[BANDS] = {{.nchan = 0}};
    struct sub_bands sub = {.n = 0};
    for (size_t c = 0; c < p->nchan; c++) {
        add_channel(p, &p->channel[c], &all);
        add_channel(p, &p->channel[c], &band[c * BANDS / p->nchan]);
    }
    scale(&all);
    for (size_t b = 0; b < BANDS; b++) {
        scale(&band[b]);
        if (!band[b].nchan)
            continue;
        sub.z[sub.n] = band[b].level[IN];
        sub.calm[sub.n++] = band[b].level[IN] / fmax(1, scatter(&band[b]));
    }
    qsort(sub.z, sub.n, sizeof *sub.z, compare_doubles);
    const bool patchy = sub.n >= LEAST_BANDS && !is_long_sweep(p) && is_patchy(&sub);
    return (all.nchan && is_step(&all) ? PSR_PULSE_EDGE : 0U) | (patchy ? PSR_PULSE_NARROW : 0U);
}
