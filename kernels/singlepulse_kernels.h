/* singlepulse.h: the single-pulse search of series that lie on the device, with the bits of the
 * host's (lib/search/singlepulse/pulse.h says what the steps are).
 *
 * Each series is a ring of pieces, and so are the figures of its pieces: sample t of series i lies
 * at d_x[i * npiece * length + t % (npiece * length)], and what belongs to piece k at place
 * k % npiece. */
#ifndef PSR_KERNELS_SINGLEPULSE_KERNELS_H
#define PSR_KERNELS_SINGLEPULSE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "search/singlepulse/pulse_math.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PULSE_K_MAX_LENGTH = 1216, /* samples of a piece */
    PULSE_K_SPAN = 2048        /* samples that one thread block searches, overlap included */
};

struct pulse_k_ring {
    size_t nseries;
    int32_t npiece, length;
    float *d_x;                         /* [nseries][npiece * length] */
    struct pulse_piece *d_piece;        /* [nseries][npiece] */
    struct pulse_baseline_node *d_node; /* [nseries][npiece] */
    struct pulse_ramp *d_ramp;          /* [nseries][npiece][2], of either half of a piece */
};

/* Makes samples no numbers: of series i those of [first - sweep[i], end) that lie in
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

/* Measures npiece pieces from piece k on, each of its first n samples. */
cudaError_t pulse_k_measure(const struct pulse_k_ring *ring, int64_t k, size_t npiece, size_t n,
                            cudaStream_t stream);

/* Knots of npiece pieces from piece k on, pieces up to index last being measured. */
cudaError_t pulse_k_baseline_nodes(const struct pulse_k_ring *ring, int64_t k, size_t npiece,
                                   int64_t last, cudaStream_t stream);

/* Ramps of npiece pieces from piece k on, from the nodes up to index last. */
cudaError_t pulse_k_ramps(const struct pulse_k_ring *ring, int64_t k, size_t npiece, int64_t last,
                          cudaStream_t stream);

struct pulse_k_count {
    unsigned long long nhit, nrun; /* found, whether there was room or not */
};

/* Searches centres c0 .. c0 + n - 1 of series i0 .. i0 + nseries - 1, of which there is no sample
 * from "end" on. */
struct pulse_k_search {
    int64_t c0, end;
    size_t n, i0, nseries;
    int32_t maxwidth;
    float threshold;
    float norm[20];                 /* of S/N, in the order of PULSE_RECIPES */
    struct pulse_device_hit *d_hit; /* [hit_room] */
    struct pulse_run *d_run;        /* [nseries * pulse_k_tiles()] */
    struct pulse_k_count *d_count;
    size_t hit_room;
};

/* Stretches that n centres of a series are searched in. */
size_t pulse_k_tiles(size_t n, int32_t maxwidth);

/* Returned: *d_count; runs in any order, and their hits, but for those for which there was no room;
 *           d_count and they are those of this call alone */
cudaError_t pulse_k_best(const struct pulse_k_ring *ring, const struct pulse_k_search *search,
                         cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
