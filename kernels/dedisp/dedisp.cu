/* Dedispersion by matrix products of bytes.
 *
 * Inside a block of trials a channel's delay against the middle channel of its group takes few
 * values s.  So the group's partial sum is a matrix product,
 *   P[i][t] = sum over (s, c) of A[i][(s, c)] B[(s, c)][t],  B[(s, c)][t] = x[c][t + off_c + s],
 * with A 1 where trial i delays channel c by s and 0 elsewhere: bytes in, 32-bit integers out,
 * exact.  Then out[i][t - late_i] += P[i][t + shift_i], late_i being the delay in the middle of the
 * band against that of the block's first trial: shifts are small in the middle and grow to both
 * ends.
 *
 * Thread block: 32 trials x 448 samples or, where delays spread fast, 16 x 640; 8 warps, two blocks
 * a multiprocessor; the grid is (stretch of samples, block of trials).  For each group of up to 32
 * channels, in turn:
 *
 *   rows     the channels' samples, copied asynchronously while the group before is summed
 *   tile     [t][16 channels] twice, each channel moved by its off: 16 bytes a row, so that s rows
 *            are an address; a product takes eight rows that lie an odd number of rows apart, so
 *            that they are read without bank conflicts and that those s rows on are the product's
 *            after s steps: a warp loads each operand once
 *   partial  P as words of two samples, half a stretch apart: any shift is whole words
 *
 * The sums of all groups stay in registers: words v of samples (lo, hi) add up to a = sum of v and
 * b = sum of v >> 16, which give lo as a - (b << 16).  With two planes of bytes each group is
 * added twice, the high one first, with 2 for 1 in A and added 128 times (sum_pairs); of more, all
 * groups of a plane after those of the one above, with sums multiplied by 256 between.  Shared
 * memory: 79 KB and 212 bytes for each sample that delays spread over inside a block of 32 trials,
 * 88 KB and 152 bytes for one of 16.
 *
 * Bound: none alone.  For 32 channels x 32 trials x 448 samples, with s of two or three values, a
 * multiprocessor moves 1460 wavefronts of 128 bytes and the copies (69 % of what it can) and issues
 * 650 instructions a warp (62 %); the rest is latency, with 16 warps. */
#include "dedisp/dedisp_tile.cuh"

namespace
{

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

template <int KIND>
__device__ __forceinline__ void sum_block(const cta &b, const struct job &job,
                                          const struct dedisp_k_block &block, size_t t0)
{
    const struct dedisp_stage *stage = job.stage + block.stage;
    const int ngroup = block.ngroup, n = ngroup * job.io.nplane;
    source from = first_source(b, job.io, t0);
    int slot = 0, parity = 0, group = after(0, ngroup), left = ngroup;
    sums<KIND> total = {};
    fetch_stage(b, 0, stage);
    if (n > 1)
        fetch_stage(b, 1, stage + group);
    barrier_wait(stage_barrier(b, 0), 0);
    fetch_rows<false>(b, job, from, 0, b.stage[0]);
    __syncthreads();
    for (int j = 0; j < n; j++, left--) {
        const int slot1 = after(slot, STAGES), parity1 = slot1 ? parity : parity ^ 1;
        const struct dedisp_stage &st = b.stage[slot];
        if (j + 1 < n) {
            /* All have transposed rows j - 1 before they multiplied them. */
            advance(from, job.io, ngroup);
            barrier_wait(stage_barrier(b, slot1), parity1);
            fetch_rows<false>(b, job, from, j + 1, b.stage[slot1]);
        }
        barrier_wait(rows_barrier(b, j), j >> 1 & 1);
        transpose_rows(b, job, j, st);
        __syncthreads();
        group = after(group, ngroup);
        if (j + 2 < n) /* All are done with stage j - 1. */
            fetch_stage(b, after(slot1, STAGES), stage + group);
        multiply_stage<KIND>(b, job, st, 0);
        __syncthreads();
        if (left == 0) {
            scale(total, 256);
            left = ngroup;
        }
        add_partial(b, job, st, 1, total);
        slot = slot1;
        parity = parity1;
    }
    write_sums(b, job.io, block, stage, t0, total);
}

/* The same for two planes: a group's rows are located and its stage loaded once for both.  A
 * weight of 256 does not fit the byte that high halves are multiplied by, but the sums of a group
 * fit 15 bits: those of the higher plane are doubled and added 128 times. */
template <int KIND>
__device__ __forceinline__ void sum_pairs(const cta &b, const struct job &job,
                                          const struct dedisp_k_block &block, size_t t0)
{
    const struct dedisp_stage *stage = job.stage + block.stage;
    const int ngroup = block.ngroup;
    const source from = first_source(b, job.io, t0);
    int slot = 0, parity = 0;
    sums<KIND> total = {};
    fetch_stage(b, 0, stage);
    if (ngroup > 1)
        fetch_stage(b, 1, stage + 1);
    barrier_wait(stage_barrier(b, 0), 0);
    fetch_rows<true>(b, job, from, 0, b.stage[0]);
    __syncthreads();
    for (int j = 0; j < 2 * ngroup; j++) {
        const int slot1 = after(slot, STAGES), parity1 = slot1 ? parity : parity ^ 1, up = ~j & 1;
        const struct dedisp_stage &st = b.stage[slot];
        if (up) {
            fetch_lower_rows(b, job, st);
        } else if (j + 1 < 2 * ngroup) {
            barrier_wait(stage_barrier(b, slot1), parity1);
            fetch_rows<true>(b, job, from, 0, b.stage[slot1]);
        }
        barrier_wait(rows_barrier(b, j), j >> 1 & 1);
        transpose_rows(b, job, j, st);
        __syncthreads();
        if (up && j + 4 < 2 * ngroup) /* All are done with the stage before. */
            fetch_stage(b, after(slot1, STAGES), stage + (j / 2 + 2));
        multiply_stage<KIND>(b, job, st, up);
        __syncthreads();
        add_partial(b, job, st, up ? 128 : 1, total);
        if (!up) {
            slot = slot1;
            parity = parity1;
        }
    }
    write_sums(b, job.io, block, stage, t0, total);
}

#endif

template <int KIND, bool PAIRS>
__global__ void __launch_bounds__(THREADS, DEDISP_RESIDENT) multiply_blocks(const struct job job)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    extern __shared__ __align__(128) uint8_t shared[];
    __shared__ struct barriers bars;
    __shared__ struct places places[2];
    cta b = make_cta(job, shared, places, &bars);
    /* Delays of later trials spread more: they take longest, and are launched first. */
    const struct dedisp_k_block block = job.block[gridDim.y - 1 - blockIdx.y];
    const size_t t0 = (size_t)blockIdx.x * form<KIND>::SAMPLES;
    if (t0 >= job.io.nout + block.late)
        return;
    init_barriers(b);
    if (PAIRS) {
        __shared__ struct origins origins;
        b.origins = &origins;
        sum_pairs<KIND>(b, job, block, t0);
    } else {
        sum_block<KIND>(b, job, block, t0);
    }
#endif
}

