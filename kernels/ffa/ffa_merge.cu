/* Transforms of folds, and the S/N of their rows.
 *
 * The recursion halves the rows of a fold, level after level; a node is one of its parts, and its depth the number of
 * halvings.  A thread block makes a tile, successive rows of one node, from rows of the nodes "levels" below it: of
 * each of these it needs only as many as its own share, and one or two more.  It loads those of the lowest level, and
 * merges them upwards in shared memory, from one of two buffers to the other, by the tile's recipes (ffa_tile.cu).
 * A warp adds a row, a bin of both series a lane.
 *
 * Bound: instructions, 6 for an addition of two bins of both series. */
#include "common/launch.cuh"
#include "ffa/ffa_tile.cuh"

#include <climits>
#include <cuda_pipeline.h>

namespace
{

constexpr int WARP = 32;
constexpr unsigned ALL = ~0u;

/* What a thread block knows of its tile; the tile and its recipes follow it. */
struct alignas(16) state {
    uint32_t fold;
    uint32_t tile;         /* its number among those of the folds */
    uint32_t start, first; /* rows of the fold: of the node, of the tile */
    uint32_t large;        /* 1: sums may saturate */
};

static __host__ __device__ size_t bytes_of_sums(uint32_t nbin, uint32_t widest)
{
    return ((size_t)nbin + widest + 2) / 2 * 2 * sizeof(int);
}

/* --- the tile --------------------------------------------------------------------------------- */

/* Begins to copy the tile. */
static __device__ void copy_tile(void *to, const void *from, size_t bytes)
{
    for (uint32_t i = threadIdx.x; i < bytes / sizeof(uint4); i += blockDim.x)
        __pipeline_memcpy_async((uint4 *)to + i, (const uint4 *)from + i, sizeof(uint4));
    __pipeline_commit();
}

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

/* The tile of a thread block.  All threads look for its fold at once: a search by halves waits for memory at each step. */
static __device__ void find_tile(const struct ffa_k_merge &m, struct state &state)
{
    for (uint32_t i = threadIdx.x; i < m.nfold; i += blockDim.x) {
        if (m.d_block[i] > blockIdx.x || blockIdx.x >= m.d_block[i + 1])
            continue;
        const struct ffa_k_fold &fold = m.d_fold[i];
        const uint32_t tiles = count_tiles(m.sweep, fold, m.rate),
                       block = blockIdx.x - m.d_block[i], at = block % tiles;
        uint32_t size;
        find_node(fold.nrow, m.sweep.depth, block / tiles, &state.start, &size);
        state.fold = i;
        state.tile = m.d_first[i] + (size - (fold.nrow >> m.sweep.depth)) * tiles + at;
        state.first = (m.rate ? fold.s_lo : state.start) + at * m.sweep.tile;
    }
    if (threadIdx.x == 0)
        state.large = 0;
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

/* Rows are taken in pieces of WORDS bins a lane, each 32 bins after the other.  Bins up to the pitch, which hold
 * anything, are added as well. */
template <bool FIT, int WORDS>
static __device__ void merge_row(uint32_t *to, const uint32_t *head, const uint32_t *tail,
                                 const struct ffa_k_fold &fold, uint32_t shift, int lane)
{
    /* The tail's bins are at "tail" before it wraps around, at "after" from then on. */
    const uint32_t *after = tail + lane + shift - fold.nbin;
    int bins = (int)(fold.nbin - shift) - lane, left = (int)fold.pitch;
    to += lane;
    head += lane;
    tail += lane + shift;
    do {
        uint32_t a[WORDS], c[WORDS];
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            a[k] = head[k * WARP];
            c[k] = (k * WARP < bins ? tail : after)[k * WARP];
        }
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            to[k * WARP] = add_pair<FIT>(a[k], c[k]);
        to += WORDS * WARP;
        head += WORDS * WARP;
        tail += WORDS * WARP;
        after += WORDS * WARP;
        bins -= WORDS * WARP;
        left -= WORDS * WARP;
    } while (left > 0);
}

static __device__ void copy_row(uint32_t *to, const uint32_t *from, uint32_t pitch, int lane)
{
    for (uint32_t i = lane; i < pitch / 4; i += WARP)
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
}

/* The largest and the least bins of both series. */
struct range {
    uint32_t high, low;
};

static __device__ void widen(struct range &r, uint32_t x)
{
    r.high = __vmaxs2(r.high, x);
    r.low = __vmins2(r.low, x);
}

static __device__ int bin_of(uint32_t pair, int series)
{
    return series ? (int)pair >> 16 : (int)(int16_t)(pair & 0xffff);
}

/* The largest absolute value. */
static __device__ int find_reach(const struct range &r)
{
    return max(max(bin_of(r.high, 0), bin_of(r.high, 1)), -min(bin_of(r.low, 0), bin_of(r.low, 1)));
}

/* Rows of the lowest level, whose node begins at "from": samples are not aligned, and those of the next row follow up to
 * the pitch.  All loads of a lane's piece come before its first store.
 * Returned: the largest absolute value of what this thread read */
template <int WORDS>
static __device__ int load_rows(const struct ffa_k_fold &fold, const uint32_t *from, uint32_t pitch,
                                const struct ffa_k_recipe *recipe, uint32_t n, uint32_t *to)
{
    struct range range = {0, 0};
    for (uint32_t r = threadIdx.x / WARP; r < n; r += blockDim.x / WARP) {
        const uint32_t *source = from + (uint64_t)__ldg(&recipe[r].tail) * pitch;
        uint32_t *row = to + r * fold.pitch;
        for (uint32_t i = threadIdx.x % WARP; i < fold.pitch; i += WORDS * WARP) {
            uint32_t x[WORDS];
#pragma unroll
            for (int k = 0; k < WORDS; k++)
                x[k] = __ldcg(source + i + k * WARP);
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                row[i + k * WARP] = x[k];
                widen(range, x[k]);
            }
        }
    }
    return find_reach(range);
}

