/* The boxcars of flattened series: their greatest sums, and those that the scatter is measured from.
 *
 * Thread block: some pieces of one series (one of 1216 samples to seven of 512) and, before them, the
 * longest boxcar less one, in rows of 16 samples, a row a thread.  Half of a piece and every
 * fourth of a part are whole rows or quarters of one, so a thread takes off a single ramp; a row
 * meets at most two parts.  Boxcars up to 14 samples come from the thread's row and the next, in
 * registers; of wider ones the sum that is added lies further on, in one of up to five slots of
 * shared memory (a row is 16 samples and a gap of 4, so that reading 16 bytes a thread meets every
 * bank once), each overwritten once nobody needs it.  Five barriers.  The place of a boxcar's end in
 * its row is known at compile time: the ends before it lie in one row, the others in the next, and
 * so a table of rows says whose maximum a sum is, and which sums are drawn.  The grid is (groups of
 * pieces) x series.
 *
 * Bound: shared memory, 22 floats a sample read or written (10 slots written, 10 read, a quarter
 * more as a read covers 20 samples); then issue slots, about 85 instructions a sample.  Samples are
 * read once, with the overlap 1.14 to 1.25 times.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse/singlepulse_rows.cuh"

namespace
{

constexpr int SLOTS = 5, NO_DRAW = 255;

/* What a row that ends boxcars is: of which piece, counted from 1 on, and which draw of that. */
struct role {
    uint8_t piece, draw;
};

template <int LENGTH> struct shared {
    static constexpr int count = pieces<LENGTH>::most;
    struct shape shape[count + 1];
    float draw[count][PULSE_DRAWS][PULSE_COLUMNS], unit[count][PULSE_COLUMNS];
    int most[count + 3][PULSE_COLUMNS]; /* bits of floats that are not below 0 */
    struct role role[pieces<LENGTH>::threads + LONGEST / EACH + 3];
};

template <int LENGTH>
__device__ inline void set_up(struct shared<LENGTH> &sh, const struct job &job, const span &s)
{
    constexpr int rows = pieces<LENGTH>::rows;
    const struct pulse_figures *f = job.ring.d_figure + s.i * job.ring.nfigure;
    const int step = job.scale.step / EACH;
    for (int q = threadIdx.x; q < s.pieces * PULSE_COLUMNS; q += blockDim.x) {
        const int p = q / PULSE_COLUMNS, c = q % PULSE_COLUMNS;
        sh.unit[p][c] = job.scale.unit[f[(s.k + p) % job.ring.nfigure].length][c];
        for (int d = 0; d < PULSE_DRAWS; d++)
            sh.draw[p][d][c] = NAN;
    }
    for (int q = threadIdx.x; q < (sh.count + 3) * PULSE_COLUMNS; q += blockDim.x)
        sh.most[q / PULSE_COLUMNS][q % PULSE_COLUMNS] = 0;
    for (int q = threadIdx.x; q < (int)blockDim.x + LONGEST / EACH + 3; q += blockDim.x) {
        const int row = q - job.before, p = row < 0 ? -1 : row / rows;
        const int end = row + 1 - p * rows, d = end / step - 1;
        const bool drawn =
            p >= 0 && p < s.pieces && end % step == 0 && d < PULSE_DRAWS && (row + 1) * EACH <= s.n;
        sh.role[q].piece = (uint8_t)(p < s.pieces ? p + 1 : s.pieces + 1);
        sh.role[q].draw = (uint8_t)(drawn ? d : NO_DRAW);
    }
}

/* --- sums --------------------------------------------------------------------------------------- */

__device__ inline int find_most_of_warp(float mine)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, __float_as_int(mine));
#else
    for (int l = 16; l; l /= 2)
        mine = fmaxf(mine, __shfl_xor_sync(~0u, mine, l));
    return __float_as_int(mine);
#endif
}

/* The greatest sum of boxcars that end in each piece, and the draw; sums are of boxcars that begin at
 * the thread's samples. */
template <int WIDTH, class SHARED>
__device__ __forceinline__ void see_sums(SHARED &sh, const float sum[EACH], int column)
{
    constexpr int rows = (WIDTH - 1) / EACH, within = (WIDTH - 1) % EACH, next = EACH - within;
    const struct role mine = sh.role[threadIdx.x + rows], after = sh.role[threadIdx.x + rows + 1];
    const int first = __shfl_sync(~0u, mine.piece, 0);
    float low = 0, high = 0;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        if (e < next)
            low = fmaxf(low, sum[e]);
        else
            high = fmaxf(high, sum[e]);
    }
    const bool low_first = mine.piece == first, high_first = after.piece == first;
    const int a = find_most_of_warp(fmaxf(low_first ? low : 0, high_first ? high : 0));
    const int b = find_most_of_warp(fmaxf(low_first ? 0 : low, high_first ? 0 : high));
    if (threadIdx.x % 32 == 0) {
        atomicMax(&sh.most[first][column], a);
        atomicMax(&sh.most[first + 1][column], b);
    }
    if (mine.draw != NO_DRAW)
        sh.draw[mine.piece - 1][mine.draw][column] =
            sum[next - 1] * sh.unit[mine.piece - 1][column];
}

