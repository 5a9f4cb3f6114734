/* Level and scatter of pieces of series and of their parts, nodes between them, and the samples that
 * come in.
 *
 * Measuring: eight threads a piece, eight pieces a thread block of 64, as the sums of the fit are
 * eight interleaved ones; the grid is one group of threads for each piece and series, pieces
 * fastest.  Samples stay in device memory, where the seven passes over a piece find them in the
 * caches; shared memory holds medians of nine (576 bytes a piece).  Pieces in which samples are no
 * numbers are left to a second launch, which knows the places of the others (2432 bytes a piece
 * more).  Bound: issue slots, about 13 instructions a sample for the two rough medians, 70 for
 * three rounds of the fit and 8 for the levels of parts.
 *
 * Knots: one thread a piece, in double precision; a thousandth of the work.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse_kernels.h"

namespace
{

constexpr int LANES = PULSE_LANES, THREADS = 64, GROUPS = THREADS / LANES, ROOM = 144;
static_assert(PULSE_K_MAX_LENGTH / PULSE_NINE <= ROOM, "medians fit");

struct group {
    unsigned mask; /* its lanes in the warp */
    int lane, shift;
};

/* The good samples of a piece: all, or those at some places. */
struct whole {
    const float *x;
    int n;
    __device__ __forceinline__ int place(int j) const
    {
        return j;
    }
};

