/* Medians, deviations and powers.
 *
 * Thread block: one stretch of one spectrum, both parts of its bins in shared memory where they
 * fit; the grid is (stretch, spectrum).  A median is found without sorting: it lies within a few
 * standard errors of the mean, so the few values there are collected while those below are counted,
 * and one warp per part halves the list until one is left.  Where the guess misses, as with
 * interference, the whole block halves the whole range.  Either way the result is the median
 * itself. Bound: device memory, 12 bytes a bin. */
#include "pulscan.h"

#include <float.h>

namespace
{

constexpr int MAX_THREADS = 512, WARP = 32, MAX_WARPS = MAX_THREADS / WARP;
constexpr int SHARE = 48, LIST = SHARE * MAX_WARPS; /* values that a warp collects at most */
constexpr int HALVINGS = 24; /* by value before halving by bits, which always ends */
constexpr unsigned ALL = ~0u;

/* What a thread block shares; of pairs the first is for re, the second for im. */
struct shared {
    float found[MAX_WARPS][2][SHARE], list[2][LIST];
    int inside[MAX_WARPS][2], below[MAX_WARPS][2];
    bool known[2];
    float value[2];
    double sum[MAX_WARPS][4];
};

/* Floats in the order of their values as integers, and back. */
static __device__ int key_of(float x)
{
    int b = __float_as_int(x);
    return b >= 0 ? b : b ^ 0x7fffffff;
}

static __device__ float value_of(int key)
{
    return __int_as_float(key >= 0 ? key : key ^ 0x7fffffff);
}

/* The value of rank k, where rank(x) values are below x and next(x) is the lowest not below x.
 * Given: rank(lo) = nlo <= k < nhi = rank(hi) */
template <class RANK, class NEXT>
static __device__ float halve(RANK rank, NEXT next, float lo, float hi, int nlo, int nhi, int k)
{
    int a = key_of(lo), b = key_of(hi);
    for (int n = 0; nhi - nlo > 1 && (unsigned)b - (unsigned)a > 1; n++) {
        int mid = key_of(0.5f * lo + 0.5f * hi);
        if (n >= HALVINGS || mid <= a || mid >= b)
            mid = (int)((unsigned)a + ((unsigned)b - (unsigned)a) / 2);
        float x = value_of(mid);
        int below = rank(x);
        if (below <= k) {
            a = mid;
            lo = x;
            nlo = below;
        } else {
            b = mid;
            hi = x;
            nhi = below;
        }
    }
    return next(lo);
}

static __device__ float lowest_of_warp(float x)
{
    for (int n = WARP / 2; n; n /= 2)
        x = fminf(x, __shfl_xor_sync(ALL, x, n));
    return x;
}

static __device__ int sum_of_warp(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL, x);
#else
    for (int n = WARP / 2; n; n /= 2)
        x += __shfl_xor_sync(ALL, x, n);
    return x;
#endif
}

/* One warp halves a list. */
static __device__ float halve_list(const float *list, int n, float lo, float hi, int k)
{
    const int lane = threadIdx.x % WARP;
    auto rank = [=](float x) {
        int below = 0;
        for (int i = lane; i < n; i += WARP)
            below += list[i] < x;
        return sum_of_warp(below);
    };
    auto next = [=](float x) {
        float lowest = INFINITY;
        for (int i = lane; i < n; i += WARP)
            lowest = list[i] >= x ? fminf(lowest, list[i]) : lowest;
        return lowest_of_warp(lowest);
    };
    return halve(rank, next, lo, hi, 0, n, k);
}

/* All threads halve all values; x(c, i) is value i of part c. */
template <class VALUES>
static __device__ float halve_all(struct shared *s, VALUES x, int c, int count, int k)
{
    auto rank = [=](float pivot) {
        int below = 0;
        for (int i = threadIdx.x; i < count; i += blockDim.x)
            below += x(c, i) < pivot;
        below = sum_of_warp(below);
        __syncthreads();
        if (threadIdx.x % WARP == 0)
            s->below[threadIdx.x / WARP][c] = below;
        __syncthreads();
        below = 0;
        for (int w = 0; w < (int)blockDim.x / WARP; w++)
            below += s->below[w][c];
        return below;
    };
    auto next = [=](float pivot) {
        float lowest = INFINITY;
        for (int i = threadIdx.x; i < count; i += blockDim.x)
            lowest = x(c, i) >= pivot ? fminf(lowest, x(c, i)) : lowest;
        lowest = lowest_of_warp(lowest);
        __syncthreads();
        if (threadIdx.x % WARP == 0)
            s->list[c][threadIdx.x / WARP] = lowest;
        __syncthreads();
        for (int w = 0; w < (int)blockDim.x / WARP; w++)
            lowest = fminf(lowest, s->list[c][w]);
        return lowest;
    };
    return halve(rank, next, -INFINITY, INFINITY, 0, count, k);
}

