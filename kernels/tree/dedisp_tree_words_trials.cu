/* Second stage of tree dedispersion of samples of up to 8 bits, in words of two outputs far apart.
 *
 * A thread block adds up 32 trials in registers, sub-band by sub-band.  Rows of 64 channels come by
 * bulk copies, some steps ahead, which two warps issue; rows of 256 are made for the next step while
 * trials add those of this one.  The grid is (group, tile).  Bound: the second cache, from which a row
 * comes once for each group that wants it, and loads of shared memory. */
#include "tree/dedisp_tree_words.cuh"

namespace
{

constexpr int ADDERS = 8, COPIERS = 2; /* warps */

#ifdef WORDS_DEVICE

constexpr int OWN = WORDS_TRIALS / ADDERS; /* trials of a warp */

/* Sums of words, modulo 2^32, and of their upper halves; the difference is that of the lower
 * halves. */
struct trial_sums {
    uint32_t all[TILE], high[TILE];

    __device__ __forceinline__ void add(uint32_t from)
    {
#pragma unroll
        for (int k = 0; k < TILE; k++) {
            const uint32_t word = load(from + 4 * WARP * k);
            all[k] += word;
            high[k] += word >> 16;
        }
    }
};

/* Barriers: a step has come; a step is read. */
__device__ __forceinline__ uint32_t came(uint32_t step)
{
    return shared_address(shared_words) + 8 * (step % WORDS_SLOTS);
}

__device__ __forceinline__ uint32_t is_read(uint32_t step)
{
    return came(step) + 8 * WORDS_SLOTS;
}

__device__ __forceinline__ void start_barriers()
{
    if (threadIdx.x == 0) {
        for (int k = 0; k < WORDS_SLOTS; k++) {
            barrier_init(came(k), 1);
            barrier_init(is_read(k), ADDERS);
        }
        barrier_publish();
    }
    __syncthreads();
}

/* The warps that copy: a step goes where others were, all of which have been read.  What there is to
 * copy is looked up a step ahead. */
__device__ __forceinline__ void copy_steps(const struct words_k_trials &s, int64_t v)
{
    const struct words_k_load *const load = s.d_load + blockIdx.x * s.nstep;
    const uint32_t base = shared_address(shared_words), nstep = (uint32_t)s.nstep,
                   own = (uint32_t)threadIdx.x - ADDERS * WARP;
    const uint32_t first = own % WARP * COPIERS + own / WARP;
    struct words_k_load l = load[0];
    struct words_k_copy c = s.d_copy[l.copy + min(first, l.n - 1)];
    for (uint32_t step = 0, nread = 0; step < nstep; step++) {
        const struct words_k_load next = load[min(step + 1, nstep - 1)];
        const struct words_k_copy then = s.d_copy[next.copy + min(first, next.n - 1)];
        const uint32_t bar = came(step), to = base + l.at;
        for (; nread < l.after; nread++)
            barrier_wait(is_read(nread), nread / WORDS_SLOTS & 1);
        if (own == 0) {
            barrier_expect(bar, l.bytes);
            copy_bulk(to, s.d_step + blockIdx.x * s.nstep + step, sizeof *s.d_step, bar);
        }
        for (uint32_t r = first; r < l.n; r += COPIERS * WARP) {
            if (r != first)
                c = s.d_copy[l.copy + r];
            copy_bulk(to + sizeof *s.d_step + 4 * c.to, s.d_in + c.from + v, 4 * c.words, bar);
        }
        l = next;
        c = then;
    }
}

__device__ __forceinline__ void wait_copies(uint32_t step)
{
    barrier_wait(came(step), step / WORDS_SLOTS & 1);
}

__device__ __forceinline__ void end_reading(uint32_t step)
{
    __syncwarp();
    if (lane_of_warp() == 0)
        barrier_arrive(is_read(step));
}

/* Among the warps that add up. */
__device__ __forceinline__ void sync_adders()
{
    asm volatile("bar.sync 1,%0;" ::"n"(ADDERS * WARP) : "memory");
}

/* Where the third level's rows of a step are. */
__device__ __forceinline__ uint32_t third_of(const struct words_k_trials &s, uint32_t step)
{
    return shared_address(shared_words) + (uint32_t)s.rows +
           step % 2 * (uint32_t)s.nrow * WORDS_ROW * 4;
}

constexpr int COLUMNS = WORDS_ROW / WARP / 2; /* of two words a lane */

template <int PARTS>
__device__ __forceinline__ void make_third_of(uint32_t source, uint32_t from, uint32_t to,
                                              uint32_t nrow)
{
#pragma unroll 2
    for (uint32_t r = warp_of_block() / COLUMNS; r < nrow; r += ADDERS / COLUMNS) {
        const uint4 four = load_four(source + 16 * r);
        const uint32_t part[WORDS_PARTS] = {from + four.x, from + four.y, from + four.z,
                                            from + four.w};
        uint32_t sum[2] = {};
#pragma unroll
        for (int j = 0; j < PARTS; j++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                sum[k] += load(part[j] + 4 * WARP * k);
        store(to + 4 * WORDS_ROW * r, sum[0]);
        store(to + 4 * (WORDS_ROW * r + WARP), sum[1]);
    }
}

/* A warp makes 64 words of every other row of the step at "at". */
__device__ __forceinline__ void make_third(const struct words_k_trials &s, uint32_t step,
                                           uint32_t at)
{
    const uint32_t own = 8 * WARP * (warp_of_block() % COLUMNS) + 4 * lane_of_warp(),
                   nrow = load(at), nparts = load(at + 4), to = third_of(s, step) + own,
                   from = at + sizeof(struct words_k_step) + own,
                   source = at + offsetof(struct words_k_step, source);
    static_assert(WORDS_PARTS == 4, "numbers of parts are these");
    if (nparts == 4)
        make_third_of<4>(source, from, to, nrow);
    else if (nparts == 3)
        make_third_of<3>(source, from, to, nrow);
    else if (nparts == 2)
        make_third_of<2>(source, from, to, nrow);
    else
        make_third_of<1>(source, from, to, nrow);
}

__device__ __forceinline__ void add_third(const struct words_k_trials &s, uint32_t step, uint4 from,
                                          struct trial_sums sum[OWN])
{
    const uint32_t rows = third_of(s, step) + 4 * lane_of_warp();
    sum[0].add(rows + from.x);
    sum[1].add(rows + from.y);
    sum[2].add(rows + from.z);
    sum[3].add(rows + from.w);
}

/* Up to WORDS_PARTS rows of the second level for each trial. */
__device__ __forceinline__ void add_second(uint32_t at, struct trial_sums sum[OWN])
{
    const uint32_t nparts = load(at + 4),
                   rows = at + sizeof(struct words_k_step) + 4 * lane_of_warp(),
                   source = at + offsetof(struct words_k_step, source);
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        const uint4 p = load_four(source + 16 * (OWN * warp_of_block() + i));
        sum[i].add(rows + p.x);
        if (nparts > 1)
            sum[i].add(rows + p.y);
        if (nparts > 2)
            sum[i].add(rows + p.z);
        if (nparts > 3)
            sum[i].add(rows + p.w);
    }
}

/* Trials of half the outputs from v on. */
template <class CONVERT>
__device__ __forceinline__ void put_trials(const struct words_k_trials &s, int64_t v,
                                           const struct trial_sums sum[OWN], const CONVERT &convert)
{
    const int lane = lane_of_warp();
    const int low = (int)min((int64_t)min(s.half, s.n) - v, (int64_t)WORDS_TILE) - lane;
    const int high = (int)min((int64_t)s.n - (int64_t)s.half - v, (int64_t)WORDS_TILE) - lane;
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        const int64_t row = s.d_trial[blockIdx.x * WORDS_TRIALS + OWN * warp_of_block() + i];
        float *out = s.d_out + row * (int64_t)s.out_pitch + v + lane, *further = out + s.half;
        if (row < 0)
            continue;
#pragma unroll
        for (int k = 0; k < TILE; k++) {
            if (WARP * k < low)
                __stcs(out + WARP * k, convert(sum[i].all[k] - (sum[i].high[k] << 16)));
            if (WARP * k < high)
                __stcs(further + WARP * k, convert(sum[i].high[k]));
        }
    }
}

