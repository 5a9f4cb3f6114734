/* fold_search.cu: the best of all trials of DM, p-dot and period around a fold.
 *
 * Sub-bands of each DM are summed to parts, in double precision and the host's order.  Of the parts'
 * profiles without their means x_i, X_i(h) are the Fourier coefficients.  A trial rotates part i by
 * o_i bins, so that its profile has, by Parseval's theorem,
 *
 *     |x|^2 = 2 / nbin sum over h of |sum over i of X_i(h) exp(2 pi i h o_i / nbin)|^2 ,
 *
 * h = nbin / 2 counted half.  The inner sum is a product of matrices, trials by parts and parts by
 * DMs, which tensor cores make of halves.  Both factors are rounded: |x| is off by at most a
 * 1000th of the sum of |x_i| (below).  What is below the best trial by more than that is not the
 * best; of the few others, chi^2 is computed in double precision and the host's order.
 *
 * Rounding: of a phase factor, both parts by 2^-12 at most, thus 2^-11.5; of X_i(h) by 2^-11 of it:
 * together 8.4e-4 of |X_i(h)|.  Single precision makes X_i(h), of at most 128 bins, and its sums:
 * below 1e-4 of |x_i|.  The norm over h of the sum over i of these is, by Minkowski's inequality, below
 * 1e-3 of the sum of |x_i|.  Halves below 2^-14 are rounded by 2^-25: as X are scaled up to 2^12, that
 * adds 2^-24 for each part.
 *
 * Thread blocks: of fold_k_list, 8 trials; of add_bands, a part and some DMs; of find_factors, a DM;
 * of scan_trials, 32 trials a warp and 32 DMs, one h after the other, with the factors of the next h on
 * their way.  Bound: the tensor cores, 2 npart nbin multiply-adds a trial.  Compiled without fused
 * multiply-adds. */
#include "common/launch.cuh"
#include "common/ptx.cuh"
#include "fold/fold_kernels.h"

#include <math_constants.h>

