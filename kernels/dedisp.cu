/* Dedispersion by matrix products of bytes.
 *
 * Inside a block of 32 trials a channel's delay against the first channel of its group takes few
 * values s.  So the group's partial sum is a matrix product,
 *   P[i][t] = sum over (s, c) of A[i][(s, c)] B[(s, c)][t],  B[(s, c)][t] = x[c][t + off_c + s],
 * with A 1 where trial i delays channel c by s and 0 elsewhere: bytes in, 32-bit integers out, exact.
 * Then out[i][t] += P[i][t + shift_i].
 *
 * Thread block: 32 trials x 512 samples, 8 warps, two blocks a multiprocessor; the grid is (block of
 * trials, stretch of 512 samples).  For each group of up to 32 channels, in turn:
 *   rows     the channels' samples, copied asynchronously while the group before is summed
 *   tile     [t][16 channels] twice, each channel moved by its off: 16 bytes a row, so that a shift of
 *            s rows is an address and any 8 rows are read without bank conflicts
 *   partial  P as words of two samples, half a stretch apart: any shift is whole words
 * and the sums of all groups stay in registers: words v of samples (lo, hi) add up to a = sum of v and
 * b = sum of v >> 16, which give lo as a - (b << 16).  16-bit samples go through twice, high bytes
 * first, the sums multiplied by 256 between.
 *
 * Bound: shared memory.  A multiprocessor moves, for 32 channels x 32 trials x 512 samples with s of
 * three values, about 1900 wavefronts of 128 bytes: tile 420, matrix operands 820, partial 300 + 260,
 * rows 150; 1.0e9 wavefronts/s x 132 x 2 at best is 70 T adds/s on an H200. */
#include "dedisp_stage.h"
#include "ptx.cuh"

