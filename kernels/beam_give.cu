/* beam_give.cu: sums of beams in the order they were made to rows of filterbanks, quantised:
 * squares of 32 channels x 32 beams through shared memory.  Bound: device memory. */
#include "beam.h"

namespace
{

constexpr int SIDE = 32, ROWS = 8; /* of threads */

/* As psr_beam_level. */
__device__ __forceinline__ unsigned level(float x, float offset, float scale, float top)
{
    const float y = __fmul_rn(__fsub_rn(x, offset), scale);
    return y > 0 ? (unsigned)rintf(y < top ? y : top) : 0;
}

/* Beams of a channel that has no row k become 0. */
__device__ __forceinline__ void fetch_square(const beam_k_rows &r, size_t f0, size_t b0, size_t k,
                                             const size_t count[SIDE], float square[SIDE][SIDE + 1])
{
    const float none = r.nbit == 32 ? 0 : nanf("");
    for (int i = (int)threadIdx.y; i < SIDE; i += ROWS) {
        const size_t f = f0 + i, b = b0 + threadIdx.x;
        if (f < r.nfreq && b < r.nbeam)
            square[threadIdx.x][i] =
                k < count[i] ? __ldcs(r.d_beam + (f * r.nrow + k) * r.nbeam + b) : none;
    }
}

/* A byte has two channels of 4 bits, the first in its low bits. */
template <int NBIT>
__device__ __forceinline__ void store(const beam_k_rows &r, size_t f, size_t row, const float *x)
{
    if (NBIT == 32)
        static_cast<float *>(r.d_out)[row * r.nfreq + f] = x[0];
    else if (NBIT == 8)
        static_cast<uint8_t *>(r.d_out)[row * r.nfreq + f] =
            (uint8_t)level(x[0], r.d_offset[f], r.d_scale[f], 255);
    else if (f % 2 == 0)
        static_cast<uint8_t *>(r.d_out)[(row * r.nfreq + f) / 2] =
            (uint8_t)(level(x[0], r.d_offset[f], r.d_scale[f], 15) |
                      level(x[1], r.d_offset[f + 1], r.d_scale[f + 1], 15) << 4);
}

template <int NBIT> __global__ void give(const beam_k_rows r)
{
    __shared__ float square[SIDE][SIDE + 1];
    __shared__ size_t count[SIDE]; /* of a channel's rows */
    const size_t across = (r.nfreq + SIDE - 1) / SIDE;
    const size_t f0 = blockIdx.x % across * SIDE, b0 = blockIdx.x / across * SIDE;
    if (threadIdx.y == 0 && f0 + threadIdx.x < r.nfreq) {
        const uint64_t tds = r.d_tds[f0 + threadIdx.x];
        count[threadIdx.x] = (r.t0 + r.nt) / tds - r.t0 / tds;
    }
    __syncthreads();
    for (size_t k = blockIdx.y; k < r.nrow; k += gridDim.y) {
        fetch_square(r, f0, b0, k, count, square);
        __syncthreads();
        for (int i = (int)threadIdx.y; i < SIDE; i += ROWS)
            if (b0 + i < r.nbeam && f0 + threadIdx.x < r.nfreq)
                store<NBIT>(r, f0 + threadIdx.x, (b0 + i) * r.nrow + k, &square[i][threadIdx.x]);
        __syncthreads();
    }
}

} // namespace

extern "C" cudaError_t beam_k_give(const struct beam_k_rows *r, cudaStream_t stream)
{
    const size_t squares = (r->nfreq + SIDE - 1) / SIDE * ((r->nbeam + SIDE - 1) / SIDE);
    const dim3 blocks((unsigned)squares, r->nrow < 64 ? (unsigned)(r->nrow + 7) / 8 : 8);
    const dim3 threads(SIDE, ROWS);
    if (r->nbit == 32)
        give<32><<<blocks, threads, 0, stream>>>(*r);
    else if (r->nbit == 8)
        give<8><<<blocks, threads, 0, stream>>>(*r);
    else
        give<4><<<blocks, threads, 0, stream>>>(*r);
    return cudaGetLastError();
}
