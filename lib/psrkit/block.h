/* block.h: what travels through a pipeline: spectra until they are dedispersed, series from then on.
 *
 * One struct is passed from stage to stage; each changes what it deals in and leaves the rest.
 * Whatever a pointer leads to belongs to the stage that set it, and is valid until that stage takes
 * its next block. */
#ifndef PSRKIT_BLOCK_H
#define PSRKIT_BLOCK_H

#include <psrkit/clean.h>
#include <psrkit/device.h>
#include <psrkit/resample.h>

struct psr_block {
    int64_t first; /* number of the first sample here: of a spectrum, or of the line's series */
    size_t n;      /* samples; of spectra, 0 at the end of the input */

    /* Where they lie: spectra, series on the host, or series on devices. */
    void *spectra; /* [n][nchan] packed */
    float *series; /* [nseries][stride] */
    size_t stride;
    const struct psr_device_series
        *device_series; /* [ndevice_series] all series, each of device_samples */
    size_t ndevice_series, device_samples;
    const struct psr_resample_bin
        *bin; /* [nbin] what has still to be done to series on devices, and
                                           makes n of their device_samples; NULL: nothing ever */
    size_t nbin;
    const size_t *own; /* [nseries] of the n samples those that the input completes, the first ones:
                          after its end the series end one by one; NULL: all n */

    /* Of all input so far, in spectra, ascending: stretches that hold padding and no data, and those
     * of which every kept channel is masked. */
    const struct psr_span *gap, *masked;
    size_t ngap, nmasked;

    /* What samples of these spectra stand for that cleaning has replaced. */
    const struct psr_step *step;
    size_t nstep;
};

#endif
