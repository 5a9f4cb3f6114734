/* beam_points.cu: refined sums to arbitrary directions.
 *
 * J[b][k] = sum over p and 8 places Q of U_p(b) spread_Q(b) g[p][Q][k], the places being the two
 * quads that all beams of a tile need (beam_tiles.cu), is a product of a matrix that is never
 * stored with g.  A thread block has BINS quads' beams of one channel, and the g of these and the
 * next quad for up to 56 rows k in shared memory; its warps take the tiles in turn.  A warp has the
 * spreads of 32 beams in registers, multiplies them by U_p, and uses each left factor so made for
 * TILES tiles of 8 rows.
 *
 * Bound: products take a third of the time and memory half; the rest is waiting for a tile's first
 * weights. */
#include "beam/beam_kernels.h"
#include "beam/beam_quantise.cuh"
#include "common/ptx.cuh"

namespace
{

/* Sums of many rows, and of few: tiles of 8. */
enum { MANY = 7, SOME = 4, FEW = 2 };

size_t choose_tiles(size_t nrow)
{
    return nrow > 8 * SOME ? MANY : nrow > 8 * FEW ? SOME : FEW;
}

constexpr int WARPS = 4, THREADS = 32 * WARPS;
constexpr int AHEAD = 4; /* pairs of p whose U are read together */

template <int M_, int N_, int BINS_, int TILES_> struct points_shape {
    static constexpr int M = M_, N = N_, BINS = BINS_, TILES = TILES_, ROWS = 8 * TILES;
    static constexpr int ACROSS = (N + BINS - 1) / BINS; /* blocks of a channel */
    static constexpr int PIECES = M;                     /* of 16 bytes, in a quad of one row */
    static constexpr int QUADS = BINS + 1, QUAD = 16 * PIECES;
    static constexpr int PITCH = QUADS * QUAD + 16; /* an odd number of pieces: no conflicts */
    static constexpr int BYTES = ROWS * PITCH;
    static constexpr int HELD = TILES == MANY ? 64 : ROWS; /* bytes of a beam's levels */
    static_assert(M % AHEAD == 0, "pairs of p in groups");
};

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* Column c of tile j is a row of sums.  For levels a lane's columns, 2 of each tile, are
 * neighbours, so that it can write them together. */
template <class S> __device__ __forceinline__ int find_row(int column, bool levels)
{
    const int j = column / 8, c = column % 8;
    return levels ? c / 2 * 2 * S::TILES + 2 * j + c % 2 : column;
}

/* Loads all quads of all rows; missing rows repeat the last. */
template <class S>
__device__ __forceinline__ void fetch_quads(const beam_k_steer &a, size_t f, int quad0, size_t row0,
                                            uint32_t to)
{
    constexpr int LINE = S::QUADS * S::PIECES;
    for (int i = (int)threadIdx.x; i < S::ROWS * LINE; i += THREADS) {
        const int column = i / LINE, piece = i % LINE, quad = quad0 + piece / S::PIECES;
        const size_t row = min(row0 + find_row<S>(column, a.nbit < 32), a.nrow - 1);
        const size_t line = (f * a.nrow + row) * S::N + (quad < S::N ? quad : quad - S::N);
        if (quad <= S::N)
            copy_16(to + column * S::PITCH + piece * 16,
                    static_cast<const uint4 *>(a.d_half) + line * S::PIECES + piece % S::PIECES);
    }
    copies_mark();
    copies_wait<0>();
    __syncthreads();
}

/* Two p's share of the sums of 32 beams; beam r of a lane is lane / 4 + 8 r. */
template <class S>
__device__ __forceinline__ void add_lines(float sum[2][S::TILES][4], const uint32_t taps[4][2],
                                          uint2 up, uint32_t lines)
{
    uint32_t a[2][4];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const __half2 u = as_half2(h ? up.y : up.x);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            a[h][2 * e] = as_word(__hmul2(as_half2(taps[2 * h][e]), __low2half2(u)));
            a[h][2 * e + 1] = as_word(__hmul2(as_half2(taps[2 * h + 1][e]), __high2half2(u)));
        }
    }
#pragma unroll
    for (int j = 0; j < S::TILES; j += 2) {
        constexpr int LAST = S::TILES - 1;
        uint32_t b[4];
        if (j < LAST)
            load_matrices(lines + j * 8 * S::PITCH, b);
        else
            load_matrix_pair(lines + j * 8 * S::PITCH, b);
        for (int h = 0; h < 2; h++) {
            multiply_float_16(sum[h][j], a[h], b[0], b[1]);
            if (j < LAST)
                multiply_float_16(sum[h][j < LAST ? j + 1 : j], a[h], b[2], b[3]);
        }
    }
}

/* A lane's part of a tile: its first factors along p, those along Q, and the beam of place
 * "lane". */
struct tile_weights {
    const uint2 *up;
    uint2 next[AHEAD];
    uint32_t taps[4][2];
    int beam;
};

