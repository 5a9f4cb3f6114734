/* pulscan_sums.cuh: harmonic sums, and which piece of the spectrum a start lies in. */
#ifndef PSR_KERNELS_PULSCAN_SUMS_CUH
#define PSR_KERNELS_PULSCAN_SUMS_CUH

#include "pulscan/pulscan_kernels.h"

/* The sum of h bins from p on, in their order: what harmonic h adds to s_H[i], h <= H, where p is
 * the place of bin h i.  Spectra are so aligned that two and four bins can be read at once. */
template <int h> static __device__ __forceinline__ float sum_bins(const float *p)
{
    if (h == 2) {
        const float2 v = *(const float2 *)p;
        return v.x + v.y;
    }
    if (h == 4) {
        const float4 v = *(const float4 *)p;
        return v.x + v.y + v.z + v.w;
    }
    float sum = p[0];
#pragma unroll
    for (int j = 1; j < h; j++)
        sum += p[j];
    return sum;
}

static __device__ __forceinline__ float sum_bins(const float *p, int h)
{
    float sum = p[0];
    for (int j = 1; j < h; j++)
        sum += p[j];
    return sum;
}

/* s_H[i], H = nharm, of bins that exist. */
static __device__ __forceinline__ float sum_harmonics(const float *power, int nharm, int i)
{
    float sum = power[i];
    for (int h = 2; h <= nharm; h++) {
        const float *p = power + (size_t)h * i;
        sum += h == 2   ? sum_bins<2>(p)
               : h == 3 ? sum_bins<3>(p)
               : h == 4 ? sum_bins<4>(p)
                        : sum_bins(p, h);
    }
    return sum;
}

/* Pieces are numbered by rising start. */
static __device__ __forceinline__ uint32_t pieces_of_block(int64_t block)
{
    return (uint32_t)((block + PULSCAN_PIECE - 1) / PULSCAN_PIECE);
}

static __device__ __forceinline__ uint32_t piece_of(int64_t block, int start)
{
    int64_t b = (start - 1) / block, at = (start - 1) % block;
    return (uint32_t)b * pieces_of_block(block) + (uint32_t)at / PULSCAN_PIECE;
}

static __device__ __forceinline__ void place_of(int64_t block, uint32_t piece, int *start,
                                                int *count)
{
    const uint32_t per_block = pieces_of_block(block);
    const int64_t at = (int64_t)(piece % per_block) * PULSCAN_PIECE;
    *start = (int)(1 + piece / per_block * block + at);
    *count = block - at < PULSCAN_PIECE ? (int)(block - at) : PULSCAN_PIECE;
}

#endif
