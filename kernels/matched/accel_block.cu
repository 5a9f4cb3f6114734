/* accel_block.cu: twiddle factors, and Fourier transforms of blocks of bins. */
#include "matched/accel_fft.cuh"
#include "matched/accel_kernels.h"

#include <math.h>

static_assert((int)ACCEL_BLOCK == (int)ACCEL_BINS, "one size");

/* --- factors ---------------------------------------------------------------------------------- */

template <class R> static void fill_twiddles(accel_factor<R> *twiddle)
{
    for (int k = 0; k < ACCEL_TWIDDLES; k++) {
        const int q = k - ACCEL_TWIDDLES_1;
        double turns = k < ACCEL_TWIDDLES_1 ? (k / 8) * (k % 8) / 128.0
                                            : (q % 16) * (q / 256 + 8 * (q / 16 % 16)) / 2048.0;
        twiddle[k] =
            accel_factor<R>::make((float)cos(2 * M_PI * turns), (float)sin(2 * M_PI * turns));
    }
}

/* Each thread's sixteen come in pieces of 16 bytes, those of all threads side by side. */
template <class R>
static void fill_response(accel_factor<R> *response, const float *const re[2],
                          const float *const im[2])
{
    const int each = 16 / (int)sizeof *response;
    for (int p = 0; p < 2; p++)
        for (int f = 0; f < ACCEL_BINS; f++) {
            const int thread = f % ACCEL_NTHREAD, i = f / ACCEL_NTHREAD + 8 * p;
            response[(i / each * ACCEL_NTHREAD + thread) * each + i % each] =
                accel_factor<R>::make(ACCEL_BINS * re[p][f], ACCEL_BINS * im[p][f]);
        }
}

size_t accel_k_twiddle_bytes(enum accel_k_number kind)
{
    return ACCEL_TWIDDLES *
           (kind == ACCEL_HALF ? sizeof(accel_factor<__half2>) : sizeof(accel_factor<float>));
}

size_t accel_k_response_bytes(enum accel_k_number kind)
{
    return 2 * ACCEL_BINS *
           (kind == ACCEL_HALF ? sizeof(accel_factor<__half2>) : sizeof(accel_factor<float>));
}

void accel_k_twiddle_fill(enum accel_k_number kind, void *twiddle)
{
    if (kind == ACCEL_HALF)
        fill_twiddles((accel_factor<__half2> *)twiddle);
    else
        fill_twiddles((accel_factor<float> *)twiddle);
}

void accel_k_response_fill(enum accel_k_number kind, void *response, const float *const re[2],
                           const float *const im[2])
{
    if (kind == ACCEL_HALF)
        fill_response((accel_factor<__half2> *)response, re, im);
    else
        fill_response((accel_factor<float> *)response, re, im);
}

/* --- blocks ----------------------------------------------------------------------------------- */

size_t accel_k_block_bytes(enum accel_k_number kind)
{
    return ACCEL_BINS * sizeof(accel_complex<float>) * (kind == ACCEL_HALF ? 1 : ACCEL_PAIR);
}

static __device__ void load_bins(const accel_k_blocks &b, int64_t first, accel_complex<float> *z,
                                 float sum[ACCEL_PAIR])
{
    for (int p = 0; p < ACCEL_PAIR; p++) {
        sum[p] = 0;
#pragma unroll
        for (int f2 = 0; f2 < 8; f2++) {
            const int64_t k = first + threadIdx.x + 256 * f2;
            const bool exists = b.bins.d_x[p] && k >= 0 && k < b.bins.nbin;
            const float2 x = exists ? ((const float2 *)b.bins.d_x[p])[k] : make_float2(0, 0);
            z[f2 + 8 * p] = {x.x, -x.y}; /* what is transformed back comes out conjugate */
            sum[p] += x.x * x.x + x.y * x.y;
        }
    }
}

/* Sums over the thread block. */
static __device__ void add_up(float sum[ACCEL_PAIR])
{
    __shared__ float part[ACCEL_PAIR][ACCEL_NTHREAD / 32];
    for (int p = 0; p < ACCEL_PAIR; p++) {
        for (int step = 16; step > 0; step /= 2)
            sum[p] += __shfl_xor_sync(~0U, sum[p], step);
        if (threadIdx.x % 32 == 0)
            part[p][threadIdx.x / 32] = sum[p];
    }
    __syncthreads();
    for (int p = 0; p < ACCEL_PAIR; p++) {
        sum[p] = 0;
        for (int w = 0; w < ACCEL_NTHREAD / 32; w++)
            sum[p] += part[p][w];
    }
}

static __device__ void put(const accel_k_blocks &b, int p, int f, float re, float im)
{
    const size_t block = blockIdx.x;
    if (b.kind == ACCEL_HALF) {
        __half *x = (__half *)b.d_x + 4 * (block * ACCEL_BINS + f);
        x[p] = __float2half_rn(re);
        x[2 + p] = __float2half_rn(im);
    } else {
        float2 *x = (float2 *)b.d_x + (ACCEL_PAIR * block + p) * ACCEL_BINS + f;
        *x = make_float2(re, im);
    }
}

/* The block of one spectrum is p = 0 of a transform, that of the other p = 1. */
static __global__ void __launch_bounds__(ACCEL_NTHREAD) transform_block(const accel_k_blocks b)
{
    __shared__ accel_complex<float> room[ACCEL_ROOM];
    const accel_factor<float> *twiddle = (const accel_factor<float> *)b.d_twiddle;
    accel_complex<float> z[ACCEL_POINTS];
    float sum[ACCEL_PAIR];
    load_bins(b, (b.first + blockIdx.x) * b.cut.good - b.cut.lead, z, sum);
    add_up(sum);
    accel_first_step(z, twiddle + accel_twiddle_1(threadIdx.x));
    accel_put_first(room, z, threadIdx.x);
    __syncthreads();
    accel_get_second(z, room, threadIdx.x);
    __syncthreads();
    accel_dft16(z);
    for (int n1 = 0; n1 < 16; n1++)
        z[n1] = z[n1] * twiddle[accel_twiddle_2(threadIdx.x) + 16 * n1];
    accel_put_second(room, z, threadIdx.x);
    __syncthreads();
    accel_get_third(z, room, threadIdx.x);
    accel_dft16(z);
    const accel_place at = accel_third(threadIdx.x);
    const int p = at.n0 % 2;
    const float mean = (p ? sum[1] : sum[0]) / ACCEL_BINS;
    const float scale = mean > 0 ? 1 / (ACCEL_BINS * sqrtf(mean)) : 0;
    if (threadIdx.x < ACCEL_PAIR)
        b.d_square[ACCEL_PAIR * blockIdx.x + threadIdx.x] = sum[threadIdx.x] / ACCEL_BINS;
#pragma unroll
    for (int n2 = 0; n2 < 16; n2++)
        put(b, p, at.n0 / 2 + 8 * at.low + 128 * n2, scale * z[n2].re, -scale * z[n2].im);
}

cudaError_t accel_k_transform(const struct accel_k_blocks *b, cudaStream_t stream)
{
    transform_block<<<b->nblock, ACCEL_NTHREAD, 0, stream>>>(*b);
    return cudaGetLastError();
}
