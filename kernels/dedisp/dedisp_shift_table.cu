/* The stages of the tensor kernel: for each block of trials and group of channels, which sample of
 * which channel belongs to which trial.
 *
 * One warp a stage.  Shared memory: 4 KB a warp, the delays of the group at the block's trials.
 * Bound: three divisions in double precision for each channel and trial, nothing against the adds
 * that they direct. */
#include "dedisp/dedisp_stage.h"

#include "dedisp/dedisp_kernels.h"

static __device__ inline int delay_of(const struct dedisp_k_delays &d, double dm, size_t k)
{
    if (d.tol_group)
        return psr_dedisp_delay_tolerant(dm, d.d_coeff[k], d.d_coeff[k / d.tol_group * d.tol_group],
                                         &d.frame);
    return psr_dedisp_delay_of(dm, d.d_coeff[k], d.frame.coeff_top, d.frame.dt_s);
}

/* --- gathering packed channels ------------------------------------------------------------------- */

/* Thread block: one trial x 1024 samples, four a thread, neighbours a thread apart; the grid is
 * (trial, stretch of 1024 samples).  Shared memory: the delays of 256 channels at a time, worked
 * out by as many threads. Bound: one load per sample and channel, so the load path of a
 * multiprocessor, 32 lanes a clock: 8 T adds/s on an H200 at best. */

namespace
{

constexpr int THREADS = 256, EACH = 4, SAMPLES = THREADS * EACH;

struct job {
    struct dedisp_k_io io;
    struct dedisp_k_delays delays;
};

/* Channels k0 .. k0 + n - 1 of one plane of bytes. */
static __device__ void add_bytes(const struct dedisp_k_io &io, const int *delay, size_t k0, int n,
                                 size_t t, uint64_t sum[EACH])
{
    for (int q = 0; q < io.nplane; q++) {
        uint32_t part[EACH] = {0};
        const uint8_t *x = (const uint8_t *)io.d_runs + q * io.plane + k0 * io.pitch + io.at + t;
        for (int c = 0; c < n; c++, x += io.pitch)
#pragma unroll
            for (int i = 0; i < EACH; i++)
                part[i] += x[delay[c] + i * THREADS];
        for (int i = 0; i < EACH; i++)
            sum[i] += (uint64_t)part[i] << 8 * q;
    }
}

/* Sums of eight floats are off by less than 5e-7 of the sum of their absolute values; adding these as
 * doubles loses nothing noticeable. */
static __device__ void add_floats(const struct dedisp_k_io &io, const int *delay, size_t k0, int n,
                                  size_t t, double sum[EACH])
{
    const size_t pitch = io.pitch / sizeof(float);
    const float *x = (const float *)io.d_runs + k0 * pitch + io.at + t;
    for (int c = 0; c < n; c += 8) {
        float part[EACH] = {0};
        for (int e = 0; e < 8 && c + e < n; e++, x += pitch)
#pragma unroll
            for (int i = 0; i < EACH; i++)
                part[i] += x[delay[c + e] + i * THREADS];
        for (int i = 0; i < EACH; i++)
            sum[i] += (double)part[i];
    }
}

static __device__ void add_channels(const struct dedisp_k_io &io, const int *delay, size_t k0,
                                    int n, size_t t, uint64_t sum[EACH])
{
    add_bytes(io, delay, k0, n, t, sum);
}

static __device__ void add_channels(const struct dedisp_k_io &io, const int *delay, size_t k0,
                                    int n, size_t t, double sum[EACH])
{
    add_floats(io, delay, k0, n, t, sum);
}

template <class SUM> __global__ void __launch_bounds__(THREADS) gather(const struct job job)
{
    __shared__ int delay[THREADS];
    const double dm = job.delays.d_dm[blockIdx.x];
    const size_t t = (size_t)blockIdx.y * SAMPLES + threadIdx.x;
    SUM sum[EACH] = {0};
    for (size_t k0 = 0; k0 < job.io.nkept; k0 += THREADS) {
        int n = (int)min((size_t)THREADS, job.io.nkept - k0);
        size_t k = k0 + threadIdx.x;
        __syncthreads();
        if (k < job.io.nkept)
            delay[threadIdx.x] = delay_of(job.delays, dm, k);
        __syncthreads();
        add_channels(job.io, delay, k0, n, t, sum);
    }
    float *out = job.io.d_out + job.io.d_row[blockIdx.x] * job.io.out_pitch;
    for (int i = 0; i < EACH; i++)
        if (t + i * THREADS < job.io.nout)
            out[t + i * THREADS] = (float)(((double)sum[i] - job.io.bias) / job.io.downsamp);
}

} // namespace