/* What there is room for on the current device. */
template <int KIND> cudaError_t find_spread(int *spread)
{
    int device, bytes;
    cudaFuncAttributes built;
    *spread = -1;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaFuncGetAttributes(&built, multiply_blocks<KIND, true>);
    if (!e)
        e = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    /* Code built for chips older than sm_80 has an empty kernel, wherever it runs. */
    if (e || built.ptxVersion < 80)
        return e;
    /* Two blocks a multiprocessor where there is room for it. */
    size_t most =
        (bytes > 200000 ? (size_t)bytes / 2 : (size_t)bytes) - built.sharedSizeBytes - 1024;
    while (shape_for(KIND, *spread + 1).bytes <= most)
        ++*spread;
    return cudaSuccess;
}

template <int KIND>
cudaError_t launch(const struct job &job, size_t nblock, size_t late, cudaStream_t stream)
{
    const size_t nout = job.io.nout + late, samples = form<KIND>::SAMPLES;
    if (!nblock)
        return cudaSuccess;
    const auto kernel =
        job.io.nplane == 2 ? multiply_blocks<KIND, true> : multiply_blocks<KIND, false>;
    cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         (int)job.shape.bytes);
    if (e)
        return e;
    dim3 grid((unsigned)((nout + samples - 1) / samples), (unsigned)nblock);
    kernel<<<grid, THREADS, job.shape.bytes, stream>>>(job);
    return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t dedisp_k_max_spread(int spread[DEDISP_KINDS])
{
    cudaError_t e = find_spread<DEDISP_WIDE>(spread + DEDISP_WIDE);
    return e ? e : find_spread<DEDISP_NARROW>(spread + DEDISP_NARROW);
}

extern "C" cudaError_t dedisp_k_multiply(const struct dedisp_k_io *io,
                                         const struct dedisp_k_block *d_block,
                                         const size_t nblock[DEDISP_KINDS], size_t late,
                                         const void *d_stage, const int spread[DEDISP_KINDS],
                                         cudaStream_t stream)
{
    struct job job = {*io, d_block, (const struct dedisp_stage *)d_stage,
                      shape_for(DEDISP_WIDE, spread[DEDISP_WIDE])};
    cudaError_t e = launch<DEDISP_WIDE>(job, nblock[DEDISP_WIDE], late, stream);
    if (e)
        return e;
    job.block += nblock[DEDISP_WIDE];
    job.shape = shape_for(DEDISP_NARROW, spread[DEDISP_NARROW]);
    return launch<DEDISP_NARROW>(job, nblock[DEDISP_NARROW], late, stream);
}
