/* Sums every box of the pieces, and groups of widths, that passed the prefilter.
 *
 * A warp takes a piece: its bins of s_H lie in shared memory, a lane holds the boxes of 8
 * neighbouring starts and the 8 bins behind them, and every width adds one bin to each box.  Bins
 * are stored with a gap after every 8th, so that lanes, 8 bins apart, read without conflicts.
 * Where a box is above its floor, all boxes of its width go to shared memory and those that no other
 * in reach exceeds are reported.  Bound: 8 adds, 7 comparisons and a load a width and 256 starts. */
#include "common/launch.cuh"

#include "pulscan/pulscan_sums.cuh"

namespace
{

constexpr int WARP = 32, WARPS = 4, EACH = PULSCAN_PIECE / WARP;
constexpr unsigned ALL = ~0u;

struct piece {
    uint32_t spec; /* of this search's */
    int sum, start, count;
    uint32_t groups;
    int nwidth; /* widths 1 .. nwidth, a multiple of 8, hold all groups */
};

static __device__ __forceinline__ int place_of_bin(int x)
{
    return x + x / EACH;
}

static __device__ struct piece look_up(const struct pulscan_k_search &s, uint32_t at)
{
    struct piece p;
    place_of(s.block, at % s.npiece, &p.start, &p.count);
    p.sum = (int)(at / s.npiece % s.nsum);
    p.spec = at / s.npiece / s.nsum;
    p.groups = s.d_groups[at];
    p.nwidth = min(s.nwidth, (WARP - __clz(p.groups)) << s.group_shift);
    return p;
}

static __device__ void load_bins(const struct pulscan_k_search &s, const struct piece &p,
                                 float *bin)
{
    const float *power = s.d_power + p.spec * s.pitch;
    const int nharm = s.d_sum[p.sum].nharm, end = (int)s.nbin / nharm;
#pragma unroll 4
    for (int x = threadIdx.x % WARP; x < PULSCAN_PIECE + p.nwidth + EACH; x += WARP)
        bin[place_of_bin(x)] = p.start + x < end ? sum_harmonics(power, nharm, p.start + x) : 0;
}

/* The boxes of one width of a piece; a lane's best is the lowest of equals.  Boxes that are not
 * searched have power -1. */
struct boxes {
    float value[PULSCAN_PIECE + WARP]; /* by place_of_bin */
    float best[WARP];                  /* of each lane */
};

static __device__ void emit(const struct pulscan_k_search &s, const struct piece &p,
                            const struct pulscan_k_width &w, int x, float power)
{
    const uint32_t slot = atomicAdd(&s.d_count->npeak, 1);
    if (slot < s.cap) {
        struct psr_pulscan_peak peak = {p.start + x, power, s.spec0 + p.spec, (uint32_t)p.sum,
                                        w.index};
        s.d_peak[slot] = peak;
    }
}

/* Whether any box of the piece in reach of this lane's best, which begins at x, outdoes it: those
 * of lanes wholly in reach have their best for it. */
static __device__ bool is_outdone(const struct boxes &b, int x, float power, int reach)
{
    const int lane = threadIdx.x % WARP;
    const int lo = max(x - reach, 0), hi = min(x + reach, PULSCAN_PIECE - 1);
    const int from = (lo + EACH - 1) / EACH, to = (hi + 1) / EACH;
    bool higher = false;
    for (int n = from; n < lane; n++)
        higher |= b.best[n] >= power;
    for (int n = lane + 1; n < to; n++)
        higher |= b.best[n] > power;
    for (int y = lo; y < from * EACH; y++)
        higher |= b.value[place_of_bin(y)] >= power;
    for (int y = to * EACH; y <= hi; y++)
        higher |= b.value[place_of_bin(y)] > power;
    return higher;
}

/* Gives this width's peaks, as far as the piece knows, or the best of its boxes. */
static __device__ __noinline__ void emit_peaks(const struct pulscan_k_search &s,
                                               const struct piece &p, int z, const float box[EACH],
                                               struct boxes *b)
{
    const struct pulscan_k_width w = s.d_width[p.sum * s.nwidth + z];
    const int lane = threadIdx.x % WARP;
    float best = -1;
    int at = 0;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int x = lane * EACH + j, i = p.start + x;
        const float value = x < p.count && i >= w.begin && i < w.end ? box[j] : -1;
        b->value[place_of_bin(x)] = value;
        at = value > best ? x : at;
        best = fmaxf(value, best);
    }
    b->best[lane] = best;
    __syncwarp();
    /* All of the piece is in reach where the best of a block is wanted. */
    const int reach = s.by_block ? PULSCAN_PIECE : max(z, (int)PSR_PULSCAN_NEAR);
    if (best >= 0 && best > w.floor && !is_outdone(*b, at, best, reach))
        emit(s, p, w, at, best);
    __syncwarp();
}