template <bool FIT, int WORDS>
static __device__ void merge_level(const struct ffa_k_fold &fold, const struct ffa_k_recipe *recipe,
                                   uint32_t n, const uint32_t *from, uint32_t *to)
{
    const int lane = threadIdx.x % WARP;
    for (uint32_t r = threadIdx.x / WARP; r < n; r += blockDim.x / WARP) {
        const struct ffa_k_recipe one = recipe[r];
        uint32_t *row = to + r * fold.pitch;
        const uint32_t *tail = from + 2 * one.tail;
        if (one.head == FFA_NONE)
            copy_row(row, tail, fold.pitch, lane);
        else
            merge_row<FIT, WORDS>(row, from + 2 * one.head, tail, fold, one.shift, lane);
    }
}

/* Makes the rows of all levels, the result in even. */
template <int WORDS>
static __device__ void make_rows(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                 const struct ffa_k_tile *from, struct state &state, uint32_t *even,
                                 uint32_t *odd)
{
    const uint32_t levels = m.sweep.levels, pitch = m.samples ? fold.nbin : fold.pitch,
                   *source = m.samples ? m.d_q + fold.q0 : m.d_from + fold.sums0,
                   lowest = __ldg(&from->first[levels]);
    const int reach =
        load_rows<WORDS>(fold, source + (uint64_t)state.start * pitch, pitch,
                         (const struct ffa_k_recipe *)(from + 1) + lowest,
                         __ldg(&from->first[levels + 1]) - lowest, levels % 2 ? odd : even);
    if (reach << levels > 32767)
        state.large = 1; /* any thread, the same value */
    __pipeline_wait_prior(0);
    __syncthreads();
    const struct ffa_k_tile *tile = (const struct ffa_k_tile *)(&state + 1);
    const bool large = state.large;
    for (uint32_t level = levels; level-- > 0;) {
        const struct ffa_k_recipe *recipe =
            (const struct ffa_k_recipe *)(tile + 1) + tile->first[level];
        const uint32_t n = tile->first[level + 1] - tile->first[level],
                       *lower = level % 2 ? even : odd;
        uint32_t *to = level % 2 ? odd : even;
        if (large)
            merge_level<false, WORDS>(fold, recipe, n, lower, to);
        else
            merge_level<true, WORDS>(fold, recipe, n, lower, to);
        __syncthreads();
    }
}

/* Given: first, n   rows of the fold */
static __device__ void store_rows(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                  uint32_t first, uint32_t n, const uint32_t *from)
{
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    uint32_t *to = m.d_to + fold.sums0 + (uint64_t)first * fold.pitch;
    for (uint32_t r = threadIdx.x / WARP; r < n; r += warps)
        copy_row(to + (size_t)r * fold.pitch, from + r * fold.pitch, fold.pitch, lane);
}

/* --- S/N -------------------------------------------------------------------------------------- */

/* Successive bins of a lane, an odd number of them: lanes then write to different banks. */
struct bins {
    int from, end;
};

static __device__ struct bins bins_of_lane(int nbin, int lane)
{
    const int each = ((nbin + WARP - 1) / WARP) | 1, from = min(lane * each, nbin);
    return {from, min(from + each, nbin)};
}

