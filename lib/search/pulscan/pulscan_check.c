/* Checks the description of a boxcar search. */
#include "pulscan_internal.h"

#include "base/threads/threads.h"

#include <math.h>

static psr_status check_input(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->nbin < 16 || d->nbin > (size_t)1 << 40)
        return psr_fail_field(err, PSR_EINVAL, "nbin", "search: %zu bins is outside 16 to 2^40",
                              d->nbin);
    if (d->batch > 1 << 16)
        return psr_fail_field(err, PSR_EINVAL, "batch", "search: a batch of %zu is above 65536",
                              d->batch);
    const struct psr_redden *how = &d->redden;
    if (how->start < 0 || (how->start > 0 && (how->start < 2 || how->end < how->start)))
        return psr_fail_field(err, PSR_EINVAL, "redden",
                              "search: no de-reddening by blocks of %d to %d bins", how->start,
                              how->end);
    return psr_check_resources("search", d->nthread, d->mem_bytes, err);
}

static psr_status check_widths(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->zmax < d->compat || d->zmax > PSR_PULSCAN_MAX_Z)
        return psr_fail_field(err, PSR_EINVAL, "zmax", "search: zmax of %d is outside %d to %d",
                              d->zmax, d->compat, PSR_PULSCAN_MAX_Z);
    if ((size_t)d->zmax >= d->nbin / 2)
        return psr_fail_field(err, PSR_EINVAL, "zmax",
                              "search: zmax of %d is no less than half of %zu bins", d->zmax,
                              d->nbin);
    if (!d->logz && (d->zstep < 0 || d->zstep > PSR_PULSCAN_MAX_Z))
        return psr_fail_field(err, PSR_EINVAL, "zstep", "search: zstep of %d is outside 1 to %d",
                              d->zstep, PSR_PULSCAN_MAX_Z);
    if (d->block > (size_t)1 << 40)
        return psr_fail_field(err, PSR_EINVAL, "block", "search: blocks of %zu bins are above 2^40",
                              d->block);
    if (d->normblock && (d->normblock < 16 || d->normblock > (size_t)1 << 30))
        return psr_fail_field(err, PSR_EINVAL, "normblock",
                              "search: normalisation by %zu bins is outside 16 to 2^30",
                              d->normblock);
    return PSR_OK;
}

static psr_status check_harmonics(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->nnharm < 1 || d->nnharm > PSR_PULSCAN_MAX_HARM)
        return psr_fail_field(err, PSR_EINVAL, "nnharm",
                              "search: %zu harmonic sums is outside 1 to %d", d->nnharm,
                              PSR_PULSCAN_MAX_HARM);
    for (size_t k = 0; k < d->nnharm; k++) {
        int before = k ? d->nharm[k - 1] : 0;
        if (d->nharm[k] <= before || d->nharm[k] > PSR_PULSCAN_MAX_HARM)
            return psr_fail_field(
                err, PSR_EINVAL, "nharm",
                "search: a sum of %d harmonics after one of %d is not in 1 to %d and ascending",
                d->nharm[k], before, PSR_PULSCAN_MAX_HARM);
    }
    return PSR_OK;
}

static psr_status check_bins(const struct psr_pulscan_desc *d, psr_err *err)
{
    if (d->rlo < 0 || (size_t)d->rlo >= d->nbin)
        return psr_fail_field(err, PSR_EINVAL, "rlo", "search: rlo %lld is outside 0 to %zu",
                              (long long)d->rlo, d->nbin - 1);
    if (d->rhi < 0 || (d->rhi > 0 && d->rhi < d->rlo))
        return psr_fail_field(err, PSR_EINVAL, "rhi", "search: rhi %lld is below rlo %lld",
                              (long long)d->rhi, (long long)d->rlo);
    for (size_t i = 0; i < d->nzap; i++)
        if (d->zap[i].count < 0)
            return psr_fail_field(err, PSR_EINVAL, "zap", "search: %lld bins to zap from bin %lld",
                                  (long long)d->zap[i].count, (long long)d->zap[i].first);
    if (d->compat && (d->nzap || d->rlo > 1 || d->rhi || d->series || d->ntrials != 0))
        return psr_fail_field(
            err, PSR_EINVAL, "compat",
            "search: Pulscan's list is of the whole of a spectrum, with nothing zapped "
            "and its own number of trials");
    return PSR_OK;
}

psr_status psr_pulscan_check(const struct psr_pulscan_desc *d, psr_err *err)
{
    psr_status st;
    if ((st = check_input(d, err)) || (st = check_widths(d, err)) ||
        (st = check_harmonics(d, err)) || (st = check_bins(d, err)))
        return st;
    if (!(fabs(d->sigma) <= 1e4))
        return psr_fail_field(err, PSR_EINVAL, "sigma",
                              "search: sigma of %g is outside -10000 to 10000", d->sigma);
    if (!(d->ntrials >= 0 && d->ntrials <= 1e300))
        return psr_fail_field(err, PSR_EINVAL, "ntrials", "search: %g trials is outside 0 to 1e300",
                              d->ntrials);
    if (d->significance != PSR_PULSCAN_EXACT && d->significance != PSR_PULSCAN_POLY)
        return psr_fail_field(err, PSR_EINVAL, "significance", "search: no significance %d",
                              (int)d->significance);
    return PSR_OK;
}
