/* Which pieces of the spectrum can have a box above its floor.
 *
 * Thread block: one tile of TILE x 256 starts of one spectrum, and SPAN x 256 bins of s_H, of which
 * a thread holds SPAN, 256 apart; the grid is (tile, spectrum).  For one H after the other: the
 * next harmonic is added in registers, the sums are rounded up to integers and added up along the
 * tile in shared memory, so that a box is a difference of two of these running sums.  The running
 * sums at every 4th and 16th bin are kept apart, so that tests that stand there read them without
 * conflicts. Integers wrap, and boxes do not, as the scale is chosen so. Bound: about 15
 * instructions a bin of s_H and 3 a start and test; shared memory close behind. */
#include "pulscan_sums.cuh"

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

template <int SPAN> struct tile {
    uint32_t sum[SPAN * THREADS]; /* of what is before, at every bin */
    uint32_t sum4[SPAN * THREADS / 4], sum16[SPAN * THREADS / 16];
    uint32_t warp[NWARP];
};

static __device__ __noinline__ void flag(const struct pulscan_k_search &s, int h, int start,
                                         uint32_t groups)
{
    const uint32_t piece = piece_of(s.block, start);
    const uint32_t at = (blockIdx.y * s.nsum + h) * s.npiece + piece;
    if (piece >= s.npiece || (s.d_groups[at] & groups) == groups)
        return;
    if (atomicOr(s.d_groups + at, groups) == 0)
        s.d_list[atomicAdd(&s.d_count->nlist, 1)] = at;
}

/* Adds harmonic h, which is "fixed" unless that is 0, to sums of harmonics below; sums of bins that
 * do not exist are 0. */
template <int SPAN, int fixed>
static __device__ __forceinline__ void add_one(const float *power, int nbin, int h, int first,
                                               float sum[SPAN])
{
    const int n = nbin / h;
#pragma unroll
    for (int e = 0; e < SPAN; e++) {
        const int i = first + e * THREADS;
        if (fixed)
            sum[e] = i < n ? sum[e] + harmonic_power<fixed>(power, i) : 0;
        else
            sum[e] = i < n ? sum[e] + harmonic_power(power, h, i) : 0;
    }
}

template <int SPAN>
static __device__ __forceinline__ void add_harmonic(const float *power, int nbin, int h, int first,
                                                    float sum[SPAN])
{
    switch (h) {
    case 1:
        return add_one<SPAN, 1>(power, nbin, 1, first, sum);
    case 2:
        return add_one<SPAN, 2>(power, nbin, 2, first, sum);
    case 3:
        return add_one<SPAN, 3>(power, nbin, 3, first, sum);
    case 4:
        return add_one<SPAN, 4>(power, nbin, 4, first, sum);
    default:
        return add_one<SPAN, 0>(power, nbin, h, first, sum);
    }
}

/* Running sums of the tile. */
template <int SPAN>
static __device__ void run_up(struct tile<SPAN> *t, const float sum[SPAN], float cut, float scale)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int e = 0; e < SPAN; e++)
        t->sum[threadIdx.x + e * THREADS] = __float2uint_ru(fminf(sum[e], cut) * scale);
    __syncthreads();
    uint32_t run[SPAN], total = 0, *mine = t->sum + threadIdx.x * SPAN;
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
        t->warp[warp] = before;
    before -= total;
    __syncthreads();
    for (int w = 0; w < NWARP; w++)
        before += w < warp ? t->warp[w] : 0;
#pragma unroll
    for (int e = 0; e < SPAN; e++)
        mine[e] = before + run[e];
    __syncthreads();
    for (int j = threadIdx.x; j < SPAN * THREADS / 4; j += THREADS)
        t->sum4[j] = t->sum[4 * j];
    for (int j = threadIdx.x; j < SPAN * THREADS / 16; j += THREADS)
        t->sum16[j] = t->sum[16 * j];
    __syncthreads();
}

/* Tests of one step at COUNT places that are 4^step = STEP starts apart. */
template <int STEP, int COUNT>
static __device__ void ask(const struct pulscan_k_search &s, int h, int start, const uint32_t *sum,
                           const struct pulscan_k_test *test, int ntest)
{
    constexpr int EACH = (COUNT + THREADS - 1) / THREADS;
    int place[EACH];
    uint32_t near[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        place[e] = min((int)threadIdx.x + e * THREADS, COUNT - 1);
        near[e] = sum[place[e]];
    }
    uint4 next = __ldg((const uint4 *)test);
    for (int k = 0; k < ntest; k++) {
        const uint4 now = next;
        next = __ldg((const uint4 *)(test + k + 1));
        const uint32_t *far = sum + now.x;
        uint32_t most = 0;
#pragma unroll
        for (int e = 0; e < EACH; e++)
            most = max(most, far[place[e]] - near[e]);
        if (most < now.y)
            continue;
        for (int e = 0; e < EACH; e++) {
            const int j = min((int)threadIdx.x + e * THREADS, COUNT - 1);
            if (far[j] - sum[j] < now.y)
                continue;
            flag(s, h, start + j * STEP, now.z);
            if (STEP > 1)
                flag(s, h, start + j * STEP + STEP - 1, now.z);
        }
    }
}

template <int SPAN, int TILE>
__global__ void __launch_bounds__(THREADS, SPAN < 20 ? 3 : 2)
    sieve(const __grid_constant__ struct pulscan_k_search s)
{
    extern __shared__ uint32_t room[];
    struct tile<SPAN> *t = (struct tile<SPAN> *)room;
    constexpr int STARTS = shape<SPAN, TILE>::STARTS;
    const int start = s.begin + blockIdx.x * STARTS;
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
            run_up<SPAN>(t, sum, job.cut, job.scale);
            ask<1, STARTS>(s, next, start, t->sum, s.d_test + q[0], q[1] - q[0]);
            ask<4, STARTS / 4>(s, next, start, t->sum4, s.d_test + q[1], q[2] - q[1]);
            ask<16, STARTS / 16>(s, next, start, t->sum16, s.d_test + q[2], q[3] - q[2]);
        } else if (start >= job.end) {
            return; /* sums of more harmonics are shorter still */
        }
        next++;
    }
}

template <int SPAN, int TILE>
static cudaError_t launch(const struct pulscan_k_search *s, cudaStream_t stream)
{
    constexpr int STARTS = shape<SPAN, TILE>::STARTS, BYTES = sizeof(struct tile<SPAN>);
    const dim3 grid((unsigned)((s->end - s->begin + STARTS - 1) / STARTS), (unsigned)s->nspec);
    cudaError_t e =
        cudaFuncSetAttribute(sieve<SPAN, TILE>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (e)
        return e;
    sieve<SPAN, TILE><<<grid, THREADS, BYTES, stream>>>(*s);
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

extern "C" cudaError_t pulscan_k_sieve(const struct pulscan_k_search *s, cudaStream_t stream)
{
    if (s->end <= s->begin)
        return cudaSuccess;
    if (s->halo <= narrow::HALO)
        return launch<17, 15>(s, stream);
    if (s->halo <= medium::HALO)
        return launch<17, 11>(s, stream);
    return s->halo <= wide::HALO ? launch<33, 17>(s, stream) : cudaErrorInvalidValue;
}
