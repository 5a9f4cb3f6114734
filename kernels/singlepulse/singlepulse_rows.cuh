/* singlepulse_rows.cuh: rows of 16 samples of a series, one per thread: their places in shared memory, and
 * their loading without the baseline.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#ifndef PSR_KERNELS_SINGLEPULSE_ROWS_CUH
#define PSR_KERNELS_SINGLEPULSE_ROWS_CUH

#include "singlepulse/singlepulse_kernels.h"

/* --- the baseline of a piece, in shared memory --------------------------------------------------- */

/* To be compiled without fused multiply-adds: the host has the same bits. */

/* The baseline of a piece. */
struct shape {
    struct pulse_ramp ramp[2];
    float edge[PULSE_EDGES];
    bool bent; /* there are edges */
};

/* Shapes of pieces k0 .. k0 + n - 1, by all threads. */
static __device__ inline void load_shapes(struct shape *shape, const struct pulse_k_ring &ring,
                                          size_t i, int64_t k0, int n)
{
    for (int q = (int)threadIdx.x; q < n; q += (int)blockDim.x) {
        struct shape &s = shape[q];
        s.ramp[0].dead = true;
        if (k0 + q < 0)
            continue;
        const struct pulse_figures &f = ring.d_figure[i * ring.nfigure + (k0 + q) % ring.nfigure];
        s.ramp[0] = f.ramp[0];
        s.ramp[1] = f.ramp[1];
        s.bent = f.length > 0;
        for (int e = 0; e < PULSE_EDGES && s.bent; e++)
            s.edge[e] = f.smooth[f.length - 1][e];
    }
}

/* The line between two parts, as it crosses some samples. */
struct bend {
    float level, slope;
    int at; /* of the first sample, after the middle of the first part */
};

static __device__ inline bend find_bend(const struct shape &s, int from, int part)
{
    const int e = from / part;
    return {s.edge[e], pulse_edge_slope(s.edge[e], s.edge[e + 1], part), from - e * part};
}

