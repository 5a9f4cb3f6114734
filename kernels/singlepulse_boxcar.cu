/* The boxcar search of flattened series.
 *
 * Thread block: 256 threads search a span of 2048 samples of one series, 8 a thread, which settles
 * 2048 - (longest boxcar - 1) centres.  Each thread keeps its own sums of a width in registers and
 * takes those it adds from shared memory, where the sums that others add live in four slots (35 KB,
 * padded with minus infinity), each overwritten once nobody needs it; one barrier a width.  If any
 * S/N in the span reaches the threshold, the span is searched again, now with the best boxcar of
 * every centre in shared memory (16 KB), and hits are appended in order of time; so a span is
 * either searched fast or, where there is something, slowly.  The grid is (stretches of a series x
 * series).
 *
 * Bound: issue slots and shared memory, about 5 instructions and 8 bytes for each of 18 widths and
 * samples; the samples are read once, with the overlap 1.17 times.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse_kernels.h"

namespace
{

constexpr int THREADS = 256, EACH = PULSE_K_SPAN / THREADS, LONGEST = 300;
constexpr int PAD = 160, SLOT = PULSE_K_SPAN + PAD, SLOTS = 4;
/* Half pieces that a span touches, at most. */
constexpr int HALVES = PULSE_K_SPAN / (PULSE_PIECE_MIN / 2) + 2;
static_assert(LONGEST / 2 <= PAD, "what is added lies in the padding");

struct job {
    struct pulse_k_ring ring;
    struct pulse_k_search search;
    unsigned stretches;
};

struct shared {
    float sum[SLOTS][SLOT];
    float best[PULSE_K_SPAN];
    int32_t width[PULSE_K_SPAN];
    struct pulse_ramp ramp[HALVES];
    int found[THREADS / 32];
    unsigned long long first;
};

/* Where the sums of a width wait for those that add them; -1: nobody does.  A slot's former sums
 * were added at least one width before. */
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
    }
    return -1;
}

/* A span of samples; t0 may lie before the series begins. */
struct span {
    const float *x;
    int64_t t0;
    int base; /* of t0 in its half piece */
};

/* Ramps of the half pieces that the span touches. */
__device__ inline span open_span(const struct job &job, struct shared &sh, size_t i, int64_t t0)
{
    const struct pulse_k_ring &r = job.ring;
    const int half = r.length / 2;
    int64_t first = t0 / half; /* a negative t0 is less than one longest boxcar below 0 */
    first -= t0 < 0;
    for (int h = threadIdx.x; h < HALVES; h += THREADS) {
        const int64_t k = (first + h) / 2;
        const bool there = first + h >= 0 && (first + h) * half < job.search.end;
        if (there)
            sh.ramp[h] = r.d_ramp[2 * (i * r.npiece + k % r.npiece) + (first + h) % 2];
        else
            sh.ramp[h].dead = true;
    }
    __syncthreads();
    return {r.d_x + i * r.npiece * r.length, t0, (int)(t0 - first * half)};
}

/* Own samples, flattened. */
__device__ inline void flatten_own(const struct job &job, const struct shared &sh, const span &s,
                                   float z[EACH])
{
    const int room = job.ring.npiece * job.ring.length, half = job.ring.length / 2;
    const int at = (int)((s.t0 + room) % room);
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int j = threadIdx.x + r * THREADS, h = (s.base + j) / half;
        const struct pulse_ramp &ramp = sh.ramp[h];
        const int place = at + j < room ? at + j : at + j - room;
        z[r] = -INFINITY;
        if (!ramp.dead && s.t0 + j < job.search.end)
            z[r] = pulse_flatten_sample(s.x[place], s.base + j - h * half, ramp.level, ramp.step,
                                        ramp.scale, ramp.scale_step);
    }
}

/* What the search of a span goes by: the greatest S/N, or the best of every centre. */
template <bool BEST> struct watch {
    float most;
    __device__ inline void see(struct shared &, float snr, int, int)
    {
        most = snr > most ? snr : most;
    }
};

template <> struct watch<true> {
    float most;
    __device__ inline void see(struct shared &sh, float snr, int centre, int width)
    {
        /* Sums that reach beyond the span are minus infinity. */
        if (snr > -INFINITY && snr > sh.best[centre]) {
            sh.best[centre] = snr;
            sh.width[centre] = width;
        }
    }
};

template <int WIDTH, int A, int B, bool SEARCHED, bool BEST>
__device__ __forceinline__ void add_width(struct shared &sh, const float a[EACH], float sum[EACH],
                                          float norm, watch<BEST> &w)
{
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int j = threadIdx.x + r * THREADS;
        sum[r] = a[r] + sh.sum[slot_of(B)][j + A];
        if (SEARCHED)
            w.see(sh, sum[r] * norm, j + WIDTH / 2, WIDTH);
        if (slot_of(WIDTH) >= 0)
            sh.sum[slot_of(WIDTH) >= 0 ? slot_of(WIDTH) : 0][j] = sum[r];
    }
    __syncthreads();
}

