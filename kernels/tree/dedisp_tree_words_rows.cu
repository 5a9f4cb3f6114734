/* First stage of tree dedispersion of samples of up to 8 bits, in words of two outputs far apart.
 *
 * A thread block makes rows of a sub-band of 64 channels for some tiles: channels to shared memory,
 * with four samples in a word; rows of 8 channels there; rows of 64 to device memory.  Channels of the
 * next tile come into registers meanwhile.  The grid is (group, span of time), so that groups of a
 * sub-band read the same channels at about the same time.  Bound: loads of shared memory, a word a lane
 * and source, none of which conflict, as a warp's are in a row. */
#include "tree/dedisp_tree_words.cuh"

namespace
{

constexpr int WARPS = 16;
constexpr int TILES = 4; /* that a thread block makes one after the other */

#ifdef WORDS_DEVICE

constexpr int CHAN = WORDS_CHAN / WARP;

/* Words of samples j, j + WORDS_CHAN and those half further on from four of each. */
__device__ __forceinline__ uint4 turn(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t ab = __byte_perm(a, b, 0x5140), ba = __byte_perm(a, b, 0x7362);
    const uint32_t cd = __byte_perm(c, d, 0x5140), dc = __byte_perm(c, d, 0x7362);
    return make_uint4(__byte_perm(ab, cd, 0x5410), __byte_perm(ab, cd, 0x7632),
                      __byte_perm(ba, dc, 0x5410), __byte_perm(ba, dc, 0x7632));
}

/* Four words from word j of a window on, as they come. */
struct four {
    uint32_t part[4];

