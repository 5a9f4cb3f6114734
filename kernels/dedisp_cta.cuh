/* dedisp_cta.cuh: a thread block of the tensor kernel, its shared memory, and how it is filled
 * (private to dedisp.cu). */
#ifndef PSR_KERNELS_DEDISP_CTA_CUH
#define PSR_KERNELS_DEDISP_CTA_CUH

#include "dedisp_stage.h"
#include "ptx.cuh"

namespace
{

constexpr int SAMPLES = DEDISP_STRETCH,
              HALF = SAMPLES / 2; /* of a thread block; half are 7 warps' words */
constexpr int WARPS = 8, THREADS = 32 * WARPS;
constexpr int EXTRA =
    2 * DEDISP_MAXSHIFT;  /* rows of the tile that shifts reach beyond the spread */
constexpr int STAGES = 3; /* used, next, and on its way */
constexpr int ROWS_PER_WARP = DEDISP_CHANNELS / WARPS;
constexpr int QUAD = DEDISP_CHANNELS / 4; /* channels q, q + 8, q + 16, q + 24 share a word */

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
    s.row_pitch = round_up(SAMPLES + spread + EXTRA + 22, 16) + 16;
    s.plane_pitch = (round_up(SAMPLES + spread, 8) + EXTRA + 1) * 16;
    s.partial_pitch = round_up(HALF + spread, 8) / 16 * 16 + 8;
    s.bytes = 2 * (size_t)DEDISP_CHANNELS * s.row_pitch + STAGES * sizeof(struct dedisp_stage) +
              2 * (size_t)s.plane_pitch + 4 * (size_t)DEDISP_TRIALS * s.partial_pitch;
    return s;
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* Where the rows' first samples are, by quads of channels: word of "rows", and bit in it. */
struct places {
    uint4 word[QUAD], bits[QUAD];
};

/* Rows and stages have come. */
struct barriers {
    uint64_t rows[2], stage[STAGES];
};

struct cta {
    uint8_t *rows, *tile;
    struct dedisp_stage *stage;
    uint32_t *partial;
    struct places *places;
    struct barriers *bars;
    int warp, lane;
};

__device__ __forceinline__ cta make_cta(const struct job &job, uint8_t *shared,
                                        struct places *places, struct barriers *bars)
{
    cta b;
    b.rows = shared;
    b.stage = (struct dedisp_stage *)(shared + 2 * DEDISP_CHANNELS * job.shape.row_pitch);
    b.tile = (uint8_t *)(b.stage + STAGES);
    b.partial = (uint32_t *)(b.tile + 2 * job.shape.plane_pitch);
    b.places = places;
    b.bars = bars;
    b.warp = __shfl_sync(~0u, threadIdx.x / 32, 0); /* so the compiler knows that lanes agree */
    b.lane = threadIdx.x % 32;
    return b;
}

__device__ __forceinline__ uint32_t rows_barrier(const cta &b, int j)
{
    return shared_address(b.bars->rows + (j & 1));
}

__device__ __forceinline__ uint32_t stage_barrier(const cta &b, int slot)
{
    return shared_address(b.bars->stage + slot);
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
            barrier_init(rows_barrier(b, i), rows);
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
    if (elect_lane()) {
        barrier_expect(bar, sizeof *from);
        copy_bulk(to, from, sizeof *from, bar);
    }
#else
    for (int i = 16 * b.lane; i < (int)sizeof *from; i += 16 * 32)
        copy_16(to + i, (const char *)from + i);
    barrier_arrive_copied(bar);
#endif
}

/* Where this warp's rows come from: groups in order, for the highest plane first. */
struct source {
    const uint8_t *lanes; /* of the warp's first channel in group 0, a multiple of 16 */
    int phase;            /* samples from there to the first at delay 0 */
    int group;
};

__device__ __forceinline__ source first_source(const cta &b, const struct dedisp_k_io &io,
                                               size_t t0)
{
    const size_t c0 = b.warp * ROWS_PER_WARP, plane = io.nplane - 1;
    const uint8_t *lanes = (const uint8_t *)io.d_lane + plane * io.plane + c0 * io.pitch;
    return {lanes + (io.at & ~(size_t)15) + t0, (int)(io.at & 15), 0};
}

__device__ __forceinline__ int after(int n, int end)
{
    return n + 1 == end ? 0 : n + 1;
}

__device__ __forceinline__ void advance(source &from, const struct dedisp_k_io &io, int ngroup)
{
    from.group = after(from.group, ngroup);
    if (from.group == 0)
        from.lanes -= io.plane;
}

/* Every warp copies its share of the rows of number j, on sm_90 a lane a row. */
__device__ __forceinline__ void fetch_rows(const cta &b, const struct job &job, const source &from,
                                           int j, const struct dedisp_stage &st)
{
    const int i = b.lane % ROWS_PER_WARP, c = b.warp * ROWS_PER_WARP + i, bytes = st.bytes;
    const int first = from.phase + st.off[c];
    const uint32_t at = ((j & 1) * DEDISP_CHANNELS + c) * job.shape.row_pitch;
    const uint32_t to = shared_address(b.rows) + at, bar = rows_barrier(b, j);
    const uint8_t *row = from.lanes + (size_t)(st.k0 + i) * job.io.pitch + (first & ~15);
    const int where = c % QUAD * 4 + c / QUAD;
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        barrier_expect(bar, st.n * bytes);
    if (b.lane >= ROWS_PER_WARP)
        return;
    if (c < st.n)
        copy_bulk(to, row, bytes, bar);
#else
    for (int x = b.lane / ROWS_PER_WARP * 16; c < st.n && x < bytes; x += 32 / ROWS_PER_WARP * 16)
        copy_16(to + x, row + x);
    barrier_arrive_copied(bar);
#endif
    ((uint32_t *)b.places[j & 1].word)[where] = (at + (first & 15)) / 4;
    ((uint32_t *)b.places[j & 1].bits)[where] = (first & 3) * 8;
}

#endif

} // namespace

#endif
