/* Automatic cleaning: how sub-bands vary together in tiles of each width, and what to subtract of that.
 *
 * All widths are measured at once: a thread block lists a width's tiles in order, one adds up a tile, one levels
 * a sub-band in all tiles of a width by ranking them, one sums the products of a width, each thread a pair of
 * sub-bands in the order of the tiles.  Running medians are found bit by bit, a thread each.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "clean/clean_kernels.h"
#include "common/select.cuh"

namespace
{

constexpr int GROUPS = PSR_AUTO_GROUPS, TILES = PSR_AUTO_TILES, LISTERS = 512, ADDERS = 128,
              THREADS = 256, SCANNERS = 1024;
static_assert(TILES == LISTERS, "a thread a tile");

/* --- tiles ------------------------------------------------------------------------------------ */

/* First spectrum of tile i; *counts says whether its block has sub-bands that count. */
__device__ inline size_t place_tile(const clean_k_window &w, size_t length, size_t i, bool *counts)
{
    const size_t per = w.size / length, whole = i / per,
                 k = whole < w.nrange ? whole : w.nrange - 1;
    *counts = w.d_range[k].ncount > 0;
    return w.d_range[k].first + (i - k * per) * length;
}

__device__ inline size_t count_tiles(const clean_k_window &w, size_t length)
{
    size_t n = 0;
    for (size_t k = 0; k < w.nrange; k++)
        n += w.d_range[k].n / length;
    return n;
}

/* Tiles without sparks, and at most half of pulses, evenly chosen, in order. */
__global__ void __launch_bounds__(LISTERS) list_tiles(const clean_k_window w)
{
    __shared__ unsigned place[2][LISTERS];
    __shared__ unsigned char bad[LISTERS];
    const struct psr_auto_width width = psr_auto_make_width(blockIdx.x);
    const size_t all = count_tiles(w, width.length), step = (all + TILES - 1) / TILES;
    const int lane = threadIdx.x % WARP;
    bool counts = false;
    bad[threadIdx.x] = 0;
    __syncthreads();
    for (size_t j = threadIdx.x / WARP; j < TILES && j * step < all; j += LISTERS / WARP) {
        const size_t first = place_tile(w, width.length, j * step, &counts);
        int pulses = 0, sparks = 0;
        for (size_t t = lane; t < width.length; t += WARP) {
            pulses += w.d_pulse[first + t];
            sparks += w.d_spark[first + t];
        }
        pulses = sum_of_warp(pulses);
        sparks = sum_of_warp(sparks);
        if (lane == 0)
            bad[j] = sparks > 0 || 2 * (size_t)pulses > width.length;
    }
    __syncthreads();
    const size_t i = threadIdx.x * step;
    const size_t first = i < all ? place_tile(w, width.length, i, &counts) : 0;
    const unsigned own = i < all && counts && !bad[threadIdx.x];
    int from = 0;
    place[0][threadIdx.x] = own;
    __syncthreads();
    for (int reach = 1; reach < LISTERS; reach *= 2, from = !from) {
        const unsigned before = (int)threadIdx.x >= reach ? place[from][threadIdx.x - reach] : 0;
        place[!from][threadIdx.x] = place[from][threadIdx.x] + before;
        __syncthreads();
    }
    const unsigned upto = place[from][threadIdx.x];
    if (own)
        w.d_list[blockIdx.x * TILES + upto - 1] = (uint32_t)first;
    if (threadIdx.x == LISTERS - 1)
        w.d_ntile[blockIdx.x] = upto;
}

/* A tile of a width, all sub-bands. */
__global__ void __launch_bounds__(ADDERS) rate_tiles(const clean_k_window w)
{
    __shared__ unsigned long long sum[GROUPS];
    const size_t tile = blockIdx.x, number = blockIdx.y;
    const int g = threadIdx.x % GROUPS;
    if (tile >= w.d_ntile[number])
        return;
    const struct psr_auto_width width = psr_auto_make_width(number);
    const size_t first = w.d_list[number * TILES + tile];
    if (threadIdx.x < GROUPS)
        sum[g] = 0;
    __syncthreads();
    long long part = 0;
    for (size_t t = threadIdx.x / GROUPS; g < (int)w.ngroup && t < width.length;
         t += ADDERS / GROUPS)
        part += w.d_pulse[first + t]
                    ? 0
                    : (long long)width.weight[t / width.step] * w.d_sum[(first + t) * w.ngroup + g];
    atomicAdd(&sum[g], (unsigned long long)part);
    __syncthreads();
    if (threadIdx.x >= w.ngroup)
        return;
    const size_t whole = first / w.size, k = whole < w.nrange ? whole : w.nrange - 1;
    w.d_rate[(number * TILES + tile) * w.ngroup + g] =
        psr_auto_sigmas((long long)sum[g], w.d_range[k].count[g], width.noise);
}