/* Counts what is below the guess and collects what is in it, every warp for itself. */
template <class VALUES>
static __device__ void collect(struct shared *s, VALUES x, int count, const float lo[2],
                               const float hi[2])
{
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int below[2] = {0, 0}, inside[2] = {0, 0};
#pragma unroll 4
    for (int i = threadIdx.x; i - lane < count; i += blockDim.x)
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const float v = i < count ? x(c, i) : INFINITY;
            const bool in = v >= lo[c] && v < hi[c];
            const unsigned those = __ballot_sync(ALL, in);
            const int at = inside[c] + __popc(those & ((1u << lane) - 1));
            below[c] += v < lo[c];
            if (in && at < SHARE)
                s->found[warp][c][at] = v;
            inside[c] += __popc(those);
        }
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const int n = sum_of_warp(below[c]);
        if (lane == 0) {
            s->below[warp][c] = n;
            s->inside[warp][c] = inside[c];
        }
    }
    __syncthreads();
}

/* Puts the shares of a part's values into one list.
 * Returned: how many there are, -1 where a share was too small; *below, values below them all */
static __device__ int join(struct shared *s, int c, int *below)
{
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int before = 0, all = 0;
    bool fits = true;
    *below = 0;
    for (int w = 0; w < (int)blockDim.x / WARP; w++) {
        before += w < warp ? s->inside[w][c] : 0;
        all += s->inside[w][c];
        fits = fits && s->inside[w][c] <= SHARE;
        *below += s->below[w][c];
    }
    for (int n = lane; fits && n < s->inside[warp][c]; n += WARP)
        s->list[c][before + n] = s->found[warp][c][n];
    return fits ? all : -1;
}

/* The value of rank k of both parts, guessed to be within half of middle. */
template <class VALUES>
static __device__ void select(struct shared *s, VALUES x, int count, int k, const float middle[2],
                              const float half[2], float out[2])
{
    const float lo[2] = {middle[0] - half[0], middle[1] - half[1]};
    const float hi[2] = {middle[0] + half[0], middle[1] + half[1]};
    const int c = threadIdx.x / WARP;
    int n[2], below[2];
    collect(s, x, count, lo, hi);
    n[0] = join(s, 0, &below[0]);
    n[1] = join(s, 1, &below[1]);
    __syncthreads();
    if (c < 2) {
        const int rank = k - (c ? below[1] : below[0]), all = c ? n[1] : n[0];
        const bool known = rank >= 0 && rank < all;
        const float v =
            known ? halve_list(s->list[c], all, c ? lo[1] : lo[0], c ? hi[1] : hi[0], rank) : 0;
        if (threadIdx.x % WARP == 0) {
            s->value[c] = v;
            s->known[c] = known;
        }
    }
    __syncthreads();
#pragma unroll
    for (int part = 0; part < 2; part++)
        out[part] = s->known[part] ? s->value[part] : halve_all(s, x, part, count, k);
    __syncthreads();
}

/* Sums over all threads. */
static __device__ void add_up(struct shared *s, double sum[4])
{
    for (int q = 0; q < 4; q++)
        for (int n = WARP / 2; n; n /= 2)
            sum[q] += __shfl_xor_sync(ALL, sum[q], n);
    if (threadIdx.x % WARP == 0)
        for (int q = 0; q < 4; q++)
            s->sum[threadIdx.x / WARP][q] = sum[q];
    __syncthreads();
    for (int q = 0; q < 4; q++) {
        sum[q] = 0;
        for (int w = 0; w < (int)blockDim.x / WARP; w++)
            sum[q] += s->sum[w][q];
    }
}

/* Means and mean sizes of both parts, without DC; in passing, bins go to shared memory. */
template <bool SHARED>
static __device__ void load(struct shared *s, const float2 *from, float2 *to, int count,
                            int64_t first, long long *bad, double sum[4])
{
    float part[4] = {0, 0, 0, 0};
#pragma unroll 8
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const float2 v = from[i];
        if (SHARED)
            to[i] = v;
        if (!(fabsf(v.x) <= FLT_MAX && fabsf(v.y) <= FLT_MAX))
            atomicMin(bad, (long long)(first + i));
        if (first + i == 0)
            continue;
        part[0] += v.x;
        part[1] += v.y;
        part[2] += fabsf(v.x);
        part[3] += fabsf(v.y);
    }
    for (int q = 0; q < 4; q++)
        sum[q] = part[q];
    add_up(s, sum);
}

