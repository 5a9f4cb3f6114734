/* Checks the description of a matched search. */
#include "accel_plan.h"

#include "base/threads/threads.h"

static psr_status check_drifts(const struct psr_accelsearch_desc *d, psr_err *err)
{
    if (d->zmax < 0 || d->zmax > PSR_ACCELSEARCH_MAX_Z)
        return psr_fail_field(err, PSR_EINVAL, "zmax", "search: zmax of %d is outside 0 to %d",
                              d->zmax, PSR_ACCELSEARCH_MAX_Z);
    if (d->wmax < 0 || d->wmax > PSR_ACCELSEARCH_MAX_W)
        return psr_fail_field(err, PSR_EINVAL, "wmax", "search: wmax of %d is outside 0 to %d",
                              d->wmax, PSR_ACCELSEARCH_MAX_W);
    if (d->numharm < 1 || d->numharm > PSR_ACCELSEARCH_MAX_HARM ||
        (d->numharm & (d->numharm - 1)) != 0)
        return psr_fail_field(err, PSR_EINVAL, "numharm",
                              "search: %d harmonics are none of 1, 2, 4, 8, 16 and 32", d->numharm);
    return PSR_OK;
}

static psr_status check_bins(const struct psr_accelsearch_desc *d, psr_err *err)
{
    if (d->nbin < 16 || d->nbin > (size_t)1 << 40)
        return psr_fail_field(err, PSR_EINVAL, "nbin", "search: %zu bins is outside 16 to 2^40",
                              d->nbin);
    const double last = (double)d->nbin - 1;
    if (!(d->rlo >= 0 && d->rlo <= last))
        return psr_fail_field(err, PSR_EINVAL, "rlo", "search: rlo %g is outside 0 to %.0f", d->rlo,
                              last);
    if (!(d->rhi >= 0) || (d->rhi > 0 && d->rhi < d->rlo))
        return psr_fail_field(err, PSR_EINVAL, "rhi", "search: rhi %g is below rlo %g", d->rhi,
                              d->rlo);
    for (size_t i = 0; i < d->nzap; i++)
        if (d->zap[i].count < 0)
            return psr_fail_field(err, PSR_EINVAL, "zap", "search: %lld bins to zap from bin %lld",
                                  (long long)d->zap[i].count, (long long)d->zap[i].first);
    if (d->compat && d->nzap)
        return psr_fail_field(err, PSR_EINVAL, "compat",
                              "search: accelsearch's list is one of nothing zapped");
    return PSR_OK;
}

static psr_status check_limits(const struct psr_accelsearch_desc *d, psr_err *err)
{
    if (!(d->sigma >= 0 && d->sigma <= 1e4))
        return psr_fail_field(err, PSR_EINVAL, "sigma", "search: sigma of %g is outside 0 to 10000",
                              d->sigma);
    if (d->norm != PSR_ACCELSEARCH_MEDIAN && d->norm != PSR_ACCELSEARCH_LOCAL &&
        d->norm != PSR_ACCELSEARCH_PHOTON)
        return psr_fail_field(err, PSR_EINVAL, "norm", "search: no normalisation %d", (int)d->norm);
    return psr_check_resources("search", d->nthread, d->mem_bytes, err);
}

static psr_status check_series(const struct psr_accelsearch_desc *d, psr_err *err)
{
    const struct psr_redden *how = &d->redden;
    if (d->series && d->compat)
        return psr_fail_field(err, PSR_EINVAL, "series",
                              "search: accelsearch's list is one of spectra");
    if (d->series && d->nbin > (size_t)1 << 31)
        return psr_fail_field(err, PSR_EINVAL, "nbin",
                              "search: %zu bins of series are more than 2^31", d->nbin);
    if (how->start < 0 || (how->start > 0 && (how->start < 2 || how->end < how->start)))
        return psr_fail_field(err, PSR_EINVAL, "redden",
                              "search: no de-reddening by blocks of %d to %d bins", how->start,
                              how->end);
    return PSR_OK;
}

psr_status psr_accelsearch_check(const struct psr_accelsearch_desc *d, psr_err *err)
{
    psr_status st;
    if ((st = check_drifts(d, err)) || (st = check_bins(d, err)) || (st = check_series(d, err)))
        return st;
    return check_limits(d, err);
}
