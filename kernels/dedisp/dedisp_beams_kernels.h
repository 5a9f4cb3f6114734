/* dedisp_beams_kernels.h: tree dedispersion of beams that arrive, from circles of samples.
 *
 * A level makes rows, sums over a sub-band, from rows of the level below or from the circles of
 * channels; the last level makes outputs.  Each level is a launch for all rows of a line, so that no
 * sum is made twice in a block of spectra; rows between levels lie in device memory.  A row is kept at
 * delays lo to lo + extra of its first channel: its element u is sample v = lo + u, where v counts
 * from output 0 at delay 0. */
#ifndef PSR_KERNELS_DEDISP_BEAMS_KERNELS_H
#define PSR_KERNELS_DEDISP_BEAMS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BEAMS_TILE = 512,   /* samples of a row that a warp makes at once */
    BEAMS_ROWS = 32,    /* of a group, at most */
    BEAMS_ALIGN = 64,   /* elements; rows begin at multiples, circles have multiples */
    BEAMS_SLACK = 1024, /* readable elements before and behind the rows of a level */
    BEAMS_LAUNCH = 65535,
};

enum beams_k_kind { BEAMS_8, BEAMS_16, BEAMS_32, BEAMS_FLOAT };

/* Of source[src .. src + nsrc - 1], each an element of the level below for u = 0, or a channel and a
 * delay after the circle's head: channel << 32 | delay. */
struct beams_k_row {
    int64_t at; /* its element 0 */
    int32_t lo, extra;
    uint32_t src, nsrc;
};

/* Adjacent rows, which share sources: lo is their least, hi their greatest lo + extra. */
struct beams_k_group {
    uint32_t row, nrow;
    int32_t lo, hi;
};

/* The circles of a line: those of any beam are alike. */
struct beams_k_circles {
    size_t nkept;
    enum beams_k_kind kind;
    const int64_t *d_at;   /* [nkept] elements before the circle */
    const int32_t *d_size; /* [nkept] multiples of BEAMS_ALIGN */
    const int32_t *d_skip; /* [nkept] a sample enters so many later */
    const int32_t *d_back; /* [nkept] output 0 at delay 0 of the circle is this far before */
    int32_t *d_head;       /* [nkept] where output 0 at the circle's delay 0 is */
    int32_t *d_enter;      /* [nkept] where what comes now goes */
    int32_t *d_from;       /* [nkept] ...and where its samples are in the line before */
};

struct beams_k_level {
    enum beams_k_kind in, out;
    int ring; /* the input are circles */
    const struct beams_k_row *d_row;
    const int64_t *d_source;
    const struct beams_k_group *d_group;
    size_t ngroup;
    const void *d_in;
    struct beams_k_circles circles; /* of rings */
    void *d_out;
    size_t n;             /* outputs */
    const double *d_bias; /* [rows] of BEAMS_FLOAT: out = (sum - bias) / divisor */
    double divisor;
};

cudaError_t beams_k_run(const struct beams_k_level *level, cudaStream_t stream);

/* Spectra as they come: sums of downsamp of them, samples first .. of channel chan[k], go to the
 * circles; d_partial [nkept] holds the sum that is not complete. */
struct beams_k_spectra {
    int nbit;
    uint32_t bias; /* added, modulo its bits */
    size_t row_bytes;
    const uint32_t *d_chan; /* [nkept] */
    size_t downsamp;
    size_t before; /* spectra in d_partial */
    uint32_t *d_partial;
    const void *d_in;
    size_t nsamp;
};

/* Sets the heads for outputs first ..; before: the line before and how many of its samples make one,
 * NULL for the first. */
cudaError_t beams_k_turn(const struct beams_k_circles *c, int64_t first,
                         const struct beams_k_circles *before, size_t ratio, cudaStream_t stream);
cudaError_t beams_k_push(const struct beams_k_circles *c, void *d_ring,
                         const struct beams_k_spectra *s, cudaStream_t stream);

/* The next n sums of "ratio" samples of the line before enter. */
cudaError_t beams_k_sum(const struct beams_k_circles *c, void *d_ring,
                        const struct beams_k_circles *before, const void *d_before, size_t ratio,
                        size_t n, cudaStream_t stream);

/* Sets n elements. */
cudaError_t beams_k_fill(void *d_ring, enum beams_k_kind kind, size_t n, uint32_t value,
                         cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
