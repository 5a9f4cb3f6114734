/* Groups trials above the threshold into peaks in frequency. */
#include "ffa_peaks.h"

#include "base/tool.h"

#include <stdlib.h>

/* Turns over the series within which neighbouring trials are of one peak. */
#define NEAR_TURNS 0.5

static double period_of(const struct psr_ffa_search *s, const struct psr_ffa_hit *h)
{
    const struct psr_ffa_fold *f = &s->fold[h->fold];
    return psr_ffa_period(&s->step[f->step], f->nbin, f->nrow, f->s_lo + (h->trial - f->trial0));
}

struct placed {
    double period_s;
    const struct psr_ffa_hit *hit;
};

static int by_series_and_period(const void *pa, const void *pb)
{
    const struct placed *a = pa, *b = pb;
    if (a->hit->series != b->hit->series)
        return a->hit->series < b->hit->series ? -1 : 1;
    if (a->period_s != b->period_s)
        return a->period_s < b->period_s ? -1 : 1;
    return (a->hit->trial > b->hit->trial) - (a->hit->trial < b->hit->trial);
}

static int by_strength(const void *pa, const void *pb)
{
    const struct psr_ffa_peak *a = pa, *b = pb;
    if (a->snr != b->snr)
        return a->snr > b->snr ? -1 : 1;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

static struct psr_ffa_peak make_peak(const struct psr_ffa_search *s, const struct placed *at,
                                     size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (at[i].hit->snr > at[best].hit->snr)
            best = i;
    const struct psr_ffa_hit *h = at[best].hit;
    const struct psr_ffa_fold *f = &s->fold[h->fold];
    const struct psr_ffa_step *k = &s->step[f->step];
    const int width = s->widths[k->range].width[h->width];
    const double p = at[best].period_s;
    return (struct psr_ffa_peak){
        .period_s = p,
        .freq_hz = 1 / p,
        .snr = (double)h->snr,
        .width_s = p * width / f->nbin,
        .duty = (double)width / f->nbin,
        .nbin = f->nbin,
        .range = k->range,
        .step = k->k,
        .lo_hz = 1 / at[n - 1].period_s,
        .hi_hz = 1 / at[0].period_s,
        .ntrial = n,
        .trial = h->trial,
    };
}

static size_t group_end(const struct placed *at, size_t i, size_t n, double near_hz)
{
    for (i++; i < n && at[i].hit->series == at[i - 1].hit->series; i++)
        if (1 / at[i - 1].period_s - 1 / at[i].period_s > near_hz)
            break;
    return i;
}

psr_status psr_ffa_group(const struct psr_ffa_search *s, struct psr_ffa_found *found,
                         size_t nseries, struct psr_ffa_peak **peak, size_t *room, size_t *npeak_of,
                         psr_err *err)
{
    const double near_hz = NEAR_TURNS / ((double)s->nsamp * s->tsamp_s);
    struct placed *at = malloc((found->n + 1) * sizeof *at);
    psr_status st = PSR_OK;
    size_t n = 0, first = 0;
    if (!at)
        return psr_fail_nomem(err, "trials above the threshold", (double)found->n * sizeof *at);
    for (size_t i = 0; i < found->n; i++)
        at[i] = (struct placed){period_of(s, &found->hit[i]), &found->hit[i]};
    qsort(at, found->n, sizeof *at, by_series_and_period);
    for (size_t series = 0, i = 0; series < nseries && !st; series++, first = n) {
        for (size_t end; i < found->n && at[i].hit->series == series && !st; i = end) {
            end = group_end(at, i, found->n, near_hz);
            if (!(st = psr_grow(peak, room, n, sizeof **peak, "peaks", err)))
                (*peak)[n++] = make_peak(s, at + i, end - i);
        }
        npeak_of[series] = n - first;
        if (n > first)
            qsort(*peak + first, n - first, sizeof **peak, by_strength);
    }
    free(at);
    return st;
}
