/* beam_points.cu: intensities on the half-integer grid to arbitrary directions (Smith 2022 eq.
 * 137).
 *
 * J[b][k] = sum over p, q of U_p(b) U_q(b) I[p][q][k] is a product of a matrix that is never
 * stored with I: a warp has 32 directions and their U_q as left factors in registers, multiplies
 * them by U_p, and uses each left factor so made for TILES tiles of 8 rows k.  A thread block has
 * 256 directions of one channel; I comes two p at a time, in four stages.
 *
 * Bound: matrix products; 4 instructions make a left factor for 7 products.  46.6 KB of shared
 * memory and 2 blocks a multiprocessor for 24 x 24. */
#include "beam.h"
#include "half.cuh"

namespace
{

constexpr int WARPS = 8, THREADS = 32 * WARPS, DIRECTIONS = 32 * WARPS;
constexpr int LINES = 2;   /* values of p in a stage */
constexpr int COPIERS = 4; /* threads that copy a row of one */

template <int M_, int N_, int TILES_> struct points_shape {
    static constexpr int M = M_, N = N_, TILES = TILES_, ROWS = 8 * TILES;
    static constexpr int CHUNKS = 2 * N / 8;        /* of 8 values of q */
    static constexpr int PIECES = LINES * CHUNKS;   /* of 16 bytes, in a row of a stage */
    static constexpr int PITCH = 16 * (PIECES + 1); /* an odd number of pieces: no conflicts */
    static constexpr int BYTES = ROWS * PITCH;
    static constexpr int NSTAGE = 2 * M / LINES, STAGES = 4; /* all; in shared memory at once */
    static_assert(PIECES % 2 == 0, "products take chunks in pairs");
    static_assert(THREADS >= COPIERS * ROWS, "copies");
};

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* A thread's share of the copies: every COPIERS-th piece of a row; rows there are not repeat the
 * last. */
struct points_copy {
    const char *from;
    uint32_t to;
    int piece; /* beyond the row: none */
};

template <class S>
__device__ __forceinline__ points_copy aim_copies(const beam_k_steer &a, size_t f, size_t row0)
{
    const int mine = (int)threadIdx.x / COPIERS;
    const size_t row = min(row0 + mine, a.nrow - 1);
    points_copy c;
    c.piece = mine < S::ROWS ? (int)threadIdx.x % COPIERS : S::PIECES;
    c.from =
        static_cast<const char *>(a.d_half) + (f * a.nrow + row) * 8 * S::M * S::N + c.piece * 16;
    c.to = mine * S::PITCH + c.piece * 16;
    return c;
}

/* The next stage. */
template <class S> __device__ __forceinline__ void fetch_stage(points_copy &c, uint32_t stage)
{
#pragma unroll
    for (int i = 0; i < S::PIECES; i += COPIERS)
        if (c.piece + i < S::PIECES)
            copy_16(stage + c.to + 16 * i, c.from + 16 * i);
    c.from += 16 * S::PIECES;
}

/* One stage's share of the sums: left factors are U_q U_p, of two tiles of 16 directions. */
template <class S>
__device__ __forceinline__ void add_stage(float sum[2][S::TILES][4], const uint2 left[2][S::CHUNKS],
                                          const uint2 up[LINES], uint32_t stage)
{
#pragma unroll
    for (int c = 0; c < S::PIECES; c += 2) {
        uint32_t a[2][4];
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const uint2 x = left[h][(c + e) % S::CHUNKS], u = up[(c + e) / S::CHUNKS];
                const __half2 y = as_half2(h ? u.y : u.x);
                a[h][2 * e] = as_word(__hmul2(as_half2(x.x), __low2half2(y)));
                a[h][2 * e + 1] = as_word(__hmul2(as_half2(x.y), __high2half2(y)));
            }
#pragma unroll
        for (int j = 0; j < S::TILES; j += 2) {
            constexpr int LAST = S::TILES - 1;
            uint32_t b[4];
            if (j < LAST)
                load_matrices(stage + j * 8 * S::PITCH + c * 16, b);
            else
                load_matrix_pair(stage + j * 8 * S::PITCH + c * 16, b);
            for (int h = 0; h < 2; h++) {
                multiply_float_16(sum[h][j], a[h], b[0], b[1]);
                if (j < LAST)
                    multiply_float_16(sum[h][j < LAST ? j + 1 : j], a[h], b[2], b[3]);
            }
        }
    }
}

