/* beam_product.cu: intensities on the half-integer grid to a product of directions (Smith 2022
 * eqs 9 and 10): V[j][p] = sum over q of U_q(j) I[p][q], then J[i][j] = sum over p of U_p(i)
 * V[j][p].
 *
 * A warp has 16 directions j of one channel and row; their factors are left
 * factors of the first product, whose result is, in halves, the right factor of the second, in the
 * registers where it came out.  Factors of directions i are read as left factors from memory, which
 * keeps them in the first cache.
 *
 * Bound: device memory (the sums written). */
#include "beam.h"
#include "beam_level.cuh"
#include "half.cuh"

namespace
{

constexpr int SIDE = 16; /* directions j of a warp */
constexpr int WARPS = 6; /* at most; else one for each such share */

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* The grid of one row as rows of an odd number of 16-byte pieces. */
template <int M, int N> __device__ __forceinline__ void fetch_row(const void *from, uint32_t to)
{
    constexpr int PIECES = 2 * N / 8, PITCH = 16 * (PIECES | 1);
    for (int i = (int)threadIdx.x; i < 2 * M * PIECES; i += (int)blockDim.x)
        copy_16(to + i / PIECES * PITCH + i % PIECES * 16, static_cast<const uint4 *>(from) + i);
    copies_mark();
    copies_wait<0>();
    __syncthreads();
}

/* V of 16 directions as right factors over p of two tiles of 8. */
template <int M, int N>
__device__ __forceinline__ void sum_lines(const uint2 *left, uint32_t grid, int lane,
                                          uint32_t v[2][2 * M / 8])
{
    constexpr int CHUNKS = 2 * N / 8, PITCH = 16 * (CHUNKS | 1);
    uint32_t a[2 * CHUNKS];
    for (int c = 0; c < CHUNKS; c++) {
        uint2 x = left[c * 32 + lane];
        a[2 * c] = x.x;
        a[2 * c + 1] = x.y;
    }
#pragma unroll
    for (int p = 0; p < 2 * M / 8; p++) {
        const uint32_t line = grid + (8 * p + (lane & 7)) * PITCH;
        uint32_t b[(CHUNKS + 3) / 4 * 4];
        float d[4];
#pragma unroll
        for (int c = 0; c < CHUNKS; c += 4)
            load_matrices(line + min(c + (lane >> 3), CHUNKS - 1) * 16, b + c);
        multiply_rows<CHUNKS>(d, a, b);
        v[0][p] = as_word(__floats2half2_rn(d[0], d[1]));
        v[1][p] = as_word(__floats2half2_rn(d[2], d[3]));
    }
}

/* A warp's share of a channel and row: J of 16 directions j. */
template <int M> struct product_share {
    const uint2 *ns; /* left factors of the directions i */
    uint32_t v[2][2 * M / 8];
    float unit;
    int lane;
};

/* J of 16 directions i from i0 on, d[h][2 e + k] that of i0 + lane / 4 + 8 e and j0 + 8 h +
 * 2 (lane % 4) + k. */
template <int M>
__device__ __forceinline__ void sum_columns(const product_share<M> &w, size_t i0, float d[2][4])
{
    constexpr int CHUNKS = 2 * M / 8;
    uint32_t x[2 * CHUNKS];
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        uint2 y = __ldg(w.ns + (i0 / 16 * CHUNKS + c) * 32 + w.lane);
        x[2 * c] = y.x;
        x[2 * c + 1] = y.y;
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        multiply_rows<CHUNKS>(d[h], x, w.v[h]);
        for (int e = 0; e < 4; e++)
            d[h][e] *= w.unit;
    }
}

/* Directions j and j + 1 of n; 8 bytes at once fill the second cache's sectors, which are
 * not wanted there again. */
__device__ __forceinline__ void store_pair(float *to, size_t j, size_t n, float x, float y)
{
    if (n % 2 == 0) {
        if (j < n)
            __stcs(reinterpret_cast<float2 *>(to + j), make_float2(x, y));
        return;
    }
    if (j < n)
        to[j] = x;
    if (j + 1 < n)
        to[j + 1] = y;
}

template <int M>
__device__ __forceinline__ void store_floats(const beam_k_steer &a, const product_share<M> &w,
                                             size_t j0)
{
    float *to = static_cast<float *>(a.d_beam) + (size_t)blockIdx.x * a.n_ns * a.n_ew;
    for (size_t i0 = 0; i0 < a.n_ns; i0 += 16) {
        float d[2][4];
        sum_columns<M>(w, i0, d);
        for (int k = 0; k < 4; k++) {
            size_t i = i0 + k / 2 * 8 + w.lane / 4, j = j0 + k % 2 * 8 + 2 * (w.lane & 3);
            if (i < a.n_ns)
                store_pair(to + i * a.n_ew, j, a.n_ew, d[k % 2][k / 2 * 2],
                           d[k % 2][k / 2 * 2 + 1]);
        }
    }
}

