/* Level and scatter of pieces of series and of their parts, nodes between them, and the samples that
 * come in.
 *
 * Measuring: eight threads a piece, as the sums of the fit are eight interleaved ones; a thread block
 * is one warp, and the grid is one group of threads for each piece and series, pieces fastest.  The
 * samples go from where they come to the ring and to shared memory (4 x 4896 bytes a warp for pieces
 * of 1216), so that the seven passes over a piece read device memory once; rows of eight banks, so no
 * two threads meet in one.  Medians of nine take 544 bytes a piece more.  Bound: issue slots, about
 * 13 instructions a sample for the two rough medians, 45 for three rounds of the fit and 20 for
 * moving, scaling and the levels of parts.
 *
 * Nodes: one thread a piece, in double precision; a thousandth of the work.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse/singlepulse_kernels.h"

namespace
{

constexpr int LANES = PULSE_LANES, THREADS = 64, WARP = 32, GROUPS = WARP / LANES, ROOM = 136;
constexpr int GAP = LANES; /* between pieces in shared memory, whose lengths are whole banks */
static_assert(PULSE_K_MAX_LENGTH / PULSE_NINE <= ROOM, "medians fit");

struct group {
    unsigned mask; /* its lanes in the warp */
    int lane, shift;
};

__device__ __forceinline__ group this_group()
{
    const int shift = threadIdx.x % 32 / LANES * LANES;
    return {((1u << LANES) - 1) << shift, (int)threadIdx.x % LANES, shift};
}

__device__ inline bool is_good(float x)
{
    return fabsf(x) <= PULSE_HUGE;
}

/* A piece: its place in the ring, and in shared memory. */
struct samples {
    float *x, *own;
    int n;
};

/* Copies N samples per lane at a time, from j on, while that many are left: all are read before any is
 * written, as the compiler cannot exclude an overlap.  Returned: whether some are not numbers */
template <int N>
__device__ __forceinline__ bool load_many(const samples &s, const float *chunk, int &j)
{
    bool bad = false;
    for (; j + (N - 1) * LANES < s.n; j += N * LANES) {
        float x[N];
#pragma unroll
        for (int m = 0; m < N; m++)
            x[m] = chunk[j + m * LANES];
#pragma unroll
        for (int m = 0; m < N; m++) {
            s.x[j + m * LANES] = x[m];
            s.own[j + m * LANES] = x[m];
            bad |= !is_good(x[m]);
        }
    }
    return bad;
}

/* Copies samples that are still in a chunk to the ring, and all samples to shared memory.
 * Given:  chunk   of the piece's first sample; the first "old" of them are in the ring
 * Returned: whether all are numbers */
__device__ inline bool load_samples(const group &g, const samples &s, const float *chunk, int old)
{
    bool bad = false;
    int j = g.lane;
    for (; j < old; j += LANES) {
        s.own[j] = s.x[j];
        bad |= !is_good(s.own[j]);
    }
    bad |= load_many<16>(s, chunk, j);
    bad |= load_many<8>(s, chunk, j);
    bad |= load_many<1>(s, chunk, j);
    return !__any_sync(g.mask, bad);
}

/* Moves the good samples together.  Returned: how many */
__device__ inline int gather_good(const group &g, const samples &s)
{
    int ngood = 0;
    for (int j0 = 0; j0 < s.n; j0 += LANES) {
        const int j = j0 + g.lane;
        const float x = j < s.n ? s.own[j] : NAN;
        const unsigned all = (__ballot_sync(g.mask, is_good(x)) & g.mask) >> g.shift;
        if (is_good(x))
            s.own[ngood + __popc(all & ((1u << g.lane) - 1))] = x;
        ngood += __popc(all);
        __syncwarp(g.mask);
    }
    return ngood;
}

/* Moves them back to their places, with the values that are not numbers between them. */
__device__ inline void put_back(const group &g, const samples &s)
{
    for (int j = g.lane; j < s.n; j += LANES)
        s.own[j] = is_good(s.x[j]) ? s.x[j] : NAN;
    __syncwarp(g.mask);
}

/* --- rough medians ---------------------------------------------------------------------------- */

/* What a sort would leave at place n / 2. */
__device__ inline float select_middle(const group &g, const float *v, int n)
{
    float found = 0;
    bool mine = false;
    for (int i = g.lane; i < n; i += LANES) {
        int rank = 0;
        for (int j = 0; j < n; j++)
            rank += v[j] < v[i] || (v[j] == v[i] && j < i);
        if (rank == n / 2) {
            found = v[i];
            mine = true;
        }
    }
    const unsigned who = __ballot_sync(g.mask, mine) & g.mask;
    return __shfl_sync(g.mask, found, __ffs(who) - 1);
}

