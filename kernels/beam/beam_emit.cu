/* beam_emit.cu: transposes intensities, from the order in which they were computed to rows of
 * filterbanks, by squares of channels x elements in shared memory.  Bound: device memory. */
#include "beam/beam_kernels.h"
#include "beam/beam_quantise.cuh"

namespace
{

constexpr int THREADS = 256;

/* Where an element of a channel's lines goes: row k of its beam, "row" of all. */
struct row_place {
    size_t row;
    uint32_t k; /* NOWHERE: not an intensity */
};
constexpr uint32_t NOWHERE = ~0u;

__device__ __forceinline__ row_place find_place(const beam_k_rows &r, uint32_t x)
{
    const beam_k_lines &l = r.lines;
    const uint32_t length = (uint32_t)l.length, nrow = (uint32_t)r.nrow;
    const uint32_t line = x / length, i = x - line * length;
    uint32_t k, beam;
    bool exists = line < l.count;
    if (l.hold) {
        k = i / l.hold * l.run + i % l.hold;
        exists = exists && i % l.hold < l.run && k < nrow;
        beam = line;
    } else {
        k = line / l.tiles;
        const uint32_t ns = i / l.side, ew = (line - k * l.tiles) * l.side + i - ns * l.side;
        exists = exists && ew < l.n_ew;
        beam = ns * l.n_ew + ew;
    }
    return {(size_t)beam * r.stride + k, exists ? k : NOWHERE};
}

/* Of n elements from x0 on. */
__device__ __forceinline__ void find_places(const beam_k_rows &r, size_t x0, int n,
                                            row_place *place)
{
    for (int i = (int)threadIdx.x; i < n; i += THREADS)
        place[i] = find_place(r, (uint32_t)(x0 + i));
}

/* Rows of each of the channels f0 .. f0 + n - 1. */
__device__ __forceinline__ void count_rows(const beam_k_rows &r, size_t f0, int n, uint32_t *count)
{
    for (size_t i = threadIdx.x; i < (size_t)n && f0 + i < r.nfreq; i += THREADS) {
        const uint64_t tds = r.d_tds[f0 + i];
        count[i] = (uint32_t)((r.t0 + r.nt) / tds - r.t0 / tds);
    }
}

/* --- floats ----------------------------------------------------------------------------------- */

constexpr int SIDE = 64, HIGH = THREADS / SIDE;

/* A byte has two channels of 4 bits, the first in its low bits. */
template <int NBIT>
__device__ __forceinline__ void store(const beam_k_rows &r, size_t f, size_t row, float x, float y)
{
    const size_t at = row * r.nfreq + f;
    if (NBIT == 32)
        static_cast<float *>(r.d_out)[at] = x;
    if (NBIT == 8)
        static_cast<uint8_t *>(r.d_out)[at] =
            (uint8_t)beam_quantise(beam_find_scale(r.d_offset, r.d_scale, 8, f), x);
    if (NBIT == 4 && f % 2 == 0)
        static_cast<uint8_t *>(r.d_out)[at / 2] =
            (uint8_t)(beam_quantise(beam_find_scale(r.d_offset, r.d_scale, 4, f), x) |
                      beam_quantise(beam_find_scale(r.d_offset, r.d_scale, 4, f + 1), y) << 4);
}

template <int NBIT> __global__ void __launch_bounds__(THREADS) emit_floats(const beam_k_rows r)
{
    __shared__ float square[SIDE][SIDE + 1];
    __shared__ uint32_t count[SIDE];
    __shared__ row_place place[SIDE];
    const size_t lines = r.lines.count * r.lines.length, across = (r.nfreq + SIDE - 1) / SIDE;
    const size_t f0 = blockIdx.x % across * SIDE, x0 = blockIdx.x / across * SIDE;
    const int i = (int)threadIdx.x % SIDE, high = (int)threadIdx.x / SIDE;
    const float *from = static_cast<const float *>(r.d_beam) + f0 * lines + x0 + i;
#pragma unroll
    for (int j = high; j < SIDE; j += HIGH)
        square[i][j] = f0 + j < r.nfreq && x0 + i < lines ? __ldcs(from + j * lines) : 0;
    count_rows(r, f0, SIDE, count);
    find_places(r, x0, SIDE, place);
    __syncthreads();
    if (f0 + i >= r.nfreq)
        return;
    const float none = NBIT == 32 ? 0 : nanf("");
    for (int j = high; j < SIDE; j += HIGH) {
        const row_place p = place[j];
        if (p.k != NOWHERE)
            store<NBIT>(r, f0 + i, p.row, p.k < count[i] ? square[j][i] : none,
                        NBIT == 4 && p.k < count[i | 1] ? square[j][i | 1] : none);
    }
}

/* --- levels ----------------------------------------------------------------------------------- */

constexpr int EDGE = 128, WORDS = EDGE / 4, PIECE = 16; /* channels x bytes of lines */

/* Word c of line f; its channels' 16 lines of a thread are 4 banks beside those of the next. */
__device__ __forceinline__ int find_word(int f, int c)
{
    return f * WORDS + (c + f / PIECE * 4) % WORDS;
}

/* 4 x 4 bytes, transposed. */
__device__ __forceinline__ void transpose_bytes(const uint32_t x[4], uint32_t y[4])
{
    const uint32_t lo = __byte_perm(x[0], x[1], 0x5140), hi = __byte_perm(x[2], x[3], 0x5140);
    const uint32_t lo2 = __byte_perm(x[0], x[1], 0x7362), hi2 = __byte_perm(x[2], x[3], 0x7362);
    y[0] = __byte_perm(lo, hi, 0x5410);
    y[1] = __byte_perm(lo, hi, 0x7632);
    y[2] = __byte_perm(lo2, hi2, 0x5410);
    y[3] = __byte_perm(lo2, hi2, 0x7632);
}

/* 4 bytes of 4 bits to 2. */
__device__ __forceinline__ uint32_t pack_nibbles(uint32_t x)
{
    const uint32_t y = (x | x >> 4) & 0x00ff00ffu;
    return (y | y >> 8) & 0xffffu;
}

/* 16 channels of one row. */
template <int NBIT>
__device__ __forceinline__ void store_piece(const beam_k_rows &r, size_t f, size_t row,
                                            const uint32_t x[4])
{
    uint8_t *to = static_cast<uint8_t *>(r.d_out) + (row * r.nfreq + f) * NBIT / 8;
    if (r.nfreq % PIECE == 0) {
        if (NBIT == 8)
            *reinterpret_cast<uint4 *>(to) = make_uint4(x[0], x[1], x[2], x[3]);
        else
            *reinterpret_cast<uint2 *>(to) =
                make_uint2(pack_nibbles(x[0]) | pack_nibbles(x[1]) << 16,
                           pack_nibbles(x[2]) | pack_nibbles(x[3]) << 16);
        return;
    }
#pragma unroll
    for (int i = 0; i < PIECE; i += 8 / NBIT)
        if (f + i < r.nfreq)
            *to++ =
                (uint8_t)(NBIT == 8 ? x[i / 4] >> i % 4 * 8 : pack_nibbles(x[i / 4]) >> i % 4 * 4);
}

/* Levels of channels that have no row k become 0. */
__device__ __forceinline__ void drop_missing(uint32_t x[4], const uint32_t count[PIECE], size_t k)
{
#pragma unroll
    for (int i = 0; i < PIECE; i++)
        if (k >= count[i])
            x[i / 4] &= ~(0xffu << i % 4 * 8);
}

__device__ __forceinline__ void fetch_levels(const beam_k_rows &r, size_t f0, size_t x0,
                                             uint32_t *square)
{
    const size_t lines = r.lines.count * r.lines.length;
    const int c = (int)threadIdx.x % (EDGE / PIECE);
    const uint8_t *from = static_cast<const uint8_t *>(r.d_beam) + f0 * lines + x0 + c * PIECE;
#pragma unroll
    for (int n = 0; n < EDGE * EDGE / PIECE / THREADS; n++) {
        const int f = (int)threadIdx.x / (EDGE / PIECE) + n * (THREADS * PIECE / EDGE);
        if (f0 + f < r.nfreq && x0 + c * PIECE < lines)
            *reinterpret_cast<uint4 *>(square + find_word(f, 4 * c)) =
                __ldcs(reinterpret_cast<const uint4 *>(from + f * lines));
    }
}

template <int NBIT> __global__ void __launch_bounds__(THREADS) emit_levels(const beam_k_rows r)
{
    __shared__ __align__(16) uint32_t square[EDGE * WORDS];
    __shared__ uint32_t count[EDGE];
    __shared__ row_place place[EDGE];
    const size_t across = (r.nfreq + EDGE - 1) / EDGE;
    const size_t f0 = blockIdx.x % across * EDGE, x0 = blockIdx.x / across * EDGE;
    const int piece = (int)threadIdx.x % (EDGE / PIECE), c = (int)threadIdx.x / (EDGE / PIECE);
    fetch_levels(r, f0, x0, square);
    count_rows(r, f0, EDGE, count);
    find_places(r, x0, EDGE, place);
    __syncthreads();
    if (f0 + piece * PIECE >= r.nfreq)
        return;
    uint32_t transposed[4][4], line[4][4], least = ~0u;
    for (int i = 0; i < PIECE; i++)
        least = min(least, count[piece * PIECE + i]);
    for (int n = 0; n < 4; n++) {
        for (int i = 0; i < 4; i++)
            line[n][i] = square[find_word(piece * PIECE + 4 * n + i, c)];
        transpose_bytes(line[n], transposed[n]);
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const row_place p = place[4 * c + j];
        uint32_t x[4] = {transposed[0][j], transposed[1][j], transposed[2][j], transposed[3][j]};
        if (p.k >= least)
            drop_missing(x, count + piece * PIECE, p.k);
        if (p.k != NOWHERE)
            store_piece<NBIT>(r, f0 + piece * PIECE, p.row, x);
    }
}

size_t count_squares(const beam_k_rows &r, size_t side)
{
    return (r.nfreq + side - 1) / side * ((r.lines.count * r.lines.length + side - 1) / side);
}

} // namespace

extern "C" cudaError_t beam_k_emit(const struct beam_k_rows *r, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)count_squares(*r, r->levels ? EDGE : SIDE);
    if (r->lines.count * r->lines.length > UINT32_MAX - EDGE)
        return cudaErrorInvalidValue;
    if (r->levels && r->nbit == 8)
        emit_levels<8><<<blocks, THREADS, 0, stream>>>(*r);
    else if (r->levels)
        emit_levels<4><<<blocks, THREADS, 0, stream>>>(*r);
    else if (r->nbit == 32)
        emit_floats<32><<<blocks, THREADS, 0, stream>>>(*r);
    else if (r->nbit == 8)
        emit_floats<8><<<blocks, THREADS, 0, stream>>>(*r);
    else
        emit_floats<4><<<blocks, THREADS, 0, stream>>>(*r);
    return cudaGetLastError();
}
