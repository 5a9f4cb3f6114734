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

/* --- sparks -------------------------------------------------------------------------------------- */

/* Tiles are rated by 16 threads for each row of them that is added at a time; then their medians around each are
 * subtracted, a thread a tile; then one thread block finds their scatter, bit by bit, and marks.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */

namespace
{

constexpr int GROUPS = PSR_AUTO_GROUPS, SPARK_THREADS = 128, WIDE_ROWS = 8;
constexpr int SORTERS = 1024, EACH = CLEAN_K_MOST / SORTERS;

/* Tiles of a width: those of block k begin at number k * per. */
struct tiles {
    size_t width, per, n;
};

/* Block of tile j. */
__device__ inline size_t range_of(const clean_k_window &w, const tiles &s, size_t j)
{
    const size_t k = s.per ? j / s.per : 0;
    return k < w.nrange ? k : w.nrange - 1;
}

/* Sums of a tile: by threads of sub-band g, each of some rows. */
__device__ inline void add_rows(const clean_k_window &w, size_t first, size_t width, size_t row,
                                size_t step, size_t g, unsigned long long *sum, unsigned *good)
{
    long long part = 0;
    unsigned n = 0;
    for (size_t t = first + row; t < first + width; t += step) {
        if (w.d_spark[t])
            continue;
        part += w.d_sum[t * w.ngroup + g];
        n++;
    }
    atomicAdd(sum + g, (unsigned long long)part);
    if (g == 0)
        atomicAdd(good, n);
}

/* Of those sub-bands that count: the two middle ones, and numbers n / 4 from either end.  Each thread ranks its own. */
__device__ inline void pick_ranks(const float *u, const size_t *count, size_t ngroup, size_t g,
                                  float *picked)
{
    size_t n = 0, rank = 0;
    for (size_t h = 0; h < ngroup; h++) {
        n += count[h] > 0;
        rank += count[h] > 0 && (u[h] < u[g] || (u[h] == u[g] && h < g));
    }
    if (!count[g])
        return;
    const size_t wanted[4] = {(n - 1) / 2, n / 2, n / 4, n - 1 - n / 4};
    for (int k = 0; k < 4; k++)
        if (rank == wanted[k])
            picked[k] = u[g];
}

/* M and Q of tiles: rows rows of each at a time. */
__global__ void __launch_bounds__(SPARK_THREADS)
    rate_tiles(const clean_k_window w, const tiles s, const int rows)
{
    __shared__ unsigned long long sum[SPARK_THREADS / GROUPS][GROUPS];
    __shared__ float u[SPARK_THREADS / GROUPS][GROUPS], picked[SPARK_THREADS / GROUPS][4];
    __shared__ unsigned good[SPARK_THREADS / GROUPS];
    const int g = threadIdx.x % GROUPS, row = threadIdx.x / GROUPS % rows,
              slot = threadIdx.x / (GROUPS * rows);
    const size_t j = (size_t)blockIdx.x * (SPARK_THREADS / (GROUPS * rows)) + slot;
    const bool exists = j < s.n && g < (int)w.ngroup;
    const struct clean_k_range *b = w.d_range + range_of(w, s, j);
    const size_t first = b->first + (j - (size_t)(b - w.d_range) * s.per) * s.width;
    if (row == 0)
        sum[slot][g] = 0;
    if (row == 0 && g == 0)
        good[slot] = 0;
    __syncthreads();
    if (exists)
        add_rows(w, first, s.width, row, rows, g, sum[slot], &good[slot]);
    __syncthreads();
    if (exists && row == 0 && b->count[g])
        u[slot][g] = psr_auto_spark_sigmas((long long)sum[slot][g], b->count[g], good[slot]);
    __syncthreads();
    if (exists && row == 0)
        pick_ranks(u[slot], b->count, w.ngroup, g, picked[slot]);
    __syncthreads();
    if (!exists || row || g)
        return;
    const bool rated = b->ncount && 2 * good[slot] >= s.width;
    const float *at = picked[slot];
    const double middle = b->ncount % 2 ? (double)at[1] : ((double)at[0] + (double)at[1]) / 2;
    struct psr_auto_spark m = {0, 0};
    if (rated)
        m = psr_auto_join_sigmas(middle, (double)at[2], (double)at[3], b->ncount);
    w.d_tile[j] = m.half;
    w.d_most[j] = m.most;
}

__global__ void __launch_bounds__(SPARK_THREADS) flatten(const clean_k_window w, const tiles s)
{
    const size_t j = (size_t)blockIdx.x * SPARK_THREADS + threadIdx.x;
    if (j < s.n)
        w.d_flat[j] = psr_auto_flatten(w.d_tile, s.n, j);
}

/* Rank k among n keys, of which each thread has some. */
__device__ inline unsigned select_key(const unsigned (&key)[EACH], size_t n, unsigned k,
                                      unsigned *histogram, unsigned *found)
{
    unsigned prefix = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (threadIdx.x < 256)
            histogram[threadIdx.x] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (i * SORTERS + threadIdx.x < n && (key[i] & mask) == prefix)
                atomicAdd(&histogram[key[i] >> shift & 255], 1u);
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned digit = 0;
            for (; digit < 255 && k >= histogram[digit]; digit++)
                k -= histogram[digit];
            found[0] = digit;
            found[1] = k;
        }
        __syncthreads();
        prefix |= found[0] << shift;
        mask |= 255u << shift;
        k = found[1];
    }
    __syncthreads();
    return prefix;
}

