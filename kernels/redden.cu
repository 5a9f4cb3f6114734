/* De-reddening.
 *
 * Levels: a warp takes the powers of one block and halves their range until their median is left;
 * the grid is (8 blocks, spectrum).  Bins: a thread block takes those between the middles of two
 * neighbouring blocks; the grid is (block, spectrum).  No shared memory.  Bound: device memory, 24
 * bytes a bin. */
#include "redden_kernels.h"
#include "select.cuh"

namespace
{

constexpr int WARPS = 8, THREADS = 64;

struct job {
    float2 *d_x;
    size_t pitch, nbin, nblock;
    const struct psr_span *d_block;
    double *d_level;
};

/* The mean of the two middle ones where n is even. */
static __device__ double find_median(const float2 *x, int n)
{
    const int lane = threadIdx.x % WARP;
    auto power = [=](int i) {
        return __fadd_rn(__fmul_rn(x[i].x, x[i].x), __fmul_rn(x[i].y, x[i].y));
    };
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
    double level = find_median(job.d_x + blockIdx.y * job.pitch + block.first, (int)block.count);
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