template <int N> __device__ __forceinline__ void add(float sum[], const float *a, const float *b)
{
#pragma unroll
    for (int e = 0; e < N; e++)
        sum[e] = a[e] + b[e];
}

/* Adds to the thread's sums those that lie A samples further on in a slot. */
template <int A>
__device__ __forceinline__ void add_slot(float sum[EACH], const float a[EACH], int slot)
{
    float b[EACH];
    load_row<A, EACH>(b, slot);
    add<EACH>(sum, a, b);
}

/* Columns of the widths. */
enum { C1, C2, C3, C4, C6, C9, C14, C20, C30, C45, C70, C100, C150, C220, C300, COLUMNS };
static_assert((int)COLUMNS == (int)PULSE_WIDTHS, "every width has a column");

/* The longest of those that are wider than a row: from the sums of 45, 30 and 50 samples. */
template <class SHARED>
__device__ __forceinline__ void add_longest(SHARED &sh, int maxwidth, const float s45[EACH],
                                            const float s30[EACH], const float s50[EACH])
{
    float s70[EACH], s100[EACH], s150[EACH], sum[EACH];
    add_slot<45>(s70, s45, 1);
    see_sums<70>(sh, s70, C70);
    if (maxwidth < 100)
        return;
    add_slot<70>(s100, s70, 2);
    see_sums<100>(sh, s100, C100);
    if (maxwidth < 150)
        return;
    add_slot<100>(s150, s100, 3);
    see_sums<150>(sh, s150, C150);
    if (maxwidth < 220)
        return;
    store_row(0, s70);
    store_row(4, s150);
    __syncthreads();
    add_slot<150>(sum, s150, 0);
    see_sums<220>(sh, sum, C220);
    if (maxwidth < 300)
        return;
    add_slot<150>(sum, s150, 4);
    see_sums<300>(sh, sum, C300);
}

/* The widths from 20 on.  Slot 0 has samples that nobody needs any more. */
template <class SHARED>
__device__ __forceinline__ void add_long(SHARED &sh, int maxwidth, const float s5[EACH],
                                         const float s6[EACH], const float s10[EACH],
                                         const float s14[EACH])
{
    float s20[EACH], s25[EACH], s30[EACH], s45[EACH], s50[EACH];
    store_row(1, s5);
    store_row(2, s6);
    store_row(3, s10);
    __syncthreads();
    add_slot<14>(s20, s14, 2);
    see_sums<20>(sh, s20, C20);
    if (maxwidth < 30)
        return;
    add_slot<20>(s25, s20, 1);
    add_slot<20>(s30, s20, 3);
    see_sums<30>(sh, s30, C30);
    if (maxwidth < 45)
        return;
    store_row(0, s20);
    __syncthreads();
    add_slot<25>(s45, s25, 0);
    see_sums<45>(sh, s45, C45);
    if (maxwidth < 70)
        return;
    add_slot<30>(s50, s30, 0);
    store_row(1, s25);
    store_row(2, s30);
    store_row(3, s50);
    __syncthreads();
    add_longest(sh, maxwidth, s45, s30, s50);
}

/* All widths, from the samples of the thread's row and those after it; slot 0 has them all. */
template <class SHARED>
__device__ __forceinline__ void add_widths(SHARED &sh, int maxwidth, const float z[EACH])
{
    float x[2 * EACH], s2[27], s3[22], s4[25], s5[25], s6[EACH], s9[EACH], s10[EACH], s14[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++)
        x[e] = z[e];
    load_row<EACH, EACH>(x + EACH, 0);
    see_sums<1>(sh, x, C1);
    if (maxwidth < 2)
        return;
    add<27>(s2, x, x + 1);
    see_sums<2>(sh, s2, C2);
    add<22>(s3, s2, x + 2);
    if (maxwidth < 3)
        return;
    see_sums<3>(sh, s3, C3);
    if (maxwidth < 4)
        return;
    add<25>(s4, s2, s2 + 2);
    see_sums<4>(sh, s4, C4);
    if (maxwidth < 6)
        return;
    add<25>(s5, s4, x + 4);
    add<EACH>(s6, s3, s3 + 3);
    see_sums<6>(sh, s6, C6);
    if (maxwidth < 9)
        return;
    add<EACH>(s9, s6, s3 + 6);
    see_sums<9>(sh, s9, C9);
    if (maxwidth < 14)
        return;
    add<EACH>(s10, s6, s4 + 6);
    add<EACH>(s14, s9, s5 + 9);
    see_sums<14>(sh, s14, C14);
    if (maxwidth >= 20)
        add_long(sh, maxwidth, s5, s6, s10, s14);
}