/* Prefix sums of a series' profile, and on around it up to the widest boxcar; x may be sums. */
static __device__ void sum_bins(const uint32_t *x, int series, int nbin, int widest, int *sums,
                                int lane)
{
    const struct bins own = bins_of_lane(nbin, lane);
    int total = 0;
    for (int i = own.from; i < own.end; i++)
        total += bin_of(x[i], series);
    int before = total;
    for (int width = 1; width < WARP; width *= 2) {
        const int other = __shfl_up_sync(ALL, before, width);
        before += lane >= width ? other : 0;
    }
    before -= total;
    for (int i = own.from; i < own.end; i++) {
        const int bin = bin_of(x[i], series);
        sums[i] = before;
        before += bin;
    }
    const int all = __shfl_sync(ALL, before, WARP - 1);
    __syncwarp();
    for (int i = lane; i < min(widest, nbin); i += WARP)
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

/* As width_of, of a lane. */
static __device__ int find_width(int lane)
{
    int w = lane + 1, one = 2, two = 3, three = 4;
    for (int k = 4; k <= lane; k++) {
        w = three + one;
        one = two;
        two = three;
        three = w;
    }
    return w;
}

/* Digits of the number of bins that a lane's width has, by 3. */
static __device__ uint32_t find_digits(int lane)
{
    int w = find_width(lane);
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
    static __device__ void take(struct range *range, const uint32_t *sums, uint32_t less)
    {
        boxes<L - 1>::take(range, sums, less);
        widen(range[L - 1], add_pair<true>(sums[size_of(L - 1)], less));
    }
};
template <> struct boxes<0> {
    static __device__ void take(struct range *, const uint32_t *, uint32_t)
    {
    }
};

static __device__ int find_sum(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL, x);
#else
    for (int width = WARP / 2; width; width /= 2)
        x += __shfl_xor_sync(ALL, x, width);
    return x;
#endif
}

/* Prefix sums of both series, modulo 2^16, as sum_bins.
 * Returned: the sums of this lane's bins */
static __device__ uint32_t sum_pairs(const uint32_t *x, struct bins own, int nbin, int widest,
                                     uint32_t *sums, int lane)
{
    uint32_t all = 0;
#pragma unroll 3
    for (int i = own.from; i < own.end; i++)
        all = add_pair<true>(all, x[i]);
    uint32_t before = all;
    for (int width = 1; width < WARP; width *= 2) {
        const uint32_t other = __shfl_up_sync(ALL, before, width);
        before = add_pair<true>(before, lane >= width ? other : 0);
    }
    const uint32_t whole = __shfl_sync(ALL, before, WARP - 1);
    before = __shfl_up_sync(ALL, before, 1);
    before = lane ? before : 0;
#pragma unroll 3
    for (int i = own.from; i < own.end; i++) {
        sums[i] = before;
        before = add_pair<true>(before, x[i]);
    }
    __syncwarp();
    for (int i = lane; i < min(widest, nbin); i += WARP)
        sums[nbin + i] = add_pair<true>(whole, i ? sums[i] : 0);
    __syncwarp();
    return all;
}

/* Whether 16 bits hold all boxes of 3^l bins, as three times those of the level before fit, and the sum of this lane's
 * n bins. */
template <int LEVELS> static __device__ bool fit_boxes(const struct range (&range)[LEVELS], int n)
{
    int sum = 0;
    bool fit = true;
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        const int reach = find_largest(find_reach(range[l]));
        fit = fit && (l + 1 == LEVELS || 3 * reach <= 32767);
        sum += (l + 1 == LEVELS ? n : n % 3) * reach;
        n /= 3;
    }
    return __all_sync(ALL, fit && sum <= 32767);
}

/* Of which series a boxcar may be above the threshold, bit by bit: sums of 3^l bins, of largest value m_l, bound those
 * of the lane's width by sum_l digit_l m_l.  In noise hardly a row passes. */
