/* A thread block a direction. */
#include "beam_wide.h"
#include <beam/beam_weight.cuh>
#include <cuda_fp16.h>

namespace
{

constexpr int THREADS = 128, MOST = 64; /* places of an axis */

__device__ float find_factor(int n, double theta, int q)
{
    const beam_direction d = beam_point_along(n, theta);
    const int step = beam_steps(d, n, q);
    return beam_factor(d, step, beam_transpose(n, step));
}

__global__ void __launch_bounds__(THREADS)
    fill(__half *to, int m, int n, const double *ns, const double *ew)
{
    __shared__ float u[2][MOST];
    const int count[2] = {ns ? 2 * m : 1, ew ? 2 * n : 1};
    const int axis = (int)threadIdx.x / MOST, i = (int)threadIdx.x % MOST;
    const double *theta = axis ? ew : ns;
    if (i < count[axis])
        u[axis][i] = theta ? find_factor(axis ? n : m, theta[blockIdx.x], i) : 1;
    __syncthreads();
    const int all = count[0] * count[1];
    for (int e = (int)threadIdx.x; e < all; e += THREADS)
        to[(size_t)blockIdx.x * all + e] = __float2half(u[0][e / count[1]] * u[1][e % count[1]]);
}

} // namespace

extern "C" cudaError_t beam_wide_fill(void *d_to, size_t ndir, size_t m, size_t n,
                                      const double *d_ns, const double *d_ew, cudaStream_t stream)
{
    if (2 * m > MOST || 2 * n > MOST)
        return cudaErrorInvalidValue;
    fill<<<(unsigned)ndir, THREADS, 0, stream>>>(static_cast<__half *>(d_to), (int)m, (int)n, d_ns,
                                                 d_ew);
    return cudaGetLastError();
}
