/* How the search adapts to its noise: what nodes leave of the levels of parts, the lengths of
 * baselines, and the scatter of boxcars.
 *
 * One thread a piece, or a piece and a length, or a piece and a width; the lengths alone go from
 * piece to piece, one thread a series.  What threads read of a piece's figures (1.6 KB for 1216
 * samples) they share with those of the pieces around, through the caches.  Bound: loads from them;
 * 9 KB a piece for the scatters of boxcars, 4 KB for the lengths.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse_kernels.h"

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

__global__ void __launch_bounds__(THREADS)
    find_rest(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const place p = find_place(ring, stage, 1);
    if (!p.valid)
        return;
    pulse_set_ramps(p.ring, ring.nfigure, p.k, stage.last, ring.length);
    pulse_find_rest(p.ring, ring.nfigure, p.k, ring.length);
}

__global__ void __launch_bounds__(THREADS)
    bound_rest(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const place p = find_place(ring, stage, 1);
    if (p.valid)
        pulse_bound_rest(p.ring, ring.nfigure, p.k, ring.length);
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
        was[q] = k >= 0 && k <= stage.last ? p.ring[k % ring.nfigure].rest[lane] : NAN;
    }
    const float rest = f->test[lane][PULSE_REST];
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
        pulse_size_test(f, lane);
}

/* --- scatters: sizes of a window in registers --------------------------------------------------- */

/* As pulse_take_middle of the sizes, those that are missing being infinite. */
__device__ inline float take_middle(float size[PULSE_WINDOW])
{
    int have = 0;
#pragma unroll
    for (int j = 0; j < PULSE_WINDOW; j++)
        have += size[j] < INFINITY;
        /* Bitonic sorting. */
#pragma unroll
    for (int k = 0; 1 << k < PULSE_WINDOW; k++)
#pragma unroll
        for (int m = k; m >= 0; m--)
#pragma unroll
            for (int q = 0; q < PULSE_WINDOW / 2; q++) {
                const int j = (q >> m << (m + 1)) | (q & ((1 << m) - 1)), other = j | 1 << m;
                const bool up = !(j >> (k + 1) & 1);
                const float less = fminf(size[j], size[other]), more = fmaxf(size[j], size[other]);
                size[j] = up ? less : more;
                size[other] = up ? more : less;
            }
    float middle = INFINITY;
#pragma unroll
    for (int j = 0; j < PULSE_WINDOW; j++)
        middle = j == have / 2 && have ? size[j] : middle;
    return middle;
}

/* As pulse_test_square and pulse_draw_square: of column c of "rows" rows of each piece a .. b.
 * Given:  FIGURES   gives the rows and the middle size of figures */
template <class FIGURES>
__device__ inline double find_square(const struct pulse_figures *ring, int nring, int64_t a,
                                     int64_t b, int c, float *count)
{
    float size[PULSE_WINDOW], sum = 0, n = 0;
    int place = (int)(b % nring), first = place;
#pragma unroll
    for (int j = 0; j < PULSE_WINDOW; j++) {
        size[j] = b - j >= a ? FIGURES::size(ring[place])[c] : INFINITY;
        first = b - j >= a ? place : first;
        place = place ? place - 1 : nring - 1;
    }
    const float limit = pulse_limit(take_middle(size));
    for (int64_t k = a; k <= b; k++) {
        const float *row = FIGURES::rows(ring[first]);
#pragma unroll
        for (int j = 0; j < FIGURES::count; j++) {
            const float v = row[j * FIGURES::columns + c];
            if (fabsf(v) <= limit)
                sum += v * v, n += 1;
        }
        first = first + 1 < nring ? first + 1 : 0;
    }
    *count = n;
    return pulse_mean_square(sum, n);
}

struct tests {
    static constexpr int count = PULSE_PARTS, columns = PULSE_TESTS;
    __device__ static const float *rows(const struct pulse_figures &f)
    {
        return f.test[0];
    }
    __device__ static const float *size(const struct pulse_figures &f)
    {
        return f.test_size;
    }
};

struct draws {
    static constexpr int count = PULSE_DRAWS, columns = PULSE_COLUMNS;
    __device__ static const float *rows(const struct pulse_figures &f)
    {
        return f.draw[0];
    }
    __device__ static const float *size(const struct pulse_figures &f)
    {
        return f.draw_size;
    }
};

__global__ void __launch_bounds__(THREADS)
    square_tests(const struct pulse_k_ring ring, const struct pulse_k_stage stage)
{
    const place p = find_place(ring, stage, PULSE_TESTS);
    const int c = threadIdx.x % PULSE_TESTS;
    if (!p.valid || c >= PULSE_LENGTHS)
        return;
    const int64_t b = pulse_tests_end(p.k, stage.last);
    float n;
    p.ring[p.k % ring.nfigure].square[c] =
        find_square<tests>(p.ring, ring.nfigure, pulse_window(b), b, c, &n);
}

__global__ void __launch_bounds__(THREADS)
    choose_lengths(const struct pulse_k_ring ring, const struct pulse_k_stage stage, int32_t fixed)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= ring.nseries)
        return;
    struct pulse_figures *f = ring.d_figure + i * ring.nfigure;
    const int64_t end = stage.k + (int64_t)stage.npiece;
    int32_t length = stage.k ? f[(stage.k - 1) % ring.nfigure].length : -1;
    for (int64_t k = stage.k; k < end; k++) {
        length = fixed >= 0 ? fixed : pulse_choose_length(f[k % ring.nfigure].square, length);
        f[k % ring.nfigure].length = length;
    }
}

__global__ void __launch_bounds__(THREADS)
    find_norms(const struct pulse_k_ring ring, const struct pulse_k_stage stage,
               const struct pulse_scale scale)
{
    const place p = find_place(ring, stage, PULSE_COLUMNS);
    const int c = threadIdx.x % PULSE_COLUMNS;
    if (!p.valid || c >= scale.nwidth)
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
    if (fixed < 0)
        square_tests<<<blocks_for(ring, stage->npiece * PULSE_TESTS), THREADS, 0, stream>>>(*ring,
                                                                                            *stage);
    choose_lengths<<<blocks_for(ring, 1), THREADS, 0, stream>>>(*ring, *stage, fixed);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_norms(const struct pulse_k_ring *ring,
                                     const struct pulse_k_stage *stage,
                                     const struct pulse_scale *scale, cudaStream_t stream)
{
    if (stage->npiece)
        find_norms<<<blocks_for(ring, stage->npiece * PULSE_COLUMNS), THREADS, 0, stream>>>(
            *ring, *stage, *scale);
    return cudaGetLastError();
}
