/* Adapts the search to the noise: residuals of the parts' levels after the nodes, lengths of
 * baselines, and the scatter of boxcars.
 *
 * One thread a piece, or a piece and a length, or a piece and a width; the lengths alone go from
 * piece to piece, one warp a series, by what each piece has noted: its best length, and which ones
 * that is not much better than.  What threads read of a piece's figures (1.6 KB) they share with
 * those of the pieces around, through the caches.  Bound: loads from them; 9 KB a piece for the
 * scatters of boxcars, 4 KB for the lengths.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse/singlepulse_kernels.h"

#include "singlepulse/singlepulse_rows.cuh"

#include <cstddef>

namespace
{

constexpr int THREADS = 128;

/* The figures of a thread's series, and its piece. */
struct place {
    struct pulse_figures *ring;
    int64_t k;
    bool valid;
};

__device__ inline place find_place(const struct pulse_k_ring &ring,
                                   const struct pulse_k_stage &stage, int each)
{
    const size_t item = ((size_t)blockIdx.x * THREADS + threadIdx.x) / each;
    const size_t i = item / stage.npiece;
    return {ring.d_figure + i * ring.nfigure, stage.k + (int64_t)(item % stage.npiece),
            i < ring.nseries};
}

/* Batcher's odd-even merge sort: exchanges of places D apart in runs of 2 P that are merged. */
template <int N, int P, int D> __device__ __forceinline__ void sort_sizes(float size[N])
{
#pragma unroll
    for (int i = 0; i < N - D; i++) {
        const int from = D < P ? D : 0;
        if (i >= from && (i - from) / D % 2 == 0 && i / (2 * P) == (i + D) / (2 * P)) {
            const float less = fminf(size[i], size[i + D]);
            size[i + D] = fmaxf(size[i], size[i + D]);
            size[i] = less;
        }
    }
    if constexpr (D > 1)
        sort_sizes<N, P, D / 2>(size);
    else if constexpr (2 * P < N)
        sort_sizes<N, 2 * P, 2 * P>(size);
}

/* As pulse_take_middle of the sizes, those that are missing being infinite. */
template <int N> __device__ inline float take_middle(float size[N], int least)
{
    int have = 0;
#pragma unroll
    for (int j = 0; j < N; j++)
        have += size[j] < INFINITY;
    sort_sizes<N, 1, 1>(size);
    /* An index or a comparison with one would move them to memory. */
    float middle = 0;
#pragma unroll
    for (int j = 0; j < N; j++)
        middle = fmaxf(middle, j <= have / 2 ? size[j] : 0);
    return have < least ? INFINITY : middle;
}

/* As pulse_size_parts. */
__device__ inline float size_parts(const float *v, int step)
{
    float size[PULSE_PARTS];
#pragma unroll
    for (int j = 0; j < PULSE_PARTS; j++)
        size[j] = pulse_size(v[j * step]);
    return take_middle<PULSE_PARTS>(size, PULSE_LEAST);
}

__global__ void __launch_bounds__(THREADS)
    find_rest(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const place p = find_place(ring, stage, 1);
    if (!p.valid)
        return;
    pulse_set_ramps(p.ring, ring.nfigure, p.k, stage.last, ring.length);
    struct pulse_figures *f = &p.ring[p.k % ring.nfigure];
    pulse_find_rest(f, ring.length);
    f->rest_size = size_parts(f->rest, 1);
}

/* --- smoothing: a lane has a part of each piece around ----------------------------------------- */

constexpr int AROUND = 2 * PULSE_SPREAD + 1, LANES = PULSE_PARTS;

/* The levels of the parts "step" after the lane's, or before where it is below 0, as step is a power of
 * two up to a piece. */
__device__ inline void shift_parts(unsigned mask, const float was[AROUND], int step,
                                   float other[AROUND])
{
    const int lane = threadIdx.x % LANES, source = lane + step;
    float near[AROUND];
#pragma unroll
    for (int q = 0; q < AROUND; q++)
        near[q] = __shfl_sync(mask, was[q],
                              (int)threadIdx.x % 32 / LANES * LANES + (source + LANES) % LANES);
#pragma unroll
    for (int q = 0; q < AROUND; q++) {
        if (source >= 0 && source < LANES)
            other[q] = near[q];
        else if (step > 0)
            other[q] = q + 1 < AROUND ? near[q + 1 < AROUND ? q + 1 : q] : NAN;
        else
            other[q] = q > 0 ? near[q > 0 ? q - 1 : q] : NAN;
    }
}

/* As pulse_smooth_rest. */
__global__ void __launch_bounds__(THREADS)
    smooth_rest(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const place p = find_place(ring, stage, LANES);
    const int lane = threadIdx.x % LANES;
    const unsigned mask = ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES);
    if (!p.valid)
        return;
    struct pulse_figures *f = &p.ring[p.k % ring.nfigure];
    float was[AROUND], before[AROUND], after[AROUND];
