/* Every box of the pieces that the sieve left, in the groups of widths that it left.
 *
 * A warp takes a piece: its bins of s_H lie in shared memory, a lane holds the boxes of 8
 * neighbouring starts and the 8 bins behind them, and every width adds one bin to each box.  Bins
 * are stored with a gap after every 8th, so that lanes, 8 bins apart, read without conflicts.
 * Bound: 8 adds, 7 comparisons and a load a width and 256 starts. */
#include "pulscan_sums.cuh"

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

static __device__ __forceinline__ float sum_harmonics(const float *power, int nharm, int i)
{
    float sum = power[i];
    for (int h = 2; h <= nharm; h++) {
        const float *p = power + (size_t)h * i;
        sum += h == 2   ? sum_bins<2>(p)
               : h == 3 ? sum_bins<3>(p)
               : h == 4 ? sum_bins<4>(p)
                        : sum_bins(p, h);
    }
    return sum;
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

/* Gives the best of this width's boxes, the lowest of equals, if it is above the floor. */
static __device__ __noinline__ void emit_peak(const struct pulscan_k_search &s,
                                              const struct piece &p, int z, const float box[EACH])
{
    const struct pulscan_k_width w = s.d_width[p.sum * s.nwidth + z];
    const int lane = threadIdx.x % WARP;
    float best = -1;
    int at = 0;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int x = lane * EACH + j, i = p.start + x;
        if (x < p.count && i >= w.begin && i < w.end && box[j] > best) {
            best = box[j];
            at = i;
        }
    }
    float most = best;
    for (int n = WARP / 2; n; n /= 2)
        most = fmaxf(most, __shfl_xor_sync(ALL, most, n));
    if (most < 0 || !(most > w.floor) || lane != __ffs(__ballot_sync(ALL, best == most)) - 1)
        return;
    const uint32_t slot = atomicAdd(&s.d_count->npeak, 1);
    if (slot < s.cap) {
        struct psr_pulscan_peak peak = {at, most, s.spec0 + p.spec, (uint32_t)p.sum, w.index};
        s.d_peak[slot] = peak;
    }
}

/* Widths z + 1, z = z0 .. z0 + 7; next holds the bins to be added, "from" those after them. */
template <bool LOOK>
static __device__ __forceinline__ void widen(const struct pulscan_k_search &s,
                                             const struct piece &p, int z0, const float *from,
                                             float box[EACH], float next[EACH])
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
                emit_peak(s, p, z0 + u, now);
            }
        }
    }
}

__global__ void __launch_bounds__(WARP *WARPS)
    peaks(const __grid_constant__ struct pulscan_k_search s, int room)
{
    extern __shared__ float bins[];
    const int lane = threadIdx.x % WARP;
    float *bin = bins + threadIdx.x / WARP * room;
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
                widen<true>(s, p, z0, from, box, next);
            else
                widen<false>(s, p, z0, from, box, next);
        }
        __syncwarp();
    }
}

} // namespace

/* Shared memory is allowed to the last byte, as other threads may launch the same kernel. */
extern "C" cudaError_t pulscan_k_peaks(const struct pulscan_k_search *s, cudaStream_t stream)
{
    const int bins = PULSCAN_PIECE + s->nwidth + EACH, room = bins + bins / EACH + 1;
    const size_t bytes = WARPS * room * sizeof(float);
    int device, nprocessor, most, per_processor;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&nprocessor, cudaDevAttrMultiProcessorCount, device);
    if (!e)
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (!e)
        e = cudaFuncSetAttribute(peaks, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    if (!e)
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, peaks, WARP * WARPS,
                                                          bytes);
    if (e)
        return e;
    if (per_processor < 1)
        return cudaErrorInvalidValue;
    peaks<<<nprocessor * per_processor, WARP * WARPS, bytes, stream>>>(*s, room);
    return cudaGetLastError();
}
