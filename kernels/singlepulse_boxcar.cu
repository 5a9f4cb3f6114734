/* The boxcars of flattened series: their greatest sums, those that the scatter is measured from, and
 * the pieces in which one is above threshold.
 *
 * Thread block: 192 threads add up a span of 1536 samples of one series, 8 a thread: one piece of
 * 1216 samples, or two of 512, and the longest boxcar less one before them.  Each thread keeps its
 * own sums of a width in registers and takes those it adds from shared memory, where the sums that
 * others add live in four slots, each overwritten once nobody needs it, and those that only the
 * scatter needs in two more (41 KB in all, padded with minus infinity); one barrier a width.  The
 * grid is (pieces of a series / 1 or 2) x series.
 *
 * Bound: issue slots and shared memory, about 6 instructions and 8 bytes for each of 18 widths and
 * samples; the samples are read once, with the overlap 1.25 times.  They are flattened again for
 * the few pieces that are loud.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse_kernels.h"

namespace
{

constexpr int THREADS = 192, EACH = PULSE_K_SPAN / THREADS, LONGEST = 300, PIECES = 2;
constexpr int PAD = 160, SLOT = PULSE_K_SPAN + PAD, SLOTS = 6, WARPS = THREADS / 32;
static_assert(LONGEST / 2 <= PAD, "what is added lies in the padding");
static_assert(PULSE_K_MAX_LENGTH + LONGEST - 1 <= PULSE_K_SPAN, "a piece fits");
static_assert(PIECES * PULSE_PIECE_MIN + PULSE_PIECE_MIN / PULSE_PIECE_WIDTHS <= PULSE_K_SPAN,
              "two short pieces fit");
static_assert(PIECES * PULSE_DRAWS <= 32, "one warp takes the draws");

/* --- flattened samples ------------------------------------------------------------------------ */

/* What is taken off a piece. */
struct shape {
    struct pulse_ramp ramp[2];
    float edge[PULSE_EDGES];
    int32_t half, part; /* samples */
    float per_part;
    bool bent; /* there are edges */
};

/* Shapes of pieces k0 .. k0 + n - 1. */
__device__ inline void load_shapes(struct shape *shape, const struct pulse_k_ring &ring, size_t i,
                                   int64_t k0, int n)
{
    for (int q = threadIdx.x; q < n; q += blockDim.x) {
        struct shape &s = shape[q];
        s.ramp[0].dead = true;
        if (k0 + q < 0)
            continue;
        const struct pulse_figures &f = ring.d_figure[i * ring.nfigure + (k0 + q) % ring.nfigure];
        s.ramp[0] = f.ramp[0];
        s.ramp[1] = f.ramp[1];
        s.half = ring.length / 2;
        s.part = ring.length / PULSE_PARTS;
        s.per_part = 1 / (float)s.part;
        s.bent = f.length > 0;
        for (int e = 0; e < PULSE_EDGES && s.bent; e++)
            s.edge[e] = f.smooth[f.length - 1][e];
    }
}

/* x[j] as sample j of a piece. */
__device__ inline float flatten(const struct shape &s, const float *x, int j)
{
    if (s.ramp[0].dead)
        return -INFINITY;
    const int second = j >= s.half;
    const struct pulse_ramp &r = s.ramp[second];
    const float z = pulse_flatten_sample(x[j], j - (second ? s.half : 0), r.level, r.step, r.scale,
                                         r.scale_step);
    if (!s.bent)
        return z;
    /* A quotient is half a sample or more from the next whole number. */
    const int from = j + s.part / 2, e = (int)(((float)from + 0.5f) * s.per_part);
    return pulse_correct_sample(z, s.edge[e], pulse_edge_slope(s.edge[e], s.edge[e + 1], s.part),
                                from - e * s.part);
}

/* --- sums ------------------------------------------------------------------------------------- */

