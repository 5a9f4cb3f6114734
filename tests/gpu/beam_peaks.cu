/* The best boxcar of every series of a block.  A thread block a series: samples and sums of the present
 * length in shared memory.  To be compiled without fused multiply-adds: the host has the same bits. */
#include "beam_peaks.h"

namespace
{

constexpr int THREADS = 256, MOST = 128, SAMPLES = PEAKS_SAMPLES + MOST;

struct best {
    float snr;
    int32_t width, end;
};

__device__ __forceinline__ bool better(const best &a, const best &b)
{
    return a.snr != b.snr ? a.snr > b.snr : a.width != b.width ? a.width < b.width : a.end < b.end;
}

__device__ __forceinline__ void consider(best &b, float sum, int32_t width, float root, int32_t end)
{
    const best other = {sum / root, width, end};
    if (better(other, b))
        b = other;
}

__device__ best best_of_block(best b)
{
    __shared__ best all[THREADS];
    all[threadIdx.x] = b;
    for (int n = THREADS / 2; n; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n && better(all[threadIdx.x + n], all[threadIdx.x]))
            all[threadIdx.x] = all[threadIdx.x + n];
    }
    __syncthreads();
    return all[0];
}

__global__ void __launch_bounds__(THREADS) find_peaks(const struct peaks_job j)
{
    extern __shared__ float memory[];
    float *sum = memory, *next = memory + SAMPLES;
    const size_t i = blockIdx.x;
    const int behind = j.most - 1, n = (int)j.n + behind;
    const float *x = j.d_x + i * j.stride;
    float *kept = j.d_behind + i * behind;
    for (int t = threadIdx.x; t < n; t += THREADS)
        sum[t] = ((t < behind ? kept[t] : x[t - behind]) - j.mean) * j.scale;
    __syncthreads();
    for (int t = threadIdx.x; t < behind; t += THREADS) {
        const int from = n - behind + t;
        next[t] = from < behind ? kept[from] : x[from - behind];
    }
    __syncthreads();
    for (int t = threadIdx.x; t < behind; t += THREADS)
        kept[t] = next[t];
    __syncthreads();
    const int64_t ready64 = j.d_ready[i] - j.first + behind;
    const int ready = ready64 < 0 ? 0 : ready64 > n ? n : (int)ready64;
    best b = {-1e30f, 0, 0};
    for (int w = 1; w <= j.most; w *= 2) {
        const float root = sqrtf((float)w), root3 = sqrtf((float)(3 * w));
        for (int t = threadIdx.x; t < n; t += THREADS) {
            const bool two = t >= w, three = t >= 2 * w;
            const float one = sum[t], pair = two ? one + sum[t - w] : 0;
            next[t] = pair;
            /* of w samples, the last one t */
            if (t >= behind && t - w + 1 >= ready)
                consider(b, one, w, root, t + 1 - behind);
            if (three && 3 * w <= j.most && t >= behind && t - 3 * w + 1 >= ready)
                consider(b, pair + sum[t - 2 * w], 3 * w, root3, t + 1 - behind);
        }
        __syncthreads();
        float *const was = sum;
        sum = next;
        next = was;
    }
    b = best_of_block(b);
    if (threadIdx.x || !(b.snr >= j.threshold))
        return;
    const uint32_t at = atomicAdd(j.d_count, 1u);
    if (at < j.room)
        j.d_peak[at] = {b.snr, (int32_t)i, b.width, b.end};
}

} // namespace

extern "C" cudaError_t peaks_find(const struct peaks_job *job, cudaStream_t stream)
{
    const size_t bytes = 2 * SAMPLES * sizeof(float);
    if (!job->n || !job->nrow)
        return cudaSuccess;
    if (job->n > PEAKS_SAMPLES || job->most < 1 || job->most > MOST)
        return cudaErrorInvalidValue;
    cudaError_t e =
        cudaFuncSetAttribute(find_peaks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (e)
        return e;
    find_peaks<<<(unsigned)job->nrow, THREADS, bytes, stream>>>(*job);
    return cudaGetLastError();
}