#pragma unroll
    for (int q = 0; q < AROUND; q++) {
        const int64_t k = p.k - PULSE_SPREAD + q;
        was[q] = k >= 0 && k <= stage.last ? p.ring[k % ring.nfigure].bounded[lane] : NAN;
    }
    const float rest = f->rest[lane];
    f->test[lane][0] = pulse_test_error(rest, 0, 0);
#pragma unroll
    for (int n = 1, step = 1; n < PULSE_LENGTHS; n++, step *= 2) {
        shift_parts(mask, was, -step, before);
        shift_parts(mask, was, step, after);
#pragma unroll
        for (int q = 0; q < AROUND; q++)
            was[q] = pulse_smooth_three(before[q], was[q], after[q]);
        float *edge = f->smooth[n - 1];
        edge[lane + 1] = pulse_or_none(was[PULSE_SPREAD]);
        if (lane == LANES - 1)
            edge[0] = pulse_or_none(was[PULSE_SPREAD - 1]);
        if (lane == 0)
            edge[PULSE_EDGES - 1] = pulse_or_none(was[PULSE_SPREAD + 1]);
        f->test[lane][n] = pulse_test_error(rest, was[PULSE_SPREAD], n);
    }
    __syncwarp(mask);
    if (lane < PULSE_LENGTHS)
        f->test_size[lane] = size_parts(f->test[0] + lane, PULSE_TESTS);
}

/* --- scatters ----------------------------------------------------------------------------------- */

/* Values of a piece, and their middle size. */
struct rests {
    static constexpr int count = PULSE_PARTS;
    __device__ static void load(const struct pulse_figures &f, int, float v[count])
    {
        const float4 *rest = (const float4 *)f.rest;
#pragma unroll
        for (int m = 0; m < count / 4; m++) {
            const float4 q = rest[m];
            v[4 * m] = q.x;
            v[4 * m + 1] = q.y;
            v[4 * m + 2] = q.z;
            v[4 * m + 3] = q.w;
        }
    }
    __device__ static float size(const struct pulse_figures &f, int)
    {
        return f.rest_size;
    }
};
static_assert(offsetof(pulse_figures, rest) % 16 == 0 && sizeof(pulse_figures) % 16 == 0,
              "four rests are read at once");

struct tests {
    static constexpr int count = PULSE_PARTS;
    __device__ static void load(const struct pulse_figures &f, int c, float v[count])
    {
#pragma unroll
        for (int j = 0; j < count; j++)
            v[j] = f.test[j][c];
    }
    __device__ static float size(const struct pulse_figures &f, int c)
    {
        return f.test_size[c];
    }
};

struct draws {
    static constexpr int count = PULSE_DRAWS;
    __device__ static void load(const struct pulse_figures &f, int c, float v[count])
    {
#pragma unroll
        for (int j = 0; j < count; j++)
            v[j] = f.draw[j][c];
    }
    __device__ static float size(const struct pulse_figures &f, int c)
    {
        return f.draw_size[c];
    }
};

/* As pulse_rest_square: of column c of each piece a .. b.
 * Given:  FIGURES   gives values and their middle size */
template <class FIGURES>
__device__ inline double find_square(const struct pulse_figures *ring, int nring, int64_t a,
                                     int64_t b, int c, float *count)
{
    float size[PULSE_WINDOW], sum = 0, n = 0;
    int place = (int)(b % nring), first = place;
#pragma unroll
    for (int j = 0; j < PULSE_WINDOW; j++) {
        size[j] = b - j >= a ? FIGURES::size(ring[place], c) : INFINITY;
        first = b - j >= a ? place : first;
        place = place ? place - 1 : nring - 1;
    }
    const float limit = pulse_limit(take_middle<PULSE_WINDOW>(size, 1));
#pragma unroll 2
    for (int k = (int)(b - a); k >= 0; k--) {
        float v[FIGURES::count];
        FIGURES::load(ring[first], c, v);
#pragma unroll
        for (int j = 0; j < FIGURES::count; j++)
            if (fabsf(v[j]) <= limit)
                sum += v[j] * v[j], n += 1;
        first = first + 1 < nring ? first + 1 : 0;
    }
    *count = n;
    return pulse_mean_square(sum, n);
}

__global__ void __launch_bounds__(THREADS)
    bound_rest(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const place p = find_place(ring, stage, 1);
    if (!p.valid)
        return;
    float n;
    const double square = find_square<rests>(p.ring, ring.nfigure, pulse_window(p.k), p.k, 0, &n);
    pulse_bound_rest(&p.ring[p.k % ring.nfigure], square, ring.length);
}

