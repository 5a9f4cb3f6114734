/* block.h: the block that pipeline stages exchange: spectra before dedispersion, series after it.
 *
 * One struct is passed from stage to stage; each stage updates the fields it changes and keeps the
 * rest.  The memory behind a pointer belongs to the stage that set it and is valid until that stage
 * takes its next block. */
#ifndef PSRKIT_BLOCK_H
#define PSRKIT_BLOCK_H

#include <psrkit/clean.h>
#include <psrkit/device.h>

struct psr_block {
    int64_t first; /* index of the first sample: spectrum, or sample of the line's series */
    size_t n;      /* number of samples; 0 spectra mark the end of the input */
    int64_t
        spectrum; /* of series: the input's spectrum with which the first sample begins at the highest
                         frequency, to within the bins added and removed in the block */

    /* Location of the samples: spectra, series on the host, or series on devices. */
    void *spectra; /* [n][nchan] packed */
    float *series; /* [nseries][stride] */
    size_t stride;
    float *
        equalised; /* [nseries][stride] on the host: the series with the scatter that they have with all
                         channels, where automatic cleaning masked some; not a number where it masked too
                         much (mask_correction.h); NULL: as series, wherever they are */
    const struct psr_device_series
        *device_series; /* [ndevice_series] all series, each of device_samples */
    size_t ndevice_series, device_samples;
    const struct psr_resample_bin
        *bin; /* [nbin] bins still to be added to or removed from series on devices, which turns
                 device_samples into n; NULL: never */
    size_t nbin;
    const size_t *own; /* [nseries] how many of the n samples the input completes (the first
                          ones): after the input has ended, series end one by one; NULL: all n */

    /* Ranges of all input so far, in spectra, ascending: gap is padding instead of data; in masked
     * every kept channel is masked. */
    const struct psr_span *gap, *masked;
    size_t ngap, nmasked;

    /* Values that the replaced samples of these spectra stand for. */
    const struct psr_step *step;
    size_t nstep;

    /* Shares of channels' noise that are missing, as psr_clean_auto_missing. */
    const struct psr_step *missing;
    size_t nmissing;
};

#endif