struct shared {
    float sum[SLOTS][SLOT];
    struct shape shape[PIECES + 1];
    float draw[PIECES][PULSE_DRAWS][PULSE_COLUMNS], unit[PIECES][PULSE_COLUMNS];
    int most[PIECES][PULSE_COLUMNS][WARPS]; /* bits of floats that are not below 0 */
};

struct job {
    struct pulse_k_ring ring;
    struct pulse_k_stage stage;
    struct pulse_scale scale;
    unsigned spans;
};

/* The pieces of a thread block. */
struct span {
    size_t i;
    int64_t k;  /* the first */
    int pieces; /* that there are */
    int n;      /* samples of all */
    int carry;
};

/* What a thread of the first warp draws: from the sums of boxcars that begin so many samples less than
 * their width after the span does, in units of a row. */
struct drawing {
    float *to;
    const float *unit; /* of sums */
    int end;           /* -1: there is none */
};

/* Where the sums of a width wait for those that add them, or for the draws alone (4 and 5); -1: nobody
 * wants them.  A slot's former sums were added at least one width before. */
__host__ __device__ constexpr int slot_of(int width)
{
    switch (width) {
    case 1:
    case 6:
    case 25:
    case 150:
        return 0;
    case 2:
    case 5:
    case 30:
        return 1;
    case 3:
    case 10:
    case 50:
        return 2;
    case 4:
    case 20:
    case 70:
        return 3;
    case 9:
    case 45:
    case 220:
        return 4;
    case 14:
    case 100:
    case 300:
        return 5;
    }
    return -1;
}

template <int N> __device__ inline span open_span(const struct job &job)
{
    const struct pulse_k_stage &stage = job.stage;
    const size_t at = (size_t)(blockIdx.x % job.spans) * N;
    span s;
    s.i = blockIdx.x / job.spans;
    s.k = stage.k + (int64_t)at;
    s.pieces = stage.npiece - at < (size_t)N ? (int)(stage.npiece - at) : N;
    s.n = s.pieces * job.ring.length;
    if (s.k + s.pieces - 1 == stage.last)
        s.n += stage.n - job.ring.length;
    s.carry = job.scale.maxwidth - 1;
    return s;
}

/* Own samples, flattened. */
template <int N>
__device__ inline void flatten_own(const struct job &job, const struct shared &sh, const span &s,
                                   float z[EACH])
{
    const int length = job.ring.length, npiece = job.ring.npiece;
    const float *series = job.ring.d_x + s.i * npiece * length, *x[N + 1];
#pragma unroll
    for (int q = 0; q <= N; q++)
        x[q] = series + (s.k + q - 1 + npiece) % npiece * length;
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int t = (int)threadIdx.x + r * THREADS - s.carry;
        const bool before = r * THREADS < LONGEST && t < 0, after = N > 1 && t >= length;
        const struct shape &shape = sh.shape[before ? 0 : after ? N : 1];
        const float *from = before ? x[0] : after ? x[N] : x[1];
        z[r] = t < s.n ? flatten(shape, from, before ? t + length : after ? t - length : t)
                       : -INFINITY;
    }
}

/* The greatest sum of boxcars that end in each piece; sums are of boxcars that begin at the samples. */
template <int WIDTH, int N>
__device__ __forceinline__ void see_sums(const span &s, int length, const float sum[EACH],
                                         float most[N])
{
#pragma unroll
    for (int q = 0; q < N; q++)
        most[q] = 0;
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int end = (int)threadIdx.x + r * THREADS + WIDTH - 1 - s.carry;
        const bool before = r * THREADS < LONGEST && end<0, after = N> 1 && end >= length;
        most[0] = fmaxf(most[0], before || after ? 0 : sum[r]);
        if (N > 1)
            most[N - 1] = fmaxf(most[N - 1], after ? sum[r] : 0);
    }
}