/* Widths z + 1, z = z0 .. z0 + 7; next holds the bins to be added, "from" those after them. */
template <bool LOOK>
static __device__ __forceinline__ void widen(const struct pulscan_k_search &s,
                                             const struct piece &p, int z0, const float *from,
                                             float box[EACH], float next[EACH], struct boxes *b)
{
    const struct pulscan_k_width *w = s.d_width + p.sum * s.nwidth + z0;
#pragma unroll
    for (int u = 0; u < EACH; u++) {
#pragma unroll
        for (int j = 0; j < EACH; j++)
            box[j] += next[(u + j) % EACH];
        next[u] = from[u];
        if (LOOK) {
            float most = box[0];
#pragma unroll
            for (int j = 1; j < EACH; j++)
                most = fmaxf(most, box[j]);
            if (__any_sync(ALL, most > w[u].floor)) {
                float now[EACH]; /* so that boxes stay in registers */
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    now[j] = box[j];
                emit_peaks(s, p, z0 + u, now, b);
            }
        }
    }
}

__global__ void __launch_bounds__(WARP *WARPS)
    peaks(const __grid_constant__ struct pulscan_k_search s, int room)
{
    extern __shared__ float shared[]; /* boxes of every warp, then bins */
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    struct boxes *boxes = (struct boxes *)shared + warp;
    float *bin = shared + WARPS * (sizeof *boxes / sizeof *shared) + warp * room;
    for (;;) {
        uint32_t ticket = lane ? 0 : atomicAdd(&s.d_count->taken, 1);
        ticket = __shfl_sync(ALL, ticket, 0);
        if (ticket >= s.d_count->nlist)
            return;
        const struct piece p = look_up(s, s.d_list[ticket]);
        load_bins(s, p, bin);
        __syncwarp();
        float box[EACH] = {0}, next[EACH];
        const float *from = bin + lane * (EACH + 1);
#pragma unroll
        for (int j = 0; j < EACH; j++)
            next[j] = from[j];
        for (int z0 = 0; z0 < p.nwidth; z0 += EACH) {
            from += EACH + 1;
            if (p.groups >> (z0 >> s.group_shift) & 1)
                widen<true>(s, p, z0, from, box, next, boxes);
            else
                widen<false>(s, p, z0, from, box, next, NULL);
        }
        __syncwarp();
    }
}

} // namespace

extern "C" cudaError_t pulscan_k_peaks(const struct pulscan_k_search *s, cudaStream_t stream)
{
    const int bins = PULSCAN_PIECE + s->nwidth + EACH, room = bins + bins / EACH + 1;
    const size_t bytes = WARPS * (room * sizeof(float) + sizeof(struct boxes));
    int nprocessor, per_processor;
    cudaError_t e = allow_all_shared(peaks, &nprocessor);
    if (!e)
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, peaks, WARP * WARPS,
                                                          bytes);
    if (e)
        return e;
    if (per_processor < 1)
        return cudaErrorInvalidValue;
    peaks<<<nprocessor * per_processor, WARP * WARPS, bytes, stream>>>(*s, room);
    e = cudaGetLastError();
    return e || s->by_block ? e : pulscan_k_outdo(s, stream);
}

/* --- boxes beyond a piece ------------------------------------------------------------------------ */