/* Noise of n values of mean size a has a standard deviation of 1.2533 a, its median lies 0.755 of
 * that over sqrt(n) from its mean, and its median deviation 0.63 of it over sqrt(n) from 0.6745 of
 * it (one standard deviation each): 3.3 of them on either side hold about 2 sqrt(n) values. */
template <class VALUES>
static __device__ struct psr_level measure(struct shared *s, VALUES x, int count,
                                           const double sum[4], bool keep_flat)
{
    float middle[2], half[2], median[2], deviation[2];
    for (int c = 0; c < 2; c++) {
        middle[c] = (float)(sum[c] / count);
        half[c] = (float)(3.3 * 0.755 * 1.2533 * sum[c + 2] / count / sqrt((double)count));
    }
    select(s, x, count, (count - 1) / 2, middle, half, median);
    for (int c = 0; c < 2; c++) {
        middle[c] = (float)(0.6745 * 1.2533 * sum[c + 2] / count);
        half[c] = (float)(3.3 * 0.63 * 1.2533 * sum[c + 2] / count / sqrt((double)count));
    }
    const float m[2] = {median[0], median[1]};
    auto away = [=](int c, int i) { return fabsf(x(c, i) - m[c]); };
    select(s, away, count, (count - 1) / 2, middle, half, deviation);
    struct psr_level level;
    for (int c = 0; c < 2; c++) {
        const double d = 1.4826 * deviation[c];
        const bool known = d > 1e-37 && d <= FLT_MAX;
        level.median[c] = known ? median[c] : 0;
        level.scale[c] = known ? (float)(1 / d) : keep_flat ? 1.0f : 0.0f;
    }
    return level;
}

template <bool SHARED>
__global__ void __launch_bounds__(MAX_THREADS, 3) normalise(const struct pulscan_k_norm job)
{
    extern __shared__ float2 kept[];
    __shared__ struct shared s;
    const struct psr_stretch st = job.d_stretch[blockIdx.x];
    const float2 *from = (const float2 *)job.d_x + blockIdx.y * job.pitch + st.first;
    const int count = (int)st.count;
    double sum[4];
    load<SHARED>(&s, from, kept, count, st.first, job.d_bad + blockIdx.y, sum);
    __syncthreads();
    auto x = [=](int c, int i) {
        const float2 *bin = SHARED ? kept + i : from + i;
        return c ? bin->y : bin->x;
    };
    const struct psr_level level = measure(&s, x, count, sum, job.keep_flat);
    if (threadIdx.x == 0)
        job.d_level[blockIdx.y * job.nstretch + blockIdx.x] = level;
    float *power = job.d_power + blockIdx.y * job.power_pitch + st.first;
    const int end = (int)(st.end - st.first);
#pragma unroll 4
    for (int i = (int)(st.begin - st.first) + threadIdx.x; i < end; i += blockDim.x) {
        float re = (x(0, i) - level.median[0]) * level.scale[0];
        float im = (x(1, i) - level.median[1]) * level.scale[1];
        float p = __fadd_rn(__fmul_rn(re, re), __fmul_rn(im, im));
        power[i] = st.first + i ? fminf(p, PSR_PULSCAN_MOST) : 0;
    }
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

} // namespace

extern "C" cudaError_t pulscan_k_normalise(const struct pulscan_k_norm *norm, cudaStream_t stream)
{
    int device, room;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (e)
        return e;
    const size_t bytes = 2 * norm->normblock * sizeof(float);
    const bool shared = bytes + sizeof(struct shared) <= (size_t)room;
    const dim3 grid((unsigned)norm->nstretch, (unsigned)norm->nspec);
    const int threads = norm->normblock >= 4096 ? MAX_THREADS : norm->normblock >= 1024 ? 256 : 64;
    if (shared) {
        e = cudaFuncSetAttribute(normalise<true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)bytes);
        if (e)
            return e;
        normalise<true><<<grid, threads, bytes, stream>>>(*norm);
    } else {
        normalise<false><<<grid, threads, 0, stream>>>(*norm);
    }
    if (norm->nzap)
        zap<<<dim3((unsigned)norm->nzap, (unsigned)norm->nspec), 256, 0, stream>>>(*norm);
    return cudaGetLastError();
}