namespace
{

constexpr int PARTS = FOLD_K_PARTS, DMS = FOLD_K_DMS;
constexpr int WARP_TRIALS = 32, WARPS = FOLD_K_TRIALS / WARP_TRIALS, THREADS = WARPS * 32;
constexpr int TILES = DMS / 4;                       /* of 8 columns: 4 DMs, real and imaginary */
constexpr int STEPS = PARTS / 8;                     /* of 16 rows: 8 parts */
constexpr int FACTOR_WORDS = TILES * STEPS * 32 * 2; /* of DMS DMs and one h */
constexpr int STAGES = 3;
constexpr float HIGHEST = 4096, MARGIN = 2e-6f;
constexpr double ROUNDING = 1e-3;

/* --- trials ----------------------------------------------------------------------------------- */

/* psr_fold_trials_offset. */
static __device__ unsigned find_offset(const fold_k_search &s, double delay, size_t i,
                                       size_t period)
{
    const double steps = (double)period - (double)((s.nperiod - 1) / 2), n = (double)s.nbin;
    const double whole = (double)i * (steps * s.pstep);
    const double x = -(delay + whole / (double)s.npart);
    double rest = fma(-trunc(x / n), n, x);
    if (rest < 0)
        rest += n;
    const size_t offset = (size_t)(rest + 0.5);
    return offset < s.nbin ? (unsigned)offset : 0;
}

/* Part t + 4 q is byte q of the 16 bytes that lane t of 4 reads. */
static __global__ void list_trials(const fold_k_search s)
{
    const size_t ntrial = s.npdots * s.nperiods, at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const size_t trial = at / PARTS, place = at % PARTS, i = place / 16 + place % 16 * 4;
    const size_t last = trial < ntrial ? trial : ntrial - 1;
    const size_t pdot = last / s.nperiods, period = s.first_period + last % s.nperiods;
    s.d_trial[at] = i < s.npart ? find_offset(s, s.d_delay[pdot * s.npart + i], i, period) : 0;
}

static __device__ unsigned offset_of(const fold_k_search &s, size_t trial, size_t i)
{
    return s.d_trial[trial * PARTS + i % 4 * 16 + i / 4];
}

/* --- DMs -------------------------------------------------------------------------------------- */

extern __shared__ double shared_doubles[];

/* Element b is added up over sub-bands in order, as on the host. */
static __global__ void add_bands(const fold_k_search s, int in_shared)
{
    const size_t i = blockIdx.x, row = s.nsub * s.nbin;
    const double *profile = s.d_profile + i * row;
    if (in_shared) {
        for (size_t k = threadIdx.x; k < row; k += blockDim.x)
            shared_doubles[k] = profile[k];
        __syncthreads();
        profile = shared_doubles;
    }
    const size_t all = s.ndm * s.nbin, per = (all + gridDim.y - 1) / gridDim.y;
    const size_t begin = blockIdx.y * per, end = begin + per < all ? begin + per : all;
    for (size_t k = begin + threadIdx.x; k < end; k += blockDim.x) {
        const size_t dm = k / s.nbin, b = k % s.nbin;
        const uint32_t *offset = s.d_dm_offset + dm * s.nsub;
        double sum = 0;
#pragma unroll 8
        for (size_t j = 0; j < s.nsub; j++) {
            const size_t from = b + offset[j];
            sum += profile[j * s.nbin + (from < s.nbin ? from : from - s.nbin)];
        }
        s.d_part[(dm * s.npart + i) * s.nbin + b] = sum;
    }
}

/* What a DM's parts add up to at most. */
struct extent {
    double norm, largest, value, sum;
};

/* Part i: its mean is removed.  The host's order decides whether there is any norm. */
static __device__ extent remove_mean(double *part, int n)
{
    extent e = {0, 0, 0, 0};
    for (int b = 0; b < n; b++) {
        e.sum += part[b];
        e.value = fmax(e.value, fabs(part[b]));
    }
    const double mean = e.sum / n;
    for (int b = 0; b < n; b++) {
        part[b] -= mean;
        e.norm += part[b] * part[b];
    }
    e.norm = sqrt(e.norm);
    e.largest = e.norm;
    return e;
}

static __device__ fold_k_dm describe_dm(const fold_k_search &s, const extent &all, double scale)
{
    const double n = (double)s.nbin, off = all.sum / n - s.prof_avg, sigma = sqrt(s.prof_var);
    const double error = ROUNDING * all.norm + (double)s.npart * 0x1p-24 / scale +
                         sqrt(n) * all.value * (double)(s.npart + 4) * 0x1p-50;
    fold_k_dm d;
    d.unit = (float)(sqrt(2 / n) / scale / sigma);
    d.error = (float)(error / sigma);
    d.common = (float)(n * off * off / s.prof_var);
    d.flat = !(all.norm > 0);
    return d;
}

/* X of a part and an h, times exp(0), as the product needs it: (re, -im) for the column of real
 * parts, (im, re) for that of imaginary ones. */
static __device__ void put_factor(const fold_k_search &s, size_t dm, size_t h, int i, float re,
                                  float im)
{
    const size_t ntile = (s.ndm + DMS - 1) / DMS;
    const int column = (int)(dm % 4) * 2, lane = column * 4 + i % 4;
    uint32_t *factor = (uint32_t *)s.d_factor + ((h - 1) * ntile + dm / DMS) * FACTOR_WORDS;
    factor += ((dm % DMS / 4 * STEPS + i / 8) * 32 + lane) * 2 + i % 8 / 4;
    factor[0] = as_word(__floats2half2_rn(re, -im));
    factor[8] = as_word(__floats2half2_rn(im, re)); /* 4 lanes on */
}

static __device__ void transform_part(const fold_k_search &s, const double *part,
                                      const float2 *turn, size_t h, double scale, float *re,
                                      float *im)
{
    const unsigned n = (unsigned)s.nbin;
    const double weight = 2 * h == n ? scale * CUDART_SQRT_HALF : scale;
    float a = 0, b = 0;
    for (unsigned k = 0, at = 0; k < n; k++) {
        const float x = (float)(part[k] * weight);
        a = fmaf(x, turn[at].x, a);
        b = fmaf(-x, turn[at].y, b);
        at += (unsigned)h;
        at -= at >= n ? n : 0;
    }
    *re = a;
    *im = b;
}

/* DMs from ndm on fill the last tile. */
static __global__ void find_factors(const fold_k_search s)
{
    __shared__ float2 turn[FOLD_K_BINS];
    __shared__ extent of[PARTS];
    __shared__ double scale;
    const int n = (int)s.nbin, pitch = n + 1, npart = (int)s.npart;
    const size_t dm = blockIdx.x;
    const bool exists = dm < s.ndm;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        sincospif(2.0f * (float)k / (float)n, &turn[k].y, &turn[k].x);
    for (int k = threadIdx.x; exists && k < npart * n; k += blockDim.x)
        shared_doubles[k / n * pitch + k % n] = s.d_part[dm * s.npart * s.nbin + k];
    __syncthreads();
    if (exists && (int)threadIdx.x < npart)
        of[threadIdx.x] = remove_mean(shared_doubles + threadIdx.x * pitch, n);
    __syncthreads();
    if (exists && threadIdx.x == 0) {
        extent all = of[0];
        for (int i = 1; i < npart; i++) {
            all.norm += of[i].norm;
            all.largest = fmax(all.largest, of[i].largest);
            all.value += of[i].value;
            all.sum += of[i].sum;
        }
        scale = all.largest > 0 ? HIGHEST / (sqrt((double)n) * all.largest) : 1;
        s.d_dm[dm] = describe_dm(s, all, scale);
    }
    __syncthreads();
    const int nh = n / 2;
    for (int k = threadIdx.x; k < PARTS * nh; k += blockDim.x) {
        const int i = k / nh, h = k % nh + 1;
        float re = 0, im = 0;
        if (exists && i < npart)
            transform_part(s, shared_doubles + i * pitch, turn, h, scale, &re, &im);
        put_factor(s, dm, h, i, re, im);
    }
}

/* --- trials ----------------------------------------------------------------------------------- */

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

/* Phases of 4 parts: after one more h, modulo nbin, which is 128 at most. */
static __device__ __forceinline__ uint32_t advance(uint32_t place, uint32_t offset, uint32_t nbin)
{
    const uint32_t sum = place + offset, over = (sum + (128 - nbin) * 0x01010101u) & 0x80808080u;
    return sum - (over >> 7) * nbin;
}

/* Phase factors of 16 trials and 8 parts: four lookups of a lane's own column of the table. */
static __device__ __forceinline__ void look_up(uint32_t a[4], const uint32_t *phase,
                                               const uint32_t (&upper)[4],
                                               const uint32_t (&lower)[4], int step)
{
    const int word = step / 2, byte = step % 2 * 16;
    a[0] = phase[(upper[word] >> byte & 0xff) * 32];
    a[1] = phase[(lower[word] >> byte & 0xff) * 32];
    a[2] = phase[(upper[word] >> (byte + 8) & 0xff) * 32];
    a[3] = phase[(lower[word] >> (byte + 8) & 0xff) * 32];
}

/* Adds one h: 2 x 16 trials times all columns. */
static __device__ __forceinline__ void
add_powers(float (&power)[TILES][4], const uint32_t (&a)[2][STEPS][4], const uint2 *factor)
{
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
        float sum[2][4] = {};
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            const uint2 b = factor[(tile * STEPS + step) * 32];
            multiply_float_16(sum[0], a[0][step], b.x, b.y);
            multiply_float_16(sum[1], a[1][step], b.x, b.y);
        }
#pragma unroll
        for (int m = 0; m < 2; m++) {
            float *p = power[tile] + 2 * m;
            p[0] = fmaf(sum[m][0], sum[m][0], fmaf(sum[m][1], sum[m][1], p[0]));
            p[1] = fmaf(sum[m][2], sum[m][2], fmaf(sum[m][3], sum[m][3], p[1]));
        }
    }
}