    __device__ __forceinline__ void load(const uint8_t *from, size_t half)
    {
        part[0] = __ldg((const uint32_t *)from);
        part[1] = __ldg((const uint32_t *)(from + WORDS_CHAN));
        part[2] = __ldg((const uint32_t *)(from + half));
        part[3] = __ldg((const uint32_t *)(from + half + WORDS_CHAN));
    }
    __device__ __forceinline__ void put(uint32_t at) const
    {
        store_four(at, turn(part[0], part[1], part[2], part[3]));
    }
};

/* Channels of a warp. */
constexpr int CHANS = WORDS_LEAF * WORDS_LEAF / WARPS;

/* What a warp copies of a tile's windows: a lane has four words of each channel, and of one channel
 * four of those behind. */
struct windows {
    struct four first[CHANS], rest;
};

__device__ __forceinline__ struct words_k_chan window_at(uint32_t at)
{
    const uint4 w = load_four(at);
    return {(int64_t)((uint64_t)w.y << 32 | w.x), w.z, w.w};
}

/* The channel whose words behind a lane copies. */
__device__ __forceinline__ int channel_behind()
{
    return warp_of_block() + lane_of_warp() / (WARP / CHANS) * WARPS;
}

__device__ __forceinline__ int word_behind()
{
    return WORDS_CHAN + 4 * (lane_of_warp() % (WARP / CHANS));
}

/* From in on; the table of windows is at "table".  What nobody wants is loaded too: loads under a
 * condition would wait for each other. */
__device__ __forceinline__ void load_windows(struct windows &w, const uint8_t *in, size_t half,
                                             uint32_t table)
{
#pragma unroll
    for (int k = 0; k < CHANS; k++) {
        const int c = warp_of_block() + k * WARPS;
        w.first[k].load(in + window_at(table + 16 * c).at + 4 * lane_of_warp(), half);
    }
    w.rest.load(in + window_at(table + 16 * channel_behind()).at + word_behind(), half);
}

/* Few windows are so long that more words are behind. */
__device__ __forceinline__ void put_windows(const struct windows &w, const uint8_t *in, size_t half,
                                            uint32_t base, uint32_t table)
{
#pragma unroll
    for (int k = 0; k < CHANS; k++) {
        const struct words_k_chan chan = window_at(table + 16 * (warp_of_block() + k * WARPS));
        if (chan.words)
            w.first[k].put(base + (chan.to + 4 * lane_of_warp()) * 4);
    }
    const struct words_k_chan chan = window_at(table + 16 * channel_behind());
    int j = word_behind();
    if (j < (int)chan.words)
        w.rest.put(base + (chan.to + j) * 4);
    for (j += WARP; j < (int)chan.words; j += WARP) {
        struct four rest;
        rest.load(in + chan.at + j, half);
        rest.put(base + (chan.to + j) * 4);
    }
}

/* A window of zeros beside those of all channels is not a warp's. */
__device__ __forceinline__ void clear_last(uint32_t base, uint32_t table, int nchan)
{
    for (int c = CHANS * WARPS; c < nchan; c++) {
        const struct words_k_chan chan = window_at(table + 16 * c);
        for (uint32_t j = threadIdx.x; j < chan.words; j += WARPS * WARP)
            store(base + 4 * (chan.to + j), 0);
    }
}

__device__ __forceinline__ void copy_table(uint32_t to, const void *from, uint32_t bytes)
{
    for (uint32_t k = 16 * threadIdx.x; k < bytes; k += 16 * WARPS * WARP)
        copy_16(to + k, (const char *)from + k);
}

struct sources {
    uint32_t at[WORDS_LEAF];
    int64_t to;
    int32_t lo, hi;
};

__device__ __forceinline__ struct sources row_at(uint32_t at, uint32_t skip)
{
    const uint4 a = load_four(at), b = load_four(at + 16), c = load_four(at + 32);
    return {{a.x + skip, a.y + skip, a.z + skip, a.w + skip, b.x + skip, b.y + skip, b.z + skip,
             b.w + skip},
            (int64_t)((uint64_t)c.y << 32 | c.x),
            (int32_t)c.z,
            (int32_t)c.w};
}

/* Sums of bytes 0 and 2, and of what is above byte 0, which tells those of bytes 1 and 3. */
__device__ __forceinline__ void make_lower(const struct sources &r, uint32_t base)
{
    uint32_t even[CHAN] = {}, rest[CHAN] = {};
#pragma unroll
    for (int c = 0; c < WORDS_LEAF; c += 2)
#pragma unroll
        for (int k = 0; k < CHAN; k++) {
            const uint32_t one = load(r.at[c] + 4 * WARP * k),
                           other = load(r.at[c + 1] + 4 * WARP * k);
            even[k] += (one & 0xff00ff) + (other & 0xff00ff);
            rest[k] += one >> 8;
            rest[k] += other >> 8;
        }
    const uint32_t to = base + (uint32_t)r.to + 4 * lane_of_warp();
#pragma unroll
    for (int k = 0; k < CHAN; k++) {
        store(to + 4 * WARP * k, even[k]);
        store(to + 4 * (WORDS_CHAN + WARP * k), rest[k] - (even[k] >> 8 & 0xffffff00));
    }
}

__device__ __forceinline__ void make_upper(const struct sources &r, uint32_t *out)
{
    uint32_t sum[TILE] = {};
#pragma unroll
    for (int c = 0; c < WORDS_LEAF; c += 2)
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum[k] += load(r.at[c] + 4 * WARP * k) + load(r.at[c + 1] + 4 * WARP * k);
    out += r.to + lane_of_warp();
#pragma unroll
    for (int k = 0; k < TILE; k++)
        out[WARP * k] = sum[k];
}

__device__ __forceinline__ bool is_wanted(const struct sources &r, int64_t v, size_t half)
{
    return v < r.hi + (int64_t)half && v + WORDS_TILE > r.lo;
}

#endif

/* Tiles of a span of time, each of whose channels come while rows of the second level are made of
 * those before. */
__global__ void __launch_bounds__(WARPS *WARP, 2) make_rows(const struct words_k_rows s)
{
#ifdef WORDS_DEVICE
    constexpr uint32_t bytes = sizeof(struct words_k_row);
    constexpr int64_t span = TILES * WORDS_TILE;
    const struct words_k_group g = s.d_group[blockIdx.x];
    const int64_t from = max(blockIdx.y * span - g.v0 + WORDS_TILE - 1, (int64_t)0);
    const int64_t end = min((blockIdx.y + 1) * span, g.hi + (int64_t)s.half);
    const uint32_t base = shared_address(shared_words), lane = base + 4 * lane_of_warp();
    const uint32_t nrow = g.nlower + g.nupper, table = base + nrow * bytes;
    const uint8_t *const in = s.d_in + s.at / 4 * 4;
    struct windows next = {};
    int64_t v = g.v0 + from / WORDS_TILE * WORDS_TILE;
    if (v >= end)
        return;
    copy_table(base, s.d_row + g.row, nrow * bytes);
    copy_table(table, s.d_chan + g.chan, g.nchan * sizeof(struct words_k_chan));
    copies_mark();
    copies_wait<0>();
    __syncthreads();
    clear_last(base, table, (int)g.nchan);
    load_windows(next, in + v, s.half, table);
    for (; v < end; v += WORDS_TILE) {
        put_windows(next, in + v, s.half, base, table);
        __syncthreads();
        for (uint32_t r = warp_of_block(); r < g.nlower; r += WARPS) {
            const struct sources one = row_at(base + r * bytes, lane + 4 * (s.at & 3));
            if (is_wanted(one, v, s.half))
                make_lower(one, base);
        }
        __syncthreads();
        load_windows(next, in + (v + WORDS_TILE < end ? v + WORDS_TILE : v), s.half, table);
        for (uint32_t r = g.nlower + warp_of_block(); r < nrow; r += WARPS) {
            const struct sources one = row_at(base + r * bytes, lane);
            if (is_wanted(one, v, s.half))
                make_upper(one, s.d_out + v);
        }
    }
#endif
}

} // namespace

extern "C" cudaError_t words_k_shared(size_t *bytes)
{
    int device, most = 0;
    cudaFuncAttributes built;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (!e)
        e = cudaFuncGetAttributes(&built, make_rows);
    *bytes = e || built.ptxVersion < 90 ? 0 : most < WORDS_SHARED ? (size_t)most : WORDS_SHARED;
    return e;
}

extern "C" cudaError_t words_k_make_rows(const struct words_k_rows *s, cudaStream_t stream)
{
    int processors;
    cudaError_t e = allow_all_shared(make_rows, &processors);
    if (e)
        return e;
    const dim3 grid((unsigned)s->ngroup, blocks_of(s->last + s->half, TILES * WORDS_TILE));
    make_rows<<<grid, WARPS * WARP, s->shared, stream>>>(*s);
    return cudaGetLastError();
}
