/* singlepulse_flatten.cuh: the baseline of a piece, in shared memory.
 *
 * To be compiled without fused multiply-adds: the host has the same bits. */
#ifndef PSR_KERNELS_SINGLEPULSE_FLATTEN_CUH
#define PSR_KERNELS_SINGLEPULSE_FLATTEN_CUH

#include "singlepulse/singlepulse_kernels.h"

/* The baseline of a piece. */
struct shape {
    struct pulse_ramp ramp[2];
    float edge[PULSE_EDGES];
    bool bent; /* there are edges */
};

/* Shapes of pieces k0 .. k0 + n - 1, by all threads. */
static __device__ inline void load_shapes(struct shape *shape, const struct pulse_k_ring &ring,
                                          size_t i, int64_t k0, int n)
{
    for (int q = (int)threadIdx.x; q < n; q += (int)blockDim.x) {
        struct shape &s = shape[q];
        s.ramp[0].dead = true;
        if (k0 + q < 0)
            continue;
        const struct pulse_figures &f = ring.d_figure[i * ring.nfigure + (k0 + q) % ring.nfigure];
        s.ramp[0] = f.ramp[0];
        s.ramp[1] = f.ramp[1];
        s.bent = f.length > 0;
        for (int e = 0; e < PULSE_EDGES && s.bent; e++)
            s.edge[e] = f.smooth[f.length - 1][e];
    }
}

/* The line between two parts, as it crosses some samples. */
struct bend {
    float level, slope;
    int at; /* of the first sample, after the middle of the first part */
};

static __device__ inline bend find_bend(const struct shape &s, int from, int part)
{
    const int e = from / part;
    return {s.edge[e], pulse_edge_slope(s.edge[e], s.edge[e + 1], part), from - e * part};
}

#endif