/* x, or how far it is from the middle. */
template <bool SIZE> __device__ __forceinline__ float value_of(float x, float middle)
{
    return SIZE ? fabsf(x - middle) : x;
}

/* Given:  x [n], all good; room v [ROOM] */
template <bool SIZE>
__device__ inline float find_rough_median(const group &g, const float *x, int n, float middle,
                                          float *v)
{
    if (n < 4 * PULSE_NINE) {
        for (int j = g.lane; j < n; j += LANES)
            v[j] = value_of<SIZE>(x[j], middle);
    } else {
        n /= PULSE_NINE;
        for (int j = g.lane; j < n; j += LANES) {
            float nine[PULSE_NINE];
#pragma unroll
            for (int q = 0; q < PULSE_NINE; q++)
                nine[q] = value_of<SIZE>(x[j + q * n], middle);
            PULSE_MEDIAN_OF_NINE(nine[0], nine[1], nine[2], nine[3], nine[4], nine[5], nine[6],
                                 nine[7], nine[8]);
            v[j] = nine[4];
        }
    }
    __syncwarp(g.mask);
    /* A median takes the place of the first of its nine, which nobody else reads. */
    while (n >= 4 * PULSE_NINE) {
        n /= PULSE_NINE;
        for (int j = g.lane; j < n; j += LANES) {
            float x[PULSE_NINE];
#pragma unroll
            for (int q = 0; q < PULSE_NINE; q++)
                x[q] = v[j + q * n];
            PULSE_MEDIAN_OF_NINE(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]);
            v[j] = x[4];
        }
        __syncwarp(g.mask);
    }
    const float found = select_middle(g, v, n);
    __syncwarp(g.mask);
    return found;
}

/* --- fits ------------------------------------------------------------------------------------- */

__device__ inline double add_lanes(const group &g, float mine)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += (double)__shfl_sync(g.mask, mine, g.shift + l);
    return sum;
}

/* u = (x - middle) factor. */
__device__ inline void scale_samples(const group &g, const samples &s, float middle, float factor)
{
#pragma unroll 8
    for (int j = g.lane; j < s.n; j += LANES)
        s.own[j] = (s.own[j] - middle) * factor;
}

/* Sums over the scaled samples within the limit of the line. */
__device__ inline void add_near_line(const group &g, const samples &s,
                                     const struct pulse_line &line, double sums[PULSE_S_COUNT])
{
    const float level = (float)line.level, slope = (float)line.slope, limit = (float)line.limit;
    float q = (float)g.lane - (float)(s.n - 1) / 2;
    float s1 = 0, sq = 0, su = 0, sqq = 0, squ = 0, suu = 0;
    /* Without branches, and reading ahead: there are few warps. */
#pragma unroll 8
    for (int j = g.lane; j < s.n; j += LANES, q += (float)LANES) {
        const float u = s.own[j], off = u - (level + slope * q);
        const bool near = fabsf(off) <= limit;
        const float vq = near ? q : 0, vu = near ? u : 0;
        s1 += near ? 1.0f : 0.0f;
        sq += vq;
        su += vu;
        sqq += vq * vq;
        squ += vq * vu;
        suu += vu * vu;
    }
    sums[PULSE_S_1] = add_lanes(g, s1);
    sums[PULSE_S_Q] = add_lanes(g, sq);
    sums[PULSE_S_U] = add_lanes(g, su);
    sums[PULSE_S_QQ] = add_lanes(g, sqq);
    sums[PULSE_S_QU] = add_lanes(g, squ);
    sums[PULSE_S_UU] = add_lanes(g, suu);
}

__device__ inline struct pulse_fit fit_samples(const group &g, const samples &s, bool clip,
                                               struct pulse_line &line)
{
    struct pulse_fit fit = {};
    line = {0, 0, clip ? PULSE_CLIP : 2};
    double sums[PULSE_S_COUNT];
    for (int round = 0; round < PULSE_CLIP_ROUNDS; round++) {
        add_near_line(g, s, line, sums);
        if (!clip) {
            pulse_fit_line(&fit, sums);
            break;
        }
        if (!pulse_refine_line(&fit, &line, sums))
            break;
    }
    return fit;
}

