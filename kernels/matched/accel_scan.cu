/* accel_scan.cu: places whose sums of bounds exceed the threshold. */
#include "common/ptx.cuh"

#include "matched/accel_kernels.h"

enum { DRIFTS = 64 }; /* of a thread block, at most */

/* The step nearest to j k / 2^LOG; of two equally near, the one farther from 0. */
template <int LOG> static __device__ __forceinline__ int step(int j, int k)
{
    const int n = (2 * abs(j) * k + (1 << LOG)) >> (LOG + 1);
    return j < 0 ? -n : n;
}

/* Cell number of a strip. */
static __device__ __forceinline__ uint32_t place(const accel_k_strip &t, int64_t cell, int shift)
{
    const uint32_t at = (uint32_t)(cell - t.origin);
    const uint32_t stream = at & ((1U << shift) - 1);
    return stream * (uint32_t)(t.pitch >> shift) + (at >> shift);
}

static __device__ __noinline__ void note(const accel_k_scan &s, uint32_t cell, int j, int l,
                                         int stage, __half2 sum)
{
    for (int spec = 0; spec < ACCEL_PAIR; spec++) {
        const float x = spec ? __high2float(sum) : __low2float(sum);
        if (!(x >= s.cut[stage]))
            continue;
        const uint32_t n = atomicAdd(s.d_count, 1);
        if (n < s.cap)
            s.d_entry[n] = {cell, (int16_t)j, (int16_t)l, (uint16_t)stage, (uint16_t)spec};
    }
}

/* Sums of 1, 2 .. 2^LOG harmonics, v[k] the bound of fraction k / 2^LOG.
 * Returned: the largest excess of one of them over its cut */
template <int LOG>
static __device__ __forceinline__ __half2 add_up(const __half2 *v, const __half2 *cut,
                                                 __half2 sum[LOG + 1])
{
    constexpr int NH = 1 << LOG;
    sum[0] = v[NH];
    __half2 over = sum[0] - cut[0];
#pragma unroll
    for (int stage = 1; stage <= LOG; stage++) {
        sum[stage] = sum[stage - 1];
#pragma unroll
        for (int h = 1; h < 1 << stage; h += 2)
            sum[stage] = sum[stage] + v[h * (NH >> stage)];
        over = __hmax2(over, sum[stage] - cut[stage]);
    }
    return over;
}

/* Where a cell's bounds of fraction k are: in two consecutive cells. */
struct cursor {
    const uint32_t *row; /* of the drift before the next */
    int64_t pitch;
    uint32_t at, next;
};

template <int LOG>
static __device__ __forceinline__ cursor place_cursor(const accel_k_strip &t, int64_t top, int k,
                                                      int j, int l, int shift)
{
    const int64_t here = top * k >> LOG;
    const int64_t row =
        (int64_t)(step<LOG>(l, k) + t.lmax) * (2 * t.jmax + 1) + step<LOG>(j, k) + t.jmax;
    return {t.d_bound + (row - 1) * t.pitch, t.pitch, place(t, here, shift),
            place(t, here + 1, shift)};
}

/* Marks of drifts first .. end - 1: bit k is set if the row of fraction k differs from that of the
 * previous drift, and in the first. */
template <int LOG>
static __device__ __forceinline__ void mark_moves(uint32_t *moves, int first, int end)
{
    for (int n = threadIdx.x; n < end - first; n += blockDim.x) {
        uint32_t bits = 0;
        for (int k = 1; k < 1 << LOG; k++)
            bits |= (uint32_t)(step<LOG>(first + n, k) != step<LOG>(first + n - 1, k)) << k;
        moves[n] = n ? bits : ~0U;
    }
}

/* Bounds of a drift: both cells of every fraction, and of the highest harmonic one. */
template <int NH> struct bounds {
    uint32_t low[NH + 1], high[NH];
};

