/* Removes peaks that a stronger box outside their piece overlaps.
 *
 * A warp takes a peak, and on either side of its piece the starts that are in its reach: their bins
 * of s_H lie in shared memory, a lane sums boxes of EACH starts at once, bin by bin from the left as
 * pulscan_peaks.cu does, so that the bits are the same.  Noise has few peaks; of bright data a peak
 * of width z costs some 2 z (z + 1) adds.  Bound: one load from shared memory an add. */
#include "common/launch.cuh"
#include "pulscan/pulscan_sums.cuh"

namespace
{

constexpr int WARP = 32, WARPS = 4, EACH = 4;
constexpr unsigned ALL = ~0u;

/* Starts first .. end - 1 of one sum. */
struct side {
    const float *power;
    int nharm, first, end;
};

/* Reads bins of starts and boxes, and of the starts that fill the last lanes. */
static __device__ void load_bins(const struct side &a, int z, int nbin, float *bin)
{
    const int all = nbin / a.nharm, count = a.end - a.first + z + WARP * EACH;
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
    for (int x0 = lane; x0 - lane < count; x0 += WARP * EACH) {
        float box[EACH] = {0};
        for (int j = 0; j <= z; j++)
#pragma unroll
            for (int e = 0; e < EACH; e++)
                box[e] += bin[x0 + e * WARP + j];
#pragma unroll
        for (int e = 0; e < EACH; e++)
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
    const int room = 2 * s->nwidth + PSR_PULSCAN_NEAR + WARP * EACH;
    const size_t bytes = WARPS * room * sizeof(float);
    int nprocessor;
    cudaError_t e = allow_all_shared(outdo, &nprocessor);
    if (e)
        return e;
    outdo<<<2 * nprocessor, WARP * WARPS, bytes, stream>>>(*s, room);
    return cudaGetLastError();
}