/* Levels of 32 x 16 directions go through shared memory, so that a lane writes 16. */
template <int M>
__device__ __forceinline__ void store_levels(const beam_k_steer &a, const product_share<M> &w,
                                             const beam_scale &s, size_t j0, unsigned char *stage)
{
    const size_t tiles = (a.n_ew + SIDE - 1) / SIDE;
    uint4 *to = static_cast<uint4 *>(a.d_beam) + (blockIdx.x * tiles + j0 / SIDE) * a.n_ns + w.lane;
    uint16_t *put = reinterpret_cast<uint16_t *>(stage) + w.lane / 4 * 8 + w.lane % 4;
    for (size_t i0 = 0; i0 < a.n_ns; i0 += 32, to += 32) {
#pragma unroll
        for (int t = 0; t < 2; t++) {
            float d[2][4];
            sum_columns<M>(w, i0 + 16 * t, d);
            for (int k = 0; k < 4; k++)
                put[t * 128 + k / 2 * 64 + k % 2 * 4] =
                    (uint16_t)beam_level_pair(s, d[k % 2][k / 2 * 2], d[k % 2][k / 2 * 2 + 1]);
        }
        __syncwarp();
        const uint4 x = reinterpret_cast<const uint4 *>(stage)[w.lane];
        __syncwarp();
        if (i0 + w.lane < a.n_ns)
            *to = x;
    }
}

template <int M, int N, bool LEVELS> __device__ __forceinline__ void steer(const beam_k_steer &a)
{
    __shared__ __align__(128) unsigned char grid[2 * M * 16 * (2 * N / 8 | 1)];
    __shared__ __align__(16) unsigned char stage[WARPS][LEVELS ? 32 * SIDE : 16];
    const size_t f = blockIdx.x / a.nrow, warp = threadIdx.x / 32;
    const size_t ns_tiles = (a.n_ns + 31) / 32 * 2, ew_tiles = (a.n_ew + 31) / 32 * 2;
    const uint2 *ew = static_cast<const uint2 *>(a.d_ew) + f * ew_tiles * (2 * N / 8) * 32;
    product_share<M> w;
    w.ns = static_cast<const uint2 *>(a.d_ns) + f * ns_tiles * (2 * M / 8) * 32;
    w.unit = 1 / a.d_bright[f];
    w.lane = (int)threadIdx.x % 32;
    beam_scale scale = {};
    if (LEVELS)
        scale = beam_find_scale(a.d_offset, a.d_scale, a.nbit, f);
    fetch_row<M, N>(static_cast<const __half *>(a.d_half) + (size_t)blockIdx.x * 4 * M * N,
                    shared_address(grid));
    for (size_t j0 = SIDE * warp; j0 < a.n_ew; j0 += blockDim.x / 32 * SIDE) {
        sum_lines<M, N>(ew + j0 / SIDE * (2 * N / 8) * 32, shared_address(grid), w.lane, w.v);
        if (LEVELS)
            store_levels<M>(a, w, scale, j0, stage[warp]);
        else
            store_floats<M>(a, w, j0);
    }
}

#endif

template <int M, int N, bool LEVELS>
__global__ void __launch_bounds__(32 * WARPS) product_kernel(const beam_k_steer a)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    steer<M, N, LEVELS>(a);
#endif
}

template <int M, int N> void launch(const beam_k_steer &s, cudaStream_t stream)
{
    const size_t tiles = (s.n_ew + SIDE - 1) / SIDE;
    const unsigned threads = 32 * (unsigned)(tiles < WARPS ? tiles : WARPS);
    const unsigned blocks = (unsigned)(s.nfreq * s.nrow);
    if (s.nbit < 32)
        product_kernel<M, N, true><<<blocks, threads, 0, stream>>>(s);
    else
        product_kernel<M, N, false><<<blocks, threads, 0, stream>>>(s);
}

struct compiled {
    size_t m, n;
    void (*launch)(const beam_k_steer &, cudaStream_t);
};
const compiled grids[] = {
    {8, 8, launch<8, 8>},     {8, 12, launch<8, 12>},   {16, 16, launch<16, 16>},
    {16, 20, launch<16, 20>}, {24, 24, launch<24, 24>},
};

} // namespace

extern "C" struct beam_k_lines beam_k_product_lines(size_t n_ns, size_t n_ew, size_t nrow,
                                                    int levels)
{
    struct beam_k_lines l = {};
    l.side = levels ? SIDE : (unsigned)n_ew;
    l.tiles = ((unsigned)n_ew + l.side - 1) / l.side;
    l.n_ew = (unsigned)n_ew;
    l.count = nrow * l.tiles;
    l.length = n_ns * l.side;
    return l;
}

extern "C" cudaError_t beam_k_product(const struct beam_k_steer *s, cudaStream_t stream)
{
    for (const compiled &g : grids)
        if (g.m == s->m && g.n == s->n) {
            g.launch(*s, stream);
            return cudaGetLastError();
        }
    return cudaErrorInvalidValue;
}