/* Issues the loads of those that differ from the previous drift's, all before any is used. */
template <int NH>
static __device__ __forceinline__ void fetch(bounds<NH> &b, cursor *at, uint32_t bits)
{
#pragma unroll
    for (int k = 1; k < NH; k++)
        if (bits >> k & 1) {
            at[k].row += at[k].pitch;
            b.low[k] = __ldg(at[k].row + at[k].at);
            b.high[k] = __ldg(at[k].row + at[k].next);
        }
    at[NH].row += at[NH].pitch;
    b.low[NH] = __ldg(at[NH].row + at[NH].at);
}

/* Thread: one cell, all drifts of a part, one jerk. */
template <int LOG>
static __global__ void __launch_bounds__(ACCEL_SCAN_CELLS)
    scan_cells(const __grid_constant__ accel_k_scan s, int each, int part, int shift)
{
    constexpr int NH = 1 << LOG;
    __shared__ uint32_t moves[DRIFTS];
    const int l = s.llo + blockIdx.y / part;
    const int first = s.jlo + (int)(blockIdx.y % part) * each, end = min(s.jhi + 1, first + each);
    mark_moves<LOG>(moves, first, end);
    __syncthreads();
    const uint32_t cell = blockIdx.x * ACCEL_SCAN_CELLS + threadIdx.x;
    if (cell >= s.ncell)
        return;
    cursor at[NH + 1];
    bounds<NH> b;
    __half2 cut[LOG + 1], sum[LOG + 1], v[NH + 1];
#pragma unroll
    for (int k = 1; k <= NH; k++)
        at[k] = place_cursor<LOG>(s.strip[k], s.first + cell, k, first, l, shift);
#pragma unroll
    for (int stage = 0; stage <= LOG; stage++)
        cut[stage] = __float2half2_rn(s.cut[stage]);
    for (int j = first; j < end; j++) {
        fetch<NH>(b, at, moves[j - first]);
#pragma unroll
        for (int k = 1; k < NH; k++)
            v[k] = __hmax2(as_half2(b.low[k]), as_half2(b.high[k]));
        v[NH] = as_half2(b.low[NH]);
        if (__hge2_mask(add_up<LOG>(v, cut, sum), __float2half2_rn(0)))
            for (int stage = 0; stage <= LOG; stage++)
                note(s, cell, j, l, stage, sum[stage]);
    }
}

template <int LOG> static cudaError_t launch(const struct accel_k_scan *s, cudaStream_t stream)
{
    const int nz = s->jhi - s->jlo + 1, part = (nz + DRIFTS - 1) / DRIFTS;
    const int each = (nz + part - 1) / part, shift = s->cell == 4 ? 2 : s->cell == 2 ? 3 : 4;
    const dim3 grid((s->ncell + ACCEL_SCAN_CELLS - 1) / ACCEL_SCAN_CELLS,
                    part * (s->lhi - s->llo + 1));
    scan_cells<LOG><<<grid, ACCEL_SCAN_CELLS, 0, stream>>>(*s, each, part, shift);
    return cudaGetLastError();
}

cudaError_t accel_k_find(const struct accel_k_scan *s, cudaStream_t stream)
{
    static cudaError_t (*const launchers[])(const struct accel_k_scan *, cudaStream_t) = {
        launch<0>, launch<1>, launch<2>, launch<3>, launch<4>, launch<5>};
    return launchers[s->nstage - 1](s, stream);
}

/* --- harmonic sums by their definition, with their error ----------------------------------------- */

enum { WARPS = 8, MOST_CELL = 4, MOST_GRID = 1320 };

/* Of a sum of at most 4400 products of floats, in any order of lanes, over the sum of their absolute
 * values: (4400 / 16 + 4) 2^-24 in 16 lanes of the host, and less in 32 here. */
#define AMPLITUDE_ERROR 4e-5F

/* Of squares, and of sums of 32 of them. */
#define SUM_ERROR 1e-5F

struct range {
    float high, low;
};

