/* signif_device.cuh: the significance routine for device code.
 *
 * signif_chi2_logp(power, dof), signif_gauss_logp(sigma) and signif_gauss_sigma(p) are the functions
 * of <psrkit/signif.h>, compiled from the same source in double precision, so they have the same
 * accuracy: ln p and ln(1-p) within 1e-12 of themselves for dof up to 1e6, 1e-10 up to 1e8.  Fused
 * multiply-adds and CUDA's own exp and log change last digits: do not expect the host's bits.
 *
 * No state, no shared memory; the tables lie in constant memory, 3 KB for each .cu that includes
 * this.  A warp whose lanes lie on both sides of the ridge power = dof runs both branches. */
#ifndef PSR_SIGNIF_DEVICE_CUH
#define PSR_SIGNIF_DEVICE_CUH

#define SIGNIF_FN    static __device__ __forceinline__
#define SIGNIF_TABLE static __constant__ const

#include "stats/signif_core.h"

#endif
