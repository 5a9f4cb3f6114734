/* Series with what is masked restored, or with a common scatter.
 *
 * A thread block takes a tile of a series.  Its threads look up, channel by channel, what was missing just
 * before the tile (a binary search) and add the changes within it to a sum for each sample; the running
 * sum over the tile is what is missing at each sample.  Sums are integers, so their order does not matter.
 * Most tiles have no change, and one factor or one term.  Bound: device memory, 8 bytes a sample. */
#include "dedisp/mask_kernels.h"

#include "search/dedisp/mask/mask_correction.h"

namespace
{

constexpr int WARP = 32, THREADS = 256, WARPS = THREADS / WARP, EACH = 8, TILE = THREADS * EACH;
constexpr unsigned ALL = ~0u;
using sum = unsigned long long; /* modulo 2^64, as atomics have it */

struct shared {
    sum change[TILE];
    float value[TILE];
    sum total[WARPS];
    sum before; /* the tile */
};

static __device__ void add(sum *to, int64_t x)
{
    atomicAdd(to, (sum)x);
}

/* The first edge of a channel at sample q or after it. */
static __device__ uint32_t find_edge(const struct psr_mask_device_edge *edge,
                                     struct psr_mask_device_channel of, int64_t q)
{
    uint32_t low = of.first, high = of.end;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (edge[middle].q < q)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What is missing of a channel before sample t0 of the block; changes from there on go to the sums.
 * Returned: true if there are such */
static __device__ bool take_channel(const struct mask_k_job &job, struct shared &sh,
                                    struct psr_mask_device_channel of, int64_t delay, int64_t t0,
                                    int64_t *before)
{
    const int64_t from = job.now + t0 + delay - 1; /* the edge at the sample before has a rest */
    uint32_t k = find_edge(job.d_edge, of, from);
    *before += job.d_edge[k].before;
    bool any = false;
    for (; k < of.end; k++) {
        const struct psr_mask_device_edge e = job.d_edge[k];
        const int64_t t = e.q - from - 1;
        if (t >= TILE)
            break;
        if (t < 0)
            *before += e.part;
        else
            add(&sh.change[t], e.part);
        if (e.whole != e.part && t + 1 < TILE)
            add(&sh.change[t + 1], e.whole - e.part);
        any = any || t >= 0 || e.whole != e.part;
    }
    return any;
}

static __device__ int64_t sum_of_warp(int64_t x)
{
    for (int n = WARP / 2; n; n /= 2)
        x += __shfl_xor_sync(ALL, x, n);
    return x;
}

/* Returned: true if what is missing changes within the tile */
static __device__ bool take_channels(const struct mask_k_job &job, struct shared &sh, size_t i,
                                     int64_t t0)
{
    const int32_t *delay = job.d_delay + i * job.nchan;
    int64_t before = 0;
    bool any = false;
    for (size_t k = threadIdx.x; k < job.nchannel; k += THREADS) {
        const struct psr_mask_device_channel of = job.d_channel[k];
        any |= take_channel(job, sh, of, delay[of.c], t0, &before);
    }
    before = sum_of_warp(before);
    if (threadIdx.x % WARP == 0)
        add(&sh.before, before);
    return __syncthreads_or(any);
}

enum what { EQUALISE, RESTORE };

/* The factor of a sample, as find_factor of the host; or what to add to it. */
template <enum what WHAT>
static __device__ float find_value(const struct mask_k_job &job, sum missing)
{
    if (WHAT == RESTORE)
        return (float)((double)(int64_t)missing * job.unit);
    const double left = job.variance - (double)(int64_t)missing * job.unit;
    return left >= PSR_MASK_LEAST * job.variance ? (float)sqrt(job.variance / left) : NAN;
}

/* Sums of the threads before this one. */
static __device__ sum add_threads(struct shared &sh, sum mine)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    sum until = mine;
    for (int n = 1; n < WARP; n *= 2) {
        const sum x = __shfl_up_sync(ALL, until, n);
        until += lane >= n ? x : 0;
    }
    if (lane == WARP - 1)
        sh.total[warp] = until;
    __syncthreads();
    for (int k = 0; k < warp; k++)
        until += sh.total[k];
    return until - mine;
}

template <enum what WHAT>
static __device__ void find_values(const struct mask_k_job &job, struct shared &sh)
{
    const int first = threadIdx.x * EACH;
    sum mine = 0;
    for (int t = first; t < first + EACH; t++)
        mine += sh.change[t];
    sum missing = sh.before + (sum)job.constant + add_threads(sh, mine);
    float value = find_value<WHAT>(job, missing);
    for (int t = first; t < first + EACH; t++) {
        missing += sh.change[t];
        if (sh.change[t])
            value = find_value<WHAT>(job, missing);
        sh.value[t] = value;
    }
    __syncthreads();
}

template <enum what WHAT>
__global__ void __launch_bounds__(THREADS) correct(const struct mask_k_job job, size_t ntile)
{
    __shared__ struct shared sh;
    const size_t i = blockIdx.x / ntile, t0 = blockIdx.x % ntile * TILE;
    const float *in = job.d_in + i * job.in_stride + t0;
    float *out = job.d_out + i * job.out_stride + t0;
    const int n = (int)(job.n - t0 < TILE ? job.n - t0 : TILE);
    const float level = (float)job.level;
    for (int t = threadIdx.x; t < TILE; t += THREADS)
        sh.change[t] = 0;
    if (threadIdx.x == 0)
        sh.before = 0;
    __syncthreads();
    const bool changes = take_channels(job, sh, i, (int64_t)t0);
    if (changes)
        find_values<WHAT>(job, sh);
    const sum before = sh.before + (sum)job.constant;
    const float same = changes ? 0 : find_value<WHAT>(job, before);
    if (WHAT == RESTORE && !changes && !before)
        return;
    for (int t = threadIdx.x; t < n; t += THREADS) {
        const float value = changes ? sh.value[t] : same;
        out[t] = WHAT == RESTORE ? in[t] + value : level + (in[t] - level) * value;
    }
}

template <enum what WHAT> static cudaError_t run(const struct mask_k_job *job, cudaStream_t stream)
{
    const size_t ntile = (job->n + TILE - 1) / TILE;
    if (!ntile || !job->nseries)
        return cudaSuccess;
    if (ntile * job->nseries > INT32_MAX)
        return cudaErrorInvalidValue;
    const dim3 grid((unsigned)(ntile * job->nseries));
    correct<WHAT><<<grid, THREADS, 0, stream>>>(*job, ntile);
    return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t mask_k_equalise(const struct mask_k_job *job, cudaStream_t stream)
{
    return run<EQUALISE>(job, stream);
}

extern "C" cudaError_t mask_k_restore(const struct mask_k_job *job, cudaStream_t stream)
{
    return run<RESTORE>(job, stream);
}
