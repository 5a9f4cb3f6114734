/* Lists the pieces in which a boxcar exceeds the threshold, and flattens their samples once more.
 *
 * Listing takes a thread a piece, copying a thread block a loud piece; nearly all are quiet.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#include "singlepulse/singlepulse_flatten.cuh"

namespace
{

constexpr int THREADS = 192;

/* x[j] as sample j of a piece. */
__device__ inline float flatten(const struct shape &s, const float *x, int j, int length)
{
    const int second = j >= length / 2, part = length / PULSE_PARTS;
    const struct pulse_ramp &r = s.ramp[second];
    if (s.ramp[0].dead)
        return -INFINITY;
    const float z = pulse_flatten_sample(x[j], (double)(j - (second ? length / 2 : 0)), r.level,
                                         r.step, r.scale, r.scale_step);
    if (!s.bent)
        return z;
    const bend b = find_bend(s, j + part / 2, part);
    return pulse_correct_sample(z, b.level, b.slope, b.at);
}

__global__ void __launch_bounds__(THREADS)
    list_loud(const struct pulse_k_ring ring, const struct pulse_k_stage stage,
              const struct pulse_k_gather g)
{
    const size_t item = (size_t)blockIdx.x * THREADS + threadIdx.x;
    const size_t i = g.i0 + item / stage.npiece;
    const int64_t k = stage.k + (int64_t)(item % stage.npiece);
    if (i >= g.i0 + g.nseries)
        return;
    const struct pulse_figures &f = ring.d_figure[i * ring.nfigure + k % ring.nfigure];
    if (!pulse_is_loud(&f, g.nwidth, g.threshold))
        return;
    const unsigned at = atomicAdd(g.d_count, 1u);
    if (at >= g.room)
        return;
    struct pulse_loud &loud = g.d_loud[at];
    loud.piece = k;
    loud.series = (uint32_t)i;
    loud.at = at;
    loud.n = k == stage.last ? stage.n : ring.length;
    for (int c = 0; c < PULSE_COLUMNS; c++)
        loud.norm[c] = c < g.nwidth ? f.norm[c] : 0;
}

__global__ void __launch_bounds__(THREADS)
    copy_loud(const struct pulse_k_ring ring, const struct pulse_k_gather g)
{
    __shared__ struct shape shape[2];
    const unsigned count = *g.d_count < g.room ? *g.d_count : g.room;
    const int carry = g.maxwidth - 1, each = carry + ring.length;
    for (unsigned at = blockIdx.x; at < count; at += gridDim.x) {
        const struct pulse_loud &loud = g.d_loud[at];
        const float *x = ring.d_x + (size_t)loud.series * ring.npiece * ring.length;
        __syncthreads();
        load_shapes(shape, ring, loud.series, loud.piece - 1, 2);
        __syncthreads();
        for (int j = threadIdx.x; j < each; j += THREADS) {
            const int own = j >= carry, t = own ? j - carry : ring.length - carry + j;
            const int64_t k = loud.piece - !own;
            const bool exists = k >= 0 && (!own || t < loud.n);
            g.d_z[(size_t)at * each + j] =
                exists ? flatten(shape[own], x + k % ring.npiece * ring.length, t, ring.length)
                       : -INFINITY;
        }
    }
}

constexpr unsigned COPIERS = 528; /* thread blocks; four on each of 132 multiprocessors */

} // namespace

extern "C" cudaError_t pulse_k_gather(const struct pulse_k_ring *ring,
                                      const struct pulse_k_stage *stage,
                                      const struct pulse_k_gather *gather, cudaStream_t stream)
{
    const size_t n = stage->npiece * gather->nseries;
    cudaError_t e = cudaMemsetAsync(gather->d_count, 0, sizeof *gather->d_count, stream);
    if (e || !n)
        return e;
    list_loud<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(*ring, *stage,
                                                                               *gather);
    copy_loud<<<COPIERS, THREADS, 0, stream>>>(*ring, *gather);
    return cudaGetLastError();
}
