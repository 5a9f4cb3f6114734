/* dedisp_tile.cuh: what the summing warps of the tensor kernel do with a group of channels (private
 * to dedisp.cu). */
#ifndef PSR_KERNELS_DEDISP_TILE_CUH
#define PSR_KERNELS_DEDISP_TILE_CUH

#include "dedisp_cta.cuh"

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

namespace
{

constexpr int TRIALS_PER_WARP = DEDISP_TRIALS / WARPS, WORDS = HALF / 32;

/* Four bytes of a row from a given bit of a word on. */
__device__ __forceinline__ uint32_t moved_word(const cta &b, uint32_t word, uint32_t bits)
{
    const uint32_t *x = (const uint32_t *)b.rows + word;
    return __funnelshift_r(x[0], x[1], bits);
}

/* Rows to tile.  A lane takes four times of the 16 channels of a plane: it moves each channel's
 * bytes to their place, turns squares of four by four, and writes whole rows of the tile, of which
 * eight lanes next to each other fill all banks because they take their four times in different
 * orders. */
__device__ __forceinline__ void turn_rows(const cta &b, const struct job &job, int j,
                                          const struct dedisp_stage &st)
{
    const int plane = b.warp & 1, need = st.need;
    const int order = b.lane >> 1 & 3; /* time number i is i ^ order */
    const uint32_t pair0 = order & 2 ? 0x7362 : 0x5140, pair1 = order & 2 ? 0x5140 : 0x7362;
    const uint32_t time0 = order & 1 ? 0x7632 : 0x5410, time1 = order & 1 ? 0x5410 : 0x7632;
    const struct places &at = b.places[j & 1];
    uint4 *tile = (uint4 *)(b.tile + plane * job.shape.plane_pitch);
#pragma unroll 1
    for (int u = b.warp / 2 * 32 + b.lane; 4 * u < need; u += WARPS / 2 * 32) {
        uint32_t row[4][4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const uint4 word = at.word[4 * plane + q], bits = at.bits[4 * plane + q];
            uint32_t v[4] = {moved_word(b, word.x + u, bits.x), moved_word(b, word.y + u, bits.y),
                             moved_word(b, word.z + u, bits.z), moved_word(b, word.w + u, bits.w)};
            uint32_t x = __byte_perm(v[0], v[1], pair0), y = __byte_perm(v[2], v[3], pair0);
            row[0][q] = __byte_perm(x, y, time0);
            row[1][q] = __byte_perm(x, y, time1);
            x = __byte_perm(v[0], v[1], pair1);
            y = __byte_perm(v[2], v[3], pair1);
            row[2][q] = __byte_perm(x, y, time0);
            row[3][q] = __byte_perm(x, y, time1);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            tile[4 * u + (i ^ order)] = make_uint4(row[i][0], row[i][1], row[i][2], row[i][3]);
    }
}

/* Address of a lane's row of the first operand: both planes of the early half of the stretch, then
 * both of the late half. */
__device__ __forceinline__ uint32_t operand_rows(const cta &b, const struct job &job)
{
    return shared_address(b.tile) + (b.lane / 8 % 2) * job.shape.plane_pitch +
           (b.lane % 8 + b.lane / 16 * HALF) * 16;
}

template <int S>
__device__ __forceinline__ void load_hot(const cta &b, const struct dedisp_stage &st, int half,
                                         uint32_t a[S][4])
{
    const uint4 hot = st.hot[half][b.lane];
#pragma unroll
    for (int s = 0; s < S; s++) {
        a[s][0] = (hot.x >> s) & 0x01010101u;
        a[s][1] = (hot.y >> s) & 0x01010101u;
        a[s][2] = (hot.z >> s) & 0x01010101u;
        a[s][3] = (hot.w >> s) & 0x01010101u;
    }
}

template <bool FIRST>
__device__ __forceinline__ void multiply_one(int lo[4], int hi[4], const uint32_t a[4],
                                             const uint32_t x[4])
{
    if (FIRST) {
        multiply(lo, a, x[0], x[1]);
        multiply(hi, a, x[2], x[3]);
    } else {
        multiply_add(lo, a, x[0], x[1]);
        multiply_add(hi, a, x[2], x[3]);
    }
}

__device__ __forceinline__ void store_partial(uint32_t *to, int pitch, const int lo[4],
                                              const int hi[4])
{
    *(uint2 *)to = make_uint2(lo[0] + (hi[0] << 16), lo[1] + (hi[1] << 16));
    *(uint2 *)(to + 8 * pitch) = make_uint2(lo[2] + (hi[2] << 16), lo[3] + (hi[3] << 16));
}

/* Tile to partial sums where both halves of the trials have the same window: a warp does all 32,
 * and loads each operand once. */
template <int S>
__device__ __forceinline__ void multiply_both(const cta &b, const struct job &job,
                                              const struct dedisp_stage &st)
{
    const int pitch = job.shape.partial_pitch, n = (HALF + st.spread + 7) / 8;
    uint32_t a[2][S][4];
    load_hot<S>(b, st, 0, a[0]);
    load_hot<S>(b, st, 1, a[1]);
    uint32_t *to = b.partial + b.lane / 4 * pitch + 2 * (b.lane % 4) + 8 * b.warp;
    uint32_t from = operand_rows(b, job) + 128 * b.warp;
    for (int i = b.warp; i < n; i += WARPS, to += 8 * WARPS, from += 128 * WARPS) {
        int lo[2][4], hi[2][4];
        uint32_t x[S][4];
#pragma unroll
        for (int s = 0; s < S; s++)
            load_matrices(from + 16 * s, x[s]);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            multiply_one<true>(lo[half], hi[half], a[half][0], x[0]);
#pragma unroll
            for (int s = 1; s < S; s++)
                multiply_one<false>(lo[half], hi[half], a[half][s], x[s]);
            store_partial(to + half * DEDISP_MROW * pitch, pitch, lo[half], hi[half]);
        }
    }
}

/* Tile to partial sums of 16 trials; half of the warps do either half of the trials. */
template <int S>
__device__ __forceinline__ void multiply_half(const cta &b, const struct job &job,
                                              const struct dedisp_stage &st)
{
    const int half = b.warp & 1, pitch = job.shape.partial_pitch, n = (HALF + st.spread + 7) / 8;
    uint32_t a[S][4];
    load_hot<S>(b, st, half, a);
    uint32_t *to = b.partial + (half * DEDISP_MROW + b.lane / 4) * pitch + 2 * (b.lane % 4);
    uint32_t from = operand_rows(b, job) + st.window[half] * 16;
    for (int i = b.warp / 2; i < n; i += WARPS / 2) {
        int lo[4], hi[4];
        uint32_t x[4];
        load_matrices(from + 128 * i, x);
        multiply_one<true>(lo, hi, a[0], x);
#pragma unroll
        for (int s = 1; s < S; s++) {
            load_matrices(from + 128 * i + 16 * s, x);
            multiply_one<false>(lo, hi, a[s], x);
        }
        store_partial(to + 8 * i, pitch, lo, hi);
    }
}

__device__ __forceinline__ void multiply_stage(const cta &b, const struct job &job,
                                               const struct dedisp_stage &st)
{
    switch (st.window[1] ? 0 : st.nshift) {
    case 1:
        return multiply_both<1>(b, job, st);
    case 2:
        return multiply_both<2>(b, job, st);
    case 3:
        return multiply_both<3>(b, job, st);
    }
    switch (st.nshift) {
    case 1:
    case 2:
        return multiply_half<2>(b, job, st);
    case 3:
        return multiply_half<3>(b, job, st);
    case 4:
        return multiply_half<4>(b, job, st);
    case 5:
        return multiply_half<5>(b, job, st);
    case 6:
        return multiply_half<6>(b, job, st);
    case 7:
        return multiply_half<7>(b, job, st);
    default:
        return multiply_half<8>(b, job, st);
    }
}

struct sums {
    uint32_t word[TRIALS_PER_WARP][WORDS], high[TRIALS_PER_WARP][WORDS];
};

__device__ __forceinline__ void scale(sums &total, uint32_t by)
{
#pragma unroll
    for (int i = 0; i < TRIALS_PER_WARP; i++)
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            total.word[i][w] *= by;
            total.high[i][w] *= by;
        }
}

