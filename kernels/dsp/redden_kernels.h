/* redden_kernels.h: removes red noise from spectra on the device, as psr_spectrum_deredden does. */
#ifndef PSR_KERNELS_REDDEN_KERNELS_H
#define PSR_KERNELS_REDDEN_KERNELS_H

#include <cuda_runtime_api.h>
#include <psrkit/obs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Given:    d_x   [nspec][pitch][2], pitch in bins
 *           d_block   [nblock], contiguous from bin 1 to the end
 * Returned: d_x; d_level [nspec][nblock], the mean power of each block from its median */
cudaError_t redden_k_remove(float *d_x, size_t pitch, size_t nbin, size_t nspec,
                            const struct psr_span *d_block, size_t nblock, double *d_level,
                            cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
