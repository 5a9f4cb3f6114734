/* beam_factors.cu: the main theorem's factors U of directions (Smith 2022 eq. 8), in the orders
 * that the kernels want, and constants of the transforms. */
#include "beam.h"
#include "half.cuh"

namespace
{

constexpr int THREADS = 256;

/* With x = 2 theta - q: sin(pi x) cot(pi x / 2n) / 2n, and 1 at the pole. */
__device__ __forceinline__ float factor(int n, double theta, int q)
{
    const double twice = 2 * theta, nearest = rint(twice);
    const float off = (float)(twice - nearest), period = 2 * (float)n;
    int step = ((int)nearest - q) % (2 * n);
    step += step < 0 ? 2 * n : 0;
    step -= step > n ? 2 * n : 0;
    float s, c;
    sincospif(((float)step + off) / period, &s, &c);
    if (fabsf(s) < 1e-12f)
        return 1;
    const float y = sinpif(off) * c / (s * period);
    return step & 1 ? -y : y;
}

/* Factor q of direction i, 0 where there is none. */
__device__ __forceinline__ float factor_or_none(const beam_k_axis &a, size_t f, size_t i, int q)
{
    return i < a.ndir ? factor((int)a.n, a.d_theta[f * a.ndir + i], q) : 0;
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
            word[h] = as_word(
                __floats2half2_rn(factor_or_none(a, f, i, q), factor_or_none(a, f, i, q + 1)));
        }
        static_cast<uint2 *>(a.d_left)[at] = make_uint2(word[0], word[1]);
    }
}

__global__ void make_scale(const beam_k_axis a, size_t nfreq)
{
    const int lines = 2 * (int)a.n;
    const size_t tiles = (a.ndir + 31) / 32, count = nfreq * tiles * lines * 32;
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at < count; at += (size_t)gridDim.x * blockDim.x) {
        const int i = (int)(at % 32), p = (int)(at / 32 % lines);
        const size_t tile = at / 32 / lines % tiles, f = at / 32 / lines / tiles;
        static_cast<__half *>(a.d_scale)[at] =
            __float2half_rn(factor_or_none(a, f, 32 * tile + i % 4 * 8 + i / 4, p));
    }
}

__global__ void make_factors(const beam_k_axis a, size_t nfreq)
{
    const size_t lines = 2 * a.n, count = nfreq * lines * a.ndir;
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at < count; at += (size_t)gridDim.x * blockDim.x)
        a.d_factor[at] =
            factor_or_none(a, at / a.ndir / lines, at % a.ndir, (int)(at / a.ndir % lines));
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

extern "C" size_t beam_k_scale_bytes(size_t n, size_t ndir, size_t nfreq)
{
    return nfreq * ((ndir + 31) / 32) * 2 * n * 32 * sizeof(__half);
}

extern "C" cudaError_t beam_k_make_factors(const struct beam_k_axis *axis, size_t nfreq,
                                           cudaStream_t stream)
{
    const size_t left = beam_k_left_bytes(axis->n, axis->ndir, nfreq) / sizeof(uint2);
    const size_t scale = beam_k_scale_bytes(axis->n, axis->ndir, nfreq) / sizeof(__half);
    if (axis->d_left)
        make_left<<<count_blocks(left), THREADS, 0, stream>>>(*axis, nfreq);
    if (axis->d_scale)
        make_scale<<<count_blocks(scale), THREADS, 0, stream>>>(*axis, nfreq);
    if (axis->d_factor)
        make_factors<<<count_blocks(nfreq * 2 * axis->n * axis->ndir), THREADS, 0, stream>>>(*axis,
                                                                                             nfreq);
    return cudaGetLastError();
}