namespace
{

constexpr int EACH = 16, QUAD = 4, ROW = EACH + QUAD;        /* floats that a row takes */
constexpr int LONGEST = 300, AFTER = LONGEST / 2 / EACH + 2; /* rows read after the last */

/* Samples of a piece, and pieces of a thread block. */
template <int LENGTH> struct pieces {
    static constexpr int rows = LENGTH / EACH, part = LENGTH / PULSE_PARTS;
    static constexpr int most = LENGTH == 512 ? 5 : LENGTH < 1216 ? 2 : 1;
    static constexpr int threads = LENGTH == 512 ? 192 : LENGTH == 896 ? 128 : 96;
    static constexpr int blocks = LENGTH == 512 ? 3 : 512 / threads; /* of a multiprocessor */
    static_assert(LENGTH / 2 % EACH == 0, "a row has one ramp");
    static_assert(part / 2 % QUAD == 0 && part >= EACH, "a quarter of a row has one part");
    static_assert(rows >= 32, "rows that a warp meets are of two pieces");
};

struct job {
    struct pulse_k_ring ring;
    struct pulse_k_stage stage;
    struct pulse_scale scale;
    int groups, each; /* of pieces; pieces of each */
    int before;       /* rows before the first piece */
    int slots;
};

/* The pieces of a thread block. */
struct span {
    size_t i;
    int64_t k;  /* the first */
    int pieces; /* that there are */
    int n;      /* samples of all */
};

__device__ inline span open_span(const struct job &job)
{
    const struct pulse_k_stage &stage = job.stage;
    const size_t at = (size_t)(blockIdx.x % (unsigned)job.groups) * (size_t)job.each;
    const size_t left = stage.npiece - at;
    span s;
    s.i = blockIdx.x / (unsigned)job.groups;
    s.k = stage.k + (int64_t)at;
    s.pieces = left < (size_t)job.each ? (int)left : job.each;
    s.n = s.pieces * job.ring.length;
    if (s.k + s.pieces - 1 == stage.last)
        s.n += stage.n - job.ring.length;
    return s;
}

/* --- rows of shared memory ---------------------------------------------------------------------- */

/* Floats of a slot: a row for each thread, and what lies after them. */
__host__ __device__ inline int size_of_slot(int threads)
{
    return (threads + AFTER) * ROW;
}

__device__ inline float *find_slot(int slot)
{
    extern __shared__ float4 slots[];
    return (float *)slots + slot * size_of_slot((int)blockDim.x);
}

__device__ __forceinline__ void store_row(int slot, const float v[EACH])
{
    float4 *to = (float4 *)(find_slot(slot) + threadIdx.x * ROW);
#pragma unroll
    for (int m = 0; m < EACH / QUAD; m++)
        to[m] = make_float4(v[QUAD * m], v[QUAD * m + 1], v[QUAD * m + 2], v[QUAD * m + 3]);
}

/* N samples, from A after the first of the thread's row on. */
template <int A, int N> __device__ __forceinline__ void load_row(float v[N], int slot)
{
    constexpr int skip = A % QUAD, quads = (skip + N + QUAD - 1) / QUAD;
    const float *row = find_slot(slot) + threadIdx.x * ROW;
    float all[quads * QUAD];
#pragma unroll
    for (int m = 0; m < quads; m++) {
        const int at = A - skip + QUAD * m;
        const float4 q = *(const float4 *)(row + at + at / EACH * QUAD);
        all[QUAD * m] = q.x;
        all[QUAD * m + 1] = q.y;
        all[QUAD * m + 2] = q.z;
        all[QUAD * m + 3] = q.w;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        v[j] = all[skip + j];
}

/* --- flattening --------------------------------------------------------------------------------- */

/* Samples of one ramp, number j of it and on. */
__device__ __forceinline__ void flatten_ramp(float z[EACH], const struct pulse_ramp &r, int j)
{
    const double level = r.level, step = r.step, scale = r.scale, scale_step = r.scale_step;
    const double first = (double)j;
#pragma unroll
    for (int e = 0; e < EACH; e++)
        z[e] = pulse_flatten_sample(z[e], first + e, level, step, scale, scale_step);
}

/* Subtracts the baseline between parts from a piece's samples j and on. */
template <int LENGTH>
__device__ __forceinline__ void correct_row(float z[EACH], const struct shape &s, int j)
{
    constexpr int part = pieces<LENGTH>::part;
    const bend first = find_bend(s, j + part / 2, part);
    const bend last = find_bend(s, j + part / 2 + EACH - 1, part);
#pragma unroll
    for (int m = 0; m < EACH; m += QUAD) {
        const bool over = first.at + m >= part;
        const float level = over ? last.level : first.level;
        const float slope = over ? last.slope : first.slope;
        const int at = first.at + m - (over ? part : 0);
#pragma unroll
        for (int e = 0; e < QUAD; e++)
            z[m + e] = pulse_correct_sample(z[m + e], level, slope, at + e);
    }
}

/* Where the thread's row lies. */
struct row {
    int piece, j; /* from -1 on; first sample of the piece */
    int n;        /* samples there are; 0: none, or it lies before the series */
};

template <int LENGTH> __device__ inline row find_row(const struct job &job, const span &s)
{
    const int r = (int)threadIdx.x - job.before, p = r < 0 ? -1 : r / pieces<LENGTH>::rows;
    const int left = s.n - r * EACH;
    const bool exists = left > 0 && s.k + p >= 0;
    return {p, (r - p * pieces<LENGTH>::rows) * EACH, exists ? left < EACH ? left : EACH : 0};
}

/* Minus infinity where there is no sample. */
template <int LENGTH>
__device__ inline void read_row(float z[EACH], const struct job &job, const span &s, const row &r)
{
    const int npiece = job.ring.npiece;
#pragma unroll
    for (int e = 0; e < EACH; e++)
        z[e] = -INFINITY;
    if (r.n == 0)
        return;
    const float *x =
        job.ring.d_x + (s.i * npiece + (size_t)(s.k + r.piece) % npiece) * LENGTH + r.j;
    if (r.n == EACH)
#pragma unroll
        for (int m = 0; m < EACH / QUAD; m++) {
            const float4 q = ((const float4 *)x)[m];
            z[QUAD * m] = q.x;
            z[QUAD * m + 1] = q.y;
            z[QUAD * m + 2] = q.z;
            z[QUAD * m + 3] = q.w;
        }
    else
#pragma unroll
        for (int e = 0; e < EACH; e++)
            if (e < r.n)
                z[e] = x[e];
}

/* Missing samples remain minus infinity. */
template <int LENGTH>
__device__ inline void flatten_row(float z[EACH], const struct shape &shape, const row &r)
{
    if (r.n && !shape.ramp[0].dead) {
        const int second = r.j >= LENGTH / 2;
        flatten_ramp(z, shape.ramp[second], second ? r.j - LENGTH / 2 : r.j);
        if (shape.bent)
            correct_row<LENGTH>(z, shape, r.j);
    } else {
#pragma unroll
        for (int e = 0; e < EACH; e++)
            z[e] = -INFINITY;
    }
}

} // namespace

#endif
