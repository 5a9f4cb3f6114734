/* beam_refine.cu: refines sums on the half-integer grid to places twice as dense along one axis.
 *
 * I[p][q] is a sum of waves of delays |l| < n along q.  At place Q, g[p][Q] = sum over q of
 * D[Q - 2q] I[p][q] is the same sum with each wave divided by what spreading (beam_weight.cuh) does
 * to it, so that spread(2 q - Q) summed over 5 places gives I at any q.  D is the same for all
 * channels and rows: a warp has 16 places Q, and their D as right factors in registers.
 *
 * Bound: device memory. */
#include "beam/beam_kernels.h"
#include "beam/beam_weight.cuh"
#include "common/ptx.cuh"

namespace
{

constexpr int ROWS = 4; /* of a thread block */
constexpr int PLACES = 16, MOST = 32 * BEAM_QUAD, STEPS = 1024;

template <int M_, int N_> struct refine_shape {
    static constexpr int M = M_, N = N_;
    static constexpr int WARPS = BEAM_QUAD * N / PLACES, THREADS = 32 * WARPS;
    static constexpr int CHUNKS = 2 * N / 8; /* of 8 values of q */
    static constexpr int PITCH = 16 * (CHUNKS | 1), BYTES = 2 * M * PITCH;
};

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

template <class S>
__device__ __forceinline__ void fetch_rows(const void *from, size_t nrow, uint32_t to)
{
    constexpr int PIECES = 2 * S::M * S::CHUNKS;
    for (int i = (int)threadIdx.x; i < (int)nrow * PIECES; i += S::THREADS)
        copy_16(to + i / S::CHUNKS * S::PITCH + i % S::CHUNKS * 16,
                static_cast<const uint4 *>(from) + i);
    copies_mark();
    copies_wait<0>();
    __syncthreads();
}

/* 16 lines p at this warp's places: d[h][e] are places 4 (lane % 4) + 2 h and the next of lines
 * lane / 4 + 8 e. */
template <class S>
__device__ __forceinline__ void refine_lines(uint32_t lines, const uint32_t b[2][S::CHUNKS],
                                             int lane, float d[2][4])
{
    const uint32_t at = lines + (lane & 15) * S::PITCH + (lane >> 4) * 16;
#pragma unroll
    for (int c = 0; c + 1 < S::CHUNKS; c += 2) {
        uint32_t a[4];
        load_matrices(at + c * 16, a);
        for (int h = 0; h < 2; h++)
            multiply_float_16(d[h], a, b[h][c], b[h][c + 1]);
    }
    if (S::CHUNKS % 2) {
        uint32_t a[2];
        load_matrix_pair(lines + (lane & 15) * S::PITCH + (S::CHUNKS - 1) * 16, a);
        for (int h = 0; h < 2; h++)
            multiply_float_8(d[h], a, b[h][S::CHUNKS - 1]);
    }
}

template <class S> __device__ __forceinline__ void refine(const beam_k_finer &r)
{
    __shared__ __align__(128) unsigned char grid[ROWS * S::BYTES];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const size_t first = (size_t)blockIdx.x * ROWS;
    const int nrow = (int)min((size_t)ROWS, r.nfreq * r.nrow - first);
    uint32_t b[2][S::CHUNKS];
    for (int i = 0; i < 2 * S::CHUNKS; i++)
        b[i / S::CHUNKS][i % S::CHUNKS] = r.d_table[(warp * 2 * S::CHUNKS + i) * 32 + lane];
    const uint32_t base = shared_address(grid);
    fetch_rows<S>(static_cast<const __half *>(r.d_half) + first * 4 * S::M * S::N, nrow, base);
    uint2 *to = static_cast<uint2 *>(r.d_fine) +
                (first * S::N + BEAM_QUAD * warp + (lane & 3)) * 2 * S::M + lane / 4;
    for (int k = 0; k < nrow; k++, to += 2 * S::M * S::N)
        for (int p = 0; p < 2 * S::M; p += 16) {
            float d[2][4] = {};
            refine_lines<S>(base + k * S::BYTES + p * S::PITCH, b, lane, d);
            for (int e = 0; e < 2; e++)
                to[p + 8 * e] =
                    make_uint2(as_word(__floats2half2_rn(d[0][2 * e], d[0][2 * e + 1])),
                               as_word(__floats2half2_rn(d[1][2 * e], d[1][2 * e + 1])));
        }
}

#endif

template <class S> __global__ void __launch_bounds__(S::THREADS) refine_kernel(const beam_k_finer r)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    refine<S>(r);
#endif
}