/* --- lengths ------------------------------------------------------------------------------------ */

constexpr int WARP = 32, NOTED = WARP / PULSE_LENGTHS; /* pieces of a warp */
constexpr unsigned ALL = ~0u;

/* Notes for each piece its best length (3 bits), and which lengths that is little better than (one bit
 * each). */
__global__ void __launch_bounds__(THREADS)
    note_lengths(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const size_t warp = (size_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP, c = lane % PULSE_LENGTHS;
    const size_t item = warp * NOTED + lane / PULSE_LENGTHS, i = item / stage.npiece;
    const bool valid = i < ring.nseries && lane / PULSE_LENGTHS < NOTED;
    const int64_t k = stage.k + (int64_t)(item % stage.npiece), b = pulse_tests_end(k, stage.last);
    double mine = 0, square[PULSE_LENGTHS];
    float n;
    if (valid)
        mine = find_square<tests>(ring.d_figure + i * ring.nfigure, ring.nfigure, pulse_window(b),
                                  b, c, &n);
#pragma unroll
    for (int q = 0; q < PULSE_LENGTHS; q++)
        square[q] = __shfl_sync(ALL, mine, lane - c + q);
    double best;
    int note = pulse_best_length(square, &best);
#pragma unroll
    for (int q = 0; q < PULSE_LENGTHS; q++)
        note |= pulse_is_little_better(best, square[q]) << (3 + q);
    if (valid && c == 0)
        ring.d_note[i * ring.nfigure + k % ring.nfigure] = (uint8_t)note;
}

/* One warp a series, a piece a lane.
 * Given:  fixed   length of all, or -1 */
__global__ void __launch_bounds__(THREADS)
    choose_lengths(const struct pulse_k_ring ring, const struct pulse_k_stage stage, int32_t fixed)
{
    const size_t i = (size_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    if (i >= ring.nseries)
        return;
    const int lane = threadIdx.x % WARP;
    struct pulse_figures *f = ring.d_figure + i * ring.nfigure;
    const uint8_t *note = ring.d_note + i * ring.nfigure;
    int32_t length = stage.k ? f[(stage.k - 1) % ring.nfigure].length : -1;
    for (size_t at = 0; at < stage.npiece; at += WARP) {
        const size_t place = (size_t)(stage.k + (int64_t)at + lane) % (size_t)ring.nfigure;
        const bool exists = at + lane < stage.npiece;
        const int noted = exists && fixed < 0 ? note[place] : 0;
        int32_t own = fixed;
        for (int l = 0; l < WARP && fixed < 0 && at + l < stage.npiece; l++) {
            const int next = __shfl_sync(ALL, noted, l);
            length = length >= 0 && next >> (3 + length) & 1 ? length : next & 7;
            own = l == lane ? length : own;
        }
        if (exists)
            f[place].length = own;
    }
}

/* --- norms -------------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(THREADS)
    find_norms(const struct pulse_k_ring ring, const struct pulse_k_stage stage,
               const struct pulse_scale scale)
{
    const place p = find_place(ring, stage, scale.nwidth);
    const int c = (int)(((size_t)blockIdx.x * THREADS + threadIdx.x) % (unsigned)scale.nwidth);
    if (!p.valid)
        return;
    struct pulse_figures *f = &p.ring[p.k % ring.nfigure];
    const int64_t b = pulse_draws_end(p.k, stage.last);
    float n;
    const double square = find_square<draws>(p.ring, ring.nfigure, pulse_window(b), b, c, &n);
    f->norm[c] = pulse_find_norm(scale.unit[f->length][c], square, n, scale.crowd[c]);
}

unsigned blocks_for(const struct pulse_k_ring *ring, size_t each)
{
    return (unsigned)((ring->nseries * each + THREADS - 1) / THREADS);
}

} // namespace

extern "C" cudaError_t pulse_k_rest(const struct pulse_k_ring *ring,
                                    const struct pulse_k_stage *stage, cudaStream_t stream)
{
    const unsigned blocks = blocks_for(ring, stage->npiece);
    if (!stage->npiece)
        return cudaSuccess;
    find_rest<<<blocks, THREADS, 0, stream>>>(*ring, *stage);
    bound_rest<<<blocks, THREADS, 0, stream>>>(*ring, *stage);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_smooth(const struct pulse_k_ring *ring,
                                      const struct pulse_k_stage *stage, cudaStream_t stream)
{
    if (stage->npiece)
        smooth_rest<<<blocks_for(ring, stage->npiece * LANES), THREADS, 0, stream>>>(*ring, *stage);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_lengths(const struct pulse_k_ring *ring,
                                       const struct pulse_k_stage *stage, int32_t fixed,
                                       cudaStream_t stream)
{
    if (!stage->npiece)
        return cudaSuccess;
    const size_t warps = (ring->nseries * stage->npiece + NOTED - 1) / NOTED;
    if (fixed < 0)
        note_lengths<<<(unsigned)((warps * WARP + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
            *ring, *stage);
    choose_lengths<<<blocks_for(ring, WARP), THREADS, 0, stream>>>(*ring, *stage, fixed);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_norms(const struct pulse_k_ring *ring,
                                     const struct pulse_k_stage *stage,
                                     const struct pulse_scale *scale, cudaStream_t stream)
{
    if (stage->npiece)
        find_norms<<<blocks_for(ring, stage->npiece * (size_t)scale->nwidth), THREADS, 0, stream>>>(
            *ring, *stage, *scale);
    return cudaGetLastError();
}

/* --- loud pieces --------------------------------------------------------------------------------- */

/* Listing takes a thread a piece, copying a thread block a loud piece; nearly all are quiet.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */

namespace
{

constexpr int LOUD_THREADS = 192;

/* x[j] as sample j of a piece. */
__device__ inline float flatten(const struct shape &s, const float *x, int j, int length)
{
    const int second = j >= length / 2, part = length / PULSE_PARTS;
    const struct pulse_ramp &r = s.ramp[second];
    if (s.ramp[0].dead)
        return -INFINITY;
    const float z = pulse_flatten_sample(x[j], (double)(j - (second ? length / 2 : 0)), r.level,
                                         r.step, r.scale, r.scale_step);
    if (!s.bent)
        return z;
    const bend b = find_bend(s, j + part / 2, part);
    return pulse_correct_sample(z, b.level, b.slope, b.at);
}

__global__ void __launch_bounds__(LOUD_THREADS)
    list_loud(const struct pulse_k_ring ring, const struct pulse_k_stage stage,
              const struct pulse_k_gather g)
{
    const size_t item = (size_t)blockIdx.x * LOUD_THREADS + threadIdx.x;
    const size_t i = g.i0 + item / stage.npiece;
    const int64_t k = stage.k + (int64_t)(item % stage.npiece);
    if (i >= g.i0 + g.nseries)
        return;
    const struct pulse_figures &f = ring.d_figure[i * ring.nfigure + k % ring.nfigure];
    if (!pulse_is_loud(&f, g.nwidth, g.threshold))
        return;
    const unsigned at = atomicAdd(g.d_count, 1u);
    if (at >= g.room)
        return;
    struct pulse_loud &loud = g.d_loud[at];
    loud.piece = k;
    loud.series = (uint32_t)i;
    loud.at = at;
    loud.n = k == stage.last ? stage.n : ring.length;
    for (int c = 0; c < PULSE_COLUMNS; c++)
        loud.norm[c] = c < g.nwidth ? f.norm[c] : 0;
}

__global__ void __launch_bounds__(LOUD_THREADS)
    copy_loud(const struct pulse_k_ring ring, const struct pulse_k_gather g)
{
    __shared__ struct shape shape[2];
    const unsigned count = *g.d_count < g.room ? *g.d_count : g.room;
    const int carry = g.maxwidth - 1, each = carry + ring.length;
    for (unsigned at = blockIdx.x; at < count; at += gridDim.x) {
        const struct pulse_loud &loud = g.d_loud[at];
        const float *x = ring.d_x + (size_t)loud.series * ring.npiece * ring.length;
        __syncthreads();
        load_shapes(shape, ring, loud.series, loud.piece - 1, 2);
        __syncthreads();
        for (int j = threadIdx.x; j < each; j += LOUD_THREADS) {
            const int own = j >= carry, t = own ? j - carry : ring.length - carry + j;
            const int64_t k = loud.piece - !own;
            const bool exists = k >= 0 && (!own || t < loud.n);
            g.d_z[(size_t)at * each + j] =
                exists ? flatten(shape[own], x + k % ring.npiece * ring.length, t, ring.length)
                       : -INFINITY;
        }
    }
}

constexpr unsigned COPIERS = 528; /* thread blocks; four on each of 132 multiprocessors */

} // namespace

extern "C" cudaError_t pulse_k_gather(const struct pulse_k_ring *ring,
                                      const struct pulse_k_stage *stage,
                                      const struct pulse_k_gather *gather, cudaStream_t stream)
{
    const size_t n = stage->npiece * gather->nseries;
    cudaError_t e = cudaMemsetAsync(gather->d_count, 0, sizeof *gather->d_count, stream);
    if (e || !n)
        return e;
    list_loud<<<(unsigned)((n + LOUD_THREADS - 1) / LOUD_THREADS), LOUD_THREADS, 0, stream>>>(
        *ring, *stage, *gather);
    copy_loud<<<COPIERS, LOUD_THREADS, 0, stream>>>(*ring, *gather);
    return cudaGetLastError();
}