/* Over those that are numbers. */
__device__ inline float find_largest(const group &g, const samples &s, float middle)
{
    float largest = 0;
    for (int j = g.lane; j < s.n; j += LANES) {
        const float size = fabsf(s.own[j] - middle);
        largest = size > largest ? size : largest;
    }
    for (int l = LANES / 2; l; l /= 2) {
        const float other = __shfl_xor_sync(g.mask, largest, l);
        largest = other > largest ? other : largest;
    }
    return largest;
}

/* The level of the part with the number of the lane, from the scaled samples near the line. */
__device__ inline double find_part_level(const group &g, const samples &s, int length, float middle,
                                         const struct pulse_line &line, double scale, float *room)
{
    const float level = (float)line.level, slope = (float)line.slope, limit = (float)line.limit;
    const int part = length / PULSE_PARTS;
    double total = 0, good = 0;
    for (int p = 0; p < PULSE_PARTS && p * part < s.n; p++) {
        const int end = (p + 1) * part < s.n ? (p + 1) * part : s.n;
        float sum = 0, count = 0, q = (float)(p * part + g.lane) - (float)(s.n - 1) / 2;
#pragma unroll 4
        for (int j = p * part + g.lane; j < end; j += LANES, q += (float)LANES) {
            const float u = s.own[j], off = u - (level + slope * q);
            const bool near = fabsf(off) <= limit;
            sum += near ? u : 0;
            count += near ? 1.0f : 0.0f;
        }
        room[p * LANES + g.lane] = sum;
        room[(PULSE_PARTS + p) * LANES + g.lane] = count;
    }
    __syncwarp(g.mask);
    for (int l = 0; l < LANES && g.lane * part < s.n; l++) {
        total += (double)room[g.lane * LANES + l];
        good += (double)room[(PULSE_PARTS + g.lane) * LANES + l];
    }
    return pulse_part_level(total, good, (double)part, (double)middle, scale);
}
static_assert(2 * PULSE_PARTS * LANES <= ROOM, "sums of parts fit");
static_assert((int)PULSE_PARTS == LANES, "a lane has a part");

/* Given:    the samples in shared memory; room [ROOM]
 * Returned: the piece's figures; *level, of the lane's part */
__device__ inline struct pulse_piece measure_samples(const group &g, const samples &s, bool whole,
                                                     int length, int64_t first, float *room,
                                                     double *level)
{
    struct pulse_piece piece = {};
    struct pulse_line line;
    *level = NAN;
    __syncwarp(g.mask);
    const int ngood = whole ? s.n : gather_good(g, s);
    if (ngood < PULSE_MIN_GOOD)
        return piece;
    const float middle = find_rough_median<false>(g, s.own, ngood, 0, room);
    double scale =
        PULSE_SIGMA_PER_MAD * (double)find_rough_median<true>(g, s.own, ngood, middle, room);
    if (!whole)
        put_back(g, s);
    const bool clip = scale > 0;
    if (!clip)
        scale = (double)find_largest(g, s, middle);
    struct pulse_fit fit = {};
    fit.good = (double)ngood;
    if (scale > 1 / (double)PULSE_HUGE) {
        scale_samples(g, s, middle, (float)(1 / scale));
        fit = fit_samples(g, s, clip, line);
        __syncwarp(g.mask);
        *level = find_part_level(g, s, length, middle, line, scale, room);
    }
    pulse_set_piece(&piece, &fit, (double)middle, scale, first, s.n);
    return piece;
}

__global__ void __launch_bounds__(WARP)
    measure(const struct pulse_k_ring ring, const struct pulse_k_source from, int64_t k0, size_t nk,
            int n)
{
    extern __shared__ float memory[];
    const int row = threadIdx.x / LANES;
    const size_t item = (size_t)blockIdx.x * GROUPS + row, i = item / nk;
    if (i >= ring.nseries)
        return;
    const int64_t k = k0 + (int64_t)(item % nk), first = k * ring.length;
    struct pulse_figures *f = ring.d_figure + i * ring.nfigure + k % ring.nfigure;
    const group g = this_group();
    const samples s = {ring.d_x + (i * ring.npiece + k % ring.npiece) * ring.length,
                       memory + row * (ring.length + GAP), n};
    float *room = memory + GROUPS * (ring.length + GAP) + row * ROOM;
    const int64_t old = from.d_x ? from.pos - first : n;
    const float *chunk = from.d_x ? from.d_x + (int64_t)(i * from.stride) - old : NULL;
    const bool whole = load_samples(g, s, chunk, old > 0 ? (int)(old < n ? old : n) : 0);
    double level;
    const struct pulse_piece piece = measure_samples(g, s, whole, ring.length, first, room, &level);
    f->level[g.lane] = level;
    if (g.lane == 0)
        f->piece = piece;
}