namespace {

constexpr int SAMPLES = 448, HALF = SAMPLES / 2;
constexpr int THREADS = 256;
constexpr int EXTRA = 2 * DEDISP_MAXSHIFT; /* rows of the tile that shifts reach beyond the spread */
constexpr int STAGES = 3;                  /* in use, next, and arriving */

/* Shared memory. */
struct shape {
    int row_pitch;     /* bytes */
    int plane_pitch;   /* bytes of 16 channels' tile */
    int partial_pitch; /* words */
    size_t bytes;
};

struct job {
    struct dedisp_k_io io;
    const struct dedisp_k_block *block;
    const struct dedisp_stage *stage;
    struct shape shape;
};

int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

struct shape shape_for(int spread)
{
    struct shape s;
    s.row_pitch = round_up(SAMPLES + spread + EXTRA + 32, 16);
    s.plane_pitch = (round_up(SAMPLES + spread, 8) + EXTRA + 1) * 16;
    s.partial_pitch = round_up(HALF + spread, 8) / 16 * 16 + 8;
    s.bytes = 2 * (size_t)DEDISP_CHANNELS * s.row_pitch + STAGES * sizeof(struct dedisp_stage) +
              2 * (size_t)s.plane_pitch + 4 * (size_t)DEDISP_TRIALS * s.partial_pitch;
    return s;
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

constexpr int WARPS = THREADS / 32;
constexpr int ROWS_PER_WARP = DEDISP_CHANNELS / WARPS;
constexpr int TRIALS_PER_WARP = DEDISP_TRIALS / WARPS, WORDS = HALF / 32;
constexpr int QUAD = DEDISP_CHANNELS / 4; /* channels q, q + 8, q + 16, q + 24 share a word */

/* The thread block's shared memory and place in the work. */
struct cta {
    uint8_t *rows, *tile;
    struct dedisp_stage *stage;
    uint32_t *partial;
    uint32_t *at; /* [2][32] byte of "rows" where a channel's first sample is */
    uint32_t bar; /* [2] rows, [STAGES] stages */
    int warp, lane;
};

__device__ __forceinline__ uint32_t rows_barrier(const cta &b, int j)
{
    return b.bar + 8 * (j & 1);
}

__device__ __forceinline__ uint32_t stage_barrier(const cta &b, int slot)
{
    return b.bar + 16 + 8 * slot;
}

__device__ __forceinline__ void init_barriers(const cta &b)
{
#if __CUDA_ARCH__ >= 900
    constexpr int rows = 1, stage = 1;
#else
    constexpr int rows = THREADS, stage = 32;
#endif
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            barrier_init(b.bar + 8 * i, rows);
        for (int i = 0; i < STAGES; i++)
            barrier_init(stage_barrier(b, i), stage);
#if __CUDA_ARCH__ >= 900
        barrier_publish();
#endif
    }
    __syncthreads();
}

/* The first warp brings a stage. */
__device__ __forceinline__ void fetch_stage(const cta &b, int slot, const struct dedisp_stage *from)
{
    uint32_t to = shared_address(b.stage + slot), bar = stage_barrier(b, slot);
    if (b.warp)
        return;
#if __CUDA_ARCH__ >= 900
    if (b.lane == 0) {
        barrier_expect(bar, sizeof *from);
        copy_bulk(to, from, sizeof *from, bar);
    }
#else
    for (int i = 16 * b.lane; i < (int)sizeof *from; i += 16 * 32)
        copy_16(to + i, (const char *)from + i);
    barrier_arrive_copied(bar);
#endif
}

/* Every warp copies its share of the rows; t is the first sample at delay 0. */
__device__ __forceinline__ void fetch_rows(const cta &b, const struct job &job, const uint8_t *lanes,
                                           long long t, int j, const struct dedisp_stage &st)
{
    int used = SAMPLES + st.spread + st.window[1] + st.nshift;
    int bytes = (used + 8 + 15 + 15 + 4) & ~15, c = b.warp * ROWS_PER_WARP + b.lane;
    uint32_t to = shared_address(b.rows) + (j & 1) * DEDISP_CHANNELS * job.shape.row_pitch;
    uint32_t bar = rows_barrier(b, j);
    const uint8_t *from = lanes + (size_t)st.k0 * job.io.pitch;
    bytes = min(bytes, job.shape.row_pitch);
    if (b.lane < ROWS_PER_WARP) /* by quads */
        b.at[(j & 1) * DEDISP_CHANNELS + c % QUAD * 4 + c / QUAD] =
            ((j & 1) * DEDISP_CHANNELS + c) * job.shape.row_pitch + ((int)(t + st.off[c]) & 15);
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        barrier_expect(bar, st.n * bytes);
    if (b.lane < ROWS_PER_WARP && c < st.n)
        copy_bulk(to + c * job.shape.row_pitch,
                  from + (long long)(c * job.io.pitch) + ((t + st.off[c]) & ~15LL), bytes, bar);
#else
    for (c = b.warp * ROWS_PER_WARP; c < (b.warp + 1) * ROWS_PER_WARP; c++) {
        const uint8_t *row = from + (long long)(c * job.io.pitch) + ((t + st.off[c]) & ~15LL);
        for (int at = 16 * b.lane; c < st.n && at < bytes; at += 16 * 32)
            copy_16(to + c * job.shape.row_pitch + at, row + at);
    }
    barrier_arrive_copied(bar);
#endif
}

/* Rows to tile.  A lane takes four times of the 16 channels of a plane: it moves each channel's bytes
 * to their place, turns squares of four by four, and writes whole rows of the tile, of which eight
 * lanes next to each other fill all banks because they take their four times in different orders. */
__device__ __forceinline__ void turn_rows(const cta &b, const struct job &job, int j,
                                          const struct dedisp_stage &st)
{
    const int plane = b.warp & 1, need = SAMPLES + st.spread + st.window[1] + st.nshift;
    const int order = b.lane >> 1 & 3; /* time number i is i ^ order */
    const uint32_t pair0 = order & 2 ? 0x7362 : 0x5140, pair1 = order & 2 ? 0x5140 : 0x7362;
    const uint32_t time0 = order & 1 ? 0x7632 : 0x5410, time1 = order & 1 ? 0x5410 : 0x7632;
    const uint4 *at = (const uint4 *)(b.at + (j & 1) * DEDISP_CHANNELS) + 4 * plane;
    uint4 *tile = (uint4 *)(b.tile + plane * job.shape.plane_pitch);
    for (int u = b.warp / 2 * 32 + b.lane; 4 * u < need; u += WARPS / 2 * 32) {
        uint32_t row[4][4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const uint4 quad = at[q];
            const uint32_t from[4] = {quad.x, quad.y, quad.z, quad.w};
            uint32_t v[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const uint32_t *x = (const uint32_t *)(b.rows + (from[e] & ~3u)) + u;
                v[e] = __funnelshift_r(x[0], x[1], 8 * from[e]);
            }
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

/* Tile to partial sums where both halves of the trials have the same window: a warp does all 32, and
 * loads each operand once. */
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
                                           const struct dedisp_k_block &block, size_t t0,
                                           const sums &total)
{
    int half = (block.n + 1) / 2;
#pragma unroll
    for (int i = 0; i < TRIALS_PER_WARP; i++) {
        int m = b.warp * TRIALS_PER_WARP + i, trial = m < DEDISP_MROW ? m : half + m - DEDISP_MROW;
        if (m < DEDISP_MROW ? m >= half : trial >= (int)block.n)
            continue;
        float *out = io.d_out + io.d_row[block.first + trial] * io.out_pitch;
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            size_t t = t0 + b.lane + 32 * w;
            if (t < io.nout)
                out[t] = finish(io, total.word[i][w] - (total.high[i][w] << 16));
            if (t + HALF < io.nout)
                out[t + HALF] = finish(io, total.high[i][w]);
        }
    }
}

__device__ __forceinline__ cta make_cta(const struct job &job, uint8_t *shared, uint64_t *bars,
                                        uint32_t *at)
{
    cta b;
    b.rows = shared;
    b.stage = (struct dedisp_stage *)(shared + 2 * DEDISP_CHANNELS * job.shape.row_pitch);
    b.tile = (uint8_t *)(b.stage + STAGES);
    b.partial = (uint32_t *)(b.tile + 2 * job.shape.plane_pitch);
    b.at = at;
    b.bar = shared_address(bars);
    b.warp = threadIdx.x / 32;
    b.lane = threadIdx.x % 32;
    return b;
}

/* Which stage comes when: groups in order, for the highest plane first. */
struct cursor {
    const uint8_t *lanes;
    int group;
};

__device__ __forceinline__ void advance(cursor &at, const struct job &job, int ngroup)
{
    if (++at.group == ngroup) {
        at.group = 0;
        at.lanes -= job.io.plane;
    }
}

__device__ __forceinline__ void sum_block(const struct job &job, const cta &b)
{
    const struct dedisp_k_block block = job.block[blockIdx.x];
    const struct dedisp_stage *stage = job.stage + block.stage;
    const int ngroup = block.ngroup, n = ngroup * job.io.nplane;
    const size_t t0 = (size_t)blockIdx.y * SAMPLES;
    const long long t = (long long)(job.io.at + t0);
    sums total = {};
    fetch_stage(b, 0, stage);
    if (n > 1)
        fetch_stage(b, 1, stage + (ngroup > 1));
    cursor next = {(const uint8_t *)job.io.d_lane + (job.io.nplane - 1) * job.io.plane, 0};
    barrier_wait(stage_barrier(b, 0), 0);
    fetch_rows(b, job, next.lanes, t, 0, b.stage[0]);
    __syncthreads();
    int slot = 0, parity = 0, ahead = ngroup > 1 ? 1 : 0, left = ngroup;
    for (int j = 0; j < n; j++) {
        int slot1 = slot == STAGES - 1 ? 0 : slot + 1, parity1 = slot1 ? parity : parity ^ 1;
        const struct dedisp_stage &st = b.stage[slot];
        if (j + 1 < n) {
            /* All have turned the rows of group j - 1 before they multiplied it. */
            advance(next, job, ngroup);
            barrier_wait(stage_barrier(b, slot1), parity1);
            fetch_rows(b, job, next.lanes, t, j + 1, b.stage[slot1]);
        }
        barrier_wait(rows_barrier(b, j), (j >> 1) & 1);
        turn_rows(b, job, j, st);
        __syncthreads();
        ahead = ahead + 1 == ngroup ? 0 : ahead + 1;
        if (j + 2 < n) /* All are done with stage j - 1. */
            fetch_stage(b, slot1 == STAGES - 1 ? 0 : slot1 + 1, stage + ahead);
        multiply_stage(b, job, st);
        __syncthreads();
        if (left-- == 0) {
            scale(total, 256);
            left = ngroup - 1;
        }
        add_partial(b, job, st, total);
        slot = slot1;
        parity = parity1;
    }
    write_sums(b, job.io, block, t0, total);
}

#endif

__global__ void __launch_bounds__(THREADS, 2) multiply_blocks(const struct job job)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    extern __shared__ __align__(128) uint8_t shared[];
    __shared__ __align__(8) uint64_t bars[2 + STAGES];
    __shared__ __align__(16) uint32_t at[2 * DEDISP_CHANNELS];
    const cta b = make_cta(job, shared, bars, at);
    init_barriers(b);
    sum_block(job, b);
#endif
}

} // namespace

extern "C" cudaError_t dedisp_k_max_spread(int *spread)
{
    int device, major, bytes;
    *spread = -1;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (!e)
        e = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (e || major < 8)
        return e;
    /* Two blocks a multiprocessor where there is room for it. */
    size_t most = bytes > 200000 ? (size_t)bytes / 2 - 1024 : (size_t)bytes - 1024;
    while (shape_for(*spread + 1).bytes <= most)
        ++*spread;
    return cudaSuccess;
}

extern "C" cudaError_t dedisp_k_multiply(const struct dedisp_k_io *io,
                                         const struct dedisp_k_block *d_block, size_t nblock,
                                         const void *d_stage, int spread, cudaStream_t stream)
{
    struct job job = {*io, d_block, (const struct dedisp_stage *)d_stage, shape_for(spread)};
    dim3 grid((unsigned)nblock, (unsigned)((io->nout + SAMPLES - 1) / SAMPLES));
    cudaError_t e = cudaFuncSetAttribute(
        multiply_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)job.shape.bytes);
    if (e)
        return e;
    multiply_blocks<<<grid, THREADS, job.shape.bytes, stream>>>(job);
    return cudaGetLastError();
}