__device__ inline void mark(unsigned char *d_mark, size_t from, size_t to)
{
    for (size_t t = from; t < to; t++)
        d_mark[t] = 1;
}

/* The spectra of a tile, and half as many on either side. */
__device__ inline void mask(const clean_k_window &w, size_t first, size_t width)
{
    const size_t from = first > width / 2 ? first - width / 2 : 0, to = first + width + width / 2;
    mark(w.d_spark, from, to < w.n ? to : w.n);
}

__global__ void __launch_bounds__(SORTERS)
    mark_tiles(const clean_k_window w, const tiles s, const double clip_sigma)
{
    __shared__ unsigned histogram[256], found[2];
    unsigned key[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const size_t j = i * SORTERS + threadIdx.x;
        key[i] = j < s.n ? __float_as_uint(fabsf(w.d_flat[j])) : 0;
    }
    const float high = __uint_as_float(select_key(key, s.n, (unsigned)(s.n / 2), histogram, found));
    const float low =
        s.n % 2 ? high
                : __uint_as_float(select_key(key, s.n, (unsigned)(s.n / 2 - 1), histogram, found));
    const double median = s.n % 2 ? (double)high : ((double)low + (double)high) / 2;
    const double scatter = fmax(1.0, PSR_AUTO_SCATTER * median);
    for (int i = 0; i < EACH; i++) {
        const size_t j = i * SORTERS + threadIdx.x;
        if (j >= s.n)
            break;
        const float flat = w.d_flat[j], most = w.d_most[j];
        const size_t k = range_of(w, s, j), first = w.d_range[k].first + (j - k * s.per) * s.width;
        if (psr_auto_stands_out(flat, most, PSR_AUTO_PULSE * scatter, PSR_AUTO_PULSE))
            mark(w.d_pulse, first, first + s.width);
        if (clip_sigma > 0 && psr_auto_stands_out(flat, most, clip_sigma * scatter, clip_sigma))
            mask(w, first, s.width);
    }
}

} // namespace

extern "C" cudaError_t clean_k_find_sparks(const struct clean_k_window *w, size_t width,
                                           double clip_sigma, cudaStream_t stream)
{
    const size_t last = w->nrange - 1, left = w->n - last * w->size;
    const struct tiles s = {width, w->size / width, last * (w->size / width) + left / width};
    const int rows = width < WIDE_ROWS ? 1 : WIDE_ROWS;
    const size_t each = SPARK_THREADS / (GROUPS * rows);
    if (!s.n)
        return cudaSuccess;
    rate_tiles<<<(unsigned)((s.n + each - 1) / each), SPARK_THREADS, 0, stream>>>(*w, s, rows);
    flatten<<<(unsigned)((s.n + SPARK_THREADS - 1) / SPARK_THREADS), SPARK_THREADS, 0, stream>>>(*w,
                                                                                                 s);
    mark_tiles<<<1, SORTERS, 0, stream>>>(*w, s, clip_sigma);
    return cudaGetLastError();
}