/* --- covariances ------------------------------------------------------------------------------ */

/* The median of n values; each thread ranks its own.  All threads call it, with shared room for two values. */
__device__ inline double find_median(const float *x, unsigned n, float *middle)
{
    const unsigned j = threadIdx.x;
    unsigned rank = 0;
    for (unsigned i = 0; j < n && i < n; i++)
        rank += x[i] < x[j] || (x[i] == x[j] && i < j);
    if (j < n && rank == n / 2)
        middle[1] = x[j];
    if (j < n && rank == (n - 1) / 2)
        middle[0] = x[j];
    __syncthreads();
    const double median = n % 2 ? (double)middle[1] : ((double)middle[0] + (double)middle[1]) / 2;
    __syncthreads();
    return median;
}

/* Subtracts a sub-band's median, clips, and subtracts the mean. */
__global__ void __launch_bounds__(TILES) level_tiles(const clean_k_window w)
{
    __shared__ float x[TILES], two[2];
    __shared__ unsigned long long sum;
    const size_t g = blockIdx.x, number = blockIdx.y;
    const unsigned n = w.d_ntile[number], j = threadIdx.x;
    if (n < PSR_AUTO_FEWEST)
        return;
    float *at = w.d_rate + (number * TILES + j) * w.ngroup + g;
    const double own = j < n ? (double)*at : 0;
    x[j] = (float)own;
    if (j == 0)
        sum = 0;
    __syncthreads();
    const double middle = find_median(x, n, two);
    x[j] = (float)fabs(own - middle);
    __syncthreads();
    const double most = PSR_AUTO_CLIP * fmax(1.0, PSR_AUTO_SCATTER * find_median(x, n, two));
    const float clipped = (float)psr_auto_clip(own - middle, most);
    if (j < n)
        atomicAdd(&sum, (unsigned long long)psr_auto_fixed(clipped));
    __syncthreads();
    if (j < n)
        *at = psr_auto_less_mean(clipped, (int64_t)sum, n);
    if (number == 0 && j == 0)
        w.d_centre[g] = middle;
}

__global__ void __launch_bounds__(THREADS) sum_products(const clean_k_window w)
{
    const size_t number = blockIdx.x, g = threadIdx.x / w.ngroup, h = threadIdx.x % w.ngroup;
    const unsigned n = w.d_ntile[number];
    if (n < PSR_AUTO_FEWEST || g >= w.ngroup)
        return;
    const float *r = w.d_rate + number * TILES * w.ngroup;
    double sum = 0;
#pragma unroll 8
    for (unsigned j = 0; j < n; j++, r += w.ngroup)
        sum += (double)r[g] * (double)r[h];
    w.d_product[(number * w.ngroup + g) * w.ngroup + h] = (float)sum;
}

/* --- what to subtract ------------------------------------------------------------------------- */

__global__ void __launch_bounds__(THREADS)
    project(const clean_k_window w, const struct psr_auto_modes m)
{
    const size_t t = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (t >= w.n)
        return;
    const size_t whole = t / w.size;
    const struct clean_k_range *b = w.d_range + (whole < w.nrange ? whole : w.nrange - 1);
    const bool counts = b->ncount && !w.d_spark[t];
    psr_auto_project(&m, w.ngroup, counts ? w.d_sum + t * w.ngroup : nullptr, b->count,
                     w.d_mode + t, w.window);
}

/* The value of rank k of n, and the next: for each bit of it, counts those below. */
__device__ inline double middle_of(const float *x, int n)
{
    const int k = (n - 1) / 2;
    unsigned low = 0, high = ~0u;
    while (low < high) {
        const unsigned half = low + (high - low) / 2;
        int upto = 0;
        for (int i = 0; i < n; i++)
            upto += ((unsigned)key_of(x[i]) ^ 0x80000000u) <= half;
        if (upto > k)
            high = half;
        else
            low = half + 1;
    }
    const float value = value_of((int)(low ^ 0x80000000u));
    if (n % 2)
        return (double)value;
    int upto = 0;
    float next = INFINITY;
    for (int i = 0; i < n; i++) {
        upto += x[i] <= value;
        next = x[i] > value ? fminf(next, x[i]) : next;
    }
    return ((double)value + (double)(upto > k + 1 ? value : next)) / 2;
}