/* A warp takes a peak, and on either side of its piece the starts that are in its reach: their bins
 * of s_H lie in shared memory, a lane sums boxes of BOXES starts at once, bin by bin from the left as
 * below, so that the bits are the same.  Noise has few peaks; of bright data a peak
 * of width z costs some 2 z (z + 1) adds.  Bound: one load from shared memory an add. */

namespace
{

constexpr int BOXES = 4;

/* Starts first .. end - 1 of one sum. */
struct side {
    const float *power;
    int nharm, first, end;
};

/* Reads bins of starts and boxes, and of the starts that fill the last lanes. */
static __device__ void load_bins(const struct side &a, int z, int nbin, float *bin)
{
    const int all = nbin / a.nharm, count = a.end - a.first + z + WARP * BOXES;
    __syncwarp();
    for (int x = threadIdx.x % WARP; x < count; x += WARP)
        bin[x] = a.first + x < all ? sum_harmonics(a.power, a.nharm, a.first + x) : 0;
    __syncwarp();
}

/* The highest of the boxes that begin on this side; below 0: there are none. */
static __device__ float find_highest(const struct side &a, int z, int nbin, float *bin)
{
    const int lane = threadIdx.x % WARP, count = a.end - a.first;
    float most = -1;
    if (count <= 0)
        return most;
    load_bins(a, z, nbin, bin);
    for (int x0 = lane; x0 - lane < count; x0 += WARP * BOXES) {
        float box[BOXES] = {0};
        for (int j = 0; j <= z; j++)
#pragma unroll
            for (int e = 0; e < BOXES; e++)
                box[e] += bin[x0 + e * WARP + j];
#pragma unroll
        for (int e = 0; e < BOXES; e++)
            most = x0 + e * WARP < count ? fmaxf(most, box[e]) : most;
    }
    for (int n = WARP / 2; n; n /= 2)
        most = fmaxf(most, __shfl_xor_sync(ALL, most, n));
    return most;
}

static __device__ bool is_outdone(const struct pulscan_k_search &s,
                                  const struct psr_pulscan_peak &peak, float *bin)
{
    const int z = s.d_z[peak.z], reach = max(z, (int)PSR_PULSCAN_NEAR), at = (int)peak.first;
    const struct pulscan_k_width w = s.d_width[peak.harm * s.nwidth + z];
    int start, count;
    place_of(s.block, piece_of(s.block, at), &start, &count);
    struct side side = {s.d_power + (peak.spec - s.spec0) * s.pitch, s.d_sum[peak.harm].nharm,
                        max(at - reach, w.begin), start};
    if (find_highest(side, z, (int)s.nbin, bin) >= peak.power)
        return true;
    side.first = start + count;
    side.end = min(at + reach + 1, w.end);
    return find_highest(side, z, (int)s.nbin, bin) > peak.power;
}

__global__ void __launch_bounds__(WARP *WARPS)
    outdo(const __grid_constant__ struct pulscan_k_search s, int room)
{
    extern __shared__ float bins[];
    const int lane = threadIdx.x % WARP;
    const uint32_t n = min(s.d_count->npeak, s.cap);
    for (;;) {
        uint32_t ticket = lane ? 0 : atomicAdd(&s.d_count->held, 1);
        ticket = __shfl_sync(ALL, ticket, 0);
        if (ticket >= n)
            return;
        if (is_outdone(s, s.d_peak[ticket], bins + threadIdx.x / WARP * room) && lane == 0)
            s.d_peak[ticket].power = PULSCAN_OUTDONE;
        __syncwarp();
    }
}

} // namespace

/* Two thread blocks a multiprocessor: there is little to do, mostly. */
extern "C" cudaError_t pulscan_k_outdo(const struct pulscan_k_search *s, cudaStream_t stream)
{
    const int room = 2 * s->nwidth + PSR_PULSCAN_NEAR + WARP * BOXES;
    const size_t bytes = WARPS * room * sizeof(float);
    int nprocessor;
    cudaError_t e = allow_all_shared(outdo, &nprocessor);
    if (e)
        return e;
    outdo<<<2 * nprocessor, WARP * WARPS, bytes, stream>>>(*s, room);
    return cudaGetLastError();
}
