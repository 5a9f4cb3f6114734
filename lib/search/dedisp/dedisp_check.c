/* Checks the description of a dedispersion plan. */
#include "dedisp_internal.h"

#include "base/threads/threads.h"
#include "formats/spectra/unpack.h"

#include <math.h>

static psr_status check_data(const struct psr_dedisp_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > (size_t)1 << 20)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "dedispersion: %zu channels is outside 1 to 1048576", d->nchan);
    if (!psr_row_known(d->nbit, d->kind))
        return psr_fail_field(err, PSR_EINVAL, "nbit", "dedispersion: no %d-bit samples of kind %d",
                              d->nbit, (int)d->kind);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s",
                              "dedispersion: sampling time of %g s is not positive", d->tsamp_s);
    if (!(d->dmconst > 0) || !isfinite(d->dmconst))
        return psr_fail_field(err, PSR_EINVAL, "dmconst",
                              "dedispersion: constant of %g MHz^2 s is not positive", d->dmconst);
    if (d->downsamp < 1 || d->downsamp > 65536)
        return psr_fail_field(err, PSR_EINVAL, "downsamp",
                              "dedispersion: downsampling by %zu is outside 1 to 65536",
                              d->downsamp);
    for (size_t c = 0; c < d->nchan; c++)
        if (!(d->freq_mhz[c] > 0) || !isfinite(d->freq_mhz[c]))
            return psr_fail_field(err, PSR_EINVAL, "freq_mhz",
                                  "dedispersion: channel %zu at %g MHz is not positive", c,
                                  d->freq_mhz[c]);
    return PSR_OK;
}

static psr_status check_trials(const struct psr_dedisp_desc *d, psr_err *err)
{
    if (d->ndm < 1 || d->ndm > (size_t)1 << 24)
        return psr_fail_field(err, PSR_EINVAL, "ndm",
                              "dedispersion: %zu trials is outside 1 to 16777216", d->ndm);
    for (size_t i = 0; i < d->ndm; i++)
        if (!(d->dm[i] >= 0) || !isfinite(d->dm[i]))
            return psr_fail_field(err, PSR_EINVAL, "dm",
                                  "dedispersion: DM %g of trial %zu is below 0", d->dm[i], i);
    if (d->tol < 0 || d->tol > 1)
        return psr_fail_field(err, PSR_EINVAL, "tol",
                              "dedispersion: tolerance of %d samples is outside 0 to 1", d->tol);
    if (d->ndevice > 1024)
        return psr_fail_field(err, PSR_EINVAL, "ndevice",
                              "dedispersion: %zu devices is outside 0 to 1024", d->ndevice);
    return psr_check_resources("dedispersion", d->nthread, d->mem_bytes, err);
}

static psr_status check_algorithm(const struct psr_dedisp_desc *d, psr_err *err)
{
    if (d->algo == PSR_DEDISP_TREE && d->smear != 0 && !(d->smear >= 1.01 && d->smear <= 100))
        return psr_fail_field(err, PSR_EINVAL, "smear",
                              "dedispersion: smearing by a factor of %g is outside 1.01 to 100",
                              d->smear);
    if (d->algo == PSR_DEDISP_DIRECT || d->algo == PSR_DEDISP_TREE)
        return PSR_OK;
    if (d->late)
        return psr_fail_field(err, PSR_EINVAL, "late", "dedispersion: late sub-bands, must be 0");
    if (d->algo != PSR_DEDISP_SUBBAND)
        return psr_fail_field(err, PSR_EINVAL, "algo", "dedispersion: no algorithm %d",
                              (int)d->algo);
    if (d->nsub < 1 || d->nchan % d->nsub)
        return psr_fail_field(err, PSR_EINVAL, "nsub",
                              "dedispersion: %zu sub-bands do not divide %zu channels", d->nsub,
                              d->nchan);
    for (size_t c = 2; c < d->nchan; c++)
        if ((d->freq_mhz[c] > d->freq_mhz[c - 1]) != (d->freq_mhz[1] > d->freq_mhz[0]))
            return psr_fail_field(
                err, PSR_EINVAL, "freq_mhz",
                "dedispersion: sub-bands want channels in order of frequency, and "
                "channel %zu at %g MHz is not",
                c, d->freq_mhz[c]);
    return PSR_OK;
}

psr_status psr_dedisp_check(const struct psr_dedisp_desc *d, psr_err *err)
{
    psr_status st;
    if ((st = check_data(d, err)) || (st = check_trials(d, err)))
        return st;
    return check_algorithm(d, err);
}