static __device__ __forceinline__ void fetch_factor(uint32_t to, const uint32_t *from)
{
    for (int k = threadIdx.x; k < FACTOR_WORDS / 4; k += THREADS)
        copy_16(to + k * 16, from + k * 4);
}

/* What chi^2 is at least and at most; nothing of trials that do not count. */
static __device__ __forceinline__ float2 bound(const fold_k_dm &d, float power, bool counts)
{
    const float norm = sqrtf(power) * d.unit, low = fmaxf(norm - d.error, 0), high = norm + d.error;
    if (!counts)
        return make_float2(-1, -1);
    return make_float2((low * low + d.common) * (1 - MARGIN),
                       (high * high + d.common) * (1 + MARGIN));
}

/* The highest of the thread block's values, and of what other blocks have found. */
static __device__ float share_least(const fold_k_search &s, float least)
{
    __shared__ float of_warp[WARPS], of_all;
    for (int step = 16; step; step /= 2)
        least = fmaxf(least, __shfl_xor_sync(~0u, least, step));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = least;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 0; w < WARPS; w++)
            least = fmaxf(least, of_warp[w]);
        least = fmaxf(least, 0);
        const int before = atomicMax(&s.d_counts->least, __float_as_int(least));
        of_all = fmaxf(least, __int_as_float(before));
    }
    __syncthreads();
    return of_all;
}

