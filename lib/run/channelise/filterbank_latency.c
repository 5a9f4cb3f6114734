/* How long rows are written after the last of their voltages came. */
#include "filterbank_latency.h"

#include "base/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

psr_status psr_filterbank_latency_note(struct psr_filterbank_latency *l,
                                       const struct psr_baseband_mark *mark, size_t n,
                                       int64_t first, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++) {
        st = psr_grow(&l->mark, &l->room, l->nmark, sizeof *l->mark, "marks", err);
        if (!st)
            l->mark[l->nmark++] =
                (struct psr_baseband_mark){mark[i].sample - first, mark[i].arrival_s};
    }
    return st;
}

/* The last mark below the sample stays. */
void psr_filterbank_latency_forget(struct psr_filterbank_latency *l, int64_t sample)
{
    size_t past = 0;
    while (past + 1 < l->nmark && l->mark[past + 1].sample < sample)
        past++;
    l->nmark -= past;
    if (past > 0)
        memmove(l->mark, l->mark + past, l->nmark * sizeof *l->mark);
}

double psr_filterbank_latency_came(struct psr_filterbank_latency *l, int64_t sample)
{
    psr_filterbank_latency_forget(l, sample);
    const struct psr_baseband_mark *a = l->mark, *b = a + 1;
    if (l->nmark == 0)
        return NAN;
    if (a->sample >= sample)
        return a->arrival_s - (double)(a->sample - sample) / l->rate_hz;
    if (l->nmark == 1)
        return a->arrival_s; /* what is beyond is lost */
    const double share = (double)(sample - a->sample) / (double)(b->sample - a->sample);
    const double steady_s = a->arrival_s + share * (b->arrival_s - a->arrival_s);
    return fmax(steady_s, b->arrival_s - (double)(b->sample - sample) / l->rate_hz);
}

void psr_filterbank_latency_add(struct psr_filterbank_latency *l, int64_t sample, double written_s)
{
    const double arrival_s = psr_filterbank_latency_came(l, sample);
    if (isnan(arrival_s) || isnan(l->mark[l->nmark - 1].arrival_s))
        return;
    const double wait_s = fmax(written_s - arrival_s, 0);
    l->nrow++;
    l->sum_s += wait_s;
    l->worst_s = fmax(l->worst_s, wait_s);
}

void psr_filterbank_latency_free(struct psr_filterbank_latency *l)
{
    free(l->mark);
}
