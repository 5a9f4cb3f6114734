/* Tree dedispersion: a stage of one or two levels of partial sums.
 *
 * Thread block: a group of rows x a tile of 496 samples, a warp a pair of rows at a time, a lane
 * every 32nd word; the grid is (tile, group).  Shared memory: the rows of the lower level.  Sums of
 * 16 bits go in pairs in 32-bit words, which cannot carry into each other.  Bound: the load path of a
 * multiprocessor, a word a lane and source, two where a row begins between words; rows of a pair
 * load what they have in common once. */
#include "common/launch.cuh"
#include "tree/dedisp_tree_kernels.h"
#include "tree/dedisp_tree_sums.cuh"

namespace
{

constexpr int THREADS = 512, BLOCKS = 2, WARPS = THREADS / WARP;

__device__ __forceinline__ int warp_of_block()
{
    return (int)threadIdx.x / WARP;
}

/* --- pairs of rows ---------------------------------------------------------------------------- */

/* Adds sources first .. first + neven + nodd - 1 of those that lanes hold. */
template <class SUMS, class FROM>
__device__ __forceinline__ void add_run(SUMS &sum, const FROM &from, int32_t own, int first,
                                        int neven, int nodd)
{
    constexpr unsigned all = 0xffffffff;
    int j = first;
    for (; j + 1 < first + neven; j += 2)
        sum.add_even(from, __shfl_sync(all, own, j), __shfl_sync(all, own, j + 1));
    for (; j < first + neven; j++)
        sum.add_even(from, __shfl_sync(all, own, j));
    for (; j < first + neven + nodd; j++)
        sum.add_odd(from, __shfl_sync(all, own, j));
}

/* Adds up both rows and gives each to put(row, sums). */
template <class SUMS, class FROM, class PUT>
__device__ __forceinline__ void add_pair(const struct tree_k_stage &s, const struct tree_k_pair &p,
                                         const FROM &from, const PUT &put)
{
    int first = p.neven[0] + p.nodd[0];
    const int nsrc = first + p.neven[1] + p.nodd[1] + p.neven[2] + p.nodd[2];
    const int32_t own = lane_of_warp() < nsrc ? s.d_source[p.src + lane_of_warp()] : 0;
    SUMS both = {};
    add_run(both, from, own, 0, p.neven[0], p.nodd[0]);
    for (int r = 0; r < p.nrow; r++) {
        SUMS sum = both;
        add_run(sum, from, own, first, p.neven[1 + r], p.nodd[1 + r]);
        first += p.neven[1 + r] + p.nodd[1 + r];
        put(s.d_row[p.row + r], sum);
    }
}

/* Samples from .. of rows of the lower level. */
template <class SUMS, class FROM>
__device__ __forceinline__ void
make_lower_part(const struct tree_k_stage &s, const struct tree_k_pair &p, const FROM &in, int from)
{
    typedef typename SUMS::lane lane;
    add_pair<SUMS>(s, p, in.after(p.base + from), [=](const struct tree_k_row &row, SUMS &sum) {
        const int lanes = (TREE_TILE + row.extra + TREE_ROUND - 1) / TREE_ROUND * TREE_ROUND - from;
        lane *to = (lane *)shared_rows + (uint32_t)row.at + from;
#pragma unroll
        for (int k = 0; k < SUMS::COUNT; k++)
            if (SUMS::sample(k) < lanes)
                sum.put(to, k, lanes);
    });
}

/* Rows seldom are longer than what a warp adds up at once. */
template <class IN, class LOWER, class FROM>
__device__ __forceinline__ void make_lower(const struct tree_k_stage &s,
                                           const struct tree_k_pair &p, const FROM &in)
{
    constexpr int part = part_of<LOWER>();
    typedef typename choose_sums<IN, LOWER, part / 64>::type most;
    typedef typename choose_sums<IN, LOWER, 1>::type least;
    for (int from = 0; from < MOST; from += part)
        make_lower_part<most>(s, p, in, from);
    for (int from = MOST; from < (int)p.lanes; from += least::SPAN)
        make_lower_part<least>(s, p, in, from);
}

/* Samples from .. of rows between stages. */
template <class SUMS, class FROM>
__device__ __forceinline__ void make_rows(const struct tree_k_stage &s, const struct tree_k_pair &p,
                                          const FROM &in, int64_t v, int from)
{
    typedef typename SUMS::lane lane;
    add_pair<SUMS>(s, p, in.after(p.base + from), [=](const struct tree_k_row &row, SUMS &sum) {
        if (v + TREE_TILE <= row.lo || v >= row.hi + (int64_t)s.n)
            return;
        lane *to = (lane *)s.d_rows + row.at + v + from;
#pragma unroll
        for (int k = 0; k < SUMS::COUNT; k++)
            if (SUMS::sample(k) < TREE_TILE - from)
                sum.put(to, k, TREE_TILE - from);
    });
}

struct to_output {
    double bias, downsamp;