template <class S>
__device__ __forceinline__ void store_sums(const beam_k_steer &a, const float sum[2][S::TILES][4],
                                           size_t f, size_t b0, size_t row0, int lane)
{
    const float unit = 1 / a.d_bright[f];
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < S::TILES; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                size_t row = row0 + 8 * j + 2 * (lane & 3) + i % 2;
                size_t b = b0 + lane / 4 + 16 * h + i / 2 * 8;
                if (row < a.nrow && b < a.n_ns)
                    a.d_beam[(f * a.nrow + row) * a.n_ns + b] = sum[h][j][i] * unit;
            }
}

template <class S> __device__ __forceinline__ void steer(const beam_k_steer &a)
{
    __shared__ __align__(128) unsigned char stages[S::STAGES * S::BYTES];
    const uint32_t base = shared_address(stages);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const size_t row0 = (size_t)blockIdx.y * S::ROWS;
    const size_t tiles = (a.n_ns + 31) / 32, blocks = (tiles + WARPS - 1) / WARPS;
    const size_t f = blockIdx.x / blocks, tile = blockIdx.x % blocks * WARPS + warp;
    const bool idle = tile >= tiles; /* but copies */
    const size_t at = f * tiles + (idle ? 0 : tile);
    const uint2 *from = static_cast<const uint2 *>(a.d_ew) + at * 2 * S::CHUNKS * 32 + lane;
    const uint2 *ns = static_cast<const uint2 *>(a.d_ns) + at * 2 * S::M * 8 + lane / 4;
    uint2 left[2][S::CHUNKS], up[LINES], next[LINES];
    float sum[2][S::TILES][4] = {};
    points_copy copy = aim_copies<S>(a, f, row0);
    for (int s = 0; s < S::STAGES - 1; s++) {
        fetch_stage<S>(copy, base + s * S::BYTES);
        copies_mark();
    }
    for (int i = 0; i < 2 * S::CHUNKS; i++)
        left[i / S::CHUNKS][i % S::CHUNKS] = from[i * 32];
    for (int i = 0; i < LINES; i++)
        next[i] = ns[i * 8];
    const uint32_t mine = ((lane >> 4) * 8 + (lane & 7)) * S::PITCH + (lane >> 3 & 1) * 16;
#pragma unroll 1
    for (int s = 0; s < S::NSTAGE; s++) {
        copies_wait<S::STAGES - 2>();
        __syncthreads();
        if (s + S::STAGES - 1 < S::NSTAGE)
            fetch_stage<S>(copy, base + (s + S::STAGES - 1) % S::STAGES * S::BYTES);
        copies_mark();
        ns += LINES * 8;
        for (int i = 0; i < LINES; i++) {
            up[i] = next[i];
            if (s + 1 < S::NSTAGE)
                next[i] = ns[i * 8];
        }
        if (!idle)
            add_stage<S>(sum, left, up, base + s % S::STAGES * S::BYTES + mine);
    }
    if (!idle)
        store_sums<S>(a, sum, f, 32 * tile, row0, lane);
}

#endif

template <class S> __global__ void __launch_bounds__(THREADS, 2) points_kernel(const beam_k_steer a)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    steer<S>(a);
#endif
}

/* Sums of many rows, and of few. */
enum { MANY = 7, SOME = 4, FEW = 2 };

template <int M, int N> void launch(const beam_k_steer &s, cudaStream_t stream)
{
    const size_t tiles = (s.nrow + 7) / 8, most = tiles > SOME ? MANY : tiles > FEW ? SOME : FEW;
    const size_t blocks = (s.n_ns + DIRECTIONS - 1) / DIRECTIONS * s.nfreq;
    const dim3 grid((unsigned)blocks, (unsigned)((tiles + most - 1) / most));
    if (most == MANY)
        points_kernel<points_shape<M, N, MANY>><<<grid, THREADS, 0, stream>>>(s);
    else if (most == SOME)
        points_kernel<points_shape<M, N, SOME>><<<grid, THREADS, 0, stream>>>(s);
    else
        points_kernel<points_shape<M, N, FEW>><<<grid, THREADS, 0, stream>>>(s);
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

extern "C" cudaError_t beam_k_points(const struct beam_k_steer *s, cudaStream_t stream)
{
    for (const compiled &g : grids)
        if (g.m == s->m && g.n == s->n) {
            g.launch(*s, stream);
            return cudaGetLastError();
        }
    return cudaErrorInvalidValue;
}