/* --- constants -------------------------------------------------------------------------------- */

/* The factor by which spreading attenuates delay l. */
__device__ __forceinline__ double find_loss(int n, int l)
{
    double sum = 0;
    for (int i = 0; i < STEPS; i++) {
        const double x = BEAM_TAPS * ((i + 0.5) / STEPS - 0.5);
        sum += beam_spread(x) * cospi(l * x / (2 * n));
    }
    return sum * BEAM_TAPS / STEPS;
}

/* Registers of right factors: of 16 places, column c of the first 8 is place 4 (c / 2) + c % 2, of
 * the second 2 further. */
__global__ void make_table(int n, uint32_t *table)
{
    __shared__ double gain[MOST / BEAM_QUAD];
    __shared__ float wave[MOST];
    const int i0 = (int)threadIdx.x, period = BEAM_QUAD * n, chunks = 2 * n / 8;
    if (i0 < n)
        gain[i0] = (i0 ? 2 : 1) / find_loss(n, i0) / (2 * n);
    __syncthreads();
    double sum = 0;
    for (int l = 0; l < n && i0 < period; l++)
        sum += gain[l] * cospi((double)(l * i0 % period) / (2 * n));
    if (i0 < period)
        wave[i0] = (float)sum;
    __syncthreads();
    for (int i = i0; i < period / 8 * chunks * 32; i += (int)blockDim.x) {
        const int lane = i % 32, q = i / 32 % chunks * 8 + lane % 4 * 2, tile = i / 32 / chunks;
        const int place = tile / 2 * PLACES + lane / 8 * 4 + tile % 2 * 2 + lane / 4 % 2;
        table[i] = as_word(__floats2half2_rn(wave[(place - 2 * q + 2 * period) % period],
                                             wave[(place - 2 * q - 2 + 2 * period) % period]));
    }
}

template <int M, int N> void launch(const beam_k_finer &r, cudaStream_t stream)
{
    using S = refine_shape<M, N>;
    const size_t blocks = (r.nfreq * r.nrow + ROWS - 1) / ROWS;
    refine_kernel<S><<<(unsigned)blocks, S::THREADS, 0, stream>>>(r);
}

struct compiled {
    size_t m, n;
    void (*launch)(const beam_k_finer &, cudaStream_t);
};
const compiled grids[] = {
    {8, 8, launch<8, 8>},     {8, 12, launch<8, 12>},   {16, 16, launch<16, 16>},
    {16, 20, launch<16, 20>}, {24, 24, launch<24, 24>},
};

} // namespace

extern "C" size_t beam_k_refine_table_bytes(size_t n)
{
    return BEAM_QUAD * n / 8 * (2 * n / 8) * 32 * sizeof(uint32_t);
}

extern "C" cudaError_t beam_k_make_refine_table(size_t n, uint32_t *d_table, cudaStream_t stream)
{
    if (BEAM_QUAD * n > MOST)
        return cudaErrorInvalidValue;
    make_table<<<1, MOST, 0, stream>>>((int)n, d_table);
    return cudaGetLastError();
}

extern "C" cudaError_t beam_k_refine(const struct beam_k_finer *r, cudaStream_t stream)
{
    for (const compiled &g : grids)
        if (g.m == r->m && g.n == r->n) {
            g.launch(*r, stream);
            return cudaGetLastError();
        }
    return cudaErrorInvalidValue;
}
