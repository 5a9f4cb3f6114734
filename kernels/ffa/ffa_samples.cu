/* Series as integers, and the samples of each step of the ladder.
 *
 * Bound: device memory, some 4 bytes a sample of the series read three times and written once; the samples of
 * the steps gather prefix sums. */
#include "ffa/ffa_kernels.h"

#include <climits>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

constexpr int THREADS = 256, WARP = 32, BLOCK = 1024, LANES = 16;
constexpr unsigned ALL = ~0u;

/* Samples of gaps below sample i. */
static __device__ uint64_t count_missing(const ffa_k_gap *gap, size_t ngap, uint64_t i)
{
    size_t low = 0, high = ngap;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (gap[middle].first < i)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const ffa_k_gap &g = gap[low - 1];
    return g.before + (i - g.first < g.count ? i - g.first : g.count);
}

static __device__ uint64_t missing_between(const ffa_k_series &s, uint64_t from, uint64_t end)
{
    return count_missing(s.d_gap, s.ngap, end) - count_missing(s.d_gap, s.ngap, from);
}

/* Half a warp measures a block, each lane every 16th sample in order; the last one has what is left over and is
 * only looked through. */
static __global__ void measure(ffa_k_series s)
{
    const float *x = s.d_x;
    const size_t nsamp = s.nsamp;
    const size_t nblock = nsamp / BLOCK, b = ((size_t)blockIdx.x * THREADS + threadIdx.x) / LANES;
    const int lane = threadIdx.x % LANES;
    const size_t from = b * BLOCK, end = from + BLOCK < nsamp ? from + BLOCK : nsamp;
    long long worst = LLONG_MAX;
    double sum = 0, square = 0;
    const double first = from < nsamp ? (double)x[from] : 0;
    for (size_t i = from + lane; i < end; i += LANES) {
        const float v = x[i];
        const double y = (double)v - first;
        sum += y;
        square += y * y;
        if (!isfinite(v) && (long long)i < worst && !missing_between(s, i, i + 1))
            worst = (long long)i;
    }
    for (int width = LANES / 2; width; width /= 2) {
        sum += __shfl_down_sync(ALL, sum, width, LANES);
        square += __shfl_down_sync(ALL, square, width, LANES);
    }
    if (worst != LLONG_MAX)
        atomicMin(s.d_bad, worst);
    if (lane == 0 && b < nblock) {
        s.d_level[b] = (float)(first + sum / BLOCK);
        s.d_level[nblock + b] = (float)((square - sum * sum / BLOCK) / (BLOCK - 1));
    }
}

/* Samples in gaps become those of integer 0. */
static __global__ void fill_gaps(ffa_k_series s)
{
    const ffa_k_gap &gap = s.d_gap[blockIdx.x];
    const size_t apart = (size_t)gridDim.y * THREADS;
    for (size_t i = (size_t)blockIdx.y * THREADS + threadIdx.x; i < gap.count; i += apart)
        s.d_x[gap.first + i] = s.centre;
}

struct to_integer {
    const float *x;
    size_t nsamp;
    float centre, scale;

    __device__ uint32_t operator()(size_t i) const
    {
        if (i >= nsamp)
            return 0;
        float y = (x[i] - centre) * scale;
        y = y > -32767 ? y : -32767;
        y = y < 32767 ? y : 32767;
        return (uint32_t)__float2int_rn(y);
    }
};

static auto integers_of(const to_integer &f)
{
    return thrust::make_transform_iterator(thrust::counting_iterator<size_t>(0), f);
}

static __device__ size_t boundary(const ffa_k_step &k, uint64_t j)
{
    return (size_t)(((j * k.advance + (1ULL << 31)) >> 32) * k.granule);
}

/* Whether gaps leave at least half of a sample of "all", of which so many are missing. */
static __device__ bool is_there(long long all, long long missing)
{
    return 2 * missing <= all;
}

/* The sum of sample j, which becomes that of the whole if less than half is missing.
 * Returned: false if more is */
static __device__ bool find_sum(const ffa_k_series &s, const ffa_k_step &k, uint64_t j, int *sum)
{
    const size_t from = boundary(k, j), end = boundary(k, j + 1);
    *sum = (int)(s.d_prefix[end] - s.d_prefix[from]);
    if (!s.ngap)
        return true;
    const long long all = (long long)(end - from),
                    missing = (long long)missing_between(s, from, end);
    if (missing && is_there(all, missing))
        *sum = (int)(*sum * all / (all - missing));
    return is_there(all, missing);
}

/* The step that has part or sample i of all. */
template <class PLACE>
static __device__ const ffa_k_step &find_step(const ffa_k_step *step, size_t n, uint64_t i,
                                              PLACE place)
{
    size_t low = 0, high = n;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (place(step[middle]) <= i)
            low = middle;
        else
            high = middle;
    }
    return step[low];
}

static __device__ const ffa_k_step &step_of_part(const ffa_k_series &s, uint64_t i)
{
    return find_step(s.d_step, s.nstep, i, [](const ffa_k_step &a) { return a.part0; });
}

static __device__ const ffa_k_step &step_of_sample(const ffa_k_series &s, uint64_t i)
{
    return find_step(s.d_step, s.nstep, i, [](const ffa_k_step &a) { return a.q0; });
}

