/* Which pieces of the spectrum can have a box above its floor.
 *
 * Thread block: one tile of TILE x 256 starts of one spectrum, and SPAN x 256 bins of s_H, of which
 * a thread holds SPAN, 256 apart; the grid is (tile, spectrum).  For one H after the other: the
 * next harmonic is added in registers, the sums are rounded up to integers and added up along the
 * tile in shared memory, so that a box is a difference of two of these running sums.  The running
 * sums at every 4th bin are kept apart, so that tests that stand there read them without
 * conflicts. Integers wrap, and boxes do not, as the scale is chosen so. Bound: about 15
 * instructions a bin of s_H and 3 a start and test; shared memory close behind. */
#include "pulscan/pulscan_sums.cuh"

namespace
{

constexpr int THREADS = 256, WARP = 32, NWARP = THREADS / WARP;
constexpr unsigned ALL = ~0u;

/* SPAN is odd, so that threads that read as many neighbours each do so without conflicts. */
template <int SPAN, int TILE> struct shape {
    static constexpr int BINS = SPAN * THREADS, STARTS = TILE * THREADS, HALO = BINS - STARTS;
};
using narrow = shape<17, 15>;
using medium = shape<17, 11>;
using wide = shape<33, 17>;

/* Places in shared memory: running sums of what is before, at every bin and at every 4th; sums of
 * warps. */
extern __shared__ uint32_t room[];
template <int SPAN> struct place {
    static constexpr int BINS = SPAN * THREADS, EVERY4 = BINS, WARPS = EVERY4 + BINS / 4,
                         END = WARPS + NWARP;
};

/* Warps read whole lines of memory if tiles begin at one. */
static __host__ __device__ int first_start(const struct pulscan_k_search &s)
{
    return s.begin / WARP * WARP;
}

static __device__ __noinline__ void flag(const struct pulscan_k_search &s, int h, int start,
                                         uint32_t groups)
{
    if (start < 1)
        return;
    const uint32_t piece = piece_of(s.block, start);
    const uint32_t at = (blockIdx.y * s.nsum + h) * s.npiece + piece;
    if (piece >= s.npiece || (s.d_groups[at] & groups) == groups)
        return;
    if (atomicOr(s.d_groups + at, groups) == 0)
        s.d_list[atomicAdd(&s.d_count->nlist, 1)] = at;
}

/* Adds harmonic h to sums of harmonics below, of which n exist from this thread's first on; others
 * are 0. */
template <int SPAN, int h>
static __device__ __forceinline__ void add_fixed(const float *p, int n, float sum[SPAN])
{
    if (n > (SPAN - 1) * THREADS) {
#pragma unroll
        for (int e = 0; e < SPAN; e++)
            sum[e] += sum_bins<h>(p + h * e * THREADS);
        return;
    }
#pragma unroll
    for (int e = 0; e < SPAN; e++)
        sum[e] = e * THREADS < n ? sum[e] + sum_bins<h>(p + h * e * THREADS) : 0;
}

template <int SPAN>
static __device__ __forceinline__ void add_harmonic(const float *power, int nbin, int h, int first,
                                                    float sum[SPAN])
{
    const int n = nbin / h - first;
    const float *p = power + (size_t)h * first;
    switch (h) {
    case 1:
        return add_fixed<SPAN, 1>(p, n, sum);
    case 2:
        return add_fixed<SPAN, 2>(p, n, sum);
    case 3:
        return add_fixed<SPAN, 3>(p, n, sum);
    case 4:
        return add_fixed<SPAN, 4>(p, n, sum);
    default:
#pragma unroll
        for (int e = 0; e < SPAN; e++)
            sum[e] = e * THREADS < n ? sum[e] + sum_bins(p + h * e * THREADS, h) : 0;
    }
}

/* Running sums of the tile. */
template <int SPAN>
static __device__ __forceinline__ void run_up(const float sum[SPAN], float cut, float scale)
{
    using at = place<SPAN>;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int e = 0; e < SPAN; e++)
        room[threadIdx.x + e * THREADS] = __float2uint_ru(fminf(sum[e], cut) * scale);
    __syncthreads();
    uint32_t run[SPAN], total = 0, *mine = room + threadIdx.x * SPAN;
#pragma unroll
    for (int e = 0; e < SPAN; e++) {
        run[e] = total;
        total += mine[e];
    }
    uint32_t before = total;
    for (int n = 1; n < WARP; n *= 2) {
        uint32_t x = __shfl_up_sync(ALL, before, n);
        before += lane >= n ? x : 0;
    }
    if (lane == WARP - 1)
        room[at::WARPS + warp] = before;
    before -= total;
    __syncthreads();
    const uint4 *of4 = (const uint4 *)(room + at::WARPS);
#pragma unroll
    for (int w = 0; w < NWARP / 4; w++) {
        const uint4 x = of4[w];
        before += (4 * w < warp ? x.x : 0) + (4 * w + 1 < warp ? x.y : 0) +
                  (4 * w + 2 < warp ? x.z : 0) + (4 * w + 3 < warp ? x.w : 0);
    }
#pragma unroll
    for (int e = 0; e < SPAN; e++)
        mine[e] = before + run[e];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < (SPAN + 3) / 4; e++) {
        const int j = threadIdx.x + e * THREADS;
        if (j < at::BINS / 4)
            room[at::EVERY4 + j] = room[4 * j];
    }
    __syncthreads();
}

