/* accel_scan.cu: places whose sums of bounds exceed the threshold. */
#include "common/half.cuh"
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