/* With a third level trials are one step behind: a barrier a step is enough. */
template <bool THIRD>
__device__ __forceinline__ void add_steps(const struct words_k_trials &s,
                                          struct trial_sums sum[OWN])
{
    const struct words_k_load *const load = s.d_load + blockIdx.x * s.nstep;
    const uint32_t nstep = (uint32_t)s.nstep,
                   trials = offsetof(struct words_k_step, trial) + 4 * OWN * warp_of_block();
    uint32_t place = load[0].at;
    uint4 before = {}, now = {};
    for (uint32_t step = 0; step < nstep + THIRD; step++, before = now) {
        if (step < nstep) {
            const uint32_t at = shared_address(shared_words) + place;
            place = load[min(step + 1, nstep - 1)].at;
            wait_copies(step);
            if (THIRD) {
                now = load_four(at + trials);
                make_third(s, step, at);
            } else {
                add_second(at, sum);
            }
            end_reading(step);
        }
        if (THIRD && step > 0)
            add_third(s, step - 1, before, sum);
        if (THIRD)
            sync_adders();
    }
}

#endif

template <bool THIRD>
__global__ void __launch_bounds__((ADDERS + COPIERS) * WARP, 2)
    make_trials(const struct words_k_trials s)
{
#ifdef WORDS_DEVICE
    static_assert(OWN == 4, "see add_third");
    const int64_t v = (int64_t)blockIdx.y * WORDS_TILE;
    struct trial_sums sum[OWN] = {};
    start_barriers();
    if (warp_of_block() >= ADDERS) {
        copy_steps(s, v);
        return;
    }
    add_steps<THIRD>(s, sum);
    if (s.bias == 0 && s.downsamp == 1)
        put_trials(s, v, sum, [](uint32_t x) { return (float)x; });
    else
        put_trials(s, v, sum,
                   [=](uint32_t x) { return (float)(((double)x - s.bias) / s.downsamp); });
#endif
}

} // namespace

extern "C" cudaError_t words_k_make_trials(const struct words_k_trials *s, cudaStream_t stream)
{
    auto *const run = s->third ? make_trials<true> : make_trials<false>;
    int processors;
    cudaError_t e = allow_all_shared(run, &processors);
    if (e)
        return e;
    const dim3 grid((unsigned)s->ngroup, blocks_of(s->half, WORDS_TILE));
    run<<<grid, (ADDERS + COPIERS) * WARP, s->shared, stream>>>(*s);
    return cudaGetLastError();
}