    __device__ __forceinline__ float operator()(uint32_t sum) const
    {
        if (bias == 0 && downsamp == 1)
            return (float)sum;
        return (float)(((double)sum - bias) / downsamp);
    }
};

template <class SUMS, class FROM>
__device__ __forceinline__ void make_trials(const struct tree_k_stage &s,
                                            const struct tree_k_pair &p, const FROM &in, int v,
                                            int from)
{
    const int left = min((int)s.n - v, (int)TREE_TILE) - from;
    const struct to_output convert = {s.bias, s.downsamp};
    add_pair<SUMS>(s, p, in.after(p.base + from), [=](const struct tree_k_row &row, SUMS &sum) {
        float *out = s.d_out + row.at * (int64_t)s.out_pitch + v + from;
#pragma unroll
        for (int k = 0; k < SUMS::COUNT; k++) {
            const int t = SUMS::sample(k);
            const float2 both = make_float2(convert(sum.low[k]), convert(sum.high[k]));
            if (SUMS::APART == 1 && t + 1 < left) {
                __stcs((float2 *)(out + t), both);
                continue;
            }
            if (t < left)
                out[t] = both.x;
            if (t + SUMS::APART < left)
                out[t + SUMS::APART] = both.y;
        }
    });
}

/* --- kernels ---------------------------------------------------------------------------------- */

template <class IN>
__device__ __forceinline__ input<IN> input_of(const struct tree_k_stage &s, const IN *in)
{
    return {in + s.at};
}

__device__ __forceinline__ channels input_of(const struct tree_k_stage &s, const uint8_t *in)
{
    return {in + s.at, s.plane, s.nplane};
}

/* Two levels.  LAST: the upper one are trials, and UPPER is uint32_t. */
template <class IN, class LOWER, class UPPER, bool LAST>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    two_levels(const struct tree_k_stage s, uint32_t first)
{
    constexpr int part = part_of<UPPER>();
    typedef typename choose_sums<LOWER, UPPER, part / 64>::type sums;
    const struct tree_k_group g = s.d_group[first + blockIdx.y];
    const int64_t v = g.v0 + (int64_t)blockIdx.x * TREE_TILE;
    const shared_input<LOWER> rows = {0};
    if (v >= g.hi + (int64_t)s.n)
        return;
    const auto in = input_of(s, (const IN *)s.d_in).after(v);
    for (uint32_t r = warp_of_block(); r < g.nlower; r += WARPS)
        make_lower<IN, LOWER>(s, s.d_pair[g.lower + r], in);
    __syncthreads();
    for (uint32_t r = warp_of_block(); r < g.nupper; r += WARPS)
        for (int from = 0; from < TREE_TILE; from += part)
            if constexpr (LAST)
                make_trials<sums>(s, s.d_pair[g.upper + r], rows, (int)v, from);
            else
                make_rows<sums>(s, s.d_pair[g.upper + r], rows, v, from);
}

/* Trials from rows of the stage before. */
template <class IN>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    one_level(const struct tree_k_stage s, uint32_t first)
{
    constexpr int part = part_of<uint32_t>();
    typedef typename choose_sums<IN, uint32_t, part / 64>::type sums;
    const struct tree_k_group g = s.d_group[first + blockIdx.y];
    const int v = (int)blockIdx.x * TREE_TILE;
    const auto in = input_of(s, (const IN *)s.d_in).after(v);
    for (uint32_t r = warp_of_block(); r < g.nupper; r += WARPS)
        for (int from = 0; from < TREE_TILE; from += part)
            make_trials<sums>(s, s.d_pair[g.upper + r], in, v, from);
}

/* ...and from channels. */
__global__ void __launch_bounds__(THREADS, BLOCKS)
    channels_only(const struct tree_k_stage s, uint32_t first)
{
    constexpr int part = part_of<uint32_t>();
    typedef wide_leaf_sums<part / 128> sums;
    const struct tree_k_group g = s.d_group[first + blockIdx.y];
    const struct to_output convert = {s.bias, s.downsamp};
    const int v = (int)blockIdx.x * TREE_TILE, n = min((int)s.n - v, (int)TREE_TILE);
    const channels in = input_of(s, (const uint8_t *)s.d_in).after(v);
    for (uint32_t r = warp_of_block(); r < g.nupper; r += WARPS)
        for (int from = 0; from < TREE_TILE; from += part) {
            const struct tree_k_pair p = s.d_pair[g.upper + r];
            const auto put = [=](const struct tree_k_row &row, sums &sum) {
                float *out = s.d_out + row.at * (int64_t)s.out_pitch + v + from;
                for (int k = 0; k < sums::COUNT; k++) {
                    const uint4 four = sum.four[k];
                    const uint32_t sample[4] = {four.x, four.y, four.z, four.w};
                    for (int e = 0; e < 4; e++)
                        if (sums::sample(k) + e < n - from)
                            out[sums::sample(k) + e] = convert(sample[e]);
                }
            };
            add_pair<sums>(s, p, in.after(p.base + from), put);
        }
}

typedef void kernel(struct tree_k_stage, uint32_t);

kernel *choose_last(enum tree_k_kind in, enum tree_k_kind lower, bool two)
{
    if (!two)
        return in == TREE_BYTES ? channels_only
               : in == TREE_16  ? one_level<uint16_t>
                                : one_level<uint32_t>;
    if (in == TREE_BYTES)
        return lower == TREE_16 ? two_levels<uint8_t, uint16_t, uint32_t, true>
                                : two_levels<uint8_t, uint32_t, uint32_t, true>;
    if (in == TREE_16)
        return lower == TREE_16 ? two_levels<uint16_t, uint16_t, uint32_t, true>
                                : two_levels<uint16_t, uint32_t, uint32_t, true>;
    return two_levels<uint32_t, uint32_t, uint32_t, true>;
}

kernel *choose_rows(enum tree_k_kind in, enum tree_k_kind lower, enum tree_k_kind upper)
{
    if (in == TREE_BYTES)
        return lower == TREE_32   ? two_levels<uint8_t, uint32_t, uint32_t, false>
               : upper == TREE_32 ? two_levels<uint8_t, uint16_t, uint32_t, false>
                                  : two_levels<uint8_t, uint16_t, uint16_t, false>;
    if (in == TREE_16)
        return lower == TREE_32   ? two_levels<uint16_t, uint32_t, uint32_t, false>
               : upper == TREE_32 ? two_levels<uint16_t, uint16_t, uint32_t, false>
                                  : two_levels<uint16_t, uint16_t, uint16_t, false>;
    return two_levels<uint32_t, uint32_t, uint32_t, false>;
}

} // namespace

extern "C" cudaError_t tree_k_shared(size_t *bytes)
{
    int device, most = 0;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    *bytes = most < TREE_SHARED ? (size_t)most : TREE_SHARED;
    return e;
}

extern "C" cudaError_t tree_k_run(const struct tree_k_stage *stage, cudaStream_t stream)
{
    kernel *const run = stage->last ? choose_last(stage->in, stage->lower, stage->shared > 0)
                                    : choose_rows(stage->in, stage->lower, stage->upper);
    int processors;
    cudaError_t e = allow_all_shared(run, &processors);
    for (size_t first = 0; first < stage->ngroup && !e; first += TREE_LAUNCH) {
        const size_t left = stage->ngroup - first;
        const dim3 grid((unsigned)stage->ntile,
                        (unsigned)(left < TREE_LAUNCH ? left : TREE_LAUNCH));
        run<<<grid, THREADS, stage->shared, stream>>>(*stage, (uint32_t)first);
        e = cudaGetLastError();
    }
    return e;
}
