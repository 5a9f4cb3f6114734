/* accel_verify.cu: harmonic sums by their definition, with their error. */
#include "matched/accel_kernels.h"

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