extern "C" cudaError_t dedisp_k_gather(const struct dedisp_k_io *io, size_t ntrial,
                                       const struct dedisp_k_delays *delays, cudaStream_t stream)
{
    struct job job = {*io, *delays};
    dim3 grid((unsigned)ntrial, (unsigned)((io->nout + SAMPLES - 1) / SAMPLES));
    if (io->nplane)
        gather<uint64_t><<<grid, THREADS, 0, stream>>>(job);
    else
        gather<double><<<grid, THREADS, 0, stream>>>(job);
    return cudaGetLastError();
}

namespace
{

constexpr int WARPS = 4;

struct shift_args {
    const struct dedisp_k_block *block;
    size_t nwide;
    const struct dedisp_k_group *group;
    struct dedisp_k_delays delays;
    struct dedisp_stage *stage;
    int *fault;
};

/* The delays of one group against its middle channel: rel[m][place] for row m. */
struct table {
    int rel[DEDISP_TRIALS][DEDISP_CHANNELS + 1];
};

/* Channel of the group at a place of its planes; -1: none. */
static __device__ int channel_at(const struct dedisp_k_group &g, int place)
{
    int plane = place / DEDISP_PLANE, c = place % DEDISP_PLANE, mid = (int)g.n / 2;
    return c < (plane ? (int)g.n - mid : mid) ? plane * mid + c : -1;
}

/* Trial of row m; idle rows repeat the first of their half. */
static __device__ int trial_of(int kind, const struct dedisp_k_block &b, int m, bool *idle)
{
    int half = dedisp_k_late_trial(kind, b.n), late = m >= DEDISP_MROW;
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

static __device__ int warp_max(int x)
{
    return -warp_min(-x);
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

/* Windows of s for the early and the late trials, of one plane. */
struct windows {
    int early, late, move;
};

/* The lowest windows of nshift values that every channel of the plane can be moved into; false
 * where there are none.  Against the middle channel delays of plane 1 grow from the early to the
 * late trials, those of plane 0 fall, though not equally: windows apart are often narrower. */
static __device__ bool find_windows(range early, range late, int plane, int nshift, windows *w)
{
    bool found = false;
    for (int apart = 0; apart < nshift; apart++) {
        const int at_early = plane ? 0 : apart, at_late = plane ? apart : 0;
        int lo = max(at_early - early.lo, at_late - late.lo);
        int hi = nshift - 1 + min(at_early - early.hi, at_late - late.hi);
        uint32_t fit = __ballot_sync(~0u, lo <= hi) >> DEDISP_PLANE * plane;
        if (found || (fit & 0xffff) != 0xffff)
            continue;
        *w = {at_early, at_late, lo};
        found = true;
    }
    return found;
}

/* The narrowest windows for both planes. */
static __device__ bool fit_windows(int kind, range early, range late, int plane, int *nshift,
                                   windows *w)
{
    const int most = kind == DEDISP_WIDE ? DEDISP_MAXWIDE : DEDISP_MAXSHIFT;
    *w = {};
    for (*nshift = 1; *nshift <= most; ++*nshift)
        if (__all_sync(~0u, find_windows(early, late, plane, *nshift, w)))
            return true;
    *nshift = most;
    return false;
}

/* A register of the A fragment holds four bytes of k, which are four places in turn. */
static __device__ uint32_t one_hot(int kind, const struct dedisp_k_block &b,
                                   const struct dedisp_k_group &g, const table &t, int m, int place)
{
    uint32_t word = 0;
    bool idle;
    trial_of(kind, b, m, &idle);
    for (int e = 0; e < 4 && !idle; e++)
        if (channel_at(g, place + e) >= 0)
            word |= (1u << t.rel[m][place + e]) << (8 * e);
    return word;
}

static __device__ void write_hot(int kind, const struct dedisp_k_block &b,
                                 const struct dedisp_k_group &g, const table &t,
                                 struct dedisp_stage *st, int lane)
{
    int row = lane / 4, q = lane % 4 * 4;
    for (int half = 0; half < 2; half++) {
        int m = half * DEDISP_MROW + row;
        st->hot[half][lane] =
            make_uint4(one_hot(kind, b, g, t, m, q), one_hot(kind, b, g, t, m + 8, q),
                       one_hot(kind, b, g, t, m, q + DEDISP_PLANE),
                       one_hot(kind, b, g, t, m + 8, q + DEDISP_PLANE));
    }
}

/* What all lanes of a plane share, and what only lane 0 has. */
static __device__ void write_frame(int kind, const struct dedisp_k_group &g, const windows &w,
                                   int nshift, int spread, struct dedisp_stage *st, int lane)
{
    const int plane = lane / DEDISP_PLANE, apart = warp_max(max(w.early, w.late));
    if (lane % DEDISP_PLANE == 0) {
        st->window[0][plane] = w.early;
        st->window[1][plane] = w.late;
        st->k[plane] = g.k0 + plane * (g.n / 2);
        st->n[plane] = plane ? g.n - g.n / 2 : g.n / 2;
    }
    if (lane)
        return;
    st->nshift = nshift;
    st->ntile = dedisp_k_tiles(kind, spread);
    st->need = DEDISP_SAMPLES_OF(kind) + spread + apart + nshift;
    st->bytes = dedisp_k_row_bytes(st->need);
}

/* Lane c is place c of the planes; where none is, the middle channel is taken. */
static __device__ void shift_stage(const struct shift_args &a, int kind,
                                   const struct dedisp_k_block &b, const struct dedisp_k_group &g,
                                   struct dedisp_stage *st, table &t, int lane)
{
    bool idle;
    const double *dm = a.delays.d_dm + b.first;
    const double mine = dm[trial_of(kind, b, lane, &idle)]; /* of row "lane" */
    const struct psr_delay_frame &f = a.delays.frame;
    int middle = psr_dedisp_delay_of(mine, a.delays.coeff_mid, f.coeff_top, f.dt_s),
        late = middle - warp_min(middle);
    int ref = delay_of(a.delays, mine, g.k0 + g.n / 2);
    int least = warp_min(ref - late), spread = warp_max(ref - late - least);
    int c = channel_at(g, lane);
    size_t k = g.k0 + (c < 0 ? g.n / 2 : c);
    for (int m = 0; m < DEDISP_TRIALS; m++)
        t.rel[m][lane] =
            delay_of(a.delays, dm[trial_of(kind, b, m, &idle)], k) - __shfl_sync(~0u, ref, m);
    int nshift;
    windows w;
    if (!fit_windows(kind, range_of(t, 0, lane), range_of(t, 1, lane), lane / DEDISP_PLANE, &nshift,
                     &w))
        *a.fault = 1;
    for (int m = 0; m < DEDISP_TRIALS; m++)
        t.rel[m][lane] += w.move - (m < DEDISP_MROW ? w.early : w.late);
    __syncwarp();
    st->off[lane] = c < 0 ? 0 : least - w.move;
    st->shift[lane] = (int16_t)(ref - late - least);
    st->late[lane] = (int16_t)late;
    write_hot(kind, b, g, t, st, lane);
    write_frame(kind, g, w, nshift, spread, st, lane);
}

__global__ void __launch_bounds__(32 * WARPS) shift_stage(const struct shift_args a)
{
    __shared__ table tables[WARPS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const struct dedisp_k_block b = a.block[blockIdx.x];
    const int kind = blockIdx.x < a.nwide ? DEDISP_WIDE : DEDISP_NARROW;
    for (int g = warp; g < (int)b.ngroup; g += WARPS) {
        shift_stage(a, kind, b, a.group[b.group + g], a.stage + b.stage + g, tables[warp], lane);
        __syncwarp();
    }
}

} // namespace

extern "C" size_t dedisp_k_stage_bytes(void)
{
    return sizeof(struct dedisp_stage);
}

/* A delay is rounded by less than a sample against another, twice that with tolerance: e.  Relative
 * delays then span less than x + 2 e over the block and half_x + 2 e over a half, and turn back by
 * less than 2 e from half to half; see find_windows. */
extern "C" int dedisp_k_fits(int kind, double x, double half_x, int tol)
{
    int e = tol ? 2 : 1;
    if (kind == DEDISP_NARROW)
        return x + 2 * e <= DEDISP_MAXSHIFT;
    return x + 4 * e <= 2 * DEDISP_MAXWIDE - 1 && half_x + 2 * e <= DEDISP_MAXWIDE;
}

extern "C" cudaError_t
dedisp_k_shift_table(void *d_stage, int *d_fault, const struct dedisp_k_block *d_block,
                     const size_t nblock[DEDISP_KINDS], const struct dedisp_k_group *d_group,
                     const struct dedisp_k_delays *delays, cudaStream_t stream)
{
    const size_t all = nblock[DEDISP_WIDE] + nblock[DEDISP_NARROW];
    struct shift_args a = {
        d_block, nblock[DEDISP_WIDE], d_group, *delays, (struct dedisp_stage *)d_stage, d_fault};
    shift_stage<<<(unsigned)all, 32 * WARPS, 0, stream>>>(a);
    return cudaGetLastError();
}
