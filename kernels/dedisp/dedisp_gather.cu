/* Dedispersion sample by sample: any delays, any sums, floats too.
 *
 * Thread block: one trial x 1024 samples, four a thread, neighbours a thread apart; the grid is
 * (trial, stretch of 1024 samples).  Shared memory: the delays of 256 channels at a time, worked
 * out by as many threads. Bound: one load per sample and channel, so the load path of a
 * multiprocessor, 32 lanes a clock: 8 T adds/s on an H200 at best. */
#include "dedisp/dedisp_delay.cuh"

namespace
{

constexpr int THREADS = 256, EACH = 4, SAMPLES = THREADS * EACH;

struct job {
    struct dedisp_k_io io;
    struct dedisp_k_delays delays;
};

/* Channels k0 .. k0 + n - 1 of one plane of bytes. */
static __device__ void add_bytes(const struct dedisp_k_io &io, const int *delay, size_t k0, int n,
                                 size_t t, uint64_t sum[EACH])
{
    for (int q = 0; q < io.nplane; q++) {
        uint32_t part[EACH] = {0};
        const uint8_t *x = (const uint8_t *)io.d_runs + q * io.plane + k0 * io.pitch + io.at + t;
        for (int c = 0; c < n; c++, x += io.pitch)
#pragma unroll
            for (int i = 0; i < EACH; i++)
                part[i] += x[delay[c] + i * THREADS];
        for (int i = 0; i < EACH; i++)
            sum[i] += (uint64_t)part[i] << 8 * q;
    }
}

/* Sums of eight floats are off by less than 5e-7 of the sum of their absolute values; adding these as
 * doubles loses nothing noticeable. */
static __device__ void add_floats(const struct dedisp_k_io &io, const int *delay, size_t k0, int n,
                                  size_t t, double sum[EACH])
{
    const size_t pitch = io.pitch / sizeof(float);
    const float *x = (const float *)io.d_runs + k0 * pitch + io.at + t;
    for (int c = 0; c < n; c += 8) {
        float part[EACH] = {0};
        for (int e = 0; e < 8 && c + e < n; e++, x += pitch)
#pragma unroll
            for (int i = 0; i < EACH; i++)
                part[i] += x[delay[c + e] + i * THREADS];
        for (int i = 0; i < EACH; i++)
            sum[i] += (double)part[i];
    }
}

static __device__ void add_channels(const struct dedisp_k_io &io, const int *delay, size_t k0,
                                    int n, size_t t, uint64_t sum[EACH])
{
    add_bytes(io, delay, k0, n, t, sum);
}

static __device__ void add_channels(const struct dedisp_k_io &io, const int *delay, size_t k0,
                                    int n, size_t t, double sum[EACH])
{
    add_floats(io, delay, k0, n, t, sum);
}

template <class SUM> __global__ void __launch_bounds__(THREADS) gather(const struct job job)
{
    __shared__ int delay[THREADS];
    const double dm = job.delays.d_dm[blockIdx.x];
    const size_t t = (size_t)blockIdx.y * SAMPLES + threadIdx.x;
    SUM sum[EACH] = {0};
    for (size_t k0 = 0; k0 < job.io.nkept; k0 += THREADS) {
        int n = (int)min((size_t)THREADS, job.io.nkept - k0);
        size_t k = k0 + threadIdx.x;
        __syncthreads();
        if (k < job.io.nkept)
            delay[threadIdx.x] = delay_of(job.delays, dm, k);
        __syncthreads();
        add_channels(job.io, delay, k0, n, t, sum);
    }
    float *out = job.io.d_out + job.io.d_row[blockIdx.x] * job.io.out_pitch;
    for (int i = 0; i < EACH; i++)
        if (t + i * THREADS < job.io.nout)
            out[t + i * THREADS] = (float)(((double)sum[i] - job.io.bias) / job.io.downsamp);
}

} // namespace

extern "C" cudaError_t dedisp_k_gather(const struct dedisp_k_io *io, size_t ntrial,
                                       const struct dedisp_k_delays *delays, cudaStream_t stream)
{
    struct job job = {*io, *delays};
    dim3 grid((unsigned)ntrial, (unsigned)((io->nout + SAMPLES - 1) / SAMPLES));
    if (io->nplane)
        gather<uint64_t><<<grid, THREADS, 0, stream>>>(job);
    else
        gather<double><<<grid, THREADS, 0, stream>>>(job);
    return cudaGetLastError();
}