template <int LEVELS>
static __device__ uint32_t find_loud(const struct bound &lane_bound, float sigma, const uint32_t *x,
                                     int nbin, int widest, uint32_t *sums, int lane)
{
    const struct bins own = bins_of_lane(nbin, lane);
    const uint32_t total = sum_pairs(x, own, nbin, widest, sums, lane);
    struct range range[LEVELS];
    uint32_t loud = 0;
#pragma unroll
    for (int l = 0; l < LEVELS; l++)
        range[l] = {0x80008000, 0x7fff7fff};
    for (int i = lane; i < nbin; i += WARP)
        boxes<LEVELS>::take(range, sums + i, add_pair<true>(~sums[i], 0x00010001));
    __syncwarp();
    if (!fit_boxes<LEVELS>(range, own.end - own.from))
        return (1u << FFA_PAIR) - 1;
    for (int p = 0; p < FFA_PAIR; p++) {
        int all = 0;
#pragma unroll
        for (int l = 0; l < LEVELS; l++)
            all += (int)(lane_bound.digits >> 2 * l & 3) * find_largest(bin_of(range[l].high, p));
        const float snr =
            find_snr(lane_bound.gain, lane_bound.loss, all, (float)find_sum(bin_of(total, p)));
        loud |= (uint32_t)(__any_sync(ALL, snr > sigma) != 0) << p;
    }
    return loud;
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
                                 uint32_t first, uint32_t n, const uint32_t *rows, char *room,
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
    for (uint32_t r = warp; r < n; r += warps) {
        const uint32_t *row = rows + r * fold.pitch;
        const uint32_t loud = m.d_hit ? find_loud<levels_of(WIDEST)>(bound, m.sigma, row, nbin,
                                                                     WIDEST, (uint32_t *)sums, lane)
                                      : m.rated;
        for (uint32_t p = 0; p < FFA_PAIR; p++) {
            if (!(loud & m.rated & 1u << p))
                continue;
            sum_bins(row, p, nbin, WIDEST, sums, lane);
            rate_row<WIDTHS>(m, fold, p, first + r, sums, lane);
            __syncwarp();
        }
    }
}

/* --- S/N of profiles whose bins have different numbers of samples --------------------------------- */

/* Prefix sums of a profile in memory. */
static __device__ void load_sums(const uint32_t *row, int series, int nbin, int widest, int *sums,
                                 int lane)
{
    for (int i = lane; i < nbin; i += WARP)
        sums[i] = (int)row[i];
    __syncwarp();
    sum_bins((const uint32_t *)sums, series, nbin, widest, sums, lane);
}

/* Boxcars of w bins of a profile and of its counts, by their prefix sums. */
struct counted {
    const int *sums, *counts;
    int nbin;
    float all, most;
};

/* z = excess / sqrt(square), if square is above 0. */
static __device__ float find_excess(const struct counted &c, int i, int w, float *square)
{
    const int n = c.counts[i + w] - c.counts[i];
    const float d = (float)(c.sums[i + w] - c.sums[i]), f = (float)n;
    *square = f * c.most * (float)(c.counts[c.nbin] - n);
    return d * c.most - f * c.all;
}

static __device__ float rate_width(const struct counted &c, int w, int lane)
{
    float best = -1e30f;
    for (int i = lane; i < c.nbin; i += WARP) {
        float square;
        const float excess = find_excess(c, i, w, &square), z = excess / sqrtf(square);
        best = square > 0 && z > best ? z : best;
    }
    for (int width = WARP / 2; width; width /= 2)
        best = fmaxf(best, __shfl_xor_sync(ALL, best, width));
    return best;
}

/* Whether a boxcar may have z above a limit: hardly a profile of noise has, and this takes no divisions and roots.
 * Given: mine   this lane's width */
static __device__ bool is_loud_counted(const struct counted &c, int mine, int nwidth, float limit,
                                       int lane)
{
    const float least = limit > 0 ? limit * limit * (1 - 1e-4f) : -1; /* more than is rounded */
    bool loud = least < 0;
    for (int k = 0; k < nwidth; k++) {
        const int w = __shfl_sync(ALL, mine, k);
        for (int i = lane; i < c.nbin; i += WARP) {
            float square;
            const float excess = find_excess(c, i, w, &square);
            loud |= excess > 0 && excess * excess > least * square;
        }
    }
    return __any_sync(ALL, loud);
}

static __device__ void rate_counted_row(const struct ffa_k_merge &m, const struct ffa_k_fold &fold,
                                        uint32_t series, uint32_t s, const struct counted &c,
                                        int mine, float unit, int lane)
{
    float snr = -1e30f;
    uint32_t at = 0;
    if (m.d_hit && !is_loud_counted(c, mine, (int)m.nwidth, m.sigma / unit, lane))
        return;
    for (int k = 0; k < (int)m.nwidth; k++) {
        const float z = rate_width(c, __shfl_sync(ALL, mine, k), lane) * unit;
        at = z > snr ? k : at;
        snr = z > snr ? z : snr;
    }
    if (lane == 0)
        use_trial(m, fold, series, s, snr, at);
}

