/* dedisp_cta.cuh: a thread block of the tensor kernel, its shared memory, and how it is filled
 * (private to dedisp.cu). */
#ifndef PSR_KERNELS_DEDISP_CTA_CUH
#define PSR_KERNELS_DEDISP_CTA_CUH

#include "common/ptx.cuh"
#include "dedisp/dedisp_stage.h"

namespace
{

constexpr int WARPS = 8, THREADS = 32 * WARPS;
constexpr int EXTRA = 2 * DEDISP_MAXWIDE; /* samples that s reaches beyond the spread */
constexpr int STAGES = 3;                 /* used, next, and on its way */
constexpr int ROWS_PER_WARP = DEDISP_CHANNELS / WARPS;
constexpr int PLANE_WARPS = DEDISP_PLANE / ROWS_PER_WARP; /* that copy the rows of a plane */

/* Of a thread block: half of the samples are whole warps' words. */
template <int KIND> struct form {
    static constexpr int ROWS = DEDISP_TRIALS_OF(KIND), SAMPLES = DEDISP_SAMPLES_OF(KIND);
    static constexpr int HALF = SAMPLES / 2, WORDS = HALF / 32, TRIALS_PER_WARP = ROWS / WARPS;
};

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

struct shape shape_for(int kind, int spread)
{
    struct shape s;
    const int samples = DEDISP_SAMPLES_OF(kind), ntile = dedisp_k_tiles(kind, spread);
    s.row_pitch = dedisp_k_row_bytes(samples + spread + EXTRA - 1);
    s.plane_pitch = (samples / 2 + 8 * ntile + EXTRA + 1) * 16;
    s.partial_pitch = 8 * ntile;
    s.bytes = 2 * (size_t)DEDISP_CHANNELS * s.row_pitch + STAGES * sizeof(struct dedisp_stage) +
              2 * (size_t)s.plane_pitch +
              4 * (size_t)DEDISP_TRIALS_OF(kind) * (s.partial_pitch + 1);
    return s;
}

/* Where the partial sums of row m begin.  The pitch is 8 or 24 modulo 32 words; with a word more
 * every four rows, what a warp stores at once is in different banks. */
__host__ __device__ __forceinline__ unsigned partial_row(const struct shape &s, unsigned m)
{
    return m * s.partial_pitch + m / 4;
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* Where the rows' first samples are: word of "rows", and bit in it. */
struct __align__(16) places
{
    uint32_t word[DEDISP_CHANNELS], bits[DEDISP_CHANNELS];
};

/* Where those of the lower of two planes come from; NULL: there is no such row. */
struct origins {
    const uint8_t *row[DEDISP_CHANNELS];
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
    struct origins *origins; /* of PAIRS */
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

/* The first warp loads a stage. */
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
    const uint8_t *runs; /* of the warp's first channel if its plane's is 0, a multiple of 16 */
    int phase;           /* samples from there to the first at delay 0 */
    int group;
};

__device__ __forceinline__ source first_source(const cta &b, const struct dedisp_k_io &io,
                                               size_t t0)
{
    const size_t c0 = b.warp % PLANE_WARPS * ROWS_PER_WARP, plane = io.nplane - 1;
    const uint8_t *runs = (const uint8_t *)io.d_runs + plane * io.plane + c0 * io.pitch;
    return {runs + (io.at & ~(size_t)15) + t0, (int)(io.at & 15), 0};
}

__device__ __forceinline__ int after(int n, int end)
{
    return n + 1 == end ? 0 : n + 1;
}

__device__ __forceinline__ void advance(source &from, const struct dedisp_k_io &io, int ngroup)
{
    from.group = after(from.group, ngroup);
    if (from.group == 0)
        from.runs -= io.plane;
}

/* Every warp copies its share of rows number j; on sm_90 each lane copies a row.
 * PAIRS: and notes where those of the plane below come from. */
template <bool PAIRS>
__device__ __forceinline__ void fetch_rows(const cta &b, const struct job &job, const source &from,
                                           int j, const struct dedisp_stage &st)
{
    const int i = b.lane % ROWS_PER_WARP, c = b.warp * ROWS_PER_WARP + i, bytes = st.bytes;
    const int plane = b.warp / PLANE_WARPS;
    const bool here = c - plane * DEDISP_PLANE < st.n[plane];
    const int first = from.phase + st.off[c];
    const uint32_t at = ((j & 1) * DEDISP_CHANNELS + c) * job.shape.row_pitch;
    const uint32_t to = shared_address(b.rows) + at, bar = rows_barrier(b, j);
    const uint8_t *row = from.runs + (size_t)(st.k[plane] + i) * job.io.pitch + (first & ~15);
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        barrier_expect(bar, (st.n[0] + st.n[1]) * bytes);
    if (b.lane >= ROWS_PER_WARP)
        return;
    if (here)
        copy_bulk(to, row, bytes, bar);
#else
    for (int x = b.lane / ROWS_PER_WARP * 16; here && x < bytes; x += 32 / ROWS_PER_WARP * 16)
        copy_16(to + x, row + x);
    barrier_arrive_copied(bar);
#endif
    b.places[j & 1].word[c] = (at + (first & 15)) / 4;
    b.places[j & 1].bits[c] = (first & 3) * 8;
    if (PAIRS)
        b.origins->row[c] = here ? row - job.io.plane : nullptr;
}

/* Rows number 1: those of the plane below rows number 0. */
__device__ __forceinline__ void fetch_lower_rows(const cta &b, const struct job &job,
                                                 const struct dedisp_stage &st)
{
    const int c = b.warp * ROWS_PER_WARP + b.lane % ROWS_PER_WARP, bytes = st.bytes;
    const uint32_t apart = DEDISP_CHANNELS * job.shape.row_pitch, bar = rows_barrier(b, 1);
    const uint32_t to = shared_address(b.rows) + apart + c * job.shape.row_pitch;
    const uint8_t *row = b.origins->row[c];
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        barrier_expect(bar, (st.n[0] + st.n[1]) * bytes);
    if (b.lane >= ROWS_PER_WARP)
        return;
    if (row)
        copy_bulk(to, row, bytes, bar);
#else
    for (int x = b.lane / ROWS_PER_WARP * 16; row && x < bytes; x += 32 / ROWS_PER_WARP * 16)
        copy_16(to + x, row + x);
    barrier_arrive_copied(bar);
#endif
    b.places[1].word[c] = b.places[0].word[c] + apart / 4;
    b.places[1].bits[c] = b.places[0].bits[c];
}

#endif

} // namespace

#endif