/* Prefetches all that a tile needs; "at" is its number among those of all channels. */
template <class S>
__device__ __forceinline__ void call_weights(const beam_k_beams &b, size_t at, int lane)
{
    constexpr int LINES = 2 * S::M * BEAM_TILE * 2 / 128, TAPS = BEAM_TILE * 16 / 128;
    static_assert(LINES + TAPS + 1 <= 32, "a lane each");
    const char *from = lane < LINES
                           ? static_cast<const char *>(b.d_factor) + (at * LINES + lane) * 128
                       : lane < LINES + TAPS
                           ? static_cast<const char *>(b.d_taps) + (at * TAPS + lane - LINES) * 128
                           : reinterpret_cast<const char *>(b.d_beam + at * BEAM_TILE);
    prefetch_line(from);
}

template <class S>
__device__ __forceinline__ void load_weights(const beam_k_beams &b, size_t at, int lane,
                                             tile_weights &w)
{
    const uint32_t *taps = static_cast<const uint32_t *>(b.d_taps) + at * BEAM_TILE * 4;
    w.up = static_cast<const uint2 *>(b.d_factor) + at * 2 * S::M * 8 + lane % 4 / 2 * 8 + lane / 4;
    w.beam = b.d_beam[at * BEAM_TILE + lane];
    for (int i = 0; i < AHEAD; i++)
        w.next[i] = w.up[i * 16];
    for (int r = 0; r < 4; r++)
        for (int e = 0; e < 2; e++)
            w.taps[r][e] = taps[(lane / 4 + 8 * r) * 4 + 2 * e + lane % 2];
}

/* Sums of the tile's beams. */
template <class S>
__device__ __forceinline__ void sum_tile(tile_weights &w, uint32_t lines, float sum[2][S::TILES][4])
{
    uint2 now[AHEAD];
#pragma unroll 1
    for (int p = 0; p < S::M; p += AHEAD) {
        w.up += AHEAD * 16;
        for (int i = 0; i < AHEAD; i++) {
            now[i] = w.next[i];
            if (p + AHEAD < S::M)
                w.next[i] = w.up[i * 16];
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            add_lines<S>(sum, w.taps, now[i], lines + (p + i) * 16);
    }
}

/* Rows of beam r of a lane, as floats. */
template <class S>
__device__ __forceinline__ void store_floats(const float sum[S::TILES][4], int e, float unit,
                                             float *to, size_t nrow, int lane)
{
#pragma unroll
    for (int j = 0; j < S::TILES; j++)
        if (8 * j < nrow)
            *reinterpret_cast<float2 *>(to + 8 * j + 2 * (lane & 3)) =
                make_float2(sum[j][2 * e] * unit, sum[j][2 * e + 1] * unit);
}

/* As levels: of 4 TILES bytes, and two more that make 16 of 14. */
template <class S>
__device__ __forceinline__ void store_levels(const float sum[S::TILES][4], int e, float unit,
                                             const beam_scale &s, unsigned char *to, int lane)
{
    uint32_t word[(S::TILES + 1) / 2] = {};
#pragma unroll
    for (int j = 0; j < S::TILES; j++)
        word[j / 2] |= beam_quantise_pair(s, sum[j][2 * e] * unit, sum[j][2 * e + 1] * unit)
                       << j % 2 * 16;
    if (S::TILES == MANY)
        reinterpret_cast<uint4 *>(to)[lane & 3] = make_uint4(word[0], word[1], word[2], word[3]);
    else if (S::TILES == SOME)
        reinterpret_cast<uint2 *>(to)[lane & 3] = make_uint2(word[0], word[1]);
    else
        reinterpret_cast<uint32_t *>(to)[lane & 3] = word[0];
}

/* A channel's intensities from here on. */
struct points_out {
    beam_scale scale;
    float unit;
    size_t row0, nrow; /* floats: of lines, which are whole tiles */
    size_t length;
    void *to;
};

template <class S> __device__ __forceinline__ points_out place_out(const beam_k_steer &a, size_t f)
{
    points_out o = {};
    const size_t nbeam = a.n_ns;
    o.unit = 1 / a.d_bright[f];
    if (a.nbit < 32) {
        o.scale = beam_find_scale(a.d_offset, a.d_scale, a.nbit, f);
        o.length = gridDim.y * S::HELD;
        o.to = static_cast<unsigned char *>(a.d_beam) + f * nbeam * o.length + blockIdx.y * S::HELD;
    } else {
        o.row0 = (size_t)blockIdx.y * S::ROWS;
        o.length = o.nrow = (a.nrow + 7) / 8 * 8;
        o.to = static_cast<float *>(a.d_beam) + f * nbeam * o.length + o.row0;
    }
    return o;
}

/* beam: of the tile's place "lane" */
template <class S>
__device__ __forceinline__ void store_tile(const points_out &o, bool levels, int beam, int lane,
                                           const float sum[2][S::TILES][4])
{
#pragma unroll
    for (int r = 0; r < 4; r++) {
        const int mine = __shfl_sync(~0u, beam, lane / 4 + 8 * r);
        const size_t at = (size_t)mine * o.length;
        if (mine < 0)
            continue;
        if (levels)
            store_levels<S>(sum[r / 2], r % 2, o.unit, o.scale,
                            static_cast<unsigned char *>(o.to) + at, lane);
        else
            store_floats<S>(sum[r / 2], r % 2, o.unit, static_cast<float *>(o.to) + at,
                            o.nrow - o.row0, lane);
    }
}

template <class S>
__device__ __forceinline__ void steer(const beam_k_steer &a, const beam_k_beams &b)
{
    extern __shared__ __align__(128) unsigned char quads[];
    __shared__ uint32_t first[S::QUADS];
    const int lane = (int)threadIdx.x % 32, bin0 = (int)(blockIdx.x % S::ACROSS) * S::BINS;
    const size_t f = blockIdx.x / S::ACROSS;
    const uint32_t *from = b.d_first + f * (b.n + 1);
    uint32_t tile = from[bin0];
    const uint32_t end = from[min(bin0 + S::BINS, S::N)];
    if (tile == end)
        return;
    const points_out out = place_out<S>(a, f);
    tile_weights w;
    tile += threadIdx.x / 32;
    if (tile < end) {
        call_weights<S>(b, f * b.tiles + tile, lane);
        load_weights<S>(b, f * b.tiles + tile, lane, w);
    }
    if (threadIdx.x < S::QUADS)
        first[threadIdx.x] = from[min(bin0 + (int)threadIdx.x, S::N)];
    fetch_quads<S>(a, f, bin0, (size_t)blockIdx.y * S::ROWS, shared_address(quads));
    const uint32_t mine = shared_address(quads) + ((lane >> 4) * 8 + (lane & 7)) * S::PITCH +
                          (lane >> 3 & 1) * S::QUAD;
    for (int bin = 0; tile < end; tile += WARPS) {
        while (tile >= first[bin + 1])
            bin++;
        if (tile + WARPS < end)
            call_weights<S>(b, f * b.tiles + tile + WARPS, lane);
        float sum[2][S::TILES][4] = {};
        sum_tile<S>(w, mine + bin * S::QUAD, sum);
        const int beam = w.beam;
        if (tile + WARPS < end) /* overlaps with storing the sums */
            load_weights<S>(b, f * b.tiles + tile + WARPS, lane, w);
        store_tile<S>(out, a.nbit < 32, beam, lane, sum);
    }
}

#endif

template <class S>
__global__ void __launch_bounds__(THREADS, 4)
    points_kernel(const beam_k_steer a, const beam_k_beams b)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    steer<S>(a, b);
#endif
}

