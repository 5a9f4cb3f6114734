/* Describes series in the terms of an .inf file. */
#include "series_inf.h"
#include "series_internal.h"

#include <stdio.h>
#include <string.h>

/* --- means of series, to the same bits however they come in blocks ---------------------------- */

enum { LANES = PSR_SERIES_LANES };

void psr_series_mean_add(struct psr_series_mean *m, const float *x, size_t n)
{
    size_t t = 0, lane = (size_t)(m->n % LANES);
    for (; t < n && lane % LANES; t++, lane++)
        m->sum[lane] += (double)x[t];
    for (; t + LANES <= n; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            m->sum[k] += (double)x[t + k];
    for (size_t k = 0; t < n; t++, k++)
        m->sum[k] += (double)x[t];
    m->n += (int64_t)n;
}

double psr_series_mean_sum(const struct psr_series_mean *m)
{
    double sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += m->sum[k];
    return sum;
}

double psr_series_mean_value(const struct psr_series_mean *m)
{
    return psr_series_mean_sum(m) / (double)m->n;
}

/* The .inf of sub-bands knows the channels they were summed from, which obs does not. */
static void take_inf(struct psr_inf *inf, const struct psr_series_desc *desc)
{
    *inf = *desc->inf;
    inf->barycentric = desc->obs->barycentric;
    inf->ra_deg = desc->obs->has_position ? desc->obs->ra_deg : 0;
    inf->dec_deg = desc->obs->has_position ? desc->obs->dec_deg : 0;
    inf->nonoff = 0;
}

void psr_series_common_inf(struct psr_inf *inf, const struct psr_series_desc *desc)
{
    if (desc->inf)
        take_inf(inf, desc);
    else
        psr_inf_from_obs(inf, desc->obs, desc->file_nbit);
}

/* Real samples, then the last one of the padding: PRESTO's way to say "from here on, nothing". */
static void set_onoff(struct psr_inf *inf, int64_t n)
{
    inf->nonoff = 0;
    if (n >= inf->nbin)
        return;
    const int64_t pair[2][2] = {{0, n - 1}, {inf->nbin - 1, inf->nbin - 1}};
    memcpy(inf->onoff, pair, sizeof pair);
    inf->nonoff = 2;
}

psr_status psr_series_fill_inf(struct psr_inf *inf, const struct psr_series_trial *t, psr_err *err)
{
    psr_status st = psr_inf_set_name(inf, t->stem, err);
    const size_t common = strlen(inf->notes);
    inf->dm = t->dm;
    inf->tbin_s = t->tsamp_s;
    inf->epoch = t->epoch;
    inf->nbin = t->length;
    set_onoff(inf, t->n);
    if (t->note)
        snprintf(inf->notes + common, sizeof inf->notes - common, "%s\n", t->note);
    return st;
}