static __device__ void keep_hit(const fold_k_search &s, size_t dm, size_t trial, float most)
{
    const uint32_t at = atomicAdd(&s.d_counts->nhit, 1);
    if (at < s.nhit)
        s.d_hit[at] = {(uint32_t)dm, (uint32_t)trial, most};
}

/* Value r of a tile is of row 8 r + lane / 4 and of DM lane % 4. */
static __device__ void keep_hits(const fold_k_search &s, const float (&power)[TILES][4],
                                 size_t first_dm, size_t first_trial)
{
    const size_t ntrial = s.npdots * s.nperiods;
    const int lane = threadIdx.x % 32;
    float least = 0;
    for (int pass = 0; pass < 2; pass++) {
        float best = -1;
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const size_t dm = first_dm + tile * 4 + lane % 4;
            const fold_k_dm d = s.d_dm[dm < s.ndm ? dm : s.ndm - 1];
#pragma unroll
            for (int r = 0; r < 4; r++) {
                const size_t trial = first_trial + 8 * r + lane / 4;
                const float2 chi2 =
                    bound(d, power[tile][r], dm < s.ndm && trial < ntrial && (!d.flat || !trial));
                best = fmaxf(best, chi2.x);
                if (pass && chi2.y >= least)
                    keep_hit(s, dm, trial, chi2.y);
            }
        }
        if (!pass)
            least = share_least(s, best);
    }
}

#endif

static __global__ void __launch_bounds__(THREADS, 1) scan_trials(const fold_k_search s)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    uint32_t *phase = (uint32_t *)shared_doubles, *factor = phase + s.nbin * 32;
    const int lane = threadIdx.x % 32, nh = (int)s.nbin / 2;
    const size_t ntile = gridDim.y, first_dm = (size_t)blockIdx.y * DMS;
    const size_t first_trial = ((size_t)blockIdx.x * WARPS + threadIdx.x / 32) * WARP_TRIALS;
    const uint32_t *from = (const uint32_t *)s.d_factor + blockIdx.y * FACTOR_WORDS;
    const size_t pitch = ntile * FACTOR_WORDS;
    const uint4 *trial = (const uint4 *)s.d_trial + (first_trial + lane / 4) * (PARTS / 16);
    uint32_t offset[4][4], place[4][4];
    float power[TILES][4] = {};
    for (int k = 0; k < STAGES - 1; k++) {
        if (k < nh)
            fetch_factor(shared_address(factor + k * FACTOR_WORDS), from + k * pitch);
        copies_mark();
    }
    for (int k = threadIdx.x; k < (int)s.nbin * 32; k += THREADS) {
        float sine, cosine;
        sincospif(2.0f * (float)(k / 32) / (float)s.nbin, &sine, &cosine);
        phase[k] = as_word(__floats2half2_rn(cosine, sine));
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
        const uint4 x = trial[r * 8 * (PARTS / 16) + lane % 4];
        place[r][0] = offset[r][0] = x.x, place[r][1] = offset[r][1] = x.y;
        place[r][2] = offset[r][2] = x.z, place[r][3] = offset[r][3] = x.w;
    }
    for (int k = 0; k < nh; k++) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (k + STAGES - 1 < nh)
            fetch_factor(shared_address(factor + (k + STAGES - 1) % STAGES * FACTOR_WORDS),
                         from + (k + STAGES - 1) * pitch);
        copies_mark();
        uint32_t a[2][STEPS][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int step = 0; step < STEPS; step++)
                look_up(a[m][step], phase + lane, place[2 * m], place[2 * m + 1], step);
        add_powers(power, a, (const uint2 *)(factor + k % STAGES * FACTOR_WORDS) + lane);
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int word = 0; word < 4; word++)
                place[r][word] = advance(place[r][word], offset[r][word], (uint32_t)s.nbin);
    }
    keep_hits(s, power, first_dm, first_trial);
#endif
}

/* --- the best --------------------------------------------------------------------------------- */

