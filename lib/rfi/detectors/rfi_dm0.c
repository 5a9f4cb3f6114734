/* Finds interference in the sums of all channels. */
#include "rfi_dm0.h"

#include "rfi_lines.h"
#include "rfi_outliers.h"

#include <math.h>
#include <stdlib.h>

struct psr_rfi_dm0 {
    size_t n;
    double burst_sigma;
    float *sum, *level; /* [n] */
    unsigned char *bad; /* [n] */
    float last;         /* running median at the end of the last interval */
    psr_rfi_line_search *search;
};

psr_status psr_rfi_dm0_create(psr_rfi_dm0 **out, size_t n, double tsamp_s, double burst_sigma,
                              double line_sigma, psr_err *err)
{
    psr_rfi_dm0 *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "the sums of channels", sizeof *p);
    p->n = n;
    p->burst_sigma = burst_sigma;
    p->sum = malloc(n * sizeof *p->sum);
    p->level = malloc(n * sizeof *p->level);
    p->bad = malloc(n);
    psr_status st = PSR_OK;
    if (!p->sum || !p->level || !p->bad)
        st = psr_fail_nomem(err, "the sums of channels", 9 * (double)n);
    if (!st && line_sigma > 0)
        st = psr_rfi_line_search_create(&p->search, tsamp_s, PSR_RFI_LINES_LENGTH, line_sigma, err);
    if (st) {
        psr_rfi_dm0_destroy(p);
        *out = NULL;
    }
    return st;
}

void psr_rfi_dm0_destroy(psr_rfi_dm0 *p)
{
    if (!p)
        return;
    free(p->sum);
    free(p->level);
    free(p->bad);
    psr_rfi_line_search_destroy(p->search);
    free(p);
}

/* The value before, or 0, stands for those that are not finite. */
static void take_finite(psr_rfi_dm0 *p, const float *sum)
{
    float last = p->last;
    for (size_t t = 0; t < p->n; t++) {
        last = isfinite(sum[t]) ? sum[t] : last;
        p->sum[t] = last;
    }
}

/* In bursts or not finite; what stands for the latter may be in a burst, too. */
static size_t count_bad(const psr_rfi_dm0 *p, const float *sum)
{
    size_t nbad = 0;
    for (size_t t = 0; t < p->n; t++)
        nbad += p->bad[t] || !isfinite(sum[t]);
    return nbad;
}

static psr_status push_gap(psr_rfi_dm0 *p, float *share, psr_err *err)
{
    *share = 0;
    for (size_t t = 0; t < p->n; t++)
        p->sum[t] = p->last;
    return p->search ? psr_rfi_line_search_push(p->search, p->sum, p->n, err) : PSR_OK;
}

psr_status psr_rfi_dm0_push(psr_rfi_dm0 *p, const float *sum, float *share, psr_err *err)
{
    size_t nbad;
    if (!sum)
        return push_gap(p, share, err);
    take_finite(p, sum);
    psr_status st = psr_rfi_outliers(p->sum, p->n, PSR_RFI_WINDOW, p->burst_sigma, p->level, p->bad,
                                     &nbad, err);
    if (st)
        return st;
    *share = (float)((double)count_bad(p, sum) / (double)p->n);
    p->last = p->level[p->n - 1];
    for (size_t t = 0; t < p->n; t++)
        p->sum[t] = p->bad[t] ? p->level[t] : p->sum[t];
    return p->search ? psr_rfi_line_search_push(p->search, p->sum, p->n, err) : PSR_OK;
}

psr_status psr_rfi_dm0_finish(psr_rfi_dm0 *p, struct psr_rfi_lines *lines, psr_err *err)
{
    *lines = (struct psr_rfi_lines){0};
    return p->search ? psr_rfi_line_search_finish(p->search, lines, err) : PSR_OK;
}