__device__ inline void load_units(struct shared &sh, const struct job &job, const span &s)
{
    const struct pulse_figures *f = job.ring.d_figure + s.i * job.ring.nfigure;
    for (int q = threadIdx.x; q < s.pieces * PULSE_COLUMNS; q += THREADS) {
        const int p = q / PULSE_COLUMNS, c = q % PULSE_COLUMNS;
        sh.unit[p][c] = job.scale.unit[f[(s.k + p) % job.ring.nfigure].length][c];
    }
}

template <int N>
__device__ inline drawing open_drawing(struct shared &sh, const struct job &job, const span &s)
{
    const int p = threadIdx.x / PULSE_DRAWS, d = threadIdx.x % PULSE_DRAWS;
    drawing draw = {NULL, NULL, -1};
    if (p >= s.pieces)
        return draw;
    const int end = p * job.ring.length + job.scale.step * (d + 1) - 1;
    draw.to = sh.draw[p][d];
    draw.unit = sh.unit[p];
    draw.end = end < s.n ? s.carry + end + 1 : -1;
    return draw;
}

template <int WIDTH>
__device__ __forceinline__ void take_draw(const struct shared &sh, const drawing &draw, int column)
{
    if (threadIdx.x < 32 && draw.to)
        draw.to[column] =
            draw.end >= 0 ? sh.sum[slot_of(WIDTH)][draw.end - WIDTH] * draw.unit[column] : NAN;
}

template <int WIDTH, int A, int B>
__device__ __forceinline__ void add_width(struct shared &sh, const float a[EACH], float sum[EACH])
{
    constexpr int slot = slot_of(WIDTH) >= 0 ? slot_of(WIDTH) : 0;
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int j = threadIdx.x + r * THREADS;
        sum[r] = a[r] + sh.sum[slot_of(B)][j + A];
        if (slot_of(WIDTH) >= 0)
            sh.sum[slot][j] = sum[r];
    }
}

/* All widths over the samples in sum1. */
template <int N>
__device__ inline void add_widths(struct shared &sh, const struct job &job, const span &s,
                                  const drawing &draw, const float sum1[EACH],
                                  float most[PULSE_WIDTHS][N])
{
    int column = 0;
#pragma unroll
    for (int r = 0; r < EACH; r++)
        sh.sum[slot_of(1)][threadIdx.x + r * THREADS] = sum1[r];
    see_sums<1, N>(s, job.ring.length, sum1, most[0]);
    __syncthreads();
    take_draw<1>(sh, draw, column++);
#define ADD_WIDTH(width, a, b, searched)                                                           \
    float sum##width[EACH];                                                                        \
    if (width > job.scale.maxwidth)                                                                \
        return;                                                                                    \
    add_width<width, a, b>(sh, sum##a, sum##width);                                                \
    if (searched)                                                                                  \
        see_sums<width, N>(s, job.ring.length, sum##width, most[column]);                          \
    __syncthreads();                                                                               \
    if (searched)                                                                                  \
        take_draw<width>(sh, draw, column++);
    PULSE_RECIPES(ADD_WIDTH)
#undef ADD_WIDTH
}

__device__ inline int find_most_of_warp(int mine)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, mine);
#else
    for (int l = 16; l; l /= 2) {
        const int other = __shfl_xor_sync(~0u, mine, l);
        mine = other > mine ? other : mine;
    }
    return mine;
#endif
}

/* What was found of the pieces goes to their figures. */
__device__ inline void keep_found(const struct shared &sh, const struct job &job, const span &s)
{
    for (int q = threadIdx.x; q < s.pieces * PULSE_COLUMNS; q += THREADS) {
        const int p = q / PULSE_COLUMNS, c = q % PULSE_COLUMNS;
        struct pulse_figures *f =
            job.ring.d_figure + s.i * job.ring.nfigure + (s.k + p) % job.ring.nfigure;
        float size[PULSE_DRAWS];
        int most = 0;
        if (c >= job.scale.nwidth)
            continue;
        for (int w = 0; w < WARPS; w++)
            most = sh.most[p][c][w] > most ? sh.most[p][c][w] : most;
        for (int d = 0; d < PULSE_DRAWS; d++) {
            const float v = sh.draw[p][d][c];
            f->draw[d][c] = v;
            size[d] = pulse_size(v);
        }
        f->draw_size[c] = pulse_take_middle(size, PULSE_DRAWS, PULSE_LEAST);
        f->most[c] = __int_as_float(most);
    }
}

