/* Medians, deviations and powers.
 *
 * Thread block: one stretch of one spectrum, its bins in shared memory where they fit; the grid is
 * (stretch, spectrum).  A median is found without sorting: it lies within a few standard errors of
 * the mean, so the few values there are collected, by each warp for itself, while those below are
 * counted, and one warp per part halves their range until one is left.  Where the guess misses, as
 * with interference, the whole block halves the whole range.  Either way the result is the median
 * itself.  Bound: device memory, 12 bytes a bin. */
#include "common/select.cuh"
#include "pulscan/pulscan_kernels.h"

#include <cub/warp/warp_scan.cuh>
#include <float.h>

namespace
{

constexpr int BATCH = 8; /* bins that a thread reads at once */

/* Warps on a multiprocessor. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
constexpr int RESIDENT = 32;
#else
constexpr int RESIDENT = 48;
#endif

/* What a thread block shares; of pairs the first is for re, the second for im. */
template <int WARPS> struct shared {
    float found[2][WARPS][WARP]; /* infinite where a warp found fewer */
    int below[2][WARPS], inside[2][WARPS];
    bool known[2];
    float value[2], lowest[WARPS];
    float sum[WARPS][4], total[4];
};

/* One warp halves what all have found, a lane holding one value of each. */
template <int WARPS>
static __device__ void halve_found(struct shared<WARPS> *s, int c, float lo, float hi, int k)
{
    const int lane = threadIdx.x % WARP;
    float mine[WARPS];
    const int inside = lane < WARPS ? s->inside[c][lane] : 0;
    const int all = sum_of_warp(inside), most = (int)__ballot_sync(ALL, inside > WARP);
    k -= sum_of_warp(lane < WARPS ? s->below[c][lane] : 0);
    const bool known = k >= 0 && k < all && !most;
    if (lane == 0)
        s->known[c] = known;
    if (!known)
        return;
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        mine[w] = s->found[c][w][lane];
    auto rank = [&](float x) {
        int below = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            below += mine[w] < x;
        return sum_of_warp(below);
    };
    auto next = [&](float x) {
        float lowest = INFINITY;
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            lowest = mine[w] >= x ? fminf(lowest, mine[w]) : lowest;
        return lowest_of_warp(lowest);
    };
    const float value = halve(rank, next, lo, hi, 0, all, k);
    if (lane == 0)
        s->value[c] = value;
}

/* All threads halve all values; x(c, i) is value i of part c. */
template <int WARPS, class VALUES>
static __device__ __noinline__ float halve_all(struct shared<WARPS> *s, VALUES x, int c, int count,
                                               int k)
{
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    auto rank = [=](float pivot) {
        int below = 0;
        for (int i = threadIdx.x; i < count; i += WARPS * WARP)
            below += x(c, i) < pivot;
        below = sum_of_warp(below);
        __syncthreads();
        if (lane == 0)
            s->below[c][warp] = below;
        __syncthreads();
        return sum_of_warp(lane < WARPS ? s->below[c][lane] : 0);
    };
    auto next = [=](float pivot) {
        float lowest = INFINITY;
        for (int i = threadIdx.x; i < count; i += WARPS * WARP)
            lowest = x(c, i) >= pivot ? fminf(lowest, x(c, i)) : lowest;
        lowest = lowest_of_warp(lowest);
        __syncthreads();
        if (lane == 0)
            s->lowest[warp] = lowest;
        __syncthreads();
        return lowest_of_warp(lane < WARPS ? s->lowest[lane] : INFINITY);
    };
    return halve(rank, next, -INFINITY, INFINITY, 0, count, k);
}

/* Assigns each lane the places in the warp's list that it asks for. */
static __device__ int take_places(int wanted, int *all)
{
    using scan = cub::WarpScan<int>;
    typename scan::TempStorage none; /* a warp exchanges registers */
    int first;
    static_assert(sizeof none == 1, "a scan that needs shared memory");
    scan(none).ExclusiveSum(wanted, first, *all);
    return first;
}

/* Counts what is below the guess and collects what is in it, every warp for itself: a lane first
 * marks which of up to 32 values of its own are in it. */
template <int WARPS, class VALUES>
static __device__ void collect(struct shared<WARPS> *s, VALUES x, int count, const float lo[2],
                               const float hi[2])
{
    constexpr int THREADS = WARPS * WARP;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int below[2] = {0, 0}, inside[2] = {0, 0};
    for (int c = 0; c < 2; c++)
        s->found[c][warp][lane] = INFINITY;
    __syncwarp();
    for (int i0 = threadIdx.x; i0 - lane < count; i0 += 32 * THREADS) {
        const int end = min(count, i0 + 32 * THREADS);
        uint32_t in[2] = {0, 0}, bit = 1;
        for (int i = i0; i < end; i += BATCH * THREADS)
#pragma unroll
            for (int b = 0; b < BATCH; b++, bit += bit)
#pragma unroll
                for (int c = 0; c < 2; c++) {
                    const float v = i + b * THREADS < end ? x(c, i + b * THREADS) : INFINITY;
                    below[c] += v < lo[c];
                    in[c] |= v >= lo[c] && v < hi[c] ? bit : 0;
                }
#pragma unroll
        for (int c = 0; c < 2; c++) {
            int all, at = inside[c] + take_places(__popc(in[c]), &all);
            for (; in[c]; in[c] &= in[c] - 1, at++)
                if (at < WARP)
                    s->found[c][warp][at] = x(c, i0 + (__ffs(in[c]) - 1) * THREADS);
            inside[c] += all;
        }
    }
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const int n = sum_of_warp(below[c]);
        if (lane == 0) {
            s->below[c][warp] = n;
            s->inside[c][warp] = inside[c];
        }
    }
    __syncthreads();
}

