/* accel_level.cu: bins over the root of their local mean power, to the host's bits.
 *
 * find: all threads look at some of the numbers in turn.  measure: a thread block finds the median power of a block of bins, which lie in shared memory, by
 * halving the range of its bits.  scale: a thread block takes the bins between the middles of two
 * neighbours.  Compiled without fused multiply-adds.  Bound: device memory, 24 bytes a bin. */
#include "common/launch.cuh"
#include "common/select.cuh"
#include "matched/accel_kernels.h"

namespace
{

constexpr int THREADS = 512, WARPS = THREADS / WARP;
constexpr unsigned long long NONE = ~0ull;

/* Whether bin k is in one of the spans. */
static __device__ bool is_zapped(const accel_k_level &l, int64_t k)
{
    int lo = 0, hi = l.nzap;
    while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (l.d_zap[mid].first + l.d_zap[mid].count > k)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo < l.nzap && k >= l.d_zap[lo].first;
}

extern __shared__ unsigned room[]; /* [WARPS] sums, and keys */

/* The sum over the thread block, to all threads. */
static __device__ int sum_of_block(int x)
{
    int *part = (int *)room;
    x = sum_of_warp(x);
    __syncthreads(); /* part may still be read */
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = x;
    __syncthreads();
    return sum_of_warp(threadIdx.x % WARP < WARPS ? part[threadIdx.x % WARP] : 0);
}

/* Powers are not negative, so that their bits are in the order of their values. */
static __device__ int count_below(const unsigned *key, int n, unsigned pivot)
{
    int below = 0;
    for (int i = threadIdx.x; i < n; i += THREADS)
        below += key[i] < pivot;
    return sum_of_block(below);
}

/* The value of rank k among n. */
static __device__ unsigned select_key(const unsigned *key, int n, int k)
{
    unsigned found = 0; /* the highest that no more than k are below */
    for (unsigned bit = 1u << 30; bit; bit /= 2)
        if (count_below(key, n, found | bit) <= k)
            found |= bit;
    return found;
}

/* Of the lowest count of n; the mean of the two middle ones where count is even. */
static __device__ double find_median(const unsigned *key, int n, int count)
{
    const double middle = (double)__uint_as_float(select_key(key, n, count / 2));
    if (count % 2)
        return middle;
    return 0.5 * ((double)__uint_as_float(select_key(key, n, count / 2 - 1)) + middle);
}

__global__ void __launch_bounds__(THREADS) measure(const __grid_constant__ accel_k_level l)
{
    unsigned *key = room + WARPS;
    const double ln2 = 0.693147180559945309417;
    const int64_t first = l.d_first[blockIdx.x];
    const int n = (int)(l.d_first[blockIdx.x + 1] - first);
    const float2 *x = (const float2 *)l.d_x + first;
    int count = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const bool zapped = l.nzap && is_zapped(l, first + i);
        key[i] = zapped ? ~0u : __float_as_uint(x[i].x * x[i].x + x[i].y * x[i].y);
        count += !zapped;
    }
    count = sum_of_block(count); /* which waits for the keys */
    const double level = count ? find_median(key, n, count) / ln2 : 0;
    if (threadIdx.x == 0)
        l.d_mean[blockIdx.x] = level;
}

/* Where a block's level is. */
static __device__ double middle_of(const accel_k_level &l, int b)
{
    return (double)(l.d_first[b] + l.d_first[b + 1]) / 2;
}

__global__ void __launch_bounds__(THREADS) scale(const __grid_constant__ accel_k_level l)
{
    const int b = blockIdx.x;
    const bool last = b + 1 == l.nblock;
    const bool good = *l.d_bad == NONE;
    const double from = middle_of(l, b), to = last ? from : middle_of(l, b + 1);
    const double level = l.d_mean[b], rise = last ? 0 : l.d_mean[b + 1] - level;
    const int64_t end = last ? l.nbin : (int64_t)ceil(to);
    float2 *x = (float2 *)l.d_x;
    for (int64_t k = (b ? (int64_t)ceil(from) : 1) + threadIdx.x; k < end; k += THREADS) {
        double here = level;
        if (!last && (double)k > from)
            here += rise * ((double)k - from) / (to - from);
        const float mean = (float)here;
        const float by = mean > 0 ? __fdiv_rn(1, __fsqrt_rn(mean)) : 0;
        x[k] = good ? make_float2(x[k].x * by, x[k].y * by) : make_float2(0, 0);
    }
    if (b == 0 && threadIdx.x == 0)
        x[0] = make_float2(0, 0);
}

__global__ void __launch_bounds__(THREADS) find(const float *x, int64_t n, unsigned long long *bad)
{
    unsigned long long lowest = NONE;
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x; k < n; k += step)
        if (!isfinite(x[k]) && (unsigned long long)k < lowest)
            lowest = k;
    if (lowest != NONE)
        atomicMin(bad, lowest);
}

__global__ void clear_zapped(const __grid_constant__ accel_k_level l)
{
    const struct psr_span span = l.d_zap[blockIdx.x];
    for (int64_t k = threadIdx.x; k < span.count; k += blockDim.x)
        ((float2 *)l.d_x)[span.first + k] = make_float2(0, 0);
}

} // namespace

cudaError_t accel_k_find_bad(const float *d_x, int64_t n, uint64_t *d_bad, cudaStream_t stream)
{
    const int64_t most = 1056, need = (n + THREADS - 1) / THREADS;
    cudaError_t e = cudaMemsetAsync(d_bad, 0xff, sizeof *d_bad, stream);
    if (e)
        return e;
    find<<<(unsigned)(need < most ? need : most), THREADS, 0, stream>>>(
        d_x, n, (unsigned long long *)d_bad);
    return cudaGetLastError();
}

cudaError_t accel_k_normalise(const struct accel_k_level *l, cudaStream_t stream)
{
    int processors;
    cudaError_t e = allow_all_shared(measure, &processors);
    if (e)
        return e;
    measure<<<l->nblock, THREADS, (WARPS + l->longest) * sizeof(unsigned), stream>>>(*l);
    scale<<<l->nblock, THREADS, 0, stream>>>(*l);
    if (l->nzap)
        clear_zapped<<<l->nzap, 128, 0, stream>>>(*l);
    return cudaGetLastError();
}