/* psr_fold_trials_sum. */
static __global__ void sum_hits(const fold_k_search s)
{
    __shared__ double profile[FOLD_K_BINS];
    const uint32_t nhit = s.d_counts->nhit < s.nhit ? s.d_counts->nhit : (uint32_t)s.nhit;
    const float least = __int_as_float(s.d_counts->least);
    const size_t b = threadIdx.x;
    for (uint32_t k = blockIdx.x; k < nhit; k += gridDim.x) {
        const fold_k_hit hit = s.d_hit[k];
        if (hit.most < least)
            continue;
        const double *part = s.d_part + hit.dm * s.npart * s.nbin;
        double sum = 0;
        for (size_t i = 0; i < s.npart && b < s.nbin; i++) {
            const size_t from = b + offset_of(s, hit.trial, i);
            sum += part[i * s.nbin + (from < s.nbin ? from : from - s.nbin)];
        }
        __syncthreads();
        profile[b] = sum;
        __syncthreads();
        if (b == 0) {
            double chi2 = 0;
            for (size_t j = 0; j < s.nbin; j++)
                chi2 += (profile[j] - s.prof_avg) * (profile[j] - s.prof_avg);
            chi2 = chi2 / s.prof_var;
            s.d_best[atomicAdd(&s.d_counts->nbest, 1)] = {hit.dm, hit.trial,
                                                          chi2 / ((double)s.nbin - 1.0)};
        }
    }
}

constexpr int PART_BYTES = PARTS * (FOLD_K_BINS + 1) * (int)sizeof(double);
constexpr int SCAN_BYTES = FOLD_K_BINS * 128 + STAGES * FACTOR_WORDS * (int)sizeof(uint32_t);

static size_t count_tiles(const fold_k_search *s)
{
    return (s->ndm + DMS - 1) / DMS;
}

static size_t count_trial_blocks(const fold_k_search *s)
{
    return (s->npdots * s->nperiods + FOLD_K_TRIALS - 1) / FOLD_K_TRIALS;
}

} // namespace

size_t fold_k_factor_bytes(const struct fold_k_search *s)
{
    return s->nbin / 2 * count_tiles(s) * FACTOR_WORDS * sizeof(uint32_t);
}

cudaError_t fold_k_list(const struct fold_k_search *s, cudaStream_t stream)
{
    const size_t blocks = count_trial_blocks(s) * FOLD_K_TRIALS / 8;
    list_trials<<<(unsigned)blocks, 8 * PARTS, 0, stream>>>(*s);
    return cudaGetLastError();
}

cudaError_t fold_k_sum_bands(const struct fold_k_search *s, cudaStream_t stream)
{
    int processors, device, most;
    const size_t bytes = s->nsub * s->nbin * sizeof(double);
    cudaError_t e = allow_all_shared(add_bands, &processors);
    if (!e)
        e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (e)
        return e;
    const bool fits = bytes <= (size_t)most;
    const unsigned pieces = (unsigned)((4 * processors + s->npart - 1) / s->npart);
    const dim3 grid((unsigned)s->npart, pieces);
    add_bands<<<grid, 256, fits ? bytes : 0, stream>>>(*s, fits);
    return cudaGetLastError();
}

cudaError_t fold_k_find(const struct fold_k_search *s, cudaStream_t stream)
{
    int processors, device;
    const size_t ntile = count_tiles(s);
    const size_t parts = s->npart * (s->nbin + 1) * sizeof(double);
    const size_t factors = s->nbin * 128 + STAGES * FACTOR_WORDS * sizeof(uint32_t);
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (!e) /* always the most, as other threads may launch the same kernels */
        e = cudaFuncSetAttribute(find_factors, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 PART_BYTES);
    if (!e)
        e = cudaFuncSetAttribute(scan_trials, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 SCAN_BYTES);
    if (!e)
        e = cudaMemsetAsync(s->d_counts, 0, sizeof *s->d_counts, stream);
    if (e)
        return e;
    find_factors<<<(unsigned)(ntile * DMS), 256, parts, stream>>>(*s);
    const dim3 grid((unsigned)count_trial_blocks(s), (unsigned)ntile);
    scan_trials<<<grid, THREADS, factors, stream>>>(*s);
    sum_hits<<<(unsigned)(2 * processors), FOLD_K_BINS, 0, stream>>>(*s);
    return cudaGetLastError();
}
