/* beam_factors.cu: factors of the directions of one axis, in the orders that the kernels read. */
#include "beam/beam_kernels.h"
#include "beam/beam_weight.cuh"
#include "common/half.cuh"

namespace
{

constexpr int THREADS = 256;

/* Factor q of direction i, 0 where there is none. */
__device__ __forceinline__ float find_factor(const beam_k_axis &a, size_t f, size_t i, int q)
{
    const int n = (int)a.n;
    if (i >= a.ndir)
        return 0;
    const beam_direction d = beam_point_along(n, a.d_theta[f * a.ndir + i]);
    const int step = beam_steps(d, n, q);
    return beam_factor(d, step, beam_transpose(n, step));
}

__global__ void make_left(const beam_k_axis a, size_t nfreq)
{
    const int chunks = 2 * (int)a.n / 8;
    const size_t tiles = (a.ndir + 31) / 32 * 2, count = nfreq * tiles * chunks * 32;
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at < count; at += (size_t)gridDim.x * blockDim.x) {
        const int lane = (int)(at % 32), chunk = (int)(at / 32 % chunks);
        const size_t tile = at / 32 / chunks % tiles, f = at / 32 / chunks / tiles;
        uint32_t word[2];
        for (int h = 0; h < 2; h++) {
            size_t i = 16 * tile + 8 * h + lane / 4;
            int q = 8 * chunk + 2 * (lane % 4);
            word[h] =
                as_word(__floats2half2_rn(find_factor(a, f, i, q), find_factor(a, f, i, q + 1)));
        }
        static_cast<uint2 *>(a.d_left)[at] = make_uint2(word[0], word[1]);
    }
}

__global__ void make_factors(const beam_k_axis a, size_t nfreq)
{
    const size_t lines = 2 * a.n, count = nfreq * lines * a.ndir;
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at < count; at += (size_t)gridDim.x * blockDim.x)
        a.d_factor[at] =
            find_factor(a, at / a.ndir / lines, at % a.ndir, (int)(at / a.ndir % lines));
}

unsigned count_blocks(size_t threads)
{
    size_t n = (threads + THREADS - 1) / THREADS;
    return n < 1 << 20 ? (unsigned)n : 1 << 20;
}

} // namespace

extern "C" size_t beam_k_left_bytes(size_t n, size_t ndir, size_t nfreq)
{
    return nfreq * ((ndir + 31) / 32 * 2) * (2 * n / 8) * 32 * sizeof(uint2);
}

extern "C" cudaError_t beam_k_make_factors(const struct beam_k_axis *axis, size_t nfreq,
                                           cudaStream_t stream)
{
    const size_t left = beam_k_left_bytes(axis->n, axis->ndir, nfreq) / sizeof(uint2);
    const size_t floats = nfreq * 2 * axis->n * axis->ndir;
    if (axis->d_left)
        make_left<<<count_blocks(left), THREADS, 0, stream>>>(*axis, nfreq);
    if (axis->d_factor)
        make_factors<<<count_blocks(floats), THREADS, 0, stream>>>(*axis, nfreq);
    return cudaGetLastError();
}