/* --- what was found ----------------------------------------------------------------------------- */

/* As pulse_take_middle of the draws' sizes. */
__device__ inline float find_draw_size(const float draw[PULSE_DRAWS])
{
    float v[PULSE_DRAWS];
    bool whole = true;
    for (int d = 0; d < PULSE_DRAWS; d++) {
        v[d] = pulse_size(draw[d]);
        whole &= v[d] < INFINITY;
    }
    if (!whole)
        return pulse_take_middle(v, PULSE_DRAWS, PULSE_LEAST);
    PULSE_MEDIAN_OF_NINE(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]);
    return v[4];
}
static_assert((int)PULSE_DRAWS == (int)PULSE_NINE, "a network takes the middle of the draws");

/* Stores the results of the pieces in their figures. */
template <class SHARED>
__device__ inline void keep_found(const SHARED &sh, const struct job &job, const span &s)
{
    for (int q = threadIdx.x; q < s.pieces * PULSE_COLUMNS; q += blockDim.x) {
        const int p = q / PULSE_COLUMNS, c = q % PULSE_COLUMNS;
        struct pulse_figures *f =
            job.ring.d_figure + s.i * job.ring.nfigure + (s.k + p) % job.ring.nfigure;
        float draw[PULSE_DRAWS];
        if (c >= job.scale.nwidth)
            continue;
#pragma unroll
        for (int d = 0; d < PULSE_DRAWS; d++) {
            draw[d] = sh.draw[p][d][c];
            f->draw[d][c] = draw[d];
        }
        f->draw_size[c] = find_draw_size(draw);
        f->most[c] = __int_as_float(sh.most[p + 1][c]);
    }
}

template <int LENGTH>
__global__ void __launch_bounds__(pieces<LENGTH>::threads, pieces<LENGTH>::blocks)
    add_up(const struct job job)
{
    __shared__ struct shared<LENGTH> sh;
    const span s = open_span(job);
    const int slots = size_of_slot((int)blockDim.x), after = AFTER * ROW;
    for (int j = threadIdx.x; j < SLOTS * after; j += blockDim.x)
        if (j / after < job.slots)
            find_slot(j / after)[slots - after + j % after] = -INFINITY;
    const row r = find_row<LENGTH>(job, s);
    float z[EACH];
    read_row<LENGTH>(z, job, s, r); /* loaded meanwhile */
    load_shapes(sh.shape, job.ring, s.i, s.k - 1, s.pieces + 1);
    set_up<LENGTH>(sh, job, s);
    __syncthreads();
    flatten_row<LENGTH>(z, sh.shape[r.n ? r.piece + 1 : 0], r);
    store_row(0, z);
    __syncthreads();
    add_widths(sh, job.scale.maxwidth, z);
    __syncthreads();
    keep_found(sh, job, s);
}

/* Slots that boxcars up to a width need. */
int count_slots(int maxwidth)
{
    return maxwidth < 20 ? 1 : maxwidth < 220 ? 4 : SLOTS;
}

template <int LENGTH> cudaError_t launch(struct job &job, cudaStream_t stream)
{
    const int most = pieces<LENGTH>::most, npiece = (int)job.stage.npiece;
    job.groups = (npiece + most - 1) / most;
    job.each = (npiece + job.groups - 1) / job.groups;
    const int rows = job.each * pieces<LENGTH>::rows + job.before, threads = (rows + 31) / 32 * 32;
    const unsigned blocks = (unsigned)((size_t)job.groups * job.ring.nseries);
    const size_t bytes = (size_t)(job.slots * size_of_slot(threads)) * sizeof(float);
    if (threads > pieces<LENGTH>::threads)
        return cudaErrorInvalidValue;
    /* The same for all, as other threads may launch the same kernel. */
    const cudaError_t e =
        cudaFuncSetAttribute(add_up<LENGTH>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             SLOTS * size_of_slot(pieces<LENGTH>::threads) * (int)sizeof(float));
    if (e)
        return e;
    add_up<LENGTH><<<blocks, (unsigned)threads, bytes, stream>>>(job);
    return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t pulse_k_add_up(const struct pulse_k_ring *ring,
                                      const struct pulse_k_stage *stage,
                                      const struct pulse_scale *scale, cudaStream_t stream)
{
    struct job job = {*ring,
                      *stage,
                      *scale,
                      0,
                      0,
                      (scale->maxwidth - 1 + EACH - 1) / EACH,
                      count_slots(scale->maxwidth)};
    if (!stage->npiece)
        return cudaSuccess;
    switch (scale->step % EACH ? 0 : ring->length) {
    case 512:
        return launch<512>(job, stream);
    case 640:
        return launch<640>(job, stream);
    case 896:
        return launch<896>(job, stream);
    case 1216:
        return launch<1216>(job, stream);
    }
    return cudaErrorInvalidValue; /* no list of widths has pieces of that length */
}