/* Medians of the 2 h + 1 values around each, of those that there are. */
__global__ void __launch_bounds__(THREADS)
    run_median(const clean_k_window w, const struct psr_auto_modes m)
{
    __shared__ float x[THREADS + (1 << PSR_AUTO_WIDTHS)];
    const size_t k = blockIdx.y, h = m.width[k] / 2, t0 = (size_t)blockIdx.x * THREADS,
                 t = t0 + threadIdx.x;
    const size_t from = t0 > h ? t0 - h : 0, end = t0 + THREADS + h < w.n ? t0 + THREADS + h : w.n;
    for (size_t i = from + threadIdx.x; i < end; i += THREADS)
        x[i - from] = w.d_mode[k * w.window + i];
    __syncthreads();
    if (t >= w.n)
        return;
    const size_t first = t > h ? t - h : 0, last = t + h < w.n ? t + h : w.n - 1;
    w.d_median[k * w.window + t] = (float)middle_of(x + (first - from), (int)(last - first + 1));
}

/* Sums of the values before each, in fixed point: prefix[t] of values 0 .. t. */
__device__ inline void sum_before(const float *x, size_t n, long long *prefix,
                                  long long (*part)[SCANNERS])
{
    const size_t each = (n + SCANNERS - 1) / SCANNERS, first = threadIdx.x * each,
                 end = first + each < n ? first + each : n;
    long long sum = 0;
    for (size_t t = first; t < end; t++)
        sum += psr_auto_fixed(x[t]);
    int from = 0;
    part[0][threadIdx.x] = sum;
    __syncthreads();
    for (int reach = 1; reach < SCANNERS; reach *= 2, from = !from) {
        const long long before = (int)threadIdx.x >= reach ? part[from][threadIdx.x - reach] : 0;
        part[!from][threadIdx.x] = part[from][threadIdx.x] + before;
        __syncthreads();
    }
    sum = part[from][threadIdx.x] - sum;
    for (size_t t = first; t < end; t++) {
        sum += psr_auto_fixed(x[t]);
        prefix[t] = sum;
    }
}

/* Subtracts from running medians their mean over some on either side. */
__global__ void __launch_bounds__(SCANNERS)
    take_slow(const clean_k_window w, const struct psr_auto_modes m)
{
    __shared__ long long part[2][SCANNERS];
    const size_t k = blockIdx.x, h = m.slowest[k] / 2;
    float *x = w.d_median + k * w.window;
    long long *prefix = w.d_prefix + k * w.window;
    if (!h)
        return;
    sum_before(x, w.n, prefix, part);
    __syncthreads();
    for (size_t t = threadIdx.x; t < w.n; t += SCANNERS) {
        const size_t first = t > h ? t - h : 0, last = t + h < w.n ? t + h : w.n - 1;
        const long long sum = prefix[last] - (first ? prefix[first - 1] : 0);
        x[t] = psr_auto_less_mean(x[t], sum, last - first + 1);
    }
}

__global__ void __launch_bounds__(THREADS)
    make_less(const clean_k_window w, const struct psr_auto_modes m)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, t = i / w.ngroup, g = i % w.ngroup;
    if (t >= w.n)
        return;
    const size_t whole = t / w.size;
    const struct clean_k_range *b = w.d_range + (whole < w.nrange ? whole : w.nrange - 1);
    const bool counts = b->ncount && b->count[g];
    w.d_less[i] = counts ? psr_auto_less(&m, g, b->count[g], w.d_median + t, w.window) : 0;
}

unsigned count_blocks(size_t n, size_t each)
{
    return (unsigned)((n + each - 1) / each);
}

} // namespace

extern "C" cudaError_t clean_k_measure(const struct clean_k_window *w, size_t nwidth,
                                       cudaStream_t stream)
{
    const unsigned widths = (unsigned)nwidth;
    if (!widths)
        return cudaSuccess;
    list_tiles<<<widths, LISTERS, 0, stream>>>(*w);
    rate_tiles<<<dim3(TILES, widths), ADDERS, 0, stream>>>(*w);
    level_tiles<<<dim3((unsigned)w->ngroup, widths), TILES, 0, stream>>>(*w);
    sum_products<<<widths, THREADS, 0, stream>>>(*w);
    return cudaGetLastError();
}

extern "C" cudaError_t clean_k_subtract(const struct clean_k_window *w,
                                        const struct psr_auto_modes *m, cudaStream_t stream)
{
    const unsigned spectra = count_blocks(w->n, THREADS), modes = (unsigned)m->n;
    project<<<spectra, THREADS, 0, stream>>>(*w, *m);
    run_median<<<dim3(spectra, modes), THREADS, 0, stream>>>(*w, *m);
    take_slow<<<modes, SCANNERS, 0, stream>>>(*w, *m);
    make_less<<<count_blocks(w->n * w->ngroup, THREADS), THREADS, 0, stream>>>(*w, *m);
    return cudaGetLastError();
}
