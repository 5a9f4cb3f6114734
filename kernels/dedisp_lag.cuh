/* dedisp_lag.cuh: delay of a channel at a DM, as dedisp.h describes delays. */
#ifndef PSR_KERNELS_DEDISP_LAG_CUH
#define PSR_KERNELS_DEDISP_LAG_CUH

#include "dedisp.h"

static __device__ inline int lag_of(const struct dedisp_k_delays &d, double dm, size_t k)
{
    if (d.tol_group)
        return psr_lag_tolerant(dm, d.d_law[k], d.d_law[k / d.tol_group * d.tol_group], &d.frame);
    return psr_lag(dm, d.d_law[k], d.frame.law_top, d.frame.dt_s);
}

#endif
