/* Automatic cleaning: the passes over all samples.
 *
 * Sums take a thread a channel and a slice of a block; levels take a warp a spectrum of a sub-band, whose gains
 * stay in the nearest cache.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "clean/clean_kernels.h"
#include "common/select.cuh"

namespace
{

constexpr int THREADS = 256, SLICE = 128; /* spectra that a thread adds up */
constexpr int WARPS = THREADS / WARP, ROWS = 64;

/* A sample as an integer, of up to 16 bits; or as a float, as psr_spectrum_widen makes it. */
__device__ inline int integer_at(const clean_k_window &w, const unsigned char *row, size_t c)
{
    if (w.nbit == 16) {
        const uint16_t x = ((const uint16_t *)row)[c];
        return w.is_signed ? (int)(int16_t)x : (int)x;
    }
    if (w.nbit == 8)
        return w.is_signed ? (int)(int8_t)row[c] : (int)row[c];
    const size_t bit = c * (size_t)w.nbit;
    return (int)((unsigned)row[bit / 8] >> bit % 8 & ((1u << w.nbit) - 1));
}

__device__ inline float sample_at(const clean_k_window &w, const unsigned char *row, size_t c)
{
    if (w.is_float)
        return ((const float *)row)[c];
    return w.nbit == 32 ? (float)((const uint32_t *)row)[c] : (float)integer_at(w, row, c);
}

__global__ void __launch_bounds__(THREADS) sum_integers(const clean_k_window w)
{
    const size_t c = (size_t)blockIdx.x * THREADS + threadIdx.x, k = blockIdx.y;
    const size_t first = (size_t)blockIdx.z * SLICE,
                 end = first + SLICE < w.size ? first + SLICE : w.size;
    long long s1 = 0, s2 = 0;
    if (c >= w.nchan)
        return;
    const unsigned char *row = w.d_in + (k * w.size + first) * w.row_bytes;
#pragma unroll 8
    for (size_t t = first; t < end; t++, row += w.row_bytes) {
        const long long x = integer_at(w, row, c);
        s1 += x;
        s2 += x * x;
    }
    atomicAdd(w.d_s1 + k * w.nchan + c, (unsigned long long)s1);
    atomicAdd(w.d_s2 + k * w.nchan + c, (unsigned long long)s2);
}

/* In the order of the spectra. */
__global__ void __launch_bounds__(THREADS) sum_floats(const clean_k_window w)
{
    const size_t c = (size_t)blockIdx.x * THREADS + threadIdx.x, k = blockIdx.y;
    double s1 = 0, s2 = 0;
    if (c >= w.nchan)
        return;
    const unsigned char *row = w.d_in + k * w.size * w.row_bytes;
#pragma unroll 4
    for (size_t t = 0; t < w.size; t++, row += w.row_bytes) {
        const double x = (double)sample_at(w, row, c);
        s1 += x;
        s2 += x * x;
    }
    w.d_s1[k * w.nchan + c] = (unsigned long long)__double_as_longlong(s1);
    w.d_s2[k * w.nchan + c] = (unsigned long long)__double_as_longlong(s2);
}

/* --- levels ----------------------------------------------------------------------------------- */

/* Comparisons, as fmaxf would do other than the host with what is not a number. */
__device__ inline unsigned level_of(float y)
{
    y = y > 0.0f ? y : 0.0f;
    y = y < 255.0f ? y : 255.0f;
    return __float_as_uint(y + 8388608.0f) & 0xff;
}

