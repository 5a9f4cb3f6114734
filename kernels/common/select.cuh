/* select.cuh: the value of a given rank among many, without sorting. */
#ifndef PSR_KERNELS_SELECT_CUH
#define PSR_KERNELS_SELECT_CUH

#include <stdint.h>

constexpr int WARP = 32;
constexpr int HALVINGS = 24; /* by value before halving by bits, which always ends */
constexpr unsigned ALL = ~0u;

/* Maps floats to integers in the same order, and back. */
static __device__ int key_of(float x)
{
    int b = __float_as_int(x);
    return b >= 0 ? b : b ^ 0x7fffffff;
}

static __device__ float value_of(int key)
{
    return __int_as_float(key >= 0 ? key : key ^ 0x7fffffff);
}

/* The value of rank k, where rank(x) values are below x and next(x) is the lowest not below x.
 * Given: rank(lo) = nlo <= k < nhi = rank(hi) */
template <class RANK, class NEXT>
static __device__ float halve(RANK rank, NEXT next, float lo, float hi, int nlo, int nhi, int k)
{
    for (int n = 0; nhi - nlo > 1; n++) {
        float x = 0.5f * lo + 0.5f * hi;
        if (n >= HALVINGS || !(x > lo && x < hi)) {
            const unsigned a = key_of(lo), b = key_of(hi);
            if (b - a <= 1)
                break;
            x = value_of((int)(a + (b - a) / 2));
        }
        const int below = rank(x);
        if (below <= k) {
            lo = x;
            nlo = below;
        } else {
            hi = x;
            nhi = below;
        }
    }
    return next(lo);
}

static __device__ float lowest_of_warp(float x)
{
    for (int n = WARP / 2; n; n /= 2)
        x = fminf(x, __shfl_xor_sync(ALL, x, n));
    return x;
}

static __device__ int sum_of_warp(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL, x);
#else
    for (int n = WARP / 2; n; n /= 2)
        x += __shfl_xor_sync(ALL, x, n);
    return x;
#endif
}

#endif