struct holed {
    const float *x;
    int n;
    const uint16_t *places;
    __device__ __forceinline__ int place(int j) const
    {
        return places[j];
    }
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

__device__ inline bool all_are_good(const group &g, const float *x, int n)
{
    bool bad = false;
    for (int j = g.lane; j < n; j += LANES)
        bad |= !is_good(x[j]);
    return !__any_sync(g.mask, bad);
}

__device__ inline holed gather_good(const group &g, const float *x, int n, uint16_t *places)
{
    int ngood = 0;
    for (int j0 = 0; j0 < n; j0 += LANES) {
        const int j = j0 + g.lane;
        const bool good = j < n && is_good(x[j]);
        const unsigned all = (__ballot_sync(g.mask, good) & g.mask) >> g.shift;
        if (good)
            places[ngood + __popc(all & ((1u << g.lane) - 1))] = (uint16_t)j;
        ngood += __popc(all);
    }
    __syncwarp(g.mask);
    return {x, ngood, places};
}

/* --- rough medians ---------------------------------------------------------------------------- */

/* The j-th good sample, or how far it is from the middle. */
template <bool SIZE, class SAMPLES>
__device__ __forceinline__ float value_of(const SAMPLES &s, int j, float middle)
{
    const float x = s.x[s.place(j)];
    return SIZE ? fabsf(x - middle) : x;
}

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

template <bool SIZE, class SAMPLES>
__device__ inline float find_rough_median(const group &g, const SAMPLES &s, float middle, float *v)
{
    int n = s.n;
    if (n < 4 * PULSE_NINE) {
        for (int j = g.lane; j < n; j += LANES)
            v[j] = value_of<SIZE>(s, j, middle);
    } else {
        n /= PULSE_NINE;
        for (int j = g.lane; j < n; j += LANES) {
            float x[PULSE_NINE];
#pragma unroll
            for (int q = 0; q < PULSE_NINE; q++)
                x[q] = value_of<SIZE>(s, j + q * n, middle);
            PULSE_MEDIAN_OF_NINE(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]);
            v[j] = x[4];
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

/* Sums over the good samples within the limit of the line, as (x - middle) * factor. */
template <class SAMPLES>
__device__ inline void add_near_line(const group &g, const SAMPLES &s, int n, float middle,
                                     float factor, const struct pulse_line &line,
                                     double sums[PULSE_S_COUNT])
{
    const float level = (float)line.level, slope = (float)line.slope, limit = (float)line.limit;
    const float centre = (float)(n - 1) / 2;
    float s1 = 0, sq = 0, su = 0, sqq = 0, squ = 0, suu = 0;
#pragma unroll 4
    for (int j = g.lane; j < s.n; j += LANES) {
        const int place = s.place(j);
        const float q = (float)place - centre, u = (s.x[place] - middle) * factor;
        const float off = u - (level + slope * q);
        if (off <= limit && off >= -limit) {
            s1 += 1;
            sq += q;
            su += u;
            sqq += q * q;
            squ += q * u;
            suu += u * u;
        }
    }
    sums[PULSE_S_1] = add_lanes(g, s1);
    sums[PULSE_S_Q] = add_lanes(g, sq);
    sums[PULSE_S_U] = add_lanes(g, su);
    sums[PULSE_S_QQ] = add_lanes(g, sqq);
    sums[PULSE_S_QU] = add_lanes(g, squ);
    sums[PULSE_S_UU] = add_lanes(g, suu);
}

template <class SAMPLES>
__device__ inline struct pulse_fit fit_samples(const group &g, const SAMPLES &s, int n,
                                               float middle, float factor, bool clip,
                                               struct pulse_line &line)
{
    struct pulse_fit fit = {};
    line = {0, 0, clip ? PULSE_CLIP : 2};
    double sums[PULSE_S_COUNT];
    for (int round = 0; round < PULSE_CLIP_ROUNDS; round++) {
        add_near_line(g, s, n, middle, factor, line, sums);
        if (!clip) {
            pulse_fit_line(&fit, sums);
            break;
        }
        if (!pulse_refine_line(&fit, &line, sums))
            break;
    }
    return fit;
}

template <class SAMPLES>
__device__ inline float find_largest(const group &g, const SAMPLES &s, float middle)
{
    float largest = 0;
    for (int j = g.lane; j < s.n; j += LANES) {
        const float size = value_of<true>(s, j, middle);
        largest = size > largest ? size : largest;
    }
    for (int l = LANES / 2; l; l /= 2) {
        const float other = __shfl_xor_sync(g.mask, largest, l);
        largest = other > largest ? other : largest;
    }
    return largest;
}

/* The level of the part with the number of the lane, from the samples of the piece near the line. */
__device__ inline double find_part_level(const group &g, const float *x, int n, int length,
                                         float middle, float factor, const struct pulse_line &line,
                                         double scale, float *room)
{
    const float level = (float)line.level, slope = (float)line.slope, limit = (float)line.limit;
    const float centre = (float)(n - 1) / 2;
    const int part = length / PULSE_PARTS;
    double total = 0, good = 0;
    for (int p = 0; p < PULSE_PARTS && p * part < n; p++) {
        const int end = (p + 1) * part < n ? (p + 1) * part : n;
        float sum = 0, count = 0;
        for (int j = p * part + g.lane; j < end; j += LANES) {
            const float u = (x[j] - middle) * factor;
            const float off = u - (level + slope * ((float)j - centre));
            if (off <= limit && off >= -limit) {
                sum += u;
                count += 1;
            }
        }
        room[p * LANES + g.lane] = sum;
        room[(PULSE_PARTS + p) * LANES + g.lane] = count;
    }
    __syncwarp(g.mask);
    for (int l = 0; l < LANES && g.lane * part < n; l++) {
        total += (double)room[g.lane * LANES + l];
        good += (double)room[(PULSE_PARTS + g.lane) * LANES + l];
    }
    return pulse_part_level(total, good, (double)part, (double)middle, scale);
}
static_assert(2 * PULSE_PARTS * LANES <= ROOM, "sums of parts fit");
static_assert(PULSE_PARTS == LANES, "a lane has a part");

/* Returned: the piece's figures; *level, of the lane's part */
template <class SAMPLES>
__device__ inline struct pulse_piece measure_samples(const group &g, const SAMPLES &s, int n,
                                                     int length, int64_t first, float *median,
                                                     double *level)
{
    struct pulse_piece piece = {};
    struct pulse_line line;
    *level = NAN;
    if (s.n < PULSE_MIN_GOOD)
        return piece;
    const float middle = find_rough_median<false>(g, s, 0, median);
    double scale = PULSE_SIGMA_PER_MAD * (double)find_rough_median<true>(g, s, middle, median);
    const bool clip = scale > 0;
    if (!clip)
        scale = (double)find_largest(g, s, middle);
    struct pulse_fit fit = {};
    fit.good = (double)s.n;
    if (scale > 1 / (double)PULSE_HUGE) {
        const float factor = (float)(1 / scale);
        fit = fit_samples(g, s, n, middle, factor, clip, line);
        *level = find_part_level(g, s.x, n, length, middle, factor, line, scale, median);
    }
    pulse_set_piece(&piece, &fit, (double)middle, scale, first, n);
    return piece;
}

constexpr double LEFT_OUT = -1; /* "good" of a piece that has holes, until those are dealt with */

template <bool HOLES>
__global__ void __launch_bounds__(THREADS, HOLES ? 8 : 16)
    measure(const struct pulse_k_ring ring, int64_t k0, size_t nk, int n)
{
    __shared__ float medians[GROUPS][ROOM];
    __shared__ uint16_t places[HOLES ? GROUPS : 1][PULSE_K_MAX_LENGTH];
    const int row = threadIdx.x / LANES;
    const size_t item = (size_t)blockIdx.x * GROUPS + row, i = item / nk;
    if (i >= ring.nseries)
        return;
    const int64_t k = k0 + (int64_t)(item % nk), first = k * ring.length;
    const float *x = ring.d_x + (i * ring.npiece + k % ring.npiece) * ring.length;
    struct pulse_figures *f = ring.d_figure + i * ring.nfigure + k % ring.nfigure;
    const group g = this_group();
    struct pulse_piece piece = {};
    double level = NAN;
    if (HOLES) {
        if (f->piece.good != LEFT_OUT)
            return;
        const holed s = gather_good(g, x, n, places[row]);
        piece = measure_samples(g, s, n, ring.length, first, medians[row], &level);
    } else if (all_are_good(g, x, n)) {
        piece = measure_samples(g, whole{x, n}, n, ring.length, first, medians[row], &level);
    } else {
        piece.good = LEFT_OUT;
    }
    __syncwarp(g.mask);
    f->level[g.lane] = level;
    if (g.lane == 0)
        f->piece = piece;
}

/* --- nodes ------------------------------------------------------------------------------------ */

__global__ void __launch_bounds__(THREADS)
    tie_knots(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
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

extern "C" cudaError_t pulse_k_measure(const struct pulse_k_ring *ring, int64_t k, size_t npiece,
                                       size_t n, cudaStream_t stream)
{
    const unsigned blocks = blocks_for(ring->nseries, npiece, GROUPS);
    if (!npiece)
        return cudaSuccess;
    measure<false><<<blocks, THREADS, 0, stream>>>(*ring, k, npiece, (int)n);
    measure<true><<<blocks, THREADS, 0, stream>>>(*ring, k, npiece, (int)n);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_baseline_nodes(const struct pulse_k_ring *ring,
                                              const struct pulse_k_stage *stage,
                                              cudaStream_t stream)
{
    if (stage->npiece)
        tie_knots<<<blocks_for(ring->nseries, stage->npiece, THREADS), THREADS, 0, stream>>>(
            *ring, *stage);
    return cudaGetLastError();
}
