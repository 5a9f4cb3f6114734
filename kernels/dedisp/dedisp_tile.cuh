/* dedisp_tile.cuh: what the summing warps of the tensor kernel do with a group of channels (private
 * to dedisp.cu). */
#ifndef PSR_KERNELS_DEDISP_TILE_CUH
#define PSR_KERNELS_DEDISP_TILE_CUH

#include "dedisp/dedisp_cta.cuh"

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

namespace
{

/* Four bytes of a row from a given bit of a word on. */
__device__ __forceinline__ uint32_t moved_word(const cta &b, uint32_t word, uint32_t bits)
{
    const uint32_t *x = (const uint32_t *)b.rows + word;
    return __funnelshift_r(x[0], x[1], bits);
}

/* Rows to tile.  A lane takes four times of the 16 channels of a plane: it moves each channel's
 * bytes to their place, transposes squares of four by four, and writes whole rows of the tile, of which
 * eight lanes next to each other fill all banks because they take their four times in different
 * orders. */
__device__ __forceinline__ void transpose_rows(const cta &b, const struct job &job, int j,
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
            const uint4 word = ((const uint4 *)at.word)[4 * plane + q],
                        bits = ((const uint4 *)at.bits)[4 * plane + q];
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

/* Bit s of each byte, as 1 << up, up to 1. */
template <int S>
__device__ __forceinline__ void load_hot(const cta &b, const struct dedisp_stage &st, int half,
                                         int up, uint32_t a[S][4])
{
    const uint4 hot = st.hot[half][b.lane];
    uint32_t word[4] = {hot.x, hot.y, hot.z, hot.w};
    const uint32_t mask = 0x01010101u << up;
    if (S < 8 && up) /* else the last bit would be lost */
#pragma unroll
        for (int i = 0; i < 4; i++)
            word[i] <<= 1;
#pragma unroll
    for (int s = 0; s < S; s++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[s][i] = (S < 8 ? word[i] >> s : s ? word[i] >> (s - up) : word[i] << up) & mask;
}

/* Address of a lane's row of tile 0: both planes of the early half of the stretch, then both of the
 * late half. */
template <int KIND>
__device__ __forceinline__ uint32_t operand_rows(const cta &b, const struct job &job,
                                                 const struct dedisp_stage &st, int half)
{
    const int plane = b.lane / 8 % 2;
    const int t = b.lane % 8 * st.ntile + b.lane / 16 * form<KIND>::HALF + st.window[half][plane];
    return shared_address(b.tile) + plane * job.shape.plane_pitch + 16 * t;
}

/* Sums of 16 trials at eight times of the early and of the late half of the stretch. */
struct product {
    int lo[4], hi[4];
};

/* Two sums ntile samples apart of a row, and of the eighth from it, "lower" words on. */
__device__ __forceinline__ void store_partial(uint32_t *to, int lower, int ntile, const product &p)
{
    to[0] = p.lo[0] + (p.hi[0] << 16);
    to[ntile] = p.lo[1] + (p.hi[1] << 16);
    to[lower] = p.lo[2] + (p.hi[2] << 16);
    to[lower + ntile] = p.lo[3] + (p.hi[3] << 16);
}

/* Products of one tile with both halves of the trials, or of one or two tiles with one half.
 * Operand number s of the first tile is x[first + s] of a ring; once it is not needed any more,
 * another is loaded from "next" on in its place. */
template <int S, int HALVES, int TILES>
__device__ __forceinline__ void
multiply_step(product p[HALVES * TILES], const uint32_t a[HALVES][S][4],
              uint32_t x[S + TILES - 1][4], int first, uint32_t next)
{
    constexpr int RING = S + TILES - 1;
#pragma unroll
    for (int s = 0; s < S; s++) {
#pragma unroll
        for (int e = 0; e < HALVES * TILES; e++) {
            const uint32_t *hot = a[e % HALVES][s], *moved = x[(first + s + e / HALVES) % RING];
            if (s == 0) {
                multiply(p[e].lo, hot, moved[0], moved[1]);
                multiply(p[e].hi, hot, moved[2], moved[3]);
            } else {
                multiply_add(p[e].lo, hot, moved[0], moved[1]);
                multiply_add(p[e].hi, hot, moved[2], moved[3]);
            }
        }
        if (s < TILES)
            load_matrices(next + 16 * s, x[(first + s) % RING]);
    }
}

/* Tile to partial sums.  A warp has both halves of the trials if they have the same windows, else
 * half of the warps have each; a narrow block has one.  It has tiles in turn, TILES at once, so
 * that it loads an operand once and not for every s. */
template <int KIND, int S, int HALVES, int TILES>
__device__ __forceinline__ void multiply_tiles(const cta &b, const struct job &job,
                                               const struct dedisp_stage &st, int up)
{
    constexpr unsigned SPLIT = form<KIND>::ROWS / DEDISP_MROW / HALVES;
    constexpr unsigned SHARES = WARPS / SPLIT, RING = S + TILES - 1;
    const unsigned half = b.warp % SPLIT, share = b.warp / SPLIT;
    const unsigned ntile = st.ntile, nstep = (ntile + TILES - 1) / TILES;
    const unsigned first = nstep * share / SHARES * TILES;
    const unsigned end = min(nstep * (share + 1) / SHARES * TILES, ntile);
    const unsigned row = half * DEDISP_MROW + b.lane / 4, lower = 8 * job.shape.partial_pitch + 2;
    uint32_t a[HALVES][S][4], x[RING][4];
    for (int h = 0; h < HALVES; h++)
        load_hot<S>(b, st, half + h, up, a[h]);
    uint32_t from = operand_rows<KIND>(b, job, st, half) + 16 * first;
    uint32_t *to = b.partial + partial_row(job.shape, row) + b.lane % 4 * 2 * ntile + first;
    int left = end - first;
#pragma unroll
    for (int s = 0; s < RING; s++, from += 16)
        load_matrices(from, x[s]);
    for (;;)
#pragma unroll
        for (int i = 0; i < RING; i++, from += 16 * TILES, to += TILES, left -= TILES) {
            product p[HALVES * TILES];
            if (left <= 0)
                return;
            multiply_step<S, HALVES, TILES>(p, a, x, i * TILES, from);
            store_partial(to, lower, ntile, p[0]);
            if (HALVES == 2)
                store_partial(to + 2 * lower, lower, ntile, p[1]);
            if (TILES == 2 && left > 1)
                store_partial(to + 1, lower, ntile, p[1]);
        }
}

__device__ __forceinline__ void multiply_wide(const cta &b, const struct job &job,
                                              const struct dedisp_stage &st, int up)
{
    switch (st.window[0][0] | st.window[1][1] ? 0 : st.nshift) {
    case 1:
        return multiply_tiles<DEDISP_WIDE, 1, 2, 1>(b, job, st, up);
    case 2:
        return multiply_tiles<DEDISP_WIDE, 2, 2, 1>(b, job, st, up);
    case 3:
        return multiply_tiles<DEDISP_WIDE, 3, 2, 1>(b, job, st, up);
    }
    switch (st.nshift) {
    case 2:
        return multiply_tiles<DEDISP_WIDE, 2, 1, 2>(b, job, st, up);
    case 3:
        return multiply_tiles<DEDISP_WIDE, 3, 1, 2>(b, job, st, up);
    case 4:
        return multiply_tiles<DEDISP_WIDE, 4, 1, 2>(b, job, st, up);
    case 5:
        return multiply_tiles<DEDISP_WIDE, 5, 1, 2>(b, job, st, up);
    default:
        return multiply_tiles<DEDISP_WIDE, 6, 1, 1>(b, job, st, up);
    }
}

__device__ __forceinline__ void multiply_narrow(const cta &b, const struct job &job,
                                                const struct dedisp_stage &st, int up)
{
    switch (st.nshift) {
    case 1:
    case 2:
        return multiply_tiles<DEDISP_NARROW, 2, 1, 2>(b, job, st, up);
    case 3:
        return multiply_tiles<DEDISP_NARROW, 3, 1, 2>(b, job, st, up);
    case 4:
        return multiply_tiles<DEDISP_NARROW, 4, 1, 2>(b, job, st, up);
    case 5:
        return multiply_tiles<DEDISP_NARROW, 5, 1, 2>(b, job, st, up);
    case 6:
        return multiply_tiles<DEDISP_NARROW, 6, 1, 2>(b, job, st, up);
    case 7:
        return multiply_tiles<DEDISP_NARROW, 7, 1, 1>(b, job, st, up);
    default:
        return multiply_tiles<DEDISP_NARROW, 8, 1, 1>(b, job, st, up);
    }
}

/* Sums 1 << up times. */
template <int KIND>
__device__ __forceinline__ void multiply_stage(const cta &b, const struct job &job,
                                               const struct dedisp_stage &st, int up)
{
    if (KIND == DEDISP_WIDE)
        multiply_wide(b, job, st, up);
    else
        multiply_narrow(b, job, st, up);
}

template <int KIND> struct sums {
    static constexpr int ROWS = form<KIND>::TRIALS_PER_WARP, WORDS = form<KIND>::WORDS;
    uint32_t word[ROWS][WORDS], high[ROWS][WORDS];
};

template <int KIND> __device__ __forceinline__ void scale(sums<KIND> &total, uint32_t by)
{
#pragma unroll
    for (int i = 0; i < total.ROWS; i++)
#pragma unroll
        for (int w = 0; w < total.WORDS; w++) {
            total.word[i][w] *= by;
            total.high[i][w] *= by;
        }
}

/* Adds sums "by" times, which is a byte. */
template <int KIND>
__device__ __forceinline__ void add_partial(const cta &b, const struct job &job,
                                            const struct dedisp_stage &st, uint32_t by,
                                            sums<KIND> &total)
{
#pragma unroll
    for (int i = 0; i < total.ROWS; i++) {
        int m = b.warp * total.ROWS + i;
        const uint32_t *from = b.partial + partial_row(job.shape, m) + st.shift[m] + b.lane;
#pragma unroll
        for (int w = 0; w < total.WORDS; w++) {
            uint32_t v = from[32 * w];
            total.word[i][w] += by * v;
            total.high[i][w] = __dp2a_lo(v, by << 8, total.high[i][w]);
        }
    }
}

__device__ __forceinline__ float finish(const struct dedisp_k_io &io, uint32_t sum)
{
    if (io.downsamp == 1 && io.bias == 0)
        return (float)sum;
    return (float)(((double)sum - io.bias) / io.downsamp);
}

template <int KIND>
__device__ __forceinline__ void
write_sums(const cta &b, const struct dedisp_k_io &io, const struct dedisp_k_block &block,
           const struct dedisp_stage *stage, size_t t0, const sums<KIND> &total)
{
    const int half = dedisp_k_late_trial(KIND, block.n), apart = form<KIND>::HALF;
#pragma unroll
    for (int i = 0; i < total.ROWS; i++) {
        int m = b.warp * total.ROWS + i, trial = m < DEDISP_MROW ? m : half + m - DEDISP_MROW;
        if (m < DEDISP_MROW ? m >= half : trial >= (int)block.n)
            continue;
        float *out = io.d_out + io.d_row[block.first + trial] * io.out_pitch;
        const long long from = (long long)t0 - stage->late[m], end = (long long)io.nout;
#pragma unroll
        for (int w = 0; w < total.WORDS; w++) {
            const long long t = from + b.lane + 32 * w;
            if (t >= 0 && t < end)
                out[t] = finish(io, total.word[i][w] - (total.high[i][w] << 16));
            if (t + apart >= 0 && t + apart < end)
                out[t + apart] = finish(io, total.high[i][w]);
        }
    }
}

} // namespace

#endif
#endif