/* --- nodes ------------------------------------------------------------------------------------ */

__global__ void __launch_bounds__(THREADS)
    make_nodes(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const size_t item = (size_t)blockIdx.x * THREADS + threadIdx.x, i = item / stage.npiece;
    if (i >= ring.nseries)
        return;
    const int64_t k = stage.k + (int64_t)(item % stage.npiece);
    struct pulse_figures *f = ring.d_figure + i * ring.nfigure;
    pulse_baseline_node_make(&f[k % ring.nfigure].node, f, ring.nfigure, k, stage.last,
                             ring.length);
}

/* --- samples ---------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(THREADS)
    blank(const struct pulse_k_ring ring, const int64_t *sweep, int64_t first, int64_t end,
          int64_t from, int64_t n)
{
    const int64_t room = (int64_t)ring.npiece * ring.length;
    float *x = ring.d_x + blockIdx.x * room;
    first -= sweep[blockIdx.x];
    first = first > from ? first : from;
    end = end < from + n ? end : from + n;
    for (int64_t t = first + threadIdx.x; t < end; t += THREADS)
        x[t % room] = NAN;
}

constexpr int COPIERS = 256;

__global__ void __launch_bounds__(COPIERS)
    splice(const struct pulse_k_ring ring, const float *d_x, size_t stride,
           const struct pulse_k_splice *list, unsigned nlist, const float *prev, int64_t pos,
           size_t n)
{
    const size_t i = blockIdx.y, j = (size_t)blockIdx.x * COPIERS + threadIdx.x;
    const int64_t room = (int64_t)ring.npiece * ring.length;
    const float *x = d_x + i * stride;
    if (j >= n)
        return;
    unsigned s = 0;
    while (s + 1 < nlist && list[s + 1].first <= j)
        s++;
    const size_t from = list[s].from + (j - list[s].first);
    const float before = from ? x[list[s].added ? from - 1 : from] : prev[i];
    ring.d_x[i * room + (pos + (int64_t)j) % room] =
        list[s].added ? (before + x[from]) / 2 : x[from];
}

unsigned blocks_for(size_t nseries, size_t nk, size_t each)
{
    return (unsigned)((nseries * nk + each - 1) / each);
}

} // namespace

extern "C" cudaError_t pulse_k_blank(const struct pulse_k_ring *ring, const int64_t *d_sweep,
                                     int64_t first, int64_t end, int64_t from, int64_t n,
                                     cudaStream_t stream)
{
    blank<<<(unsigned)ring->nseries, THREADS, 0, stream>>>(*ring, d_sweep, first, end, from, n);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_resample(const struct pulse_k_ring *ring, const float *d_x,
                                        size_t stride, const struct pulse_k_splice *d_splice,
                                        size_t nsplice, const float *d_prev, int64_t pos, size_t n,
                                        cudaStream_t stream)
{
    /* A grid has at most 65535 rows. */
    for (size_t i0 = 0; n && i0 < ring->nseries; i0 += 65535) {
        struct pulse_k_ring part = *ring;
        const size_t left = ring->nseries - i0;
        part.d_x += i0 * ring->npiece * ring->length;
        dim3 grid((unsigned)((n + COPIERS - 1) / COPIERS), (unsigned)(left < 65535 ? left : 65535));
        splice<<<grid, COPIERS, 0, stream>>>(part, d_x + i0 * stride, stride, d_splice,
                                             (unsigned)nsplice, d_prev + i0, pos, n);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_measure(const struct pulse_k_ring *ring,
                                       const struct pulse_k_source *from, int64_t k, size_t npiece,
                                       size_t n, cudaStream_t stream)
{
    const size_t bytes = GROUPS * ((size_t)ring->length + GAP + ROOM) * sizeof(float);
    if (!npiece)
        return cudaSuccess;
    measure<<<blocks_for(ring->nseries, npiece, GROUPS), WARP, bytes, stream>>>(*ring, *from, k,
                                                                                npiece, (int)n);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_baseline_nodes(const struct pulse_k_ring *ring,
                                              const struct pulse_k_stage *stage,
                                              cudaStream_t stream)
{
    if (stage->npiece)
        make_nodes<<<blocks_for(ring->nseries, stage->npiece, THREADS), THREADS, 0, stream>>>(
            *ring, *stage);
    return cudaGetLastError();
}
