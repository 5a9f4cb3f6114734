/* Ceilings of a device: one loop each, nothing but the instruction in question, eight warps a
 * thread block and eight blocks a multiprocessor. */
#include "ceilings.h"
#include <common/ptx.cuh>

namespace
{

constexpr int LOOPS = 4096, THREADS = 256, BLOCKS = 132 * 8, UNROLL = 8;

__global__ void __launch_bounds__(THREADS) products(int *sink)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    int c[UNROLL][4] = {};
    uint32_t a[4] = {threadIdx.x, 1, 2, 3};
    for (int n = 0; n < LOOPS; n++)
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
            multiply_add(c[i], a, i, 0x01020304u);
    int sum = 0;
    for (int i = 0; i < UNROLL; i++)
        sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
    if (sum == 1)
        *sink = sum;
#endif
}

__global__ void __launch_bounds__(THREADS) half_products(float *sink)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    float c[UNROLL][4] = {};
    uint32_t a[4] = {0x3c003c00u + threadIdx.x, 0x38003800u, 0x3a003a00u, 0x34003400u};
    for (int n = 0; n < LOOPS; n++)
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
            multiply_float_16(c[i], a, 0x30003000u + i, 0x31003200u);
    float sum = 0;
    for (int i = 0; i < UNROLL; i++)
        sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
    if (sum == 1)
        *sink = sum;
#endif
}

__global__ void __launch_bounds__(THREADS) shared_reads(int *sink)
{
    __shared__ uint4 words[THREADS * 2];
    for (int i = threadIdx.x; i < THREADS * 2; i += THREADS)
        words[i] = make_uint4(i, sink != nullptr, i, i);
    __syncthreads();
    uint4 sum = {};
    for (int n = 0; n < LOOPS; n++) {
        const volatile uint4 *from = words + ((threadIdx.x + n) & (THREADS - 1));
        uint32_t x, y, z, w;
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                     : "r"((uint32_t)__cvta_generic_to_shared((const void *)from)));
        sum.x ^= x ^ y;
        sum.y ^= z ^ w;
    }
    if ((sum.x ^ sum.y) == 12345)
        *sink = 1;
}

__global__ void fill(uint64_t *to, size_t words, uint64_t seed)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < words; i += (size_t)gridDim.x * blockDim.x) {
        uint64_t z = (i + seed) * 0x9E3779B97F4A7C15ull;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ z >> 27) * 0x94D049BB133111EBull;
        to[i] = z ^ z >> 31;
    }
}

} // namespace

extern "C" cudaError_t ceiling_products(void *d_sink, double *macs)
{
    *macs = (double)BLOCKS * (THREADS / 32) * LOOPS * UNROLL * 16 * 8 * 32;
    products<<<BLOCKS, THREADS>>>(static_cast<int *>(d_sink));
    return cudaGetLastError();
}

extern "C" cudaError_t ceiling_halves(void *d_sink, double *flops)
{
    *flops = (double)BLOCKS * (THREADS / 32) * LOOPS * UNROLL * 2 * 16 * 8 * 16;
    half_products<<<BLOCKS, THREADS>>>(static_cast<float *>(d_sink));
    return cudaGetLastError();
}

extern "C" cudaError_t ceiling_shared(void *d_sink, double *bytes)
{
    *bytes = (double)BLOCKS * THREADS * LOOPS * 16;
    shared_reads<<<BLOCKS, THREADS>>>(static_cast<int *>(d_sink));
    return cudaGetLastError();
}

extern "C" cudaError_t ceiling_fill(void *d_to, size_t bytes, uint64_t seed)
{
    fill<<<1056, 256>>>((uint64_t *)d_to, bytes / 8, seed);
    return cudaGetLastError();
}