/* A warp averages a part's samples outside gaps: not a number where these are less than half. */
static __global__ void average(ffa_k_series s)
{
    const size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    if (i >= s.npart)
        return;
    const ffa_k_step &k = step_of_part(s, i);
    const uint64_t r = i - k.part0;
    long long total = 0;
    uint32_t n = 0;
    for (uint32_t j = threadIdx.x % WARP; j < k.part; j += WARP) {
        int sum;
        const bool there = find_sum(s, k, r * k.part + j, &sum);
        total += there ? sum : 0;
        n += there;
    }
    for (int width = WARP / 2; width; width /= 2) {
        total += __shfl_down_sync(ALL, total, width);
        n += __shfl_down_sync(ALL, n, width);
    }
    if (threadIdx.x % WARP == 0)
        s.d_mean[i] = 2 * n >= k.part ? (float)((double)total / (double)n) : NAN;
}

/* The lower median of a window: the value that has at most half of the others below it, and more with it.  Not a number
 * without any. */
static __global__ void take_medians(ffa_k_series s)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= s.npart)
        return;
    const ffa_k_step &k = step_of_part(s, i);
    const uint64_t r = i - k.part0, from = r > k.half ? r - k.half : 0,
                   end = r + k.half + 1 < k.nparts ? r + k.half + 1 : k.nparts;
    const float *mean = s.d_mean + k.part0;
    uint64_t n = end - from;
    for (uint64_t a = from; a < end && s.ngap; a++)
        n -= isnan(mean[a]);
    if (!n)
        s.d_median[i] = NAN;
    const uint64_t middle = (n - 1) / 2;
    for (uint64_t a = from; a < end; a++) {
        uint64_t below = 0, equal = 0;
        for (uint64_t b = from; b < end; b++) {
            below += mean[b] < mean[a];
            equal += mean[b] == mean[a];
        }
        if (below <= middle && middle < below + equal) {
            s.d_median[i] = mean[a];
            return;
        }
    }
}

/* The median of a window, or of the nearest one before it that has any, or of the first: to d_mean. */
static __global__ void carry_medians(ffa_k_series s)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= s.npart)
        return;
    const ffa_k_step &k = step_of_part(s, i);
    const float *median = s.d_median + k.part0;
    uint64_t at = i - k.part0;
    while (at > 0 && isnan(median[at]))
        at--;
    while (at + 1 < k.nparts && isnan(median[at]))
        at++;
    s.d_mean[i] = isnan(median[at]) ? 0 : median[at];
}

static __device__ float find_base(const ffa_k_step &k, const float *median, uint64_t j)
{
    const long long e = 2 * (long long)j - ((long long)k.part - 1);
    if (e < 0)
        return median[0];
    const uint64_t r = (uint64_t)e / (2 * k.part), l = (uint64_t)e % (2 * k.part);
    if (r + 1 >= k.nparts)
        return median[k.nparts - 1];
    return median[r] + (median[r + 1] - median[r]) * ((float)l * k.w);
}

static __global__ void sample(ffa_k_series s)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= s.nq)
        return;
    const ffa_k_step &k = step_of_sample(s, i);
    const uint64_t j = i - k.q0;
    if (j >= k.n) {
        s.d_q[FFA_PAIR * i] = 0;
        return;
    }
    const float *median = (s.ngap ? s.d_mean : s.d_median) + k.part0;
    int sum;
    const bool there = find_sum(s, k, j, &sum);
    const float base = k.part ? find_base(k, median, j) : 0,
                share = (float)(int)(boundary(k, j + 1) - boundary(k, j)) * k.v;
    float y = ((float)sum - base * share) * k.scale;
    y = y > -32767 ? y : -32767;
    y = y < 32767 ? y : 32767;
    s.d_q[FFA_PAIR * i] = there ? (int16_t)__float2int_rn(y) : 0;
}

static __global__ void count(ffa_k_series s, uint32_t *counts)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= s.nq)
        return;
    const ffa_k_step &k = step_of_sample(s, i);
    const uint64_t j = i - k.q0;
    const size_t from = boundary(k, j), end = boundary(k, j + 1);
    counts[i] =
        j < k.n && is_there((long long)(end - from), (long long)missing_between(s, from, end));
}

static unsigned blocks_of(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

} // namespace

cudaError_t ffa_k_measure(const struct ffa_k_series *s, cudaStream_t stream)
{
    const size_t units = s->nsamp / BLOCK + 1;
    measure<<<blocks_of(units * LANES), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}

cudaError_t ffa_k_scan_bytes(size_t nsamp, size_t *bytes)
{
    *bytes = 0;
    return cub::DeviceScan::ExclusiveSum(nullptr, *bytes, integers_of(to_integer{}),
                                         (uint32_t *)nullptr, nsamp + 1);
}

cudaError_t ffa_k_sample(const struct ffa_k_series *s, cudaStream_t stream)
{
    size_t bytes = s->scan_bytes;
    const to_integer f = {s->d_x, s->nsamp, s->centre, s->scale};
    if (s->ngap)
        fill_gaps<<<dim3((unsigned)s->ngap, 64), THREADS, 0, stream>>>(*s);
    cudaError_t e = cub::DeviceScan::ExclusiveSum(s->d_scan, bytes, integers_of(f), s->d_prefix,
                                                  s->nsamp + 1, stream);
    if (e)
        return e;
    if (s->npart) {
        average<<<blocks_of(s->npart * WARP), THREADS, 0, stream>>>(*s);
        take_medians<<<blocks_of(s->npart), THREADS, 0, stream>>>(*s);
        if (s->ngap)
            carry_medians<<<blocks_of(s->npart), THREADS, 0, stream>>>(*s);
    }
    sample<<<blocks_of(s->nq), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}

cudaError_t ffa_k_count(const struct ffa_k_series *s, uint32_t *d_count, cudaStream_t stream)
{
    count<<<blocks_of(s->nq), THREADS, 0, stream>>>(*s, d_count);
    return cudaGetLastError();
}
