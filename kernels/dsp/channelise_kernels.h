/* channelise_kernels.h: coded voltages to detected spectra on a device; cuFFT transforms between the steps.
 *
 * dsp/channels/spectra.h defines the transforms, dsp/detect.h the products.  A batch has the segments of
 * all planes, an input channel and polarisation each: job = plane nsegment + segment. */
#ifndef PSR_KERNELS_CHANNELISE_KERNELS_H
#define PSR_KERNELS_CHANNELISE_KERNELS_H

#include <cuda_runtime_api.h>
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
#endif
