/* De-reddening.
 *
 * Levels: a warp takes the powers of one block, in registers if they are few, and halves their range
 * until their median is left; the grid is (8 blocks, spectrum).  Bins: a thread block takes those
 * between the middles of two neighbouring blocks; the grid is (block, spectrum).  No shared memory.
 * Bound: device memory, 24 bytes a bin. */
#include "common/select.cuh"
#include "dsp/dsp_kernels.h"

namespace
{

constexpr int WARPS = 8, THREADS = 64, FEW = 8;

struct job {
    float2 *d_x;
    size_t pitch, nbin, nblock;
    const struct psr_span *d_block;
    double *d_level;
};

static __device__ float power_of(float2 x)
{
    return __fadd_rn(__fmul_rn(x.x, x.x), __fmul_rn(x.y, x.y));
}

/* Of n powers in the lanes' registers, whose bits are in the order of their values. */
static __device__ int count_below(const unsigned key[FEW], unsigned pivot)
{
    int below = 0;
#pragma unroll
    for (int i = 0; i < FEW; i++)
        below += key[i] < pivot;
    return sum_of_warp(below);
}

/* The value of rank k. */
static __device__ float select_few(const unsigned key[FEW], int k)
{
    unsigned found = 0; /* the highest that no more than k are below */
    for (unsigned bit = 1u << 30; bit; bit /= 2)
        if (count_below(key, found | bit) <= k)
            found |= bit;
    return __uint_as_float(found);
}

/* The mean of the two middle ones where n is even; n is at most FEW a lane. */
static __device__ double find_median_of_few(const float2 *x, int n)
{
    const int lane = threadIdx.x % WARP;
    unsigned key[FEW];
#pragma unroll
    for (int i = 0; i < FEW; i++)
        key[i] = lane + WARP * i < n ? __float_as_uint(power_of(x[lane + WARP * i])) : ~0u;
    const double middle = (double)select_few(key, n / 2);
    return n % 2 ? middle : 0.5 * ((double)select_few(key, n / 2 - 1) + middle);
}

/* The mean of the two middle ones where n is even. */
static __device__ double find_median(const float2 *x, int n)
{
    const int lane = threadIdx.x % WARP;
    auto power = [=](int i) { return power_of(x[i]); };
    auto rank = [=](float pivot) {
        int below = 0;
        for (int i = lane; i < n; i += WARP)
            below += power(i) < pivot;
        return sum_of_warp(below);
    };
    auto next = [=](float pivot) {
        float lowest = INFINITY;
        for (int i = lane; i < n; i += WARP)
            lowest = power(i) >= pivot ? fminf(lowest, power(i)) : lowest;
        return lowest_of_warp(lowest);
    };
    const float lower = halve(rank, next, 0, INFINITY, 0, n, (n - 1) / 2);
    if (n % 2)
        return lower;
    const float above = value_of(key_of(lower) + 1);
    return 0.5 * ((double)lower + (rank(above) > n / 2 ? lower : next(above)));
}

__global__ void __launch_bounds__(WARPS *WARP) measure(const struct job job)
{
    const size_t b = (size_t)blockIdx.x * WARPS + threadIdx.x / WARP;
    if (b >= job.nblock)
        return;
    const struct psr_span block = job.d_block[b];
    const double ln2 = 0.693147180559945309417;
    const float2 *x = job.d_x + blockIdx.y * job.pitch + block.first;
    const int n = (int)block.count;
    const double level = n <= FEW * WARP ? find_median_of_few(x, n) : find_median(x, n);
    if (threadIdx.x % WARP == 0)
        job.d_level[blockIdx.y * job.nblock + b] = level / ln2;
}

/* Between the middles the level is a line; it is constant before the first and goes on beyond the
 * last. */
__global__ void __launch_bounds__(THREADS) scale(const struct job job)
{
    const size_t b = blockIdx.x;
    const struct psr_span *block = job.d_block + b;
    const double *level = job.d_level + blockIdx.y * job.nblock + b;
    const size_t last = job.nblock - 1;
    float2 *x = job.d_x + blockIdx.y * job.pitch;
    const int64_t middle = block->first + block->count / 2;
    const int64_t begin = b == 0 ? 1 : middle;
    const int64_t end = b == last ? (int64_t)job.nbin : block[1].first + block[1].count / 2;
    const int from = b == last ? -1 : 0; /* the line's first block */
    double slope = 0;
    if (last > 0)
        slope = (level[from + 1] - level[from]) /
                (0.5 * (double)(block[from].count + block[from + 1].count));
    for (int64_t k = begin + threadIdx.x; k < end; k += THREADS) {
        const double here = level[0] + (k < middle ? 0 : slope * (double)(k - middle));
        const float by = here > 0 ? (float)(1 / sqrt(here)) : 0;
        x[k].x *= by;
        x[k].y *= by;
    }
    if (b == 0 && threadIdx.x == 0)
        x[0] = make_float2(1, 0);
}

} // namespace

extern "C" cudaError_t redden_k_remove(float *d_x, size_t pitch, size_t nbin, size_t nspec,
                                       const struct psr_span *d_block, size_t nblock,
                                       double *d_level, cudaStream_t stream)
{
    const struct job job = {(float2 *)d_x, pitch, nbin, nblock, d_block, d_level};
    if (nblock == 0)
        return cudaSuccess;
    const dim3 warps((unsigned)((nblock + WARPS - 1) / WARPS), (unsigned)nspec);
    measure<<<warps, WARPS * WARP, 0, stream>>>(job);
    scale<<<dim3((unsigned)nblock, (unsigned)nspec), THREADS, 0, stream>>>(job);
    return cudaGetLastError();
}