/* The power of template t at half bin i, to all lanes. */
static __device__ range power_at(const accel_k_verify &v, int spec, int64_t t, int64_t i)
{
    const int half = v.d_half[t], odd = (int)(i & 1), n = (2 * half + 15) / 16 * 16;
    const float *kr = v.d_taps + v.d_at[t] + 2 * (int64_t)odd * n, *ki = kr + n;
    const int64_t first = i / 2 - half + odd;
    const float2 *x = (const float2 *)v.bins.d_x[spec];
    float re = 0, im = 0, size = 0;
    for (int u = threadIdx.x % 32; u < n; u += 32) {
        const int64_t k = first + u;
        if (k < 0 || k >= v.bins.nbin)
            continue;
        re += x[k].x * kr[u] + x[k].y * ki[u];
        im += x[k].y * kr[u] - x[k].x * ki[u];
        size += (fabsf(x[k].x) + fabsf(x[k].y)) * (fabsf(kr[u]) + fabsf(ki[u]));
    }
    for (int step = 16; step > 0; step /= 2) {
        re += __shfl_xor_sync(~0U, re, step);
        im += __shfl_xor_sync(~0U, im, step);
        size += __shfl_xor_sync(~0U, size, step);
    }
    const float a = hypotf(re, im), error = AMPLITUDE_ERROR * size, least = fmaxf(a - error, 0);
    return {(a + error) * (a + error), least * least};
}

static __device__ int step(int j, int h, int H)
{
    return j < 0 ? -((-2 * j * h + H) / (2 * H)) : (2 * j * h + H) / (2 * H);
}

/* Adds harmonic h of H at the half bins of a cell, i the first. */
static __device__ void add_harmonic(const accel_k_verify &v, const accel_k_entry &e, int64_t i,
                                    int h, int H, range sum[MOST_CELL])
{
    const int64_t t = (int64_t)(step(e.l, h, H) + v.bank_lmax) * (2 * v.bank_jmax + 1) +
                      step(e.j, h, H) + v.bank_jmax;
    int64_t last = -1;
    range power = {0, 0};
    for (int c = 0; c < MOST_CELL; c++) {
        if (c >= v.cell)
            break;
        const int64_t here = (2 * (i + c) * h + H) / (2 * H);
        if (here != last)
            power = power_at(v, e.spec, t, here);
        last = here;
        sum[c].high += power.high;
        sum[c].low += power.low;
    }
}

/* An entry a warp. */
static __global__ void __launch_bounds__(32 * WARPS)
    verify_entries(const __grid_constant__ accel_k_verify v)
{
    const uint32_t n = min(*v.d_nentry, v.entry_cap);
    for (uint32_t k = blockIdx.x * WARPS + threadIdx.x / 32; k < n; k += gridDim.x * WARPS) {
        const accel_k_entry e = v.d_entry[k];
        const int64_t i = (v.first + e.cell) * v.cell;
        range sum[MOST_CELL] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}}, best = {0, 0};
        for (int stage = 0; stage <= e.stage; stage++)
            for (int h = 1; h < 1 << stage || h == 1; h += 2)
                add_harmonic(v, e, i, h, 1 << stage, sum);
        for (int c = 0; c < MOST_CELL; c++)
            if (c < v.cell && i + c >= v.ilo && i + c <= v.ihi) {
                best.high = fmaxf(best.high, sum[c].high * (1 + SUM_ERROR));
                best.low = fmaxf(best.low, sum[c].low * (1 - SUM_ERROR));
            }
        if (threadIdx.x % 32 || !(best.high > v.cut[e.stage]))
            continue;
        const uint32_t at = atomicAdd(v.d_count, 1);
        if (at < v.cap)
            v.d_hit[at] = {e, best.high, best.low};
    }
}

cudaError_t accel_k_confirm(const struct accel_k_verify *v, cudaStream_t stream)
{
    verify_entries<<<MOST_GRID, 32 * WARPS, 0, stream>>>(*v);
    return cudaGetLastError();
}
