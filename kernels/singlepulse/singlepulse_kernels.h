/* singlepulse_kernels.h: the single-pulse search of series on the device, with the same bits as on the
 * host (lib/search/singlepulse/singlepulse_internal.h describes the steps).
 *
 * Each series is a ring of pieces, and so are the figures of its pieces: sample t of series i lies
 * at d_x[i * npiece * length + t % (npiece * length)], the figures of piece k at
 * d_figure[i * nfigure + k % nfigure]. */
#ifndef PSR_KERNELS_SINGLEPULSE_KERNELS_H
#define PSR_KERNELS_SINGLEPULSE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "search/singlepulse/pulse_adapt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PULSE_K_MAX_LENGTH = 1216 }; /* samples of a piece */

struct pulse_k_ring {
    size_t nseries;
    int32_t npiece, nfigure, length;
    float *d_x;                     /* [nseries][npiece * length] */
    struct pulse_figures *d_figure; /* [nseries][nfigure] */
    uint8_t *d_note;                /* [nseries][nfigure] what pieces note of their lengths */
};

/* The pieces that a step processes: npiece from piece k on, in a stream whose last piece is "last". */
struct pulse_k_stage {
    int64_t k;
    size_t npiece;
    int64_t last;
    int32_t n; /* samples of the last piece */
};

/* Marks samples as missing (NaN): of series i those of [first - sweep[i], end) that lie in
 * [from, from + n). */
cudaError_t pulse_k_blank(const struct pulse_k_ring *ring, const int64_t *d_sweep, int64_t first,
                          int64_t end, int64_t from, int64_t n, cudaStream_t stream);

/* Samples first .. of what is resampled: n of the input from sample "from" on, or, added, the mean
 * of samples from - 1 and from. */
struct pulse_k_splice {
    uint32_t first, from;
    uint32_t added;
};

/* Puts n samples of every series into the ring, from sample pos on: those of d_x [nseries][stride],
 * spliced.
 * Given:  d_splice [nsplice] by rising first, the first with 0; d_prev [nseries] the sample before
 *         the first of d_x */
cudaError_t pulse_k_resample(const struct pulse_k_ring *ring, const float *d_x, size_t stride,
                             const struct pulse_k_splice *d_splice, size_t nsplice,
                             const float *d_prev, int64_t pos, size_t n, cudaStream_t stream);

/* Samples that are to go into the ring: those from sample pos on lie at d_x [nseries][stride].  NULL:
 * all samples are there. */
struct pulse_k_source {
    const float *d_x;
    size_t stride;
    int64_t pos;
};

/* Measures npiece pieces from piece k on, each of its first n samples, and puts those of the source
 * into the ring. */
cudaError_t pulse_k_measure(const struct pulse_k_ring *ring, const struct pulse_k_source *from,
                            int64_t k, size_t npiece, size_t n, cudaStream_t stream);

/* The steps, in this order; each of pieces that the one before has done, and as many after them as
 * lib/search/singlepulse/pulse_math.h says (PULSE_TO_...). */
cudaError_t pulse_k_baseline_nodes(const struct pulse_k_ring *ring,
                                   const struct pulse_k_stage *stage, cudaStream_t stream);
cudaError_t pulse_k_rest(const struct pulse_k_ring *ring, const struct pulse_k_stage *stage,
                         cudaStream_t stream);
cudaError_t pulse_k_smooth(const struct pulse_k_ring *ring, const struct pulse_k_stage *stage,
                           cudaStream_t stream);
cudaError_t pulse_k_lengths(const struct pulse_k_ring *ring, const struct pulse_k_stage *stage,
                            int32_t fixed, cudaStream_t stream);
cudaError_t pulse_k_add_up(const struct pulse_k_ring *ring, const struct pulse_k_stage *stage,
                           const struct pulse_scale *scale, cudaStream_t stream);
cudaError_t pulse_k_norms(const struct pulse_k_ring *ring, const struct pulse_k_stage *stage,
                          const struct pulse_scale *scale, cudaStream_t stream);

/* The loud pieces of series i0 .. i0 + nseries - 1. */
struct pulse_k_gather {
    size_t i0, nseries;
    int32_t maxwidth, nwidth;
    float threshold;
    unsigned room;
    struct pulse_loud *d_loud; /* [room] */
    float *d_z;                /* [room][maxwidth - 1 + length] flattened */
    unsigned *d_count;
};

/* Returned: *d_count, room or not; loud pieces in any order, "at" saying where the samples lie */
cudaError_t pulse_k_gather(const struct pulse_k_ring *ring, const struct pulse_k_stage *stage,
                           const struct pulse_k_gather *gather, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