/* All widths over the samples in sum1. */
template <bool BEST>
__device__ inline void try_widths(const struct pulse_k_search &s, struct shared &sh,
                                  const float sum1[EACH], watch<BEST> &w)
{
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        const int j = threadIdx.x + r * THREADS;
        sh.sum[slot_of(1)][j] = sum1[r];
        if (BEST) {
            sh.best[j] = sum1[r];
            sh.width[j] = 1;
        } else {
            w.see(sh, sum1[r], j, 1);
        }
    }
    __syncthreads();
    int n = 0;
#define ADD_WIDTH(width, a, b, searched)                                                           \
    float sum##width[EACH];                                                                        \
    if (width > s.maxwidth)                                                                        \
        return;                                                                                    \
    add_width<width, a, b, searched, BEST>(sh, sum##a, sum##width, s.norm[n++], w);
    PULSE_RECIPES(ADD_WIDTH)
#undef ADD_WIDTH
}

/* Sum over the threads before this one; *all: over all threads. */
__device__ inline int count_before(struct shared &sh, int mine, int *all)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = mine;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(~0u, sum, d);
        sum += lane >= d ? other : 0;
    }
    if (lane == 31)
        sh.found[warp] = sum;
    __syncthreads();
    int before = 0;
    *all = 0;
    for (int v = 0; v < THREADS / 32; v++) {
        before += v < warp ? sh.found[v] : 0;
        *all += sh.found[v];
    }
    return before + sum - mine;
}

/* Appends the hits among n centres, the first of them sample c0 + at and in place "from" of the
 * span. */
__device__ inline void append_hits(const struct pulse_k_search &s, struct shared &sh, size_t i,
                                   unsigned number, size_t at, int from, int n)
{
    const int each = (n + THREADS - 1) / THREADS, c0 = threadIdx.x * each;
    const int c1 = c0 + each < n ? c0 + each : n;
    int mine = 0, all;
    for (int c = c0; c < c1; c++)
        mine += sh.best[from + c] >= s.threshold;
    const int before = count_before(sh, mine, &all);
    if (all == 0)
        return;
    if (threadIdx.x == 0) {
        sh.first = atomicAdd(&s.d_count->nhit, (unsigned long long)all);
        const unsigned long long run = atomicAdd(&s.d_count->nrun, 1ull);
        s.d_run[run] = {(uint32_t)i, number, (uint32_t)sh.first, (uint32_t)all};
    }
    __syncthreads();
    if (sh.first + all > s.hit_room)
        return;
    struct pulse_device_hit *hit = s.d_hit + sh.first + before;
    for (int c = c0; c < c1; c++)
        if (sh.best[from + c] >= s.threshold)
            *hit++ = {(uint32_t)(at + c), sh.best[from + c], sh.width[from + c]};
}

__global__ void __launch_bounds__(THREADS, 4) search_spans(const struct job job)
{
    extern __shared__ __align__(16) unsigned char room[];
    struct shared &sh = *(struct shared *)room;
    const struct pulse_k_search &s = job.search;
    const unsigned number = blockIdx.x % job.stretches;
    const size_t i = s.i0 + blockIdx.x / job.stretches;
    const size_t settles = PULSE_K_SPAN - (s.maxwidth - 1), at = number * settles;
    for (int j = threadIdx.x; j < SLOTS * PAD; j += THREADS)
        sh.sum[j / PAD][PULSE_K_SPAN + j % PAD] = -INFINITY;
    const span span = open_span(job, sh, i, s.c0 + (int64_t)at - s.maxwidth / 2);
    float z[EACH];
    flatten_own(job, sh, span, z);
    watch<false> quick = {-INFINITY};
    try_widths(s, sh, z, quick);
    if (!__syncthreads_or(quick.most >= s.threshold))
        return;
    watch<true> careful = {};
    try_widths(s, sh, z, careful);
    __syncthreads();
    const size_t n = s.n - at < settles ? s.n - at : settles;
    append_hits(s, sh, i, number, at, s.maxwidth / 2, (int)n);
}

} // namespace

extern "C" size_t pulse_k_tiles(size_t n, int32_t maxwidth)
{
    const size_t settles = PULSE_K_SPAN - (maxwidth - 1);
    return (n + settles - 1) / settles;
}

extern "C" cudaError_t pulse_k_best(const struct pulse_k_ring *ring,
                                    const struct pulse_k_search *search, cudaStream_t stream)
{
    const size_t stretches = pulse_k_tiles(search->n, search->maxwidth);
    const struct job job = {*ring, *search, (unsigned)stretches};
    cudaError_t e = cudaMemsetAsync(search->d_count, 0, sizeof *search->d_count, stream);
    if (e || !stretches)
        return e;
    e = cudaFuncSetAttribute(search_spans, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)sizeof(struct shared));
    if (e)
        return e;
    search_spans<<<(unsigned)(stretches * search->nseries), THREADS, sizeof(struct shared),
                   stream>>>(job);
    return cudaGetLastError();
}