/* N: pieces of a span. */
template <int N> __global__ void __launch_bounds__(THREADS, 5) add_up(const struct job job)
{
    __shared__ struct shared sh;
    const span s = open_span<N>(job);
    for (int j = threadIdx.x; j < SLOTS * PAD; j += THREADS)
        sh.sum[j / PAD][PULSE_K_SPAN + j % PAD] = -INFINITY;
    load_shapes(sh.shape, job.ring, s.i, s.k - 1, s.pieces + 1);
    load_units(sh, job, s);
    __syncthreads();
    float z[EACH], most[PULSE_WIDTHS][N] = {};
    flatten_own<N>(job, sh, s, z);
    const drawing draw = open_drawing<N>(sh, job, s);
    add_widths<N>(sh, job, s, draw, z, most);
#pragma unroll
    for (int c = 0; c < PULSE_WIDTHS; c++)
#pragma unroll
        for (int p = 0; p < N; p++) {
            const int found = find_most_of_warp(__float_as_int(most[c][p]));
            if (threadIdx.x % 32 == 0)
                sh.most[p][c][threadIdx.x / 32] = found;
        }
    __syncthreads();
    keep_found(sh, job, s);
}

/* --- loud pieces ------------------------------------------------------------------------------ */

__global__ void __launch_bounds__(THREADS)
    list_loud(const struct pulse_k_ring ring, const struct pulse_k_stage stage,
              const struct pulse_k_gather g)
{
    const size_t item = (size_t)blockIdx.x * THREADS + threadIdx.x;
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

__global__ void __launch_bounds__(THREADS)
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
        for (int j = threadIdx.x; j < each; j += THREADS) {
            const int own = j >= carry, t = own ? j - carry : ring.length - carry + j;
            const int64_t k = loud.piece - !own;
            const bool there = k >= 0 && (!own || t < loud.n);
            g.d_z[(size_t)at * each + j] =
                there ? flatten(shape[own], x + k % ring.npiece * ring.length, t) : -INFINITY;
        }
    }
}

constexpr unsigned COPIERS = 528; /* thread blocks; four on each of 132 multiprocessors */

} // namespace

extern "C" cudaError_t pulse_k_add_up(const struct pulse_k_ring *ring,
                                      const struct pulse_k_stage *stage,
                                      const struct pulse_scale *scale, cudaStream_t stream)
{
    struct job job = {*ring, *stage, *scale, 0};
    if (!stage->npiece)
        return cudaSuccess;
    const bool two = PIECES * ring->length + scale->maxwidth - 1 <= PULSE_K_SPAN;
    const size_t each = two ? PIECES : 1;
    job.spans = (unsigned)((stage->npiece + each - 1) / each);
    const unsigned blocks = (unsigned)(job.spans * ring->nseries);
    if (two)
        add_up<PIECES><<<blocks, THREADS, 0, stream>>>(job);
    else
        add_up<1><<<blocks, THREADS, 0, stream>>>(job);
    return cudaGetLastError();
}

extern "C" cudaError_t pulse_k_gather(const struct pulse_k_ring *ring,
                                      const struct pulse_k_stage *stage,
                                      const struct pulse_k_gather *gather, cudaStream_t stream)
{
    const size_t n = stage->npiece * gather->nseries;
    cudaError_t e = cudaMemsetAsync(gather->d_count, 0, sizeof *gather->d_count, stream);
    if (e || !n)
        return e;
    list_loud<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(*ring, *stage,
                                                                               *gather);
    copy_loud<<<COPIERS, THREADS, 0, stream>>>(*ring, *gather);
    return cudaGetLastError();
}
