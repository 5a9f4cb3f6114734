/* clean_kernels.h: automatic cleaning of spectra on the device, with the same bits as on the host
 * (psrkit/experimental/clean_auto.h defines the steps, lib/rfi/auto/clean_auto_math.h has their arithmetic).
 *
 * Each launcher takes one step of a window, behind those before it in the stream. */
#ifndef PSR_KERNELS_CLEAN_KERNELS_H
#define PSR_KERNELS_CLEAN_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "rfi/auto/clean_auto_math.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CLEAN_K_MOST = 32768 }; /* spectra of a window */

/* A block, or what is left after the last. */
struct clean_k_range {
    size_t first, n, ncount, count[PSR_AUTO_GROUPS]; /* as in struct psr_auto_block */
};

/* A window and what belongs to it. */
struct clean_k_window {
    const unsigned char *d_in; /* [n][row_bytes] */
    unsigned char *d_out;      /* [n][nchan] */
    size_t nchan, row_bytes, ngroup;
    int nbit, is_signed, is_float;

    size_t n, window; /* spectra, and the most that a window has */
    size_t nblock, nrange, size;
    const struct clean_k_range *d_range; /* [nrange] */
    const float *d_gain, *d_offset;      /* [nrange][nchan] */
    const float *d_level;                /* [nchan] for what is not a number */
    const unsigned char *d_weight;       /* [nchan] q */
    unsigned long long *d_s1, *d_s2;     /* [nblock][nchan] */
    int32_t *d_sum;                      /* [n][ngroup] u */
    unsigned char *d_spark, *d_pulse;    /* [n] */
    float *d_tile, *d_most, *d_flat;     /* [window] M, Q, and M less its median */
    uint32_t *d_list, *d_ntile;          /* [PSR_AUTO_WIDTHS][PSR_AUTO_TILES]; first spectra */
    float *d_rate;                       /* [PSR_AUTO_WIDTHS][PSR_AUTO_TILES][ngroup] */
    float *d_product;                    /* [PSR_AUTO_WIDTHS][ngroup][ngroup] */
    double *d_centre;                    /* [ngroup] medians of tiles of one spectrum */
    float *d_mode, *d_median;            /* [ngroup][window] */
    long long *d_prefix;                 /* [ngroup][window] */
    float *d_less;                       /* [n][ngroup] */
};

/* Sums of the samples of each block and channel, and of their squares: integers of up to 16 bits as such,
 * others as doubles, in the order of the spectra.  d_s1 and d_s2 are zeros. */
int clean_k_sums_integers(const struct clean_k_window *w);
cudaError_t clean_k_sum(const struct clean_k_window *w, cudaStream_t stream);

/* Samples to bytes: plain, and d_sum; less d_less; or that, by weight. */
enum clean_k_levels { CLEAN_K_PLAIN, CLEAN_K_LESS, CLEAN_K_WEIGHTED };
cudaError_t clean_k_quantise(const struct clean_k_window *w, enum clean_k_levels levels,
                             cudaStream_t stream);

/* Sparks of tiles of so many spectra, unless clip_sigma is 0, and pulses; d_spark and d_pulse have those of narrower
 * ones. */
cudaError_t clean_k_find_sparks(const struct clean_k_window *w, size_t width, double clip_sigma,
                                cudaStream_t stream);

/* Tiles of the first nwidth widths: d_ntile, d_product, and d_centre. */
cudaError_t clean_k_measure(const struct clean_k_window *w, size_t nwidth, cudaStream_t stream);

/* What to subtract of the modes: d_less. */
cudaError_t clean_k_subtract(const struct clean_k_window *w, const struct psr_auto_modes *m,
                             cudaStream_t stream);

/* Masks spectra that are sparks. */
cudaError_t clean_k_blank(const struct clean_k_window *w, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
