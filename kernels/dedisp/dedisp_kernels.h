/* dedisp_kernels.h: dedisperses samples on the device, one run of bytes per channel.
 *
 * A sample of up to 32 bits is stored as bytes in up to four planes, lowest first:
 *   x[k][t] = sum over planes q of 256^q lane[q * plane + k * pitch + t].
 * Sums are computed for a block of up to 32 trials with similar delays, in groups of up to 32
 * channels, by matrix products of bytes; or one by one (dedisp_k_gather), which is slower but has
 * no requirements. */
#ifndef PSR_KERNELS_DEDISP_KERNELS_H
#define PSR_KERNELS_DEDISP_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "search/dedisp/dedisp_delay.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DEDISP_TRIALS = 32,    /* of a block, maximum */
    DEDISP_CHANNELS = 32,  /* of a group, maximum */
    DEDISP_RESIDENT = 2,   /* thread blocks on a multiprocessor */
    DEDISP_LAUNCH = 65535, /* blocks of each kind per launch, maximum */
    DEDISP_FRONT = 1024,   /* readable bytes before a run: more than any "late" */
    DEDISP_BEHIND = 2048   /* readable bytes after those that outputs need */
};

/* Kinds of blocks: with many trials; or with half as many trials and more outputs, if the spread of
 * delays needs too much shared memory for more trials. */
enum { DEDISP_WIDE, DEDISP_NARROW, DEDISP_KINDS };

/* Largest number of trials of a block, and outputs of each that a thread block computes. */
#define DEDISP_TRIALS_OF(kind)  ((kind) == DEDISP_WIDE ? DEDISP_TRIALS : DEDISP_TRIALS / 2)
#define DEDISP_SAMPLES_OF(kind) ((kind) == DEDISP_WIDE ? 448 : 640)

/* Channels k0 .. k0 + n - 1. */
struct dedisp_k_group {
    uint32_t k0, n;
};

/* Trials first .. first + n - 1 and their groups in the table of groups.  A block's trials are
 * summed over stretches of time that start the earlier the more a trial is delayed in the middle of
 * the band, so that delays spread from there to both ends of the band and not from one to the
 * other. */
struct dedisp_k_block {
    uint32_t first, n;
    uint32_t group, ngroup;
    uint64_t stage; /* place of its first stage */
    uint64_t late;  /* samples by which stretches start apart, at most; below DEDISP_FRONT */
};

/* Device arrays: parameters of the delay of channel k at trial i. */
struct dedisp_k_delays {
    const double *d_dm;    /* [ntrial] in the order of blocks */
    const double *d_coeff; /* [nkept] */
    struct psr_delay_frame frame;
    double coeff_mid; /* of the middle delay */
    int tol_group;    /* channels that share one rounding; 0: each delay is exact */
};

/* Samples in and sums out, on the device. */
struct dedisp_k_io {
    const void *d_runs;  /* sample 0 of channel 0; 16-byte aligned but for the offset "at" */
    size_t at;           /* first sample of output 0 at delay 0 */
    size_t pitch, plane; /* bytes from run to run (a multiple of 16) and from plane to plane */
    int nplane;          /* 0: samples are floats, and pitch counts bytes */
    size_t nkept;
    float *d_out; /* [ntrial][out_pitch] */
    size_t out_pitch, nout;
    const uint32_t *d_row; /* [ntrial] row of d_out for trials in the order of blocks */
    double bias, downsamp; /* out = (sum - bias) / downsamp */
};

size_t dedisp_k_stage_bytes(void);

/* Largest difference of delays relative to the middle ones within a block of each kind for which
 * the current device has enough shared memory; -1 if it has no byte matrix products. */
cudaError_t dedisp_k_max_spread(int spread[DEDISP_KINDS]);

/* Limits that keep every group within what a stage can describe.  A group of n channels whose delays
 * drift from that of channel n / 2 by x samples over the block and by half_x over either half of it
 * is fine if this is true. */
int dedisp_k_fits(int kind, double x, double half_x, int tol);

/* Computes the stages of nblock[kind] blocks of each kind, wide ones first, DEDISP_LAUNCH at most.
 * Given:    d_block [all], d_group; Returned: d_stage; *d_fault is set to 1 if a group did not fit
 */
cudaError_t dedisp_k_shift_table(void *d_stage, int *d_fault, const struct dedisp_k_block *d_block,
                                 const size_t nblock[DEDISP_KINDS],
                                 const struct dedisp_k_group *d_group,
                                 const struct dedisp_k_delays *delays, cudaStream_t stream);

/* Sums of the same blocks by matrix products; every sum must be below 2^32, spread at least that of
 * dedisp_k_shift_table's stages, and late at least that of the blocks. */
cudaError_t dedisp_k_multiply(const struct dedisp_k_io *io, const struct dedisp_k_block *d_block,
                              const size_t nblock[DEDISP_KINDS], size_t late, const void *d_stage,
                              const int spread[DEDISP_KINDS], cudaStream_t stream);

/* Sums of ntrial trials, sample by sample. */
cudaError_t dedisp_k_gather(const struct dedisp_k_io *io, size_t ntrial,
                            const struct dedisp_k_delays *delays, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
