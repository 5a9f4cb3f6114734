/* beam_tiles.cu: sorts the beams of each channel into tiles whose beams need the same two quads of
 * the refined axis (stable counting sort), and computes their weights. */
#include "beam/beam_kernels.h"

#include "beam/beam_weight.cuh"
#include "common/ptx.cuh"

#include <cub/warp/warp_scan.cuh>

/* --- factors of directions ----------------------------------------------------------------------- */

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

namespace
{

constexpr int WARPS = THREADS / 32;
constexpr int QUADS = 32; /* at most: one a lane */

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* First of the places that a beam needs, and its distance beyond it. */
struct tap_start {
    int place;
    float off;
};

__device__ __forceinline__ tap_start find_taps(int n, double theta)
{
    const double x = BEAM_QUAD * theta, first = ceil(x - 0.5 * BEAM_TAPS);
    const int period = BEAM_QUAD * n, place = (int)first % period;
    return {place < 0 ? place + period : place, (float)(x - first)};
}

/* --- order ------------------------------------------------------------------------------------ */

/* Turns the counts of each warp's beams in each quad into positions. */
__device__ __forceinline__ void place_warps(const beam_k_beams &b, uint32_t count[WARPS][QUADS],
                                            size_t f, int lane)
{
    uint32_t total = 0;
    for (int w = 0; w < WARPS; w++)
        total += count[w][lane];
    const uint32_t tiles = (total + BEAM_TILE - 1) / BEAM_TILE;
    using scan = cub::WarpScan<uint32_t>;
    typename scan::TempStorage none; /* a warp exchanges registers */
    uint32_t end;
    static_assert(sizeof none == 1, "a scan that needs shared memory");
    scan(none).InclusiveSum(tiles, end);
    uint32_t *first = b.d_first + f * (b.n + 1);
    if (lane == 0)
        first[0] = 0;
    if (lane < (int)b.n)
        first[lane + 1] = end;
    uint32_t to = (end - tiles) * BEAM_TILE;
    for (int w = 0; w < WARPS; w++) {
        const uint32_t mine = count[w][lane];
        count[w][lane] = to;
        to += mine;
    }
}

/* 32 beams of one warp. */
__device__ __forceinline__ void place_beams(const beam_k_beams &b, uint32_t to[QUADS], size_t f,
                                            size_t beam, int lane)
{
    const bool exists = beam < b.nbeam;
    const int quad =
        exists ? find_taps((int)b.n, b.d_ew[f * b.nbeam + beam]).place / BEAM_QUAD : QUADS;
    const uint32_t alike = __match_any_sync(~0u, quad), before = alike & ((1u << lane) - 1);
    const uint32_t at = exists ? to[quad] + __popc(before) : 0;
    __syncwarp();
    if (exists && !before)
        to[quad] += __popc(alike);
    __syncwarp();
    if (exists)
        b.d_beam[f * b.tiles * BEAM_TILE + at] = (int32_t)beam;
}

__device__ __forceinline__ void sort_channel(const beam_k_beams &b)
{
    __shared__ uint32_t count[WARPS][QUADS];
    const size_t f = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t share = (b.nbeam + THREADS - 1) / THREADS * 32, from = warp * share;
    count[warp][lane] = 0;
    __syncwarp();
    for (size_t i = from + lane; i < from + share && i < b.nbeam; i += 32)
        atomicAdd(&count[warp][find_taps((int)b.n, b.d_ew[f * b.nbeam + i]).place / BEAM_QUAD], 1u);
    for (size_t i = threadIdx.x; i < b.tiles * BEAM_TILE; i += THREADS)
        b.d_beam[f * b.tiles * BEAM_TILE + i] = -1;
    __syncthreads();
    if (warp == 0)
        place_warps(b, count, f, (int)lane);
    __syncthreads();
    for (size_t i = from; i < from + share; i += 32)
        place_beams(b, count[warp], f, i + lane, (int)lane);
}

/* --- weights ---------------------------------------------------------------------------------- */

__device__ __forceinline__ void make_taps(const beam_k_beams &b, size_t f, size_t place, int beam)
{
    __align__(16) __half x[2 * BEAM_QUAD] = {};
    if (beam >= 0) {
        const tap_start s = find_taps((int)b.n, b.d_ew[f * b.nbeam + beam]);
#pragma unroll
        for (int i = 0; i < 2 * BEAM_QUAD; i++) {
            const int tap = i - s.place % BEAM_QUAD;
            x[i] = __float2half_rn(tap < 0 ? 0 : beam_spread(s.off - (float)tap));
        }
    }
    static_cast<uint4 *>(b.d_taps)[place] = *reinterpret_cast<uint4 *>(x);
}

/* Lane l has beam l / 4 + 8 (l % 4) of the tile. */
__device__ __forceinline__ void make_lines(const beam_k_beams &b, size_t f, size_t tile, int beam,
                                           const float2 *phasor)
{
    const int lines = 2 * (int)b.m, lane = (int)threadIdx.x % 32;
    __half *to = static_cast<__half *>(b.d_factor) + tile * lines * BEAM_TILE + lane;
    const beam_direction d =
        beam_point_along((int)b.m, beam < 0 ? 0 : b.d_ns[f * b.nbeam + (size_t)beam]);
    int step = beam_steps(d, (int)b.m, 0);
    for (int p = 0; p < lines; p++, to += BEAM_TILE) {
        *to = __float2half_rn(beam < 0 ? 0 : beam_factor(d, step, phasor[step]));
        step = step ? step - 1 : lines - 1;
    }
}

__device__ __forceinline__ void weigh_tile(const beam_k_beams &b, size_t nfreq)
{
    __shared__ float2 phasor[2 * QUADS];
    const int lane = (int)threadIdx.x % 32;
    const size_t tile = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, f = tile / b.tiles;
    for (int i = (int)threadIdx.x; i < 2 * (int)b.m; i += THREADS)
        phasor[i] = beam_transpose((int)b.m, i);
    __syncthreads();
    if (f >= nfreq || tile % b.tiles >= b.d_first[f * (b.n + 1) + b.n])
        return;
    const int beam = b.d_beam[tile * BEAM_TILE + lane];
    make_taps(b, f, tile * BEAM_TILE + lane, beam);
    make_lines(b, f, tile, __shfl_sync(~0u, beam, lane / 4 + lane % 4 * 8), phasor);
}

#endif

__global__ void __launch_bounds__(THREADS) sort_kernel(const beam_k_beams b)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    sort_channel(b);
#endif
}

__global__ void __launch_bounds__(THREADS) weigh_kernel(const beam_k_beams b, size_t nfreq)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    weigh_tile(b, nfreq);
#endif
}

} // namespace

extern "C" size_t beam_k_tiles(size_t n, size_t nbeam)
{
    return nbeam / BEAM_TILE + (n < nbeam ? n : nbeam);
}

extern "C" cudaError_t beam_k_make_beams(const struct beam_k_beams *b, size_t nfreq,
                                         cudaStream_t stream)
{
    const size_t blocks = (nfreq * b->tiles + WARPS - 1) / WARPS;
    if (b->m > QUADS || b->n > QUADS)
        return cudaErrorInvalidValue;
    sort_kernel<<<(unsigned)nfreq, THREADS, 0, stream>>>(*b);
    weigh_kernel<<<(unsigned)blocks, THREADS, 0, stream>>>(*b, nfreq);
    return cudaGetLastError();
}
