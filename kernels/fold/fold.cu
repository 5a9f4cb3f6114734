/* fold.cu: folds blocks of spectra into the profiles of many candidates.
 *
 * Thread block: a group of sub-bands of a candidate, or a part of it, all its blocks one after the other.  Of each tile
 * of samples, a warp adds the channels of a sub-band, four samples of bytes at a time, as
 * fold_rows_lanes.h does, into shared memory; then it adds runs of samples, one a lane, to the bins that the host has
 * listed, turn after turn: additions of doubles to a bin have the host's order, and so its bits.
 * Warps do not wait for each other.  Sums that are no words (more than 8
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

extern __shared__ double shared_bins[]; /* turn, then sum */

/* Bins of sub-bands: [sub-band][nbin] in shared memory where they fit, else [nbin][GROUP]. */
struct bins {
    double *first;
    uint32_t bin_step, band_step;

    __device__ __forceinline__ double &at(uint32_t b, uint32_t j) const
    {
        return first[b * bin_step + j * band_step];
    }
};

/* What all threads of a block know. */
struct place {
    const fold_k_fold *f;
    const fold_k_candidate *cand;
    const fold_k_block *block;
    size_t first, n; /* sub-bands of this thread block */
    bins turn, sum;
};

struct shared_state {
    uint16_t word[WARPS][PITCH];
    double carry[GROUP], mean[GROUP], square[GROUP];
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

/* Sums the tile's samples t .. t + n - 1 of sub-band j, by a warp; count samples of the part came before. */
static __device__ void sum_tile(const place &p, shared_state *s, int j, size_t t, int n,
                                int64_t count)
{
    const int lane = threadIdx.x % 32;
    uint32_t *to = (uint32_t *)s->word[threadIdx.x / 32] + 2 * lane;
    sums x;
    unsigned long long sum, square;
    add_channels(p, p.first + j, p.block->at + t, &x);
#pragma unroll
    for (int q = 0; q < CHUNKS; q++) {
        to[q * 64] = __byte_perm(x.even[q], x.odd[q], 0x5410);
        to[q * 64 + 1] = __byte_perm(x.even[q], x.odd[q], 0x7632);
    }
    measure(x, n, &sum, &square);
    if (lane)
        return;
    const double all = n, mean = (double)sum / all;
    const double offset = p.f->d_offset[p.block->offset + p.first + j];
    merge_sums(s, j, (double)count, all, mean + offset,
               ((double)square * all - (double)sum * (double)sum) / all);
}

/* --- runs ------------------------------------------------------------------------------------- */

/* A warp's way through the runs of a block, of a sub-band. */
struct way {
    size_t next;    /* run */
    uint32_t whole; /* sum of the run's samples so far */
    double carry;
};

/* Of sub-band j, by a warp. */
static __device__ void end_turn(const place &p, uint32_t j)
{
    __syncwarp();
    for (uint32_t b = threadIdx.x % 32; b < p.cand->nbin; b += 32) {
        p.sum.at(b, j) += p.turn.at(b, j);
        p.turn.at(b, j) = 0;
    }
    __syncwarp();
}

/* Adds n runs, of a lane each: those of a turn have a bin each, and turns follow each other. */
static __device__ void add_runs(const place &p, uint32_t j, const fold_k_run &run, double more,
                                int n)
{
    const int lane = threadIdx.x % 32;
    const bool exists = lane < n;
    const uint32_t bin = __shfl_up_sync(~0u, run.bin, 1),
                   completed = __shfl_up_sync(~0u, run.completes_turn, 1);
    const bool begins = exists && lane && (completed || run.bin <= bin);
    const unsigned begin = __ballot_sync(~0u, begins);
    const int own = exists ? __popc(begin & ((2u << lane) - 1)) : -1, nturn = __popc(begin) + 1;
    for (int turn = 0; turn < nturn; turn++) {
        if (own == turn)
            p.turn.at(run.bin, j) += more;
        if (__any_sync(~0u, own == turn && run.completes_turn))
            end_turn(p, j);
        __syncwarp();
    }
}

/* fold_words of fold_rows_lanes.h, as far as samples t .. t + n - 1 of sub-band j go: a run needs the sample after it,
 * but for the last. */
static __device__ void fold_words(const place &p, const uint16_t *word, uint32_t j, uint32_t t,
                                  uint32_t n, way *w)
{
    const uint32_t lane = threadIdx.x % 32, end = t + n;
    const size_t nrun = p.block->nrun;
    const bool is_last = end == p.block->n;
    const double offset = p.f->d_offset[p.block->offset + p.first + j];
    const fold_k_run *runs = p.f->d_run + p.block->run;
    int nwhole = 32;
    while (nwhole == 32) {
        fold_k_run run = {};
        if (w->next + lane < nrun)
            run = runs[w->next + lane];
        const bool is_whole = w->next + lane < nrun && (run.end < end || is_last);
        nwhole = __popc(__ballot_sync(~0u, is_whole));
        if (!nwhole)
            break;
        uint32_t whole = lane ? 0 : w->whole;
#pragma unroll 4
        for (uint32_t i = run.begin > t ? run.begin : t; is_whole && i < run.end; i++)
            whole += word[i - t];
        const double last = is_whole && run.end < end ? (double)word[run.end - t] : 0;
        const double part = run.fraction * (last + offset);
        double before = __shfl_up_sync(~0u, part, 1);
        before = lane ? before : w->carry;
        const double more =
            (double)whole + (double)(run.end - run.begin) * offset + (part - before);
        add_runs(p, j, run, more, nwhole);
        w->carry = __shfl_sync(~0u, part, nwhole - 1);
        w->whole = 0;
        w->next += nwhole;
    }
    if (w->next >= nrun)
        return;
    const uint32_t begin = runs[w->next].begin; /* the tile ends in this run */
    uint32_t whole = 0;
    for (uint32_t i = (begin > t ? begin : t) + lane; i < end; i += 32)
        whole += word[i - t];
    w->whole += (uint32_t)sum_of_warp(whole);
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

/* fold_floats of fold_rows_lanes.h, a sub-band a lane; lanes without one have nothing. */
static __device__ void fold_floats(const place &p, shared_state *s, const float *row)
{
    const int lane = threadIdx.x % 32;
    const bool exists = lane < (int)p.n;
    double carry = s->carry[lane];
    for (size_t k = 0; k < p.block->nrun; k++) {
        const fold_k_run run = get_run(p, s, k);
        if (exists) {
            const double part = run.fraction * (double)row[run.end * (size_t)GROUP + lane];
            double turn = p.turn.at(run.bin, lane);
            turn += part - carry;
            carry = part;
            for (size_t t = run.begin; t < run.end; t++)
                turn += (double)row[t * GROUP + lane];
            p.turn.at(run.bin, lane) = turn;
        }
        for (uint32_t j = 0; run.completes_turn && j < p.n; j++)
            end_turn(p, j);
    }
    s->carry[lane] = carry;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* The part goes to its slot. */
static __device__ void end_part(const place &p, shared_state *s)
{
    const fold_k_fold &f = *p.f;
    const size_t nbin = p.cand->nbin, slot = p.block->out, band = slot * f.nsub + p.first;
    double *profile = f.d_profile + p.cand->profile + (slot - p.cand->slot) * f.nsub * nbin;
    profile += p.first * nbin;
    for (size_t k = threadIdx.x; k < p.n * nbin; k += THREADS) {
        double &sum = p.sum.at((uint32_t)(k % nbin), (uint32_t)(k / nbin));
        profile[k] = sum;
        sum = 0;
    }
    if (threadIdx.x < p.n) {
        f.d_mean[band + threadIdx.x] = s->mean[threadIdx.x];
        f.d_square[band + threadIdx.x] = s->square[threadIdx.x];
        s->mean[threadIdx.x] = s->square[threadIdx.x] = 0;
    }
    __syncthreads();
}

static __device__ void take_words(const place &p, shared_state *s, int64_t count)
{
    const uint32_t all = p.block->n, warp = threadIdx.x / 32;
    for (uint32_t j = warp; j < p.n; j += WARPS) {
        way w = {0, 0, s->carry[j]};
        for (uint32_t t = 0; t < all; t += TILE) {
            const uint32_t n = all - t < TILE ? all - t : TILE;
            sum_tile(p, s, (int)j, t, (int)n, count + t);
            __syncwarp();
            fold_words(p, s->word[warp], j, t, n, &w);
            __syncwarp();
        }
        if (threadIdx.x % 32 == 0)
            s->carry[j] = w.carry;
    }
    __syncthreads();
}

static __device__ void take_floats(const place &p, shared_state *s, int64_t count)
{
    const size_t slot = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    float *row = p.f->d_row + slot * (p.f->block_max + 1) * GROUP;
    sum_rows(p, row);
    __syncthreads();
    if (threadIdx.x < 32)
        fold_floats(p, s, row);
    else if (threadIdx.x < 32 + p.n)
        measure_rows(s, (int)threadIdx.x - 32, row, p.block->n, count);
    __syncthreads();
}

static __device__ void copy_bins(const place &p, const bins &to, const bins &from)
{
    for (size_t k = threadIdx.x; k < p.n * p.cand->nbin; k += THREADS) {
        const uint32_t b = (uint32_t)(k / p.n), j = (uint32_t)(k % p.n);
        to.at(b, j) = from.at(b, j);
    }
}

/* Which bins are in shared memory. */
enum fold_shared { SHARED_NONE, SHARED_TURN, SHARED_BOTH };

static __global__ void __launch_bounds__(THREADS)
    fold_blocks(const __grid_constant__ fold_k_fold f, enum fold_shared shared)
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
    const uint32_t nbin = p.cand->nbin;
    const bins turn = {p.cand->d_turn + at, GROUP, 1}, sum = {p.cand->d_sum + at, GROUP, 1};
    p.turn = shared >= SHARED_TURN ? bins{shared_bins, 1, nbin} : turn;
    p.sum = shared == SHARED_BOTH ? bins{shared_bins + p.n * nbin, 1, nbin} : sum;
    fold_k_moments *moments = p.cand->d_moments + group;
    const int lane = threadIdx.x % GROUP;
    const bool exists = lane < (int)p.n;
    int64_t count = moments->count[column];
    if (threadIdx.x < GROUP)
        s.carry[lane] = exists ? moments->carry[column + lane] : 0;
    if (threadIdx.x < p.n) {
        s.mean[lane] = moments->mean[column + lane];
        s.square[lane] = moments->square[column + lane];
    }
    if (shared >= SHARED_TURN)
        copy_bins(p, p.turn, turn);
    if (shared == SHARED_BOTH)
        copy_bins(p, p.sum, sum);
    __syncthreads();
    for (uint32_t i = 0; i < p.cand->nblock; i++) {
        p.block = f.d_block + p.cand->block + i;
        if (p.block->floats)
            take_floats(p, &s, count);
        else
            take_words(p, &s, count);
        count += p.block->n;
        if (p.block->ends) {
            end_part(p, &s);
            count = 0;
        }
    }
    if (shared >= SHARED_TURN)
        copy_bins(p, turn, p.turn);
    if (shared == SHARED_BOTH)
        copy_bins(p, sum, p.sum);
    if (threadIdx.x < p.n) {
        moments->carry[column + lane] = s.carry[lane];
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
    constexpr size_t SHARED_BYTES = 64 << 10; /* leaves room for two thread blocks */
    const size_t bytes = f->turn_bins * f->span * sizeof(double);
    const enum fold_shared shared = 2 * bytes <= SHARED_BYTES ? SHARED_BOTH
                                    : bytes <= SHARED_BYTES   ? SHARED_TURN
                                                              : SHARED_NONE;
    const dim3 grid((unsigned)((f->nsub + f->span - 1) / f->span), (unsigned)f->ncand);
    cudaError_t e = cudaFuncSetAttribute(fold_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         SHARED_BYTES);
    if (e)
        return e;
    fold_blocks<<<grid, THREADS, (size_t)shared * bytes, stream>>>(*f, shared);
    return cudaGetLastError();
}