/* Spectrum t of sub-band g, by a warp.  Returned: the lane's share of the sum of levels */
template <enum clean_k_levels LEVELS>
__device__ inline unsigned quantise_row(const clean_k_window &w, size_t t, size_t k, size_t first,
                                        size_t end, float less)
{
    const float *gain = w.d_gain + k * w.nchan, *offset = w.d_offset + k * w.nchan;
    const unsigned char *row = w.d_in + t * w.row_bytes;
    unsigned char *out = w.d_out + t * w.nchan;
    unsigned sum = 0;
    for (size_t c = first + threadIdx.x % WARP; c < end; c += WARP) {
        float x = sample_at(w, row, c);
        if (w.is_float && !isfinite(x))
            x = w.d_level[c];
        const float factor = gain[c];
        float y = x * factor;
        y += offset[c];
        if (LEVELS != CLEAN_K_PLAIN)
            y -= factor > 0.0f ? less : 0.0f;
        if (LEVELS == CLEAN_K_WEIGHTED) {
            y -= (float)PSR_AUTO_ZERO;
            y *= (float)w.d_weight[c] / (float)PSR_AUTO_SIGMA;
            y += (float)PSR_AUTO_ZERO;
        }
        const unsigned level = level_of(y);
        out[c] = (unsigned char)level;
        sum += level;
    }
    return sum;
}

template <enum clean_k_levels LEVELS>
__global__ void __launch_bounds__(THREADS) quantise(const clean_k_window w)
{
    const size_t g = blockIdx.y, first = g * w.nchan / w.ngroup, end = (g + 1) * w.nchan / w.ngroup;
    const size_t t0 = (size_t)blockIdx.x * ROWS;
    for (size_t t = t0 + threadIdx.x / WARP; t < t0 + ROWS && t < w.n; t += WARPS) {
        const size_t whole = t / w.size, k = whole < w.nrange ? whole : w.nrange - 1;
        const float less = LEVELS != CLEAN_K_PLAIN ? w.d_less[t * w.ngroup + g] : 0;
        const unsigned sum = quantise_row<LEVELS>(w, t, k, first, end, less);
        if (LEVELS != CLEAN_K_PLAIN)
            continue;
        const int all = sum_of_warp((int)sum);
        if (threadIdx.x % WARP == 0)
            w.d_sum[t * w.ngroup + g] = all - (int)(PSR_AUTO_ZERO * (end - first));
    }
}

constexpr unsigned BLANKERS = 1024;

__global__ void __launch_bounds__(THREADS) blank(const clean_k_window w)
{
    for (size_t t = blockIdx.x; t < w.n; t += gridDim.x)
        for (size_t c = threadIdx.x; w.d_spark[t] && c < w.nchan; c += THREADS)
            w.d_out[t * w.nchan + c] = PSR_AUTO_ZERO;
}

unsigned count_blocks(size_t n, size_t each)
{
    return (unsigned)((n + each - 1) / each);
}

} // namespace

extern "C" int clean_k_sums_integers(const struct clean_k_window *w)
{
    return !w->is_float && w->nbit <= 16;
}

extern "C" cudaError_t clean_k_sum(const struct clean_k_window *w, cudaStream_t stream)
{
    const unsigned across = count_blocks(w->nchan, THREADS), blocks = (unsigned)w->nblock;
    if (!w->nblock)
        return cudaSuccess;
    if (clean_k_sums_integers(w))
        sum_integers<<<dim3(across, blocks, count_blocks(w->size, SLICE)), THREADS, 0, stream>>>(
            *w);
    else
        sum_floats<<<dim3(across, blocks), THREADS, 0, stream>>>(*w);
    return cudaGetLastError();
}

extern "C" cudaError_t clean_k_quantise(const struct clean_k_window *w, enum clean_k_levels levels,
                                        cudaStream_t stream)
{
    const dim3 grid(count_blocks(w->n, ROWS), (unsigned)w->ngroup);
    if (levels == CLEAN_K_PLAIN)
        quantise<CLEAN_K_PLAIN><<<grid, THREADS, 0, stream>>>(*w);
    else if (levels == CLEAN_K_LESS)
        quantise<CLEAN_K_LESS><<<grid, THREADS, 0, stream>>>(*w);
    else
        quantise<CLEAN_K_WEIGHTED><<<grid, THREADS, 0, stream>>>(*w);
    return cudaGetLastError();
}

extern "C" cudaError_t clean_k_blank(const struct clean_k_window *w, cudaStream_t stream)
{
    const unsigned blocks = w->n < BLANKERS ? (unsigned)w->n : BLANKERS;
    blank<<<blocks, THREADS, 0, stream>>>(*w);
    return cudaGetLastError();
}