/* The value of rank k of both parts, guessed to be within half of middle. */
template <int WARPS, class VALUES>
static __device__ void select(struct shared<WARPS> *s, VALUES x, int count, int k,
                              const float middle[2], const float half[2], float out[2])
{
    const float lo[2] = {middle[0] - half[0], middle[1] - half[1]};
    const float hi[2] = {middle[0] + half[0], middle[1] + half[1]};
    const int c = threadIdx.x / WARP;
    collect(s, x, count, lo, hi);
    if (c < 2)
        halve_found(s, c, c ? lo[1] : lo[0], c ? hi[1] : hi[0], k);
    __syncthreads();
#pragma unroll
    for (int part = 0; part < 2; part++)
        out[part] = s->known[part] ? s->value[part] : halve_all(s, x, part, count, k);
    __syncthreads();
}

/* The lowest bin of this thread's that is not finite. */
static __device__ __noinline__ void name_bad(const float2 *from, int first, int count, int step,
                                             int64_t offset, long long *bad)
{
    for (int i = first; i < count; i += step)
        if (!(fabsf(from[i].x) <= FLT_MAX && fabsf(from[i].y) <= FLT_MAX)) {
            atomicMin(bad, (long long)(offset + i));
            return;
        }
}

/* Means of both parts and of their sizes, without DC; in passing, bins go to shared memory. */
template <int WARPS>
static __device__ void load(struct shared<WARPS> *s, const float2 *from, float2 *to, int count,
                            int64_t offset, long long *bad)
{
    constexpr int THREADS = WARPS * WARP;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const bool dc = offset == 0 && threadIdx.x == 0;
    float sum[4] = {0, 0, 0, 0};
    if (dc && to)
        to[0] = from[0];
    for (int i0 = threadIdx.x + (dc ? THREADS : 0); i0 < count; i0 += BATCH * THREADS) {
        float2 v[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; b++)
            v[b] = i0 + b * THREADS < count ? from[i0 + b * THREADS] : make_float2(0, 0);
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            if (to && i0 + b * THREADS < count)
                to[i0 + b * THREADS] = v[b];
            sum[0] += v[b].x;
            sum[1] += v[b].y;
            sum[2] += fabsf(v[b].x);
            sum[3] += fabsf(v[b].y);
        }
    }
    if (dc || !(sum[2] + sum[3] <= FLT_MAX))
        name_bad(from, threadIdx.x, count, THREADS, offset, bad);
#pragma unroll
    for (int q = 0; q < 4; q++) {
        for (int n = WARP / 2; n; n /= 2)
            sum[q] += __shfl_xor_sync(ALL, sum[q], n);
        if (lane == 0)
            s->sum[warp][q] = sum[q];
    }
    __syncthreads();
    if (threadIdx.x < 4) {
        float total = 0;
        for (int w = 0; w < WARPS; w++)
            total += s->sum[w][threadIdx.x];
        s->total[threadIdx.x] = total / (float)count;
    }
    __syncthreads();
}

/* Noise of n values of mean size a has a standard deviation of 1.2533 a, its median lies 0.755 of
 * that over sqrt(n) from its mean, and its median deviation 0.63 of it over sqrt(n) from 0.6745 of
 * it (one standard deviation each): 3.3 of them on either side hold about 2 sqrt(n) values. */
