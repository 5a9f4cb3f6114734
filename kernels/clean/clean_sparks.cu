/* Automatic cleaning: sparks and pulses in sums over sub-bands, one width of tiles after the other.
 *
 * Tiles are rated by 16 threads for each row of them that is added at a time; then their medians around each are
 * subtracted, a thread a tile; then one thread block finds their scatter, bit by bit, and marks.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "clean/clean_kernels.h"

namespace
{

constexpr int GROUPS = PSR_AUTO_GROUPS, THREADS = 128, WIDE_ROWS = 8;
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
__global__ void __launch_bounds__(THREADS)
    rate_tiles(const clean_k_window w, const tiles s, const int rows)
{
    __shared__ unsigned long long sum[THREADS / GROUPS][GROUPS];
    __shared__ float u[THREADS / GROUPS][GROUPS], picked[THREADS / GROUPS][4];
    __shared__ unsigned good[THREADS / GROUPS];
    const int g = threadIdx.x % GROUPS, row = threadIdx.x / GROUPS % rows,
              slot = threadIdx.x / (GROUPS * rows);
    const size_t j = (size_t)blockIdx.x * (THREADS / (GROUPS * rows)) + slot;
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

__global__ void __launch_bounds__(THREADS) flatten(const clean_k_window w, const tiles s)
{
    const size_t j = (size_t)blockIdx.x * THREADS + threadIdx.x;
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
    const size_t each = THREADS / (GROUPS * rows);
    if (!s.n)
        return cudaSuccess;
    rate_tiles<<<(unsigned)((s.n + each - 1) / each), THREADS, 0, stream>>>(*w, s, rows);
    flatten<<<(unsigned)((s.n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(*w, s);
    mark_tiles<<<1, SORTERS, 0, stream>>>(*w, s, clip_sigma);
    return cudaGetLastError();
}
