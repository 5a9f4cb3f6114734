/* dsp_kernels.h: coded voltages to detected spectra on a device; cuFFT transforms between the steps.
 *
 * dsp/channels/spectra.h defines the transforms, psr_detect the products.  A batch has the segments of
 * all planes, an input channel and polarisation each: job = plane nsegment + segment. */
#ifndef PSR_KERNELS_DSP_KERNELS_H
#define PSR_KERNELS_DSP_KERNELS_H

#include <cuda_runtime_api.h>
#include <psrkit/obs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How samples are coded and where they are: struct baseband_layout and struct baseband_coding. */
struct channelise_k_coding {
    int nbit;
    bool is_offset, is_float, high_first;
    bool in_turns; /* samples of all planes follow each other, without frames */
    float scale, shift;
    float *d_value; /* [256] of up to 4 bits */
    size_t sample_bits, frame_bytes, ngroup;
    uint32_t frame_nsamp; /* UINT32_MAX: frames have no end */
    size_t nplane, ndim;
    size_t *d_plane_bits, *d_plane_group; /* [nplane] */
};

/* Samples [from, from + n) of frames become floats: d_to + (plane stride + t) ndim, t < n. */
struct channelise_k_run {
    const uint8_t *d_bytes;         /* NULL: all are missing and become 0 */
    const unsigned char *d_present; /* [frame][ngroup]; NULL: all are */
    uint32_t from, n;
    float *d_to;
    size_t stride;
};
cudaError_t channelise_k_unpack(const struct channelise_k_coding *c,
                                const struct channelise_k_run *run, cudaStream_t stream);

/* Moves n floats of each plane; planes are so many floats apart. */
cudaError_t channelise_k_move(const float *d_from, size_t from_apart, float *d_to, size_t to_apart,
                              size_t n, size_t nplane, cudaStream_t stream);

/* Segments of samples d_x [nplane][stride] to the sums of their taps d_y [job][nsum], in floats. */
struct channelise_k_taps {
    const float *d_x, *d_window; /* d_window [ntap][nsum / ndim]; NULL: one tap */
    float *d_y;
    size_t stride, step, nsum; /* floats; step from a segment to the next */
    size_t ndim, ntap, nplane, nsegment;
};
cudaError_t channelise_k_weigh(const struct channelise_k_taps *t, cudaStream_t stream);

/* Bins d_z [job][apart] to those of each channel, d_part [job][nbin], as cuFFT takes them back: times
 * the response and scale, frequency 0 first. */
struct channelise_k_bins {
    const float2 *d_z, *d_response; /* d_response [nchan_in][nbin]; NULL: 1 */
    float2 *d_part;
    size_t apart, nbin, nfft, npol, njob, nsegment;
    bool real;
    float scale;
};
cudaError_t channelise_k_take(const struct channelise_k_bins *b, cudaStream_t stream);

enum channelise_k_products { /* as enum psr_detect */
                             CHANNELISE_K_EACH,
                             CHANNELISE_K_COHERENCE,
                             CHANNELISE_K_STOKES,
                             CHANNELISE_K_CIRCULAR
};

/* Detects the nspectrum first spectra of a batch and adds them to rows of d_row [][nvalue]: those of
 * the first one, which has fill already, and the next, each of tsum. */
struct channelise_k_spectra {
    const float2 *d_v;           /* [job][apart] */
    const unsigned char *d_good; /* [nspectrum]; NULL: all are */
    float *d_row;
    size_t apart, nfft, early, keep; /* nfft 1: bins as cuFFT has them */
    size_t nsegment, npol, nchan, n; /* n channels of an input channel */
    size_t nspectrum, fill, tsum, fsum;
    bool real, upper;
    float scale; /* of voltages */
    enum channelise_k_products what;
};
cudaError_t channelise_k_detect(const struct channelise_k_spectra *d, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

/* --- transposing packed spectra ------------------------------------------------------------------ */

/* transposes packed spectra [t][c] to one run of samples per channel on the
 * device, with downsampling. */

#ifdef __cplusplus
extern "C" {
#endif

/* Output n of channel k is the sum over u < downsamp of sample first + n downsamp + pre[k] + u of
 * channel chan[k]. */
struct cornerturn_k_desc {
    int nbit;         /* of the input: 1 2 4 8 16 32 */
    int is_float;     /* 32 bits: floats instead of unsigned integers; both are summed as floats */
    uint32_t bias;    /* added to each integer sample, modulo its bits */
    size_t row_bytes; /* of a spectrum */
    size_t nkept, downsamp;
    const uint32_t *d_chan; /* [nkept] */
    const int32_t *d_pre;   /* [nkept] */
    size_t nchan;
    const int32_t *d_place; /* [nchan] k of a channel, -1 if it is not kept */
    int32_t maxpre;         /* of d_pre */
    int nplane;             /* of bytes, lowest first; 0: floats */
    size_t pitch, plane;    /* bytes from run to run and from plane to plane of the output */
    void *d_sum;            /* [cornerturn_k_sum_bytes], 16-byte aligned; NULL: slower */
};

/* Memory for spectra summed before the transpose; 0: they are not, and d_sum is NULL. */
size_t cornerturn_k_sum_bytes(const struct cornerturn_k_desc *desc);

/* Given:    d_in  spectra from sample 0 on; Returned: n outputs of each channel at d_runs */
cudaError_t cornerturn_k_turn(const struct cornerturn_k_desc *desc, const void *d_in, size_t first,
                              void *d_runs, size_t n, cudaStream_t stream);

/* Moves n bytes of each of nrun runs from byte "from" to its start; source and destination may
 * overlap. */
cudaError_t cornerturn_k_slide(void *d_run, size_t pitch, size_t nrun, size_t from, size_t n,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif

/* --- red noise ----------------------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* Given:    d_x   [nspec][pitch][2], pitch in bins
 *           d_block   [nblock], contiguous from bin 1 to the end
 * Returned: d_x; d_level [nspec][nblock], the mean power of each block from its median */
cudaError_t redden_k_remove(float *d_x, size_t pitch, size_t nbin, size_t nspec,
                            const struct psr_span *d_block, size_t nblock, double *d_level,
                            cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
