/* Transforms a batch of series to spectra on the CPU. */
#include "pulscan_series.h"
#include "formats/series/series_internal.h"

#include <psrkit/series.h>

#include <stdlib.h>
#include <string.h>

struct psr_pulscan_series {
    const struct psr_pulscan_search *s;
    psr_rfft *rfft;
    size_t stride;
    float *spectrum; /* [batch][stride] rooms */
    float **at;      /* [batch] the rooms of the last transform's spectra */
    bool *taken;     /* [batch] rooms */
};

/* The transform writes two floats more than it keeps; spectra begin where malloc would put them. */
static size_t stride_of(const struct psr_pulscan_search *s)
{
    return (2 * s->nbin + 2 + 15) / 16 * 16;
}

double psr_pulscan_series_bytes(const struct psr_pulscan_search *s)
{
    return (double)s->batch * (double)stride_of(s) * sizeof(float);
}

psr_status psr_pulscan_series_create(struct psr_pulscan_series **out,
                                     const struct psr_pulscan_search *s, psr_err *err)
{
    struct psr_pulscan_series *x = calloc(1, sizeof *x);
    *out = NULL;
    if (!x)
        return psr_fail_nomem(err, "transforms", sizeof *x);
    x->s = s;
    x->stride = stride_of(s);
    x->spectrum = calloc(s->batch * x->stride, sizeof *x->spectrum);
    x->at = calloc(s->batch, sizeof *x->at);
    x->taken = calloc(s->batch, sizeof *x->taken);
    bool complete = x->spectrum && x->at && x->taken;
    psr_status st = complete ? psr_rfft_create(&x->rfft, 2 * (int64_t)s->nbin, err)
                             : psr_fail_nomem(err, "transforms", psr_pulscan_series_bytes(s));
    if (st)
        psr_pulscan_series_destroy(x);
    else
        *out = x;
    return st;
}

/* The room that in is, or batch. */
static size_t room_of(const struct psr_pulscan_series *x, const float *in)
{
    for (size_t k = 0; k < x->s->batch; k++)
        if (in == x->spectrum + k * x->stride)
            return k;
    return x->s->batch;
}

static psr_status transform_one(struct psr_pulscan_series *x, const float *in, float *out,
                                int64_t *bad, psr_err *err)
{
    const struct psr_pulscan_search *s = x->s;
    *bad = psr_spectrum_bad(in, 2 * (int64_t)s->nbin);
    if (*bad >= 0)
        return PSR_OK;
    psr_rfft_execute(x->rfft, in, out);
    return s->redden.start ? psr_spectrum_deredden(out, (int64_t)s->nbin, &s->redden, err) : PSR_OK;
}

psr_status psr_pulscan_series_transform(struct psr_pulscan_series *x, size_t nspec,
                                        const float *const *in, int64_t *bad, psr_err *err)
{
    psr_status st = PSR_OK;
    /* Series that are in a room stay there, whichever it is; the others get one that is free. */
    memset(x->taken, 0, x->s->batch * sizeof *x->taken);
    for (size_t slot = 0; slot < nspec; slot++) {
        size_t k = room_of(x, in[slot]);
        x->at[slot] = k < x->s->batch ? x->spectrum + k * x->stride : NULL;
        if (k < x->s->batch)
            x->taken[k] = true;
    }
    for (size_t slot = 0, k = 0; slot < nspec; slot++) {
        if (x->at[slot])
            continue;
        while (x->taken[k])
            k++;
        x->at[slot] = x->spectrum + k++ * x->stride;
    }
#pragma omp parallel for schedule(dynamic) num_threads(x->s->nthread)
    for (size_t slot = 0; slot < nspec; slot++) {
        psr_err why;
        psr_status mine = transform_one(x, in[slot], x->at[slot], &bad[slot], &why);
        if (mine) {
#pragma omp critical(psr_pulscan_transform)
            {
                st = mine;
                if (err)
                    *err = why;
            }
        }
    }
    return st;
}

float *psr_pulscan_series_room(struct psr_pulscan_series *x, size_t slot)
{
    return x->spectrum + slot * x->stride;
}

const float *psr_pulscan_series_spectrum(const struct psr_pulscan_series *x, size_t slot)
{
    return x->at[slot];
}

void psr_pulscan_series_destroy(struct psr_pulscan_series *x)
{
    if (!x)
        return;
    psr_rfft_destroy(x->rfft);
    free(x->spectrum);
    free(x->at);
    free(x->taken);
    free(x);
}