static __device__ __forceinline__ uint32_t max3(uint32_t a, uint32_t b, uint32_t c)
{
#if __CUDA_ARCH__ >= 900
    return __vimax3_u32(a, b, c);
#else
    return max(max(a, b), c);
#endif
}

/* Flags the pieces of places that pass a test. */
template <int STEP, int COUNT>
static __device__ __noinline__ void flag_places(const struct pulscan_k_search &s, int h, int start,
                                                int sums, uint4 test)
{
    for (int j = threadIdx.x; j < COUNT; j += THREADS) {
        if (room[sums + j + test.x] - room[sums + j] < test.y)
            continue;
        for (int n = 0; n < STEP; n++) /* blocks of one or two starts are pieces */
            flag(s, h, start + j * STEP + n, test.z);
    }
}

/* Tests of one step at COUNT places that are 4^step = STEP starts apart; their running sums lie
 * from "sums" on.  Threads that have no last place take the last of all. */
template <int STEP, int COUNT>
static __device__ __forceinline__ void ask(const struct pulscan_k_search &s, int h, int start,
                                           int sums, const struct pulscan_k_test *test, int ntest)
{
    constexpr int LAST = (COUNT - 1) / THREADS;
    const uint32_t *mine = room + sums + threadIdx.x;
    const uint32_t *last = room + sums + min((int)threadIdx.x + LAST * THREADS, COUNT - 1);
    uint32_t near[LAST + 1];
#pragma unroll
    for (int e = 0; e < LAST; e++)
        near[e] = mine[e * THREADS];
    near[LAST] = *last;
    uint4 next = __ldg((const uint4 *)test);
    for (int k = 0; k < ntest; k++) {
        const uint4 now = next;
        next = __ldg((const uint4 *)(test + k + 1));
        const uint32_t *far = mine + now.x;
        uint32_t most = last[now.x] - near[LAST];
#pragma unroll
        for (int e = 0; e + 1 < LAST; e += 2)
            most = max3(most, far[e * THREADS] - near[e], far[(e + 1) * THREADS] - near[e + 1]);
        if (LAST % 2)
            most = max(most, far[(LAST - 1) * THREADS] - near[LAST - 1]);
        if (most >= now.y)
            flag_places<STEP, COUNT>(s, h, start, sums, now);
    }
}

template <int SPAN, int TILE>
__global__ void __launch_bounds__(THREADS, SPAN < 20 ? 3 : 2)
    prefilter(const __grid_constant__ struct pulscan_k_search s)
{
    using at = place<SPAN>;
    constexpr int STARTS = shape<SPAN, TILE>::STARTS;
    const int start = first_start(s) + blockIdx.x * STARTS;
    const float *power = s.d_power + blockIdx.y * s.pitch;
    float sum[SPAN] = {0};
    int next = 0;
    if (s.d_bad && s.d_bad[blockIdx.y] < PULSCAN_NO_BIN)
        return;
    for (int h = 1; h <= s.nharm; h++) {
        add_harmonic<SPAN>(power, (int)s.nbin, h, start + threadIdx.x, sum);
        const struct pulscan_k_sum &job = s.d_sum[next];
        if (job.nharm != h)
            continue;
        if (start < job.end && start + STARTS > job.begin) {
            const uint32_t *q = job.test;
            __syncthreads();
            run_up<SPAN>(sum, job.cut, job.scale);
            ask<1, STARTS>(s, next, start, 0, s.d_test + q[0], q[1] - q[0]);
            ask<4, STARTS / 4>(s, next, start, at::EVERY4, s.d_test + q[1], q[2] - q[1]);
        } else if (start >= job.end) {
            return; /* sums of more harmonics are shorter still */
        }
        next++;
    }
}

template <int SPAN, int TILE>
static cudaError_t launch(const struct pulscan_k_search *s, cudaStream_t stream)
{
    constexpr int STARTS = shape<SPAN, TILE>::STARTS, BYTES = place<SPAN>::END * sizeof(uint32_t);
    const dim3 grid((unsigned)((s->end - first_start(*s) + STARTS - 1) / STARTS),
                    (unsigned)s->nspec);
    cudaError_t e = cudaFuncSetAttribute(prefilter<SPAN, TILE>,
                                         cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (e)
        return e;
    prefilter<SPAN, TILE><<<grid, THREADS, BYTES, stream>>>(*s);
    return cudaGetLastError();
}

} // namespace

extern "C" uint32_t pulscan_k_pieces(int64_t block)
{
    return (uint32_t)((block + PULSCAN_PIECE - 1) / PULSCAN_PIECE);
}

extern "C" int pulscan_k_max_halo(void)
{
    return wide::HALO;
}

extern "C" cudaError_t pulscan_k_prefilter(const struct pulscan_k_search *s, cudaStream_t stream)
{
    if (s->end <= s->begin)
        return cudaSuccess;
    if (s->halo <= narrow::HALO)
        return launch<17, 15>(s, stream);
    if (s->halo <= medium::HALO)
        return launch<17, 11>(s, stream);
    return s->halo <= wide::HALO ? launch<33, 17>(s, stream) : cudaErrorInvalidValue;
}
