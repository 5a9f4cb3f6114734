/* The bins that a command line means. */
#include "gpuaccel-pulscan.h"

#include <math.h>

/* As accelsearch has them, but that -rlo and -rhi count. */
psr_status accel_range(struct accel_job *j, double *lo, double *hi)
{
    const struct accel_options *o = &j->opt;
    const struct accel_shape *s = &j->shape;
    const bool bins = o->rlo >= 0 && !o->presto;
    *lo = bins ? o->rlo : fmin(o->flo_hz * s->tobs_s, 0x1p53);
    *hi = o->rhi >= 0 && !o->presto ? o->rhi : fmin(o->fhi_hz * s->tobs_s, 0x1p53);
    if (floor(*lo) < (double)s->nbin)
        return PSR_OK;
    return psr_fail(
        &j->err, PSR_EINVAL, "nothing to search: %s is bin %.10g, and the last of %lld is at %g Hz",
        bins ? "-rlo" : "-flo", floor(*lo), (long long)s->nbin, (double)(s->nbin - 1) / s->tobs_s);
}