template <int WARPS, class VALUES>
static __device__ struct psr_norm_level measure(struct shared<WARPS> *s, VALUES x, int count,
                                                bool keep_flat)
{
    const float each = 1.2533f * 3.3f / sqrtf((float)count);
    float middle[2], half[2], median[2], deviation[2];
    for (int c = 0; c < 2; c++) {
        middle[c] = s->total[c];
        half[c] = 0.755f * each * s->total[c + 2];
    }
    select(s, x, count, (count - 1) / 2, middle, half, median);
    for (int c = 0; c < 2; c++) {
        middle[c] = 0.6745f * 1.2533f * s->total[c + 2];
        half[c] = 0.63f * each * s->total[c + 2];
    }
    const float m[2] = {median[0], median[1]};
    auto away = [=](int c, int i) { return fabsf(x(c, i) - m[c]); };
    select(s, away, count, (count - 1) / 2, middle, half, deviation);
    struct psr_norm_level level;
    for (int c = 0; c < 2; c++) {
        const double d = 1.4826 * deviation[c];
        const bool known = d > 1e-37 && d <= FLT_MAX;
        level.median[c] = known ? median[c] : 0;
        level.scale[c] = known ? (float)(1 / d) : keep_flat ? 1.0f : 0.0f;
    }
    return level;
}

template <bool SHARED, int WARPS>
__global__ void __launch_bounds__(WARPS *WARP, WARPS < 32 ? RESIDENT / WARPS : 1)
    normalise(const struct pulscan_k_norm job)
{
    extern __shared__ float2 kept[];
    __shared__ struct shared<WARPS> s;
    const struct psr_norm_block st = job.d_norm_block[blockIdx.x];
    const float2 *from = (const float2 *)job.d_x + blockIdx.y * job.pitch + st.first;
    const int count = (int)st.count;
    load(&s, from, SHARED ? kept : NULL, count, st.first, job.d_bad + blockIdx.y);
    auto x = [=](int c, int i) {
        const float2 *bin = SHARED ? kept + i : from + i;
        return c ? bin->y : bin->x;
    };
    const struct psr_norm_level level = measure(&s, x, count, job.keep_flat);
    if (threadIdx.x == 0)
        job.d_level[blockIdx.y * job.nnorm_block + blockIdx.x] = level;
    float *power = job.d_power + blockIdx.y * job.power_pitch + st.first;
    const int begin = (int)(st.begin - st.first), end = (int)(st.end - st.first);
    for (int i0 = begin + threadIdx.x; i0 < end; i0 += BATCH * WARPS * WARP)
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            const int i = i0 + b * WARPS * WARP;
            if (i >= end)
                break;
            const float re = (x(0, i) - level.median[0]) * level.scale[0];
            const float im = (x(1, i) - level.median[1]) * level.scale[1];
            power[i] = fminf(__fadd_rn(__fmul_rn(re, re), __fmul_rn(im, im)), PSR_PULSCAN_MOST);
        }
    if (st.begin == 0 && threadIdx.x == 0)
        power[0] = 0;
}

/* Thread block: part of a zapped span; the grid is (span, spectrum). */
__global__ void zap(const struct pulscan_k_norm job)
{
    const struct psr_span span = job.d_zap[blockIdx.x];
    float *power = job.d_power + blockIdx.y * job.power_pitch;
    for (int64_t k = threadIdx.x; k < span.count; k += blockDim.x)
        if (span.first + k)
            power[span.first + k] = 2;
}

template <bool SHARED, int WARPS>
static cudaError_t launch(const struct pulscan_k_norm *norm, int room, cudaStream_t stream)
{
    const dim3 grid((unsigned)norm->nnorm_block, (unsigned)norm->nspec);
    const size_t bytes = SHARED ? norm->normblock * sizeof(float2) : 0;
    struct cudaFuncAttributes its;
    cudaError_t e = cudaFuncGetAttributes(&its, normalise<SHARED, WARPS>);
    if (!e && SHARED)
        e = cudaFuncSetAttribute(normalise<SHARED, WARPS>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 room - (int)its.sharedSizeBytes);
    if (e)
        return e;
    normalise<SHARED, WARPS><<<grid, WARPS * WARP, bytes, stream>>>(*norm);
    if (norm->nzap)
        zap<<<dim3((unsigned)norm->nzap, (unsigned)norm->nspec), 256, 0, stream>>>(*norm);
    return cudaGetLastError();
}

} // namespace

/* As many warps as let each find less than 32 values of a guess.  Shared memory is allowed to the
 * last byte, whatever is needed, as other threads may launch the same kernel. */
extern "C" cudaError_t pulscan_k_normalise(const struct pulscan_k_norm *norm, cudaStream_t stream)
{
    const size_t n = norm->normblock, bytes = n * sizeof(float2) + sizeof(struct shared<32>) + 64;
    int device, room;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (e)
        return e;
    if (bytes > (size_t)room)
        return launch<false, 32>(norm, room, stream);
    if (n <= 512)
        return launch<true, 4>(norm, room, stream);
    if (n <= 2048)
        return launch<true, 8>(norm, room, stream);
    return n <= 9216 ? launch<true, 16>(norm, room, stream) : launch<true, 32>(norm, room, stream);
}
