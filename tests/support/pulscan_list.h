/* pulscan_list.h: searches spectrum after spectrum with one plan, up to the merged list, for tests. */
#ifndef PSR_TESTS_PULSCAN_LIST_H
#define PSR_TESTS_PULSCAN_LIST_H

#include <psrkit/experimental/pulscan.h>

#include "search/pulscan/pulscan_internal.h"
#include "tap.h"

struct found {
    psr_pulscan *plan;
    struct psr_pulscan_result result;
    struct psr_pulscan_cand *cand; /* [n] of the last spectrum */
    size_t n;
};

static void must_search(psr_status st, const psr_err *err)
{
    if (!st)
        return;
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

static void start_search(struct found *f, const struct psr_pulscan_desc *d)
{
    psr_err err;
    *f = (struct found){.plan = NULL};
    must_search(psr_pulscan_create(&f->plan, d, &err), &err);
}

static void search(struct found *f, const float *x)
{
    psr_err err;
    const struct psr_pulscan_merge_desc how = {.size = sizeof how, .plan = f->plan};
    free(f->cand);
    f->cand = NULL;
    must_search(psr_pulscan_execute(f->plan, 1, &x, &f->result, &err), &err);
    must_search(psr_pulscan_merge(f->result.hit, f->result.nhit, &how, &f->cand, &f->n, NULL, &err),
                &err);
}

static void stop_search(struct found *f)
{
    free(f->cand);
    psr_pulscan_destroy(f->plan);
}

/* nbin bins, real and imaginary part of variance 1. */
static float *make_noise(size_t nbin, uint64_t *seed)
{
    float *x = tap_take(2 * nbin, sizeof *x);
    for (size_t k = 0; k < 2 * nbin; k++)
        x[k] = (float)tap_normal(seed);
    return x;
}

#endif
