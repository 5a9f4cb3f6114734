/* Dedispersion by matrix products of bytes.
 *
 * Inside a block of 32 trials a channel's delay against the first channel of its group takes few
 * values s.  So the group's partial sum is a matrix product,
 *   P[i][t] = sum over (s, c) of A[i][(s, c)] B[(s, c)][t],  B[(s, c)][t] = x[c][t + off_c + s],
 * with A 1 where trial i delays channel c by s and 0 elsewhere: bytes in, 32-bit integers out,
 * exact. Then out[i][t - late_i] += P[i][t + shift_i], late_i being the delay in the middle of the
 * band against that of the block's first trial: shifts are small in the middle and grow to both
 * ends.
 *
 * Thread block: 32 trials x 448 samples, 8 warps, two blocks a multiprocessor; the grid is (block
 * of trials, stretch of 448 samples).  For each group of up to 32 channels, in turn: rows     the
 * channels' samples, copied asynchronously while the group before is summed tile     [t][16
 * channels] twice, each channel moved by its off: 16 bytes a row, so that a shift of s rows is an
 * address and any 8 rows are read without bank conflicts partial  P as words of two samples, half a
 * stretch apart: any shift is whole words and the sums of all groups stay in registers: words v of
 * samples (lo, hi) add up to a = sum of v and b = sum of v >> 16, which give lo as a - (b << 16).
 * 16-bit samples go through twice, high bytes first, the sums multiplied by 256 between.  Shared
 * memory: 79 KB and 224 bytes for each sample that delays spread over inside a block of trials.
 *
 * Bound: shared memory.  For 32 channels x 32 trials x 448 samples, with s of three values, a
 * multiprocessor moves about 1500 wavefronts of 128 bytes (rows 140, tile 510, operands 400,
 * partial 250 + 240): at one a clock 80 T adds/s on an H200.  Then come issue slots, 650
 * instructions a warp. */
#include "dedisp_tile.cuh"

namespace
{

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800

__device__ __forceinline__ void sum_block(const cta &b, const struct job &job,
                                          const struct dedisp_k_block &block, size_t t0)
{
    const struct dedisp_stage *stage = job.stage + block.stage;
    const int ngroup = block.ngroup, n = ngroup * job.io.nplane;
    source from = first_source(b, job.io, t0);
    int slot = 0, parity = 0, group = after(0, ngroup), left = ngroup;
    sums total = {};
    fetch_stage(b, 0, stage);
    if (n > 1)
        fetch_stage(b, 1, stage + group);
    barrier_wait(stage_barrier(b, 0), 0);
    fetch_rows(b, job, from, 0, b.stage[0]);
    __syncthreads();
    for (int j = 0; j < n; j++, left--) {
        const int slot1 = after(slot, STAGES), parity1 = slot1 ? parity : parity ^ 1;
        const struct dedisp_stage &st = b.stage[slot];
        if (j + 1 < n) {
            /* All have turned rows j - 1 before they multiplied them. */
            advance(from, job.io, ngroup);
            barrier_wait(stage_barrier(b, slot1), parity1);
            fetch_rows(b, job, from, j + 1, b.stage[slot1]);
        }
        barrier_wait(rows_barrier(b, j), j >> 1 & 1);
        turn_rows(b, job, j, st);
        __syncthreads();
        group = after(group, ngroup);
        if (j + 2 < n) /* All are done with stage j - 1. */
            fetch_stage(b, after(slot1, STAGES), stage + group);
        multiply_stage(b, job, st);
        __syncthreads();
        if (left == 0) {
            scale(total, 256);
            left = ngroup;
        }
        add_partial(b, job, st, total);
        slot = slot1;
        parity = parity1;
    }
    write_sums(b, job.io, block, stage, t0, total);
}

#endif

__global__ void __launch_bounds__(THREADS, DEDISP_RESIDENT) multiply_blocks(const struct job job)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    extern __shared__ __align__(128) uint8_t shared[];
    __shared__ struct barriers bars;
    __shared__ struct places places[2];
    const cta b = make_cta(job, shared, places, &bars);
    const struct dedisp_k_block block = job.block[blockIdx.x];
    const size_t t0 = (size_t)blockIdx.y * SAMPLES;
    if (t0 >= job.io.nout + block.late)
        return;
    init_barriers(b);
    sum_block(b, job, block, t0);
#endif
}

} // namespace

/* Code built for chips older than sm_80 has an empty kernel, wherever it runs. */
extern "C" cudaError_t dedisp_k_max_spread(int *spread)
{
    int device, bytes;
    cudaFuncAttributes built;
    *spread = -1;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaFuncGetAttributes(&built, multiply_blocks);
    if (!e)
        e = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (e || built.ptxVersion < 80)
        return e;
    /* Two blocks a multiprocessor where there is room for it. */
    size_t most =
        (bytes > 200000 ? (size_t)bytes / 2 : (size_t)bytes) - built.sharedSizeBytes - 1024;
    while (shape_for(*spread + 1).bytes <= most)
        ++*spread;
    return cudaSuccess;
}

extern "C" cudaError_t dedisp_k_multiply(const struct dedisp_k_io *io,
                                         const struct dedisp_k_block *d_block, size_t nblock,
                                         size_t late, const void *d_stage, int spread,
                                         cudaStream_t stream)
{
    struct job job = {*io, d_block, (const struct dedisp_stage *)d_stage, shape_for(spread)};
    dim3 grid((unsigned)nblock, (unsigned)((io->nout + late + SAMPLES - 1) / SAMPLES));
    cudaError_t e = cudaFuncSetAttribute(
        multiply_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)job.shape.bytes);
    if (e)
        return e;
    multiply_blocks<<<grid, THREADS, job.shape.bytes, stream>>>(job);
    return cudaGetLastError();
}