template <class S> cudaError_t launch_shape(const beam_k_steer &s, cudaStream_t stream)
{
    const dim3 grid((unsigned)(S::ACROSS * s.nfreq), (unsigned)((s.nrow + S::ROWS - 1) / S::ROWS));
    cudaError_t e = cudaFuncSetAttribute(points_kernel<S>,
                                         cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES);
    if (!e)
        points_kernel<S><<<grid, THREADS, S::BYTES, stream>>>(s, *s.beams);
    return e ? e : cudaGetLastError();
}

template <int M, int N, int BINS> cudaError_t launch(const beam_k_steer &s, cudaStream_t stream)
{
    switch (choose_tiles(s.nrow)) {
    case MANY:
        return launch_shape<points_shape<M, N, BINS, MANY>>(s, stream);
    case SOME:
        return launch_shape<points_shape<M, N, BINS, SOME>>(s, stream);
    default:
        return launch_shape<points_shape<M, N, BINS, FEW>>(s, stream);
    }
}

struct compiled {
    size_t m, n;
    cudaError_t (*launch)(const beam_k_steer &, cudaStream_t);
};
const compiled grids[] = {
    {8, 8, launch<8, 8, 4>},     {8, 12, launch<8, 12, 4>},   {16, 16, launch<16, 16, 2>},
    {16, 20, launch<16, 20, 2>}, {24, 24, launch<24, 24, 1>},
};

} // namespace

extern "C" struct beam_k_lines beam_k_points_lines(size_t nbeam, size_t nrow, int levels)
{
    const size_t tiles = choose_tiles(nrow), blocks = (nrow + 8 * tiles - 1) / (8 * tiles);
    struct beam_k_lines l = {};
    l.count = nbeam;
    l.run = levels ? 2 * (unsigned)tiles : 8;
    l.hold = levels && tiles == MANY ? 16 : l.run;
    l.length = levels ? blocks * 4 * l.hold : (nrow + 7) / 8 * 8;
    return l;
}

extern "C" cudaError_t beam_k_points(const struct beam_k_steer *s, cudaStream_t stream)
{
    for (const compiled &g : grids)
        if (g.m == s->m && g.n == s->n)
            return g.launch(*s, stream);
    return cudaErrorInvalidValue;
}
