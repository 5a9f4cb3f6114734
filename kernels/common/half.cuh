/* half.cuh: pairs of halves as words, and matrix products of halves in blocks of 8. */
#ifndef PSR_KERNELS_HALF_CUH
#define PSR_KERNELS_HALF_CUH

#include "common/ptx.cuh"

#include <cuda_fp16.h>

__device__ __forceinline__ __half2 as_half2(uint32_t x)
{
    return *reinterpret_cast<__half2 *>(&x);
}

__device__ __forceinline__ uint32_t as_word(__half2 x)
{
    return *reinterpret_cast<uint32_t *>(&x);
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* A left factor of 16 rows and 8 K columns is 2 K registers: 2 k + h has row 8 h + lane / 4 of
 * columns 8 k + 2 (lane % 4) and the next.  A right factor of 8 columns is K: register k has
 * column lane / 4 of rows 8 k + 2 (lane % 4) and the next; so two registers of a product of halves
 * are a right factor of the product that follows. */
template <int K>
__device__ __forceinline__ void multiply_rows(uint32_t d[2], const uint32_t a[2 * K],
                                              const uint32_t b[K])
{
    static_assert(K <= 3, "one product of 16 at most");
    if (K > 1)
        multiply_half_16(d, a, b[0], b[K > 1]);
    if (K % 2)
        multiply_half_8(d, a + 2 * (K - 1), b[K - 1], K > 1 ? d[0] : 0, K > 1 ? d[1] : 0);
}

template <int K>
__device__ __forceinline__ void multiply_rows(float d[4], const uint32_t a[2 * K],
                                              const uint32_t b[K])
{
    d[0] = d[1] = d[2] = d[3] = 0;
    for (int k = 0; k + 1 < K; k += 2)
        multiply_float_16(d, a + 2 * k, b[k], b[k + 1]);
    if (K % 2)
        multiply_float_8(d, a + 2 * (K - 1), b[K - 1]);
}

#endif
#endif
