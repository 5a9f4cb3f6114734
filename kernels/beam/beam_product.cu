/* beam_product.cu: intensities on the half-integer grid to a product of directions (Smith 2022
 * eqs 9 and 10): V[j][p] = sum over q of U_q(j) I[p][q], then J[i][j] = sum over p of U_p(i)
 * V[j][p].
 *
 * A thread block has some rows of one channel, one after the other, and a warp 16 directions j;
 * their factors are left factors of the first product, whose result is, in halves, the right factor
 * of the second, in the registers where it came out.  Factors of directions i are read as left
 * factors from memory, which keeps them in the first cache.  Results go through shared memory, so
 * that whole lines are stored.
 *
 * Bound: device memory (the sums written). */
#include "beam/beam_kernels.h"
#include "beam/beam_quantise.cuh"
#include "common/ptx.cuh"

namespace
{

constexpr int SIDE = 16;                  /* directions j of a warp */
constexpr int WARPS = 6;                  /* at most; else one for each such share */
constexpr size_t ROWS = 5, BLOCKS = 2048; /* rows a block, at most; blocks, at least */

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* The grid of one row as rows of an odd number of 16-byte pieces. */
template <int M, int N> struct grid_row {
    static constexpr int PIECES = 2 * N / 8, PITCH = 16 * (PIECES | 1), BYTES = 2 * M * PITCH;
};

template <int M, int N> __device__ __forceinline__ void fetch_row(const void *from, uint32_t to)
{
    using row = grid_row<M, N>;
    for (int i = (int)threadIdx.x; i < 2 * M * row::PIECES; i += (int)blockDim.x)
        copy_16(to + i / row::PIECES * row::PITCH + i % row::PIECES * 16,
                static_cast<const uint4 *>(from) + i);
    copies_mark();
}

/* V of 16 directions as right factors over p of two tiles of 8. */
template <int M, int N>
__device__ __forceinline__ void sum_lines(const uint32_t a[2 * (2 * N / 8)], uint32_t grid,
                                          int lane, uint32_t v[2][2 * M / 8])
{
    constexpr int CHUNKS = grid_row<M, N>::PIECES;
#pragma unroll
    for (int p = 0; p < 2 * M / 8; p++) {
        const uint32_t line = grid + (8 * p + (lane & 7)) * grid_row<M, N>::PITCH;
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

/* Words from one of 16 rows of what a block stages to the next: pairs of 4 rows that follow each
 * other are in different banks. */
constexpr int ROW_WORDS = WARPS * SIDE + 8, STAGE_WORDS = 16 * ROW_WORDS;

/* Four directions of n, from j on. */
__device__ __forceinline__ void store_four(float *to, size_t j, size_t n, float4 x)
{
    if (n % 4 == 0) {
        if (j < n)
            __stcs(reinterpret_cast<float4 *>(to + j), x);
        return;
    }
    const float each[4] = {x.x, x.y, x.z, x.w};
    for (int k = 0; k < 4; k++)
        if (j + k < n)
            to[j + k] = each[k];
}

/* All warps' 16 x 16 directions at a time go through shared memory, alternately through two stages, so
 * that one barrier is enough. */
template <int M>
__device__ __forceinline__ void store_floats(const beam_k_steer &a, const product_share<M> &w,
                                             size_t row, size_t j0, float *stage)
{
    const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
    const int r = (int)threadIdx.x / (4 * warps), c = (int)threadIdx.x % (4 * warps) * 4;
    float *to = static_cast<float *>(a.d_beam) + (row * a.n_ns + r) * a.n_ew;
    const int put = w.lane / 4 * ROW_WORDS + SIDE * warp + 2 * (w.lane & 3);
    for (size_t i0 = 0; i0 < a.n_ns; i0 += 16, to += 16 * a.n_ew) {
        float d[2][4], *half = stage + i0 / 16 % 2 * STAGE_WORDS;
        sum_columns<M>(w, i0, d);
#pragma unroll
        for (int k = 0; k < 4; k++)
            *reinterpret_cast<float2 *>(half + put + k / 2 * 8 * ROW_WORDS + k % 2 * 8) =
                make_float2(d[k % 2][k / 2 * 2], d[k % 2][k / 2 * 2 + 1]);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 2; k++)
            if (i0 + r + 8 * k < a.n_ns)
                store_four(to + 8 * k * a.n_ew, j0 + c, a.n_ew,
                           *reinterpret_cast<const float4 *>(half + (r + 8 * k) * ROW_WORDS + c));
    }
}

/* Levels of 32 x 16 directions go through shared memory, so that a lane writes 16. */
template <int M>
__device__ __forceinline__ void store_levels(const beam_k_steer &a, const product_share<M> &w,
                                             const beam_scale &s, size_t row, size_t j0,
                                             unsigned char *stage)
{
    const size_t tiles = (a.n_ew + SIDE - 1) / SIDE;
    uint4 *to = static_cast<uint4 *>(a.d_beam) + (row * tiles + j0 / SIDE) * a.n_ns + w.lane;
    uint16_t *put = reinterpret_cast<uint16_t *>(stage) + w.lane / 4 * 8 + w.lane % 4;
    for (size_t i0 = 0; i0 < a.n_ns; i0 += 32, to += 32) {
#pragma unroll
        for (int t = 0; t < 2; t++) {
            float d[2][4];
            sum_columns<M>(w, i0 + 16 * t, d);
            for (int k = 0; k < 4; k++)
                put[t * 128 + k / 2 * 64 + k % 2 * 4] =
                    (uint16_t)beam_quantise_pair(s, d[k % 2][k / 2 * 2], d[k % 2][k / 2 * 2 + 1]);
        }
        __syncwarp();
        const uint4 x = reinterpret_cast<const uint4 *>(stage)[w.lane];
        __syncwarp();
        if (i0 + w.lane < a.n_ns)
            *to = x;
    }
}

/* Directions j0 .. j0 + 16 warps - 1 of rows first .. last - 1 of channel f. */
template <int M, int N, bool LEVELS>
__device__ __forceinline__ void steer(const beam_k_steer &a, size_t f, size_t first, size_t last,
                                      size_t j0)
{
    using row = grid_row<M, N>;
    __shared__ __align__(128) unsigned char grid[2][row::BYTES];
    __shared__ __align__(16) float stage[LEVELS ? WARPS * 32 * SIDE / 4 : 2 * STAGE_WORDS];
    const size_t ns_tiles = (a.n_ns + 31) / 32 * 2, ew_tiles = (a.n_ew + 31) / 32 * 2;
    const size_t warp = threadIdx.x / 32, mine = j0 / SIDE + warp;
    const __half *from = static_cast<const __half *>(a.d_half) + (f * a.nrow + first) * 4 * M * N;
    beam_scale scale = {};
    product_share<M> w;
    w.ns = static_cast<const uint2 *>(a.d_ns) + f * ns_tiles * (2 * M / 8) * 32;
    w.unit = 1 / a.d_bright[f];
    w.lane = (int)threadIdx.x % 32;
    if (LEVELS)
        scale = beam_find_scale(a.d_offset, a.d_scale, a.nbit, f);
    __syncthreads();
    fetch_row<M, N>(from, shared_address(grid[0]));
    uint32_t left[2 * row::PIECES];
    const uint2 *ew = static_cast<const uint2 *>(a.d_ew) +
                      (f * ew_tiles + min(mine, ew_tiles - 1)) * row::PIECES * 32;
    for (int c = 0; c < row::PIECES; c++) {
        const uint2 x = ew[c * 32 + w.lane];
        left[2 * c] = x.x;
        left[2 * c + 1] = x.y;
    }
    for (size_t k = first; k < last; k++) {
        copies_wait<0>();
        __syncthreads();
        from += 4 * M * N;
        if (k + 1 < last)
            fetch_row<M, N>(from, shared_address(grid[(k + 1 - first) % 2]));
        sum_lines<M, N>(left, shared_address(grid[(k - first) % 2]), w.lane, w.v);
        if (!LEVELS)
            store_floats<M>(a, w, f * a.nrow + k, j0, stage);
        else if (mine * SIDE < a.n_ew)
            store_levels<M>(a, w, scale, f * a.nrow + k, mine * SIDE,
                            reinterpret_cast<unsigned char *>(stage) + warp * 32 * SIDE);
    }
}

#endif

template <int M, int N, bool LEVELS>
__global__ void __launch_bounds__(32 * WARPS) product_kernel(const beam_k_steer a, unsigned rows)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    const unsigned shares = ((unsigned)a.nrow + rows - 1) / rows;
    const size_t f = blockIdx.x / shares, first = (size_t)(blockIdx.x - f * shares) * rows;
    for (size_t j0 = 0; j0 < a.n_ew; j0 += blockDim.x / 32 * SIDE)
        steer<M, N, LEVELS>(a, f, first, min(first + rows, a.nrow), j0);
#endif
}

/* Rows per block: more rows read a channel's factors less often, but there must be enough blocks for
 * all multiprocessors. */
unsigned choose_rows(const beam_k_steer &s)
{
    const size_t most = s.nfreq * s.nrow / BLOCKS, some = most < ROWS ? most : ROWS;
    const size_t shares = some > 1 ? (s.nrow + some - 1) / some : s.nrow;
    return (unsigned)((s.nrow + shares - 1) / shares);
}

template <int M, int N> void launch(const beam_k_steer &s, cudaStream_t stream)
{
    const size_t tiles = (s.n_ew + SIDE - 1) / SIDE;
    const unsigned threads = 32 * (unsigned)(tiles < WARPS ? tiles : WARPS);
    const unsigned rows = choose_rows(s);
    const unsigned blocks = (unsigned)(s.nfreq * ((s.nrow + rows - 1) / rows));
    if (s.nbit < 32)
        product_kernel<M, N, true><<<blocks, threads, 0, stream>>>(s, rows);
    else
        product_kernel<M, N, false><<<blocks, threads, 0, stream>>>(s, rows);
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
