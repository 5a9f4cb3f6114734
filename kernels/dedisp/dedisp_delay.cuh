/* dedisp_delay.cuh: delay of a channel at a DM, as dedisp.h describes delays. */
#ifndef PSR_KERNELS_DEDISP_DELAY_CUH
#define PSR_KERNELS_DEDISP_DELAY_CUH

#include "dedisp/dedisp_kernels.h"

static __device__ inline int delay_of(const struct dedisp_k_delays &d, double dm, size_t k)
{
    if (d.tol_group)
        return psr_dedisp_delay_tolerant(dm, d.d_coeff[k], d.d_coeff[k / d.tol_group * d.tol_group],
                                         &d.frame);
    return psr_dedisp_delay_of(dm, d.d_coeff[k], d.frame.coeff_top, d.frame.dt_s);
}

#endif
