/* The stages of the tensor kernel: for each block of trials and group of channels, which sample of
 * which channel belongs to which trial.
 *
 * One warp a stage.  Shared memory: 4 KB a warp, the delays of the group at the block's trials.
 * Bound: three divisions in double precision for each channel and trial, nothing against the adds
 * that they direct. */
#include "dedisp_lag.cuh"
#include "dedisp_stage.h"

namespace
{

constexpr int WARPS = 4;

struct aim {
    const struct dedisp_k_block *block;
    const struct dedisp_k_group *group;
    struct dedisp_k_delays delays;
    struct dedisp_stage *stage;
    int *fault;
};

/* The delays of one group against its first channel: rel[m][c] for row m. */
struct table {
    int rel[DEDISP_TRIALS][DEDISP_CHANNELS + 1];
};

/* Trial of row m; idle rows repeat the first of their half. */
static __device__ int trial_of(const struct dedisp_k_block &b, int m, bool *idle)
{
    int half = (b.n + 1) / 2, late = m >= DEDISP_MROW;
    int trial = late ? half + m - DEDISP_MROW : m, end = late ? (int)b.n : half;
    *idle = trial >= end;
    return *idle ? (late && half < (int)b.n ? half : 0) : trial;
}

static __device__ int warp_min(int x)
{
    for (int o = 16; o; o /= 2)
        x = min(x, __shfl_xor_sync(~0u, x, o));
    return x;
}

struct range {
    int lo, hi;
};

static __device__ range range_of(const table &t, int half, int c)
{
    range r = {1 << 30, -(1 << 30)};
    for (int m = 0; m < DEDISP_MROW; m++) {
        int v = t.rel[half * DEDISP_MROW + m][c];
        r.lo = min(r.lo, v);
        r.hi = max(r.hi, v);
    }
    return r;
}

/* The narrowest windows of s for the early and the late trials that every channel can be moved
 * into, by *move.  Between the halves all channels' delays grow, though not equally, so that a late
 * window that lies higher is often narrower. */
static __device__ bool find_windows(range early, range late, int *nshift, int *window, int *move)
{
    for (*nshift = 1; *nshift <= DEDISP_MAXSHIFT; ++*nshift)
        for (*window = 0; *window < *nshift; ++*window) {
            int lo = max(-early.lo, *window - late.lo);
            int hi = *nshift - 1 + min(-early.hi, *window - late.hi);
            *move = lo;
            if (__all_sync(~0u, lo <= hi))
                return true;
        }
    *nshift = DEDISP_MAXSHIFT;
    *window = 0;
    return false;
}

/* A register of the A fragment holds four bytes of k, which are channels q, q + 8, q + 16, q + 24.
 */
static __device__ uint32_t hot_word(const struct dedisp_k_block &b, const table &t, int m, int q,
                                    int n)
{
    uint32_t word = 0;
    bool idle;
    trial_of(b, m, &idle);
    for (int e = 0; e < 4 && !idle; e++) {
        int c = q + DEDISP_CHANNELS / 4 * e;
        if (c < n)
            word |= (1u << t.rel[m][c]) << (8 * e);
    }
    return word;
}

static __device__ void write_hot(const struct dedisp_k_block &b, const table &t, int n,
                                 struct dedisp_stage *st, int lane)
{
    int row = lane / 4, q = lane % 4;
    for (int half = 0; half < 2; half++) {
        int m = half * DEDISP_MROW + row;
        st->hot[half][lane] =
            make_uint4(hot_word(b, t, m, q, n), hot_word(b, t, m + 8, q, n),
                       hot_word(b, t, m, q + 4, n), hot_word(b, t, m + 8, q + 4, n));
    }
}

/* Lane c is channel c of the group; an absent one follows the first. */
static __device__ void aim_stage(const struct aim &a, const struct dedisp_k_block &b,
                                 const struct dedisp_k_group &g, struct dedisp_stage *st, table &t,
                                 int lane)
{
    bool idle;
    const double *dm = a.delays.d_dm + b.first;
    const double mine = dm[trial_of(b, lane, &idle)]; /* of row "lane" */
    const struct psr_lag_frame &f = a.delays.frame;
    int middle = psr_lag(mine, a.delays.law_mid, f.law_top, f.dt_s),
        late = middle - warp_min(middle);
    int first = lag_of(a.delays, mine, g.k0);
    int least = warp_min(first - late), spread = -warp_min(-(first - late - least));
    int c = lane < (int)g.n ? lane : 0;
    for (int m = 0; m < DEDISP_TRIALS; m++)
        t.rel[m][lane] =
            lag_of(a.delays, dm[trial_of(b, m, &idle)], g.k0 + c) - __shfl_sync(~0u, first, m);
    int nshift, window, move;
    if (!find_windows(range_of(t, 0, lane), range_of(t, 1, lane), &nshift, &window, &move))
        *a.fault = 1;
    for (int m = 0; m < DEDISP_TRIALS; m++)
        t.rel[m][lane] += move - (m < DEDISP_MROW ? 0 : window);
    __syncwarp();
    st->off[lane] = lane < (int)g.n ? least - move : 0;
    st->shift[lane] = (int16_t)(first - late - least);
    st->late[lane] = (int16_t)late;
    write_hot(b, t, g.n, st, lane);
    if (lane == 0) {
        st->nshift = nshift;
        st->spread = spread;
        st->window[0] = 0;
        st->window[1] = window;
        st->k0 = g.k0;
        st->n = g.n;
        st->need = DEDISP_STRETCH + spread + window + nshift;
        st->bytes = (st->need + 15 + 4 + 3 + 15) / 16 * 16;
    }
}

__global__ void __launch_bounds__(32 * WARPS) aim_stages(const struct aim a)
{
    __shared__ table tables[WARPS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const struct dedisp_k_block b = a.block[blockIdx.x];
    for (int g = warp; g < (int)b.ngroup; g += WARPS) {
        aim_stage(a, b, a.group[b.group + g], a.stage + b.stage + g, tables[warp], lane);
        __syncwarp();
    }
}

} // namespace

extern "C" size_t dedisp_k_stage_bytes(void)
{
    return sizeof(struct dedisp_stage);
}

/* A delay is rounded by less than a sample against another, twice that with tolerance: e.  Relative
 * delays then span less than x + 2 e over the block and half_x + 2 e over a half, and decrease by
 * less than 2 e from half to half; see find_windows. */
extern "C" int dedisp_k_fits(double x, double half_x, int tol)
{
    int e = tol ? 2 : 1;
    return x + 4 * e <= 2 * DEDISP_MAXSHIFT - 1 && half_x + 2 * e <= DEDISP_MAXSHIFT;
}

extern "C" cudaError_t dedisp_k_aim(void *d_stage, int *d_fault,
                                    const struct dedisp_k_block *d_block, size_t nblock,
                                    const struct dedisp_k_group *d_group,
                                    const struct dedisp_k_delays *delays, cudaStream_t stream)
{
    struct aim a = {d_block, d_group, *delays, (struct dedisp_stage *)d_stage, d_fault};
    aim_stages<<<(unsigned)nblock, 32 * WARPS, 0, stream>>>(a);
    return cudaGetLastError();
}