enum { COUNTED_WARPS = 8 };

/* A warp rates a row at a time of both series. */
static __global__ void __launch_bounds__(COUNTED_WARPS *WARP)
    rate_counted(const __grid_constant__ ffa_k_merge m, const uint32_t *d_count, float unit,
                 int widest, size_t bytes)
{
    extern __shared__ uint4 shared[];
    struct state &state = *(struct state *)shared;
    find_tile(m, state);
    const struct ffa_k_fold fold = m.d_fold[state.fold];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, nbin = (int)fold.nbin;
    const uint32_t end = min(state.first + m.sweep.tile, fold.s_hi);
    int *sums = (int *)((char *)(&state + 1) + 2 * bytes * warp),
        *counts = (int *)((char *)sums + bytes);
    const int mine = find_width(lane);
    for (uint32_t s = state.first + warp; s < end; s += blockDim.x / WARP) {
        const uint64_t at = fold.sums0 + (uint64_t)s * fold.pitch;
        load_sums(d_count + at, 0, nbin, widest, counts, lane);
        for (uint32_t p = 0; p < FFA_PAIR; p++) {
            if (!(m.rated & 1u << p))
                continue;
            load_sums(m.d_to + at, p, nbin, widest, sums, lane);
            const struct counted c = {sums, counts, nbin, (float)sums[nbin], (float)counts[nbin]};
            rate_counted_row(m, fold, p, s, c, mine, unit, lane);
            __syncwarp();
        }
    }
}

/* --- all -------------------------------------------------------------------------------------- */

template <int WIDTHS>
static __global__ void __launch_bounds__(1024) merge(const __grid_constant__ ffa_k_merge m)
{
    extern __shared__ uint4 shared[];
    const struct ffa_k_sweep &w = m.sweep;
    struct state &state = *(struct state *)shared;
    find_tile(m, state);
    const struct ffa_k_fold fold = m.d_fold[state.fold];
    const size_t bytes = bytes_of_tile(w.rows);
    const struct ffa_k_tile *from =
        (const struct ffa_k_tile *)((const char *)m.d_tile + state.tile * bytes);
    const struct ffa_k_tile *tile = (const struct ffa_k_tile *)(&state + 1);
    uint32_t *even = (uint32_t *)((char *)tile + bytes), *odd = even + w.even * fold.pitch;
    copy_tile(&state + 1, from, bytes);
    if (fold.words == 8)
        make_rows<8>(m, fold, from, state, even, odd);
    else if (fold.words == 9)
        make_rows<9>(m, fold, from, state, even, odd);
    else if (fold.words == FFA_MAX_WORDS)
        make_rows<FFA_MAX_WORDS>(m, fold, from, state, even, odd);
    else
        make_rows<1>(m, fold, from, state, even, odd);
    const uint32_t rows = tile->first[1];
    if constexpr (WIDTHS > 0)
        rate_rows<WIDTHS>(m, fold, state.first, rows, even, (char *)odd,
                          w.shared - ((char *)odd - (char *)shared));
    else
        store_rows(m, fold, state.first, rows, even);
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
    return sizeof(struct state) + bytes_of_tile(rows);
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
    if (!m->rate || m->keep)
        return launch<0>(m, stream);
    /* As many as the default ranges have, and others; what is too many is not rated. */
    return m->nwidth <= 8    ? launch<8>(m, stream)
           : m->nwidth <= 11 ? launch<11>(m, stream)
           : m->nwidth <= 13 ? launch<13>(m, stream)
           : m->nwidth <= 15 ? launch<15>(m, stream)
                             : launch<FFA_MAX_WIDTHS>(m, stream);
}

cudaError_t ffa_k_rate_counted(const struct ffa_k_merge *m, const uint32_t *d_count, float unit,
                               uint32_t nbin, cudaStream_t stream)
{
    const int widest = width_of((int)m->nwidth - 1);
    const size_t bytes = bytes_of_sums(nbin, (uint32_t)widest);
    int processors;
    size_t most, half, warps = COUNTED_WARPS;
    cudaError_t e = ffa_k_limits(&most, &half);
    if (!e)
        e = allow_all_shared(rate_counted, &processors);
    if (e || !m->nblock)
        return e;
    while (warps > 1 && sizeof(struct state) + warps * 2 * bytes > half)
        warps--;
    rate_counted<<<m->nblock, (unsigned)(warps * WARP), sizeof(struct state) + warps * 2 * bytes,
                   stream>>>(*m, d_count, unit, widest, bytes);
    return cudaGetLastError();
}
