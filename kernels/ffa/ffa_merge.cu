/* Transforms of folds, and the S/N of their rows.
 *
 * The recursion halves the rows of a fold, level after level; a node is one of its parts, and its depth the number of
 * halvings.  A thread block makes successive rows of one node from rows of the nodes "levels" below it: of
 * each of these it needs only as many as its own share, and one or two more.  It first finds, from the top, which
 * rows it needs of each node, then loads those of the lowest level, and merges them upwards in shared memory,
 * from one of two buffers to the other.  A warp adds a row, a bin of both series a lane.
 *
 * Bound: shared memory, 6 bytes an addition, and 4 for each width and bin of S/N. */
#include "common/launch.cuh"
#include "ffa/ffa_kernels.h"

#include <climits>

namespace
{

constexpr int WARP = 32, MOST_NODES = 2 << FFA_MAX_LEVELS;
constexpr unsigned ALL = ~0u;

/* Nodes of a tile, numbered as a heap: 1 is the result, 2 k and 2 k + 1 are the halves of k. */
struct nodes {
    uint32_t size[MOST_NODES], start[MOST_NODES]; /* rows of the fold */
    uint32_t low[MOST_NODES], count[MOST_NODES];  /* rows that are needed */
    uint32_t offset[MOST_NODES];                  /* their place among those of the level */
    uint32_t total[FFA_MAX_LEVELS + 1];           /* rows of a level */
    uint32_t first[FFA_MAX_LEVELS + 1];           /* its first one among all levels' */
    uint32_t largest;                             /* 1: sums may saturate */
    uint32_t fold;                                /* that the thread block works on */
};

/* How a row is made: of which rows of the level below it, or of the fold (start). */
struct recipe {
    uint32_t head, tail; /* head NONE: tail alone */
    uint32_t shift;
};
constexpr uint32_t NONE = ~0u;

static __host__ __device__ size_t bytes_of_plan(uint32_t rows)
{
    return (sizeof(struct nodes) + rows * sizeof(struct recipe) + 15) / 16 * 16;
}

static __host__ __device__ size_t bytes_of_sums(uint32_t nbin, uint32_t widest)
{
    return ((size_t)nbin + widest + 2) / 2 * 2 * sizeof(int);
}

static __device__ uint32_t row_of(uint32_t s, uint32_t rows, uint32_t m)
{
    return (2 * s * (rows - 1) + (m - 1)) /
           (2 * (m - 1)); /* below 2^32: m is at most FFA_MAX_ROWS */
}

/* --- which rows ------------------------------------------------------------------------------- */

/* The node at a depth, from the bits of its number. */
static __device__ void find_node(uint32_t nrow, uint32_t depth, uint32_t number, uint32_t *start,
                                 uint32_t *size)
{
    uint32_t m = nrow, from = 0;
    for (uint32_t d = depth; d-- > 0;) {
        const uint32_t half = m / 2;
        if (number >> d & 1) {
            from += half;
            m -= half;
        } else {
            m = half;
        }
    }
    *start = from;
    *size = m;
}

static __device__ void find_half(struct nodes &n, uint32_t k)
{
    const uint32_t of = k / 2, m = n.size[of], half = m / 2, low = n.low[of], count = n.count[of];
    const bool tail = k & 1;
    const uint32_t rows = tail ? m - half : half;
    n.size[k] = rows;
    n.start[k] = n.start[of] + (tail ? half : 0);
    n.low[k] = 0;
    n.count[k] = m == 1 && tail ? count : 0;
    if (m > 1 && count) {
        n.low[k] = row_of(low, rows, m);
        n.count[k] = row_of(low + count - 1, rows, m) + 1 - n.low[k];
    }
}

/* Places of the rows of one level, by a warp. */
static __device__ void place_rows(struct nodes &n, uint32_t level, int lane)
{
    const uint32_t nodes = 1u << level;
    uint32_t before = 0;
    for (uint32_t k = 0; k < nodes; k += WARP) {
        const uint32_t count = k + lane < nodes ? n.count[nodes + k + lane] : 0;
        uint32_t sum = count;
        for (int width = 1; width < WARP; width *= 2) {
            const uint32_t other = __shfl_up_sync(ALL, sum, width);
            sum += lane >= width ? other : 0;
        }
        if (k + lane < nodes)
            n.offset[nodes + k + lane] = before + sum - count;
        before += __shfl_sync(ALL, sum, WARP - 1);
    }
    if (lane == 0)
        n.total[level] = before;
}

static __device__ struct recipe make_recipe(const struct nodes &n, uint32_t k, uint32_t s,
                                            bool lowest, uint32_t nbin)
{
    const uint32_t m = n.size[k];
    if (lowest)
        return {NONE, n.start[k] + s, 0};
    if (m == 1)
        return {NONE, n.offset[2 * k + 1], 0};
    const uint32_t h = row_of(s, m / 2, m), t = row_of(s, m - m / 2, m);
    return {n.offset[2 * k] + h - n.low[2 * k], n.offset[2 * k + 1] + t - n.low[2 * k + 1],
            (s - t) % nbin};
}

static __device__ void plan_rows(struct nodes &n, struct recipe *recipe,
                                 const struct ffa_k_fold &fold, const struct ffa_k_sweep &sweep,
                                 uint32_t number, uint32_t low, uint32_t end)
{
    if (threadIdx.x == 0) {
        find_node(fold.nrow, sweep.depth, number, &n.start[1], &n.size[1]);
        const uint32_t stop = end < n.size[1] ? end : n.size[1];
        n.low[1] = low;
        n.count[1] = low < stop ? stop - low : 0;
    }
    __syncthreads();
    for (uint32_t level = 1; level <= sweep.levels; level++) {
        if (threadIdx.x < 1u << level)
            find_half(n, (1u << level) + threadIdx.x);
        __syncthreads();
    }
    if (threadIdx.x / WARP <= sweep.levels)
        place_rows(n, threadIdx.x / WARP, threadIdx.x % WARP);
    __syncthreads();
    if (threadIdx.x == 0) {
        n.first[0] = 0;
        for (uint32_t level = 0; level < sweep.levels; level++)
            n.first[level + 1] = n.first[level] + n.total[level];
    }
    __syncthreads();
    for (uint32_t k = 1 + threadIdx.x / WARP; k < 2u << sweep.levels; k += blockDim.x / WARP)
        for (uint32_t i = threadIdx.x % WARP; i < n.count[k]; i += WARP)
            recipe[n.first[31 - __clz(k)] + n.offset[k] + i] = {k, i, 0};
    __syncthreads();
    const uint32_t rows = n.first[sweep.levels] + n.total[sweep.levels];
    for (uint32_t r = threadIdx.x; r < rows; r += blockDim.x) {
        const uint32_t k = recipe[r].head;
        recipe[r] = make_recipe(n, k, n.low[k] + recipe[r].tail, k >> sweep.levels, fold.nbin);
    }
    __syncthreads();
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Sums of a bin of both series; saturated unless they are known to fit. */
template <bool FIT> static __device__ uint32_t add_pair(uint32_t a, uint32_t c)
{
    if (FIT) {
#if __CUDA_ARCH__ >= 900
        uint32_t sum;
        asm("add.s16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(c));
        return sum;
#else
        return __vadd2(a, c);
#endif
    }
#if __CUDA_ARCH__ >= 720
    const int s0 = (int)(int16_t)(a & 0xffff) + (int)(int16_t)(c & 0xffff),
              s1 = ((int)a >> 16) + ((int)c >> 16);
    uint32_t sum;
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(sum) : "r"(s1), "r"(s0));
    return sum;
#else
    return __vaddss2(a, c);
#endif
}

template <bool FIT>
static __device__ void merge_row(uint32_t *to, const uint32_t *head, const uint32_t *tail,
                                 uint32_t nbin, uint32_t shift, int lane)
{
    uint32_t j = lane + shift;
#pragma unroll 4
    for (uint32_t i = lane; i < nbin; i += WARP) {
        j = min(j, j - nbin);
        to[i] = add_pair<FIT>(head[i], tail[j]);
        j += WARP;
    }
}

static __device__ void copy_row(uint32_t *to, const uint32_t *from, uint32_t pitch, int lane)
{
    for (uint32_t i = lane; i < pitch / 2; i += WARP)
        ((uint2 *)to)[i] = ((const uint2 *)from)[i];
}

static __device__ uint32_t larger_of(uint32_t most, uint32_t x)
{
    return __vmaxu2(most, __vabsss2(x));
}

static __device__ uint32_t larger_of(uint32_t most, uint2 x)
{
    return larger_of(larger_of(most, x.x), x.y);
}

/* Copies n elements to shared memory, all loads of a lane before its first store.  Returned: as larger_of */
template <class T>
static __device__ uint32_t fetch_row(T *to, const T *from, uint32_t n, int lane, uint32_t most)
{
    enum { AHEAD = 8 };
    for (uint32_t first = lane; first < n; first += AHEAD * WARP) {
        T x[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (first + k * WARP < n)
                x[k] = __ldcg(from + first + k * WARP);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (first + k * WARP < n) {
                to[first + k * WARP] = x[k];
                most = larger_of(most, x[k]);
            }
    }
    return most;
}

/* Rows of the lowest level: of samples they are not aligned.
 * Returned: the largest absolute value of what this thread read */
static __device__ uint32_t load_rows(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                     const struct recipe *recipe, uint32_t n, uint32_t *to)
{
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    uint32_t most = 0;
    for (uint32_t r = threadIdx.x / WARP; r < n; r += warps) {
        uint32_t *row = to + (size_t)r * fold.pitch;
        const uint64_t at = recipe[r].tail;
        most = m.samples ? fetch_row(row, m.d_q + fold.q0 + at * fold.nbin, fold.nbin, lane, most)
                         : fetch_row((uint2 *)row,
                                     (const uint2 *)(m.d_from + fold.sums0 + at * fold.pitch),
                                     fold.pitch / 2, lane, most);
    }
    return max(most & 0xffff, most >> 16);
}

template <bool FIT>
static __device__ void merge_level(const struct recipe *recipe, uint32_t n, const uint32_t *from,
                                   uint32_t *to, const struct ffa_k_fold &fold)
{
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    for (uint32_t r = threadIdx.x / WARP; r < n; r += warps) {
        const struct recipe one = recipe[r];
        uint32_t *row = to + (size_t)r * fold.pitch;
        const uint32_t *tail = from + (size_t)one.tail * fold.pitch;
        if (one.head == NONE)
            copy_row(row, tail, fold.pitch, lane);
        else
            merge_row<FIT>(row, from + (size_t)one.head * fold.pitch, tail, fold.nbin, one.shift,
                           lane);
    }
}

static __device__ void store_rows(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                  const struct nodes &n, const uint32_t *from)
{
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    uint32_t *to = m.d_to + fold.sums0 + (uint64_t)(n.start[1] + n.low[1]) * fold.pitch;
    for (uint32_t r = threadIdx.x / WARP; r < n.count[1]; r += warps)
        copy_row(to + (size_t)r * fold.pitch, from + (size_t)r * fold.pitch, fold.pitch, lane);
}

/* --- S/N -------------------------------------------------------------------------------------- */

/* Bins of a lane, an odd number: lanes then write to different banks. */
static __device__ int bins_of_lane(int nbin)
{
    return ((nbin + WARP - 1) / WARP) | 1;
}

static __device__ int bin_of(uint32_t pair, int series)
{
    return series ? (int)pair >> 16 : (int)(int16_t)(pair & 0xffff);
}

/* Prefix sums of a series' profile, and on around it up to the widest boxcar. */
static __device__ void sum_bins(const uint32_t *x, int series, int nbin, int widest, int *sums,
                                int lane)
{
    const int each = bins_of_lane(nbin), from = lane * each < nbin ? lane * each : nbin,
              end = from + each < nbin ? from + each : nbin;
    int total = 0;
    for (int i = from; i < end; i++)
        total += bin_of(x[i], series);
    int before = total;
    for (int width = 1; width < WARP; width *= 2) {
        const int other = __shfl_up_sync(ALL, before, width);
        before += lane >= width ? other : 0;
    }
    before -= total;
    for (int i = from; i < end; i++) {
        sums[i] = before;
        before += bin_of(x[i], series);
    }
    const int all = __shfl_sync(ALL, before, WARP - 1);
    __syncwarp();
    for (int i = lane; i <= min(widest, nbin); i += WARP)
        sums[nbin + i] = all + (i ? sums[i] : 0);
    __syncwarp();
}

static __device__ int find_largest(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(ALL, x);
#else
    for (int width = WARP / 2; width; width /= 2) {
        const int other = __shfl_xor_sync(ALL, x, width);
        x = other > x ? other : x;
    }
    return x;
#endif
}

static __device__ void use_trial(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                 uint32_t series, uint32_t s, float snr, uint32_t width)
{
    const uint64_t trial = fold.trial0 + s - fold.s_lo;
    if (!m.d_hit) {
        m.d_snr[trial] = snr;
        m.d_width[trial] = (int)width;
    } else if (snr > m.sigma) {
        const unsigned at = atomicAdd(m.d_nhit, 1u);
        if (at < m.cap)
            m.d_hit[at] = {trial, fold.number, width, snr, series};
    }
}

/* The k-th width: each is the sum of the one before it and of the third before it. */
static __host__ __device__ constexpr int width_of(int k)
{
    return k < 4 ? k + 1 : width_of(k - 1) + width_of(k - 3);
}

template <int K> struct boxcars {
    static __device__ void take(int (&best)[FFA_MAX_WIDTHS], const int *sums, int less)
    {
        boxcars<K - 1>::take(best, sums, less);
        best[K - 1] = __viaddmax_s32(sums[width_of(K - 1)], less, best[K - 1]);
    }
};
template <> struct boxcars<0> {
    static __device__ void take(int (&)[FFA_MAX_WIDTHS], const int *, int)
    {
    }
};

/* What a lane knows of its width of w bins = sum_l digit_l 3^l. */
struct bound {
    float gain, loss;
    uint32_t digits; /* two bits each, the lowest first */
};

/* Digits of the number of bins that a lane's width has, by 3. */
static __device__ uint32_t find_digits(int lane)
{
    int w = lane + 1, one = 2, two = 3, three = 4;
    for (int k = 4; k <= lane; k++) {
        w = three + one;
        one = two;
        two = three;
        three = w;
    }
    uint32_t digits = 0;
    for (int l = 0; w; l++, w /= 3)
        digits |= (uint32_t)(w % 3) << 2 * l;
    return digits;
}

static __device__ struct bound find_bound(const float *gain, uint32_t nwidth, int lane)
{
    return lane < (int)nwidth
               ? (struct bound){gain[lane], gain[FFA_MAX_WIDTHS + lane], find_digits(lane)}
               : (struct bound){0, 0, 0};
}

static __device__ float find_snr(float gain, float loss, int most, float sum)
{
    return gain * (float)most - loss * sum;
}

static __host__ __device__ constexpr int levels_of(int widest)
{
    return widest < 3 ? 1 : 1 + levels_of(widest / 3);
}

static __host__ __device__ constexpr int size_of(int level)
{
    return level ? 3 * size_of(level - 1) : 1;
}

template <int L> struct boxes {
    static __device__ void take(int *most, const int *sums, int less)
    {
        boxes<L - 1>::take(most, sums, less);
        most[L - 1] = __viaddmax_s32(sums[size_of(L - 1)], less, most[L - 1]);
    }
};
template <> struct boxes<0> {
    static __device__ void take(int *, const int *, int)
    {
    }
};

/* Whether a boxcar may be above the threshold: sums of 3^l bins, of largest value m_l, bound those of the lane's width
 * by sum_l digit_l m_l.  In noise hardly a row passes. */
template <int LEVELS>
static __device__ bool may_exceed(const struct bound &lane_bound, float sigma, const int *sums,
                                  int nbin, int lane)
{
    int most[LEVELS], all = 0;
#pragma unroll
    for (int l = 0; l < LEVELS; l++)
        most[l] = INT_MIN;
    for (int i = lane; i < nbin; i += WARP)
        boxes<LEVELS>::take(most, sums + i, -sums[i]);
#pragma unroll
    for (int l = 0; l < LEVELS; l++)
        all += (int)(lane_bound.digits >> 2 * l & 3) * find_largest(most[l]);
    return __any_sync(ALL,
                      find_snr(lane_bound.gain, lane_bound.loss, all, (float)sums[nbin]) > sigma);
}

/* S/N of a row, whose sums are made. */
template <int WIDTHS>
static __device__ void rate_row(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                uint32_t series, uint32_t s, const int *sums, int lane)
{
    const int nbin = fold.nbin;
    int best[FFA_MAX_WIDTHS];
#pragma unroll
    for (int i = 0; i < WIDTHS; i++)
        best[i] = INT_MIN;
    for (int i = lane; i < nbin; i += WARP)
        boxcars<WIDTHS>::take(best, sums + i, -sums[i]);
    const float *gain = m.d_gain + (size_t)fold.number * 2 * FFA_MAX_WIDTHS,
                *loss = gain + FFA_MAX_WIDTHS;
    const float sum = (float)sums[nbin];
    float snr = -1e30f;
    uint32_t at = 0;
#pragma unroll
    for (int k = 0; k < WIDTHS; k++) {
        if (k >= (int)m.nwidth)
            break;
        const float z = find_snr(gain[k], loss[k], find_largest(best[k]), sum);
        at = z > snr ? k : at;
        snr = z > snr ? z : snr;
    }
    if (lane == 0)
        use_trial(m, fold, series, s, snr, at);
}

template <int WIDTHS>
static __device__ void rate_rows(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                 const struct nodes &n, const uint32_t *rows, char *room,
                                 size_t bytes)
{
    constexpr int WIDEST = width_of(WIDTHS - 1);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, nbin = fold.nbin;
    const size_t each = bytes_of_sums(fold.nbin, WIDEST);
    const int fit = (int)(bytes / each),
              warps = (int)(blockDim.x / WARP) < fit ? (int)(blockDim.x / WARP) : fit;
    if (warp >= warps)
        return;
    int *sums = (int *)(room + each * warp);
    const struct bound bound =
        find_bound(m.d_gain + (size_t)fold.number * 2 * FFA_MAX_WIDTHS, m.nwidth, lane);
    for (uint32_t k = warp; k < FFA_PAIR * n.count[1]; k += warps) {
        const uint32_t r = k / FFA_PAIR, series = k % FFA_PAIR;
        if (!(m.rated >> series & 1))
            continue;
        sum_bins(rows + (size_t)r * fold.pitch, series, nbin, WIDEST, sums, lane);
        if (!m.d_hit || may_exceed<levels_of(WIDEST)>(bound, m.sigma, sums, nbin, lane))
            rate_row<WIDTHS>(m, fold, series, n.low[1] + r, sums, lane);
        __syncwarp();
    }
}

/* --- all -------------------------------------------------------------------------------------- */

/* All threads look at once: a search by halves waits for memory at each step. */
static __device__ uint32_t find_fold(struct nodes &n, const struct ffa_k_merge &m)
{
    for (uint32_t i = threadIdx.x; i < m.nfold; i += blockDim.x)
        if (m.d_block[i] <= blockIdx.x && blockIdx.x < m.d_block[i + 1])
            n.fold = i;
    __syncthreads();
    return n.fold;
}

template <int WIDTHS>
static __global__ void __launch_bounds__(1024) merge(const __grid_constant__ ffa_k_merge m)
{
    extern __shared__ uint4 shared[];
    const struct ffa_k_sweep &w = m.sweep;
    struct nodes &n = *(struct nodes *)shared;
    const uint32_t at = find_fold(n, m), block = blockIdx.x - m.d_block[at];
    const struct ffa_k_fold fold = m.d_fold[at];
    const uint32_t low = m.rate ? fold.s_lo : 0,
                   rows = m.rate ? fold.s_hi - fold.s_lo
                                 : (fold.nrow + (1u << w.depth) - 1) >> w.depth,
                   tiles = (rows + w.tile - 1) / w.tile, tile = block % tiles;
    struct recipe *recipe = (struct recipe *)(&n + 1);
    uint32_t *even = (uint32_t *)((char *)shared + bytes_of_plan(w.rows)),
             *odd = even + (size_t)w.even * fold.pitch;
    const uint32_t from = low + tile * w.tile, end = from + w.tile;
    plan_rows(n, recipe, fold, w, block / tiles, from, m.rate && end > fold.s_hi ? fold.s_hi : end);
    if (!n.count[1])
        return;
    if (threadIdx.x == 0)
        n.largest = 0;
    __syncthreads();
    const uint32_t largest = load_rows(m, fold, recipe + n.first[w.levels], n.total[w.levels],
                                       w.levels % 2 ? odd : even);
    if (largest << w.levels > 32767)
        n.largest = 1; /* any thread, the same value */
    __syncthreads();
    const bool fit = !n.largest;
    for (uint32_t level = w.levels; level-- > 0;) {
        const struct recipe *rows_of = recipe + n.first[level];
        const uint32_t *source = level % 2 ? even : odd;
        uint32_t *result = level % 2 ? odd : even;
        if (fit)
            merge_level<true>(rows_of, n.total[level], source, result, fold);
        else
            merge_level<false>(rows_of, n.total[level], source, result, fold);
        __syncthreads();
    }
    if constexpr (WIDTHS > 0)
        rate_rows<WIDTHS>(m, fold, n, even, (char *)odd, w.shared - ((char *)odd - (char *)shared));
    else
        store_rows(m, fold, n, even);
}

template <int WIDTHS> static cudaError_t launch(const struct ffa_k_merge *m, cudaStream_t stream)
{
    int processors;
    cudaError_t e = allow_all_shared(merge<WIDTHS>, &processors);
    if (e)
        return e;
    merge<WIDTHS><<<m->nblock, m->sweep.threads, m->sweep.shared, stream>>>(*m);
    return cudaGetLastError();
}

} // namespace

cudaError_t ffa_k_limits(size_t *shared, size_t *shared_of_two)
{
    int device, block, all, reserved;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (!e)
        e = cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    if (!e)
        e = cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device);
    if (e)
        return e;
    *shared = (size_t)block;
    *shared_of_two = (size_t)(all / 2 - reserved);
    return cudaSuccess;
}

size_t ffa_k_merge_bytes(uint32_t rows)
{
    return bytes_of_plan(rows);
}

size_t ffa_k_rate_bytes(uint32_t nbin)
{
    return bytes_of_sums(nbin, width_of(FFA_MAX_WIDTHS - 1));
}

int ffa_k_width(int k)
{
    return width_of(k);
}

cudaError_t ffa_k_merge_rows(const struct ffa_k_merge *m, cudaStream_t stream)
{
    if (!m->nblock)
        return cudaSuccess;
    if (!m->rate)
        return launch<0>(m, stream);
    /* As many as the default ranges have, and others; what is too many is not rated. */
    return m->nwidth <= 8    ? launch<8>(m, stream)
           : m->nwidth <= 11 ? launch<11>(m, stream)
           : m->nwidth <= 13 ? launch<13>(m, stream)
           : m->nwidth <= 15 ? launch<15>(m, stream)
                             : launch<FFA_MAX_WIDTHS>(m, stream);
}
