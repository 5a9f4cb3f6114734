/* series_made.h: time series of known samples. */
#ifndef PSR_TESTS_SERIES_MADE_H
#define PSR_TESTS_SERIES_MADE_H

#include <psrkit/series.h>

#include "scratch.h"
#include "tap.h"

__attribute__((unused)) static void fill_obs(struct psr_obs *obs)
{
    psr_obs_init(obs);
    obs->nchan = 32;
    obs->nif = 1;
    obs->nbit = 8;
    obs->fch1_mhz = 1500;
    obs->foff_mhz = -4;
    obs->tsamp_s = 64e-6;
    obs->tstart = (struct psr_mjd){56000, 0.25};
    obs->telescope_id = 6;
    strcpy(obs->source, "J0000+00");
    strcpy(obs->telescope, "GBT");
}

__attribute__((unused)) static psr_status open_series(psr_series **s, const char *root,
                                                      enum psr_series_format format, int decimals,
                                                      const double *dm, size_t ndm, psr_err *err)
{
    struct psr_obs obs;
    fill_obs(&obs);
    return psr_series_create(s,
                             &(struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                                       .root = root,
                                                       .format = format,
                                                       .dm_decimals = decimals,
                                                       .ndm = ndm,
                                                       .dm = dm,
                                                       .obs = &obs,
                                                       .file_nbit = 8,
                                                       .tsamp_s = 128e-6},
                             err);
}

__attribute__((unused)) static psr_status open_dat(psr_series **s, const double *dm, size_t ndm,
                                                   psr_err *err)
{
    return open_series(s, scratch("x"), PSR_SERIES_DAT, 2, dm, ndm, err);
}

/* A wave with noise, different for each trial, and the same however it is cut. */
__attribute__((unused)) static float sample_of(size_t i, int64_t t)
{
    uint64_t state = (uint64_t)t * 64 + i + 1;
    return (float)(100 + 7 * tap_uniform(&state));
}

/* Appends samples [from, to) of trial i in pieces of up to longest. */
__attribute__((unused)) static psr_status append_pieces(psr_series *s, size_t i, int64_t from,
                                                        int64_t to, int64_t longest,
                                                        uint64_t *random, psr_err *err)
{
    psr_status st = PSR_OK;
    while (from < to && !st) {
        int64_t n = tap_between(random, 0, longest);
        n = n < to - from ? n : to - from;
        float *x = malloc((size_t)n * sizeof *x + 1);
        if (!x)
            return PSR_ENOMEM;
        for (int64_t t = 0; t < n; t++)
            x[t] = sample_of(i, from + t);
        st = psr_series_append(s, i, x, (size_t)n, err);
        free(x);
        from += n;
    }
    return st;
}

#endif