__device__ __forceinline__ void add_partial(const cta &b, const struct job &job,
                                            const struct dedisp_stage &st, sums &total)
{
#pragma unroll
    for (int i = 0; i < TRIALS_PER_WARP; i++) {
        int m = b.warp * TRIALS_PER_WARP + i;
        const uint32_t *from = b.partial + m * job.shape.partial_pitch + st.shift[m] + b.lane;
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            uint32_t v = from[32 * w];
            total.word[i][w] += v;
            total.high[i][w] = __dp2a_lo(v, 0x0100u, total.high[i][w]);
        }
    }
}

__device__ __forceinline__ float finish(const struct dedisp_k_io &io, uint32_t sum)
{
    if (io.downsamp == 1 && io.bias == 0)
        return (float)sum;
    return (float)(((double)sum - io.bias) / io.downsamp);
}

__device__ __forceinline__ void write_sums(const cta &b, const struct dedisp_k_io &io,
                                           const struct dedisp_k_block &block,
                                           const struct dedisp_stage *stage, size_t t0,
                                           const sums &total)
{
    int half = (block.n + 1) / 2;
#pragma unroll
    for (int i = 0; i < TRIALS_PER_WARP; i++) {
        int m = b.warp * TRIALS_PER_WARP + i, trial = m < DEDISP_MROW ? m : half + m - DEDISP_MROW;
        if (m < DEDISP_MROW ? m >= half : trial >= (int)block.n)
            continue;
        float *out = io.d_out + io.d_row[block.first + trial] * io.out_pitch;
        const long long from = (long long)t0 - stage->late[m], end = (long long)io.nout;
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            const long long t = from + b.lane + 32 * w;
            if (t >= 0 && t < end)
                out[t] = finish(io, total.word[i][w] - (total.high[i][w] << 16));
            if (t + HALF >= 0 && t + HALF < end)
                out[t + HALF] = finish(io, total.high[i][w]);
        }
    }
}

} // namespace

#endif
#endif
