/* fake_made.h: synthetic observations for tests, unpacked. */
#ifndef PSR_TESTS_FAKE_MADE_H
#define PSR_TESTS_FAKE_MADE_H

#include <psrkit/ddplan.h>
#include <psrkit/fake.h>

#include "tap.h"
#include <string.h>

__attribute__((unused)) static struct psr_obs make_obs(size_t nchan, int nbit, int64_t nsamp,
                                                       double tsamp_s)
{
    struct psr_obs obs;
    psr_obs_init(&obs);
    obs.nchan = nchan;
    obs.nif = 1;
    obs.nbit = nbit;
    obs.kind = nbit == 32 ? PSR_FLOAT : PSR_UINT;
    obs.fch1_mhz = 1500;
    obs.foff_mhz = -4;
    obs.tsamp_s = tsamp_s;
    obs.nsamp = nsamp;
    return obs;
}

__attribute__((unused)) static psr_fake *make_plan(const struct psr_obs *obs,
                                                   const struct psr_fake_signal *signal,
                                                   size_t nsignal, uint64_t seed, double noise)
{
    psr_err err;
    psr_fake *p;
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .nsignal = nsignal,
                              .signal = signal,
                              .noise_sigma = noise};
    if (psr_fake_create(&p, &d, &err))
        diag("%s", err.msg);
    return p;
}

/* All samples, unpacked. */
__attribute__((unused)) static double *run_plan(psr_fake *p, const struct psr_obs *obs)
{
    size_t n = (size_t)obs->nsamp * (size_t)obs->nif * obs->nchan;
    uint8_t *packed = malloc(n * 4);
    double *x = malloc(n * sizeof *x);
    psr_err err;
    if (psr_fake_execute(p, 0, (size_t)obs->nsamp, packed, &err))
        diag("%s", err.msg);
    for (size_t i = 0; i < n; i++) {
        size_t bit = i * (size_t)obs->nbit;
        if (obs->nbit == 32)
            x[i] = (double)((float *)(void *)packed)[i];
        else if (obs->nbit == 16)
            x[i] = ((uint16_t *)(void *)packed)[i];
        else
            x[i] = packed[bit / 8] >> bit % 8 & ((1 << obs->nbit) - 1);
    }
    free(packed);
    return x;
}

#endif
