/* fold.cu: folds blocks of spectra into the profiles of many candidates.
 *
 * Thread block: a group of sub-bands of a candidate, or a part of it, all its blocks one after the other.  Of each tile
 * of samples, warps add the channels of a sub-band each, four samples of bytes at a time, as
 * fold_rows_lanes.h does, into shared memory; then one warp, a sub-band a lane, adds runs of samples
 * to the bins that the host has listed, in the host's order: additions of doubles keep its bits.
 * Other thread blocks of the multiprocessor add channels meanwhile.  Sums that are no words (more than 8
 * bits, values that change within a block) go through device memory as rows of floats.
 * Compiled without fused multiply-adds.  Bound: the L2 cache, nchan bytes a sample and candidate. */
#include "common/launch.cuh"
#include "fold/fold_kernels.h"

namespace
{

constexpr int GROUP = FOLD_K_GROUP, TILE = FOLD_K_TILE, THREADS = 256, WARPS = THREADS / 32;
constexpr int PITCH = TILE + 2; /* odd in words, so that lanes read from different banks */
constexpr int CHUNKS = TILE / 128;
constexpr int CHANNELS_MAX = 65535 / 255; /* whose bytes 16 bits hold the sum of */

extern __shared__ double shared_turn[]; /* [nbin][GROUP] */

/* What all threads of a block know. */
struct place {
    const fold_k_fold *f;
    const fold_k_candidate *cand;
    const fold_k_block *block;
    size_t first, n; /* sub-bands: the columns of turn and sum that are this block's */
    double *turn;    /* [nbin][GROUP] in shared memory if it fits */
    double *sum;     /* [nbin][GROUP] */
};

struct shared_state {
    uint16_t word[GROUP][PITCH];
    double mean[GROUP], square[GROUP];
    fold_k_run run[32];
};

/* --- statistics ------------------------------------------------------------------------------- */

/* merge_sums of fold_block.c. */
static __device__ void merge_sums(shared_state *s, int j, double have, double more, double mean,
                                  double square)
{
    const double all = have + more, step = mean - s->mean[j];
    s->square[j] += square + step * step * have * more / all;
    s->mean[j] += step * more / all;
}

static __device__ unsigned long long sum_of_warp(unsigned long long x)
{
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* --- words ------------------------------------------------------------------------------------ */

/* Sums of two samples in each word: all of them less 256 times those of upper bytes. */
struct sums {
    uint32_t even[CHUNKS], odd[CHUNKS]; /* of samples 0 and 2, 1 and 3 of a lane's four */
};

/* Lane l has samples 128 q + 4 l and following of the tile from sample at on. */
static __device__ __forceinline__ void add_channels(const place &p, size_t j, size_t at, sums *s)
{
    const fold_k_fold &f = *p.f;
    const uint32_t begin = f.d_band_first[j], end = f.d_band_first[j + 1];
    const int lane = threadIdx.x % 32;
    const uintptr_t window = (uintptr_t)f.d_window + at;
    for (int q = 0; q < CHUNKS; q++)
        s->even[q] = s->odd[q] = 0;
#pragma unroll 2
    for (uint32_t k = begin; k < end; k++) {
        const uintptr_t from = window + k * f.room + (size_t)p.cand->d_delay[k];
        const uint32_t *word = (const uint32_t *)(from & ~(uintptr_t)3) + lane;
        const unsigned shift = (unsigned)(from & 3) * 8;
#pragma unroll
        for (int q = 0; q < CHUNKS; q++) {
            const uint32_t x =
                __funnelshift_r(__ldg(word + q * 32), __ldg(word + q * 32 + 1), shift);
            s->even[q] += x;
            s->odd[q] += __byte_perm(x, 0, 0x4341);
        }
    }
    for (int q = 0; q < CHUNKS; q++)
        s->even[q] -= s->odd[q] << 8;
}

/* The samples of the tile that exist: their sum and that of their squares. */
static __device__ void measure(const sums &s, int n, unsigned long long *sum,
                               unsigned long long *square)
{
    const int lane = threadIdx.x % 32;
    unsigned all = 0;
    unsigned long long squares = 0;
#pragma unroll
    for (int q = 0; q < CHUNKS; q++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t pair = i % 2 ? s.odd[q] : s.even[q];
            const uint32_t x = i / 2 ? pair >> 16 : pair & 0xffff;
            if (q * 128 + 4 * lane + i < n) {
                all += x;
                squares += (unsigned long long)x * x;
            }
        }
    *sum = sum_of_warp(all);
    *square = sum_of_warp(squares);
}

/* Sums the tile's samples t .. t + n - 1 of the block of all sub-bands. */
static __device__ void sum_tile(const place &p, shared_state *s, size_t t, int n, int64_t count)
{
    const int lane = threadIdx.x % 32;
    for (int j = threadIdx.x / 32; j < (int)p.n; j += WARPS) {
        sums x;
        unsigned long long sum, square;
        add_channels(p, p.first + j, p.block->at + t, &x);
#pragma unroll
        for (int q = 0; q < CHUNKS; q++) {
            uint32_t *to = (uint32_t *)s->word[j] + q * 64 + 2 * lane;
            to[0] = __byte_perm(x.even[q], x.odd[q], 0x5410);
            to[1] = __byte_perm(x.even[q], x.odd[q], 0x7632);
        }
        measure(x, n, &sum, &square);
        if (lane == 0) {
            const double all = n, mean = (double)sum / all;
            const double offset = p.f->d_offset[p.block->offset + p.first + j];
            merge_sums(s, j, (double)count, all, mean + offset,
                       ((double)square * all - (double)sum * (double)sum) / all);
        }
    }
}

/* --- runs ------------------------------------------------------------------------------------- */

/* A lane's way through the runs of a block: its sub-band's. */
struct way {
    size_t next;    /* run */
    uint32_t whole; /* sum of the run's samples so far */
    double carry;
};

static __device__ void end_turn(const place &p)
{
    const int lane = threadIdx.x % 32;
    if (lane >= (int)p.n)
        return;
#pragma unroll 4
    for (uint32_t b = 0; b < p.cand->nbin; b++) {
        p.sum[b * GROUP + lane] += p.turn[b * GROUP + lane];
        p.turn[b * GROUP + lane] = 0;
    }
}

/* Run number next of the block, of which 32 are held at a time. */
static __device__ fold_k_run get_run(const place &p, shared_state *s, size_t next)
{
    const size_t lane = threadIdx.x % 32;
    if (next % 32 == 0) {
        __syncwarp();
        if (next + lane < p.block->nrun)
            s->run[lane] = p.f->d_run[p.block->run + next + lane];
        __syncwarp();
    }
    return s->run[next % 32];
}

/* fold_words of fold_rows_lanes.h, as far as samples t .. t + n - 1 go: a run needs the sample after
 * it, but for the last. */
static __device__ void fold_words(const place &p, shared_state *s, uint32_t t, uint32_t n, way *w)
{
    const int lane = threadIdx.x % 32;
    const uint32_t end = t + n;
    const bool is_last = end == p.block->n, exists = lane < (int)p.n;
    const uint16_t *word = s->word[exists ? lane : 0];
    const double offset = exists ? p.f->d_offset[p.block->offset + p.first + lane] : 0;
    while (w->next < p.block->nrun) {
        const fold_k_run run = get_run(p, s, w->next);
        const uint32_t begin = run.begin > t ? run.begin : t;
        const uint32_t until = run.end < end ? run.end : end;
#pragma unroll 4
        for (uint32_t i = begin; i < until; i++)
            w->whole += word[i - t];
        if (run.end >= end && !is_last)
            return;
        const double last = run.end < end ? (double)word[run.end - t] : 0;
        const double part = run.fraction * (last + offset);
        const double more =
            (double)w->whole + (double)(run.end - run.begin) * offset + (part - w->carry);
        if (exists)
            p.turn[run.bin * GROUP + lane] += more;
        w->carry = part;
        w->whole = 0;
        w->next++;
        if (run.completes_turn)
            end_turn(p);
    }
}

/* --- floats ----------------------------------------------------------------------------------- */

/* What a zero of channel k stands for. */
static __device__ float find_value(const place &p, uint32_t k, int64_t t)
{
    const fold_k_fold &f = *p.f;
    const int64_t begin = p.block->t;
    uint32_t lo = f.d_first_step[k], hi = f.d_first_step[k + 1];
    const uint32_t first = lo;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (f.d_step[mid].t - p.cand->d_delay[k] <= begin + t)
            lo = mid + 1;
        else
            hi = mid;
    }
    /* steps up to the begin of the block are in d_value */
    if (lo > first && f.d_step[lo - 1].t - p.cand->d_delay[k] > begin)
        return f.d_step[lo - 1].value;
    return f.d_value[p.block->value + k];
}

/* sum_band and psr_fold_replaced_add of the host. */
static __device__ float sum_sample(const place &p, size_t j, size_t t)
{
    const fold_k_fold &f = *p.f;
    const uint32_t begin = f.d_band_first[j], end = f.d_band_first[j + 1];
    float band = 0;
    uint32_t sum = 0, pending = 0;
    for (uint32_t k = begin; k < end; k++) {
        const size_t at = k * f.room + p.block->at + t + (size_t)p.cand->d_delay[k];
        if (f.store == 2)
            band += (float)((const uint16_t *)f.d_window)[at] + f.bias;
        else if (f.store == 4)
            band += ((const float *)f.d_window)[at];
        else
            sum += ((const uint8_t *)f.d_window)[at];
        pending += f.store == 1;
        if (pending == CHANNELS_MAX || (pending && k + 1 == end)) {
            band += (float)sum + f.bias * (float)pending;
            sum = pending = 0;
        }
    }
    for (uint32_t k = begin; k < end && p.block->values; k++) {
        const float value = find_value(p, k, (int64_t)t);
        if (value != 0)
            band += value;
    }
    return band;
}

static __device__ void sum_rows(const place &p, float *row)
{
    for (size_t j = 0; j < p.n; j++)
        for (size_t t = threadIdx.x; t < p.block->n; t += THREADS)
            row[t * GROUP + j] = sum_sample(p, p.first + j, t);
    if (threadIdx.x < GROUP)
        row[p.block->n * GROUP + threadIdx.x] = 0;
}

/* merge_rows of the host; a lane is a sub-band. */
static __device__ void measure_rows(shared_state *s, int j, const float *row, size_t n,
                                    int64_t count)
{
    for (size_t t = 0; t < n; t += FOLD_K_ROWS) {
        const size_t nrow = n - t < FOLD_K_ROWS ? n - t : FOLD_K_ROWS;
        const double more = (double)nrow;
        const double shift = count > 0 ? s->mean[j] : (double)row[t * GROUP + j];
        double sum = 0, square = 0;
        for (size_t i = t; i < t + nrow; i++) {
            const double x = (double)row[i * GROUP + j] - shift;
            sum += x;
            square += x * x;
        }
        const double off = sum / more;
        merge_sums(s, j, (double)count, more, shift + off, square - more * off * off);
        count += (int64_t)nrow;
    }
}

/* fold_floats of fold_rows_lanes.h; lanes without a sub-band have nothing. */
static __device__ void fold_floats(const place &p, shared_state *s, const float *row, way *w)
{
    const int lane = threadIdx.x % 32;
    const bool exists = lane < (int)p.n;
    for (size_t k = 0; k < p.block->nrun; k++) {
        const fold_k_run run = get_run(p, s, k);
        if (exists) {
            const double part = run.fraction * (double)row[run.end * (size_t)GROUP + lane];
            double turn = p.turn[run.bin * GROUP + lane];
            turn += part - w->carry;
            w->carry = part;
            for (size_t t = run.begin; t < run.end; t++)
                turn += (double)row[t * GROUP + lane];
            p.turn[run.bin * GROUP + lane] = turn;
        }
        if (run.completes_turn)
            end_turn(p);
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* The part goes to its slot. */
static __device__ void end_part(const place &p, shared_state *s)
{
    const fold_k_fold &f = *p.f;
    const size_t nbin = p.cand->nbin, slot = p.block->out, band = slot * f.nsub + p.first;
    double *profile = f.d_profile + p.cand->profile + (slot - p.cand->slot) * f.nsub * nbin;
    profile += p.first * nbin;
    for (size_t k = threadIdx.x; k < p.n * nbin; k += THREADS)
        profile[k] = p.sum[k % nbin * GROUP + k / nbin];
    __syncthreads();
    for (size_t k = threadIdx.x; k < p.n * nbin; k += THREADS)
        p.sum[k / p.n * GROUP + k % p.n] = 0;
    if (threadIdx.x < p.n) {
        f.d_mean[band + threadIdx.x] = s->mean[threadIdx.x];
        f.d_square[band + threadIdx.x] = s->square[threadIdx.x];
        s->mean[threadIdx.x] = s->square[threadIdx.x] = 0;
    }
    __syncthreads();
}

static __device__ void take_words(const place &p, shared_state *s, way *w, int64_t count)
{
    const uint32_t all = p.block->n;
    w->next = 0;
    w->whole = 0;
    for (uint32_t t = 0; t < all; t += TILE) {
        const uint32_t n = all - t < TILE ? all - t : TILE;
        sum_tile(p, s, t, (int)n, count + t);
        __syncthreads();
        if (threadIdx.x < 32)
            fold_words(p, s, t, n, w);
        __syncthreads();
    }
}

static __device__ void take_floats(const place &p, shared_state *s, way *w, int64_t count)
{
    const size_t slot = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    float *row = p.f->d_row + slot * (p.f->block_max + 1) * GROUP;
    sum_rows(p, row);
    __syncthreads();
    if (threadIdx.x < 32)
        fold_floats(p, s, row, w);
    else if (threadIdx.x < 32 + p.n)
        measure_rows(s, (int)threadIdx.x - 32, row, p.block->n, count);
    __syncthreads();
}

static __device__ void copy_turn(const place &p, double *to, const double *from)
{
    for (size_t k = threadIdx.x; k < p.n * p.cand->nbin; k += THREADS) {
        const size_t at = k / p.n * GROUP + k % p.n;
        to[at] = from[at];
    }
}

static __global__ void __launch_bounds__(THREADS)
    fold_blocks(const __grid_constant__ fold_k_fold f, int in_shared)
{
    __shared__ shared_state s;
    place p;
    p.f = &f;
    p.cand = f.d_cand + blockIdx.y;
    p.first = (size_t)blockIdx.x * f.span;
    p.n = p.first >= f.nsub ? 0 : f.nsub - p.first < f.span ? f.nsub - p.first : f.span;
    if (!p.n)
        return;
    const size_t group = p.first / GROUP, column = p.first % GROUP;
    const size_t at = group * GROUP * p.cand->nbin + column;
    double *turn = p.cand->d_turn + at;
    p.sum = p.cand->d_sum + at;
    p.turn = in_shared ? shared_turn : turn;
    fold_k_moments *moments = p.cand->d_moments + group;
    const int lane = threadIdx.x % GROUP;
    const bool exists = lane < (int)p.n;
    int64_t count = moments->count[column];
    way w = {0, 0, exists ? moments->carry[column + lane] : 0};
    if (threadIdx.x < p.n) {
        s.mean[lane] = moments->mean[column + lane];
        s.square[lane] = moments->square[column + lane];
    }
    if (in_shared)
        copy_turn(p, p.turn, turn);
    __syncthreads();
    for (uint32_t i = 0; i < p.cand->nblock; i++) {
        p.block = f.d_block + p.cand->block + i;
        if (p.block->floats)
            take_floats(p, &s, &w, count);
        else
            take_words(p, &s, &w, count);
        count += p.block->n;
        if (p.block->ends) {
            end_part(p, &s);
            count = 0;
        }
    }
    __syncthreads();
    if (in_shared)
        copy_turn(p, turn, p.turn);
    if (threadIdx.x < p.n) {
        moments->carry[column + lane] = w.carry;
        moments->mean[column + lane] = s.mean[lane];
        moments->square[column + lane] = s.square[lane];
    }
    if (threadIdx.x == 0)
        moments->count[column] = count;
}

} // namespace

uint32_t fold_k_choose_span(size_t ngroup, size_t ncand)
{
    int device = 0, count = 0;
    uint32_t span = GROUP;
    if (cudaGetDevice(&device) ||
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device))
        return span;
    while (span > WARPS && ncand * ngroup * (GROUP / span) < 3 * (size_t)count)
        span /= 2;
    return span;
}

cudaError_t fold_k_run_blocks(const struct fold_k_fold *f, cudaStream_t stream)
{
    constexpr size_t TURN_BYTES = 64 << 10; /* leaves room for two thread blocks */
    const size_t bytes = f->turn_bins * GROUP * sizeof(double);
    const bool fits = bytes <= TURN_BYTES;
    const dim3 grid((unsigned)((f->nsub + f->span - 1) / f->span), (unsigned)f->ncand);
    cudaError_t e =
        cudaFuncSetAttribute(fold_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize, TURN_BYTES);
    if (e)
        return e;
    fold_blocks<<<grid, THREADS, fits ? bytes : 0, stream>>>(*f, fits);
    return cudaGetLastError();
}
