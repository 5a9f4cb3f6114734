/* beam_product.cu: intensities on the half-integer grid to a product of directions (Smith 2022
 * eqs 9 and 10): V[j][p] = sum over q of U_q(j) I[p][q], then J[i][j] = sum over p of U_p(i)
 * V[j][p].
 *
 * A warp has 16 directions j of one channel and row; their factors are left factors of the first
 * product, whose result is, in halves, the right factor of the second, in the registers where it
 * came out.  Factors of directions i are read as left factors from memory, which keeps them in the
 * first cache.
 *
 * Bound: device memory (the sums written). */
#include "beam.h"
#include "half.cuh"

namespace
{

constexpr int WARPS = 6; /* at most; else one for each 16 directions j */

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
__device__ __forceinline__ void sum_columns(const beam_k_steer &a, const uint2 *left, float unit,
                                            const uint32_t v[2][2 * M / 8], float *to, size_t j0,
                                            int lane)
{
    constexpr int CHUNKS = 2 * M / 8;
    for (size_t i0 = 0; i0 < a.n_ns; i0 += 16, left += CHUNKS * 32) {
        uint32_t x[2 * CHUNKS];
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            uint2 y = __ldg(left + c * 32 + lane);
            x[2 * c] = y.x;
            x[2 * c + 1] = y.y;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float d[4];
            multiply_rows<CHUNKS>(d, x, v[h]);
            for (int e = 0; e < 2; e++) {
                size_t i = i0 + 8 * e + lane / 4, j = j0 + 8 * h + 2 * (lane & 3);
                if (i < a.n_ns)
                    store_pair(to + i * a.n_ew, j, a.n_ew, d[2 * e] * unit, d[2 * e + 1] * unit);
            }
        }
    }
}

template <int M, int N> __device__ __forceinline__ void steer(const beam_k_steer &a)
{
    __shared__ __align__(128) unsigned char grid[2 * M * 16 * (2 * N / 8 | 1)];
    const size_t f = blockIdx.x / a.nrow;
    const float unit = 1 / a.d_bright[f];
    const int lane = (int)threadIdx.x % 32;
    const size_t ns_tiles = (a.n_ns + 31) / 32 * 2, ew_tiles = (a.n_ew + 31) / 32 * 2;
    const uint2 *ns = static_cast<const uint2 *>(a.d_ns) + f * ns_tiles * (2 * M / 8) * 32;
    const uint2 *ew = static_cast<const uint2 *>(a.d_ew) + f * ew_tiles * (2 * N / 8) * 32;
    fetch_row<M, N>(static_cast<const __half *>(a.d_half) + (size_t)blockIdx.x * 4 * M * N,
                    shared_address(grid));
    for (size_t tile = threadIdx.x / 32; 16 * tile < a.n_ew; tile += blockDim.x / 32) {
        uint32_t v[2][2 * M / 8];
        sum_lines<M, N>(ew + tile * (2 * N / 8) * 32, shared_address(grid), lane, v);
        sum_columns<M>(a, ns, unit, v, a.d_beam + (size_t)blockIdx.x * a.n_ns * a.n_ew, 16 * tile,
                       lane);
    }
}

#endif

template <int M, int N>
__global__ void __launch_bounds__(32 * WARPS) product_kernel(const beam_k_steer a)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    steer<M, N>(a);
#endif
}

struct compiled {
    size_t m, n;
    void (*kernel)(const beam_k_steer);
};
const compiled grids[] = {
    {8, 8, product_kernel<8, 8>},     {8, 12, product_kernel<8, 12>},
    {16, 16, product_kernel<16, 16>}, {16, 20, product_kernel<16, 20>},
    {24, 24, product_kernel<24, 24>},
};

} // namespace

extern "C" cudaError_t beam_k_product(const struct beam_k_steer *s, cudaStream_t stream)
{
    for (const compiled &g : grids)
        if (g.m == s->m && g.n == s->n) {
            const size_t tiles = (s->n_ew + 15) / 16;
            const unsigned threads = 32 * (unsigned)(tiles < WARPS ? tiles : WARPS);
            g.kernel<<<(unsigned)(s->nfreq * s->nrow), threads, 0, stream>>>(*s);
            return cudaGetLastError();
        }
    return cudaErrorInvalidValue;
}
