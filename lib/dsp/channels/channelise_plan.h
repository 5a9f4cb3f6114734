/* channelise_plan.h: the plan of a channeliser, for the files that share it (private). */
#ifndef PSR_DSP_CHANNELS_CHANNELISE_PLAN_H
#define PSR_DSP_CHANNELS_CHANNELISE_PLAN_H

#include "channelise.h"

#include <fftw3.h>

struct psr_channelise {
    struct psr_channelise_desc d; /* the resolved one */
    size_t n;                     /* output channels of an input channel */
    size_t nbin;                  /* of an input channel */
    size_t ndim;                  /* floats of an input sample */
    struct psr_channelise_shape shape;
    float *window;   /* [ntap][nbin samples]; NULL: one tap */
    float *response; /* [nchan][nfft] complex, channels as in the input; NULL: dm 0 */
    fftwf_plan forward, back;
    int nthread;
    struct psr_channelise_scratch *scratch; /* [nthread] */
    float *held; /* [nchan_in npol][nheld] samples that are still needed */
    size_t nheld;
};

/* One thread's arrays, aligned alike for FFTW. */
struct psr_channelise_scratch {
    float *x;            /* a segment */
    fftwf_complex *bins; /* its spectrum */
    fftwf_complex *part; /* the bins of one channel */
};

/* --- the response --- */

/* Centre of output channel i, MHz, channels in the order of the input. */
double psr_channelise_centre_mhz(const psr_channelise *p, size_t i);

/* Chooses nfft unless it is given; sets shape.
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_channelise_measure(psr_channelise *p, psr_err *err);

void psr_channelise_fill_response(const psr_channelise *p, float *response);
void psr_channelise_fill_window(const psr_channelise *p, float *window);

/* --- transforms (channelise_cpu.c) --- */

/* Status: PSR_ENOMEM.  What was made is freed by free_transforms. */
PSR_MUST_CHECK psr_status psr_channelise_make_transforms(psr_channelise *p, psr_err *err);
void psr_channelise_free_transforms(psr_channelise *p);

/* Samples of all input channels and polarisations, and the segments that begin there. */
struct psr_channelise_samples {
    const float *x; /* [nchan_in npol][stride samples] */
    size_t stride, nsegment;
    const bool *wanted; /* [nsegment keep] spectra; NULL: all */
    float *out;         /* [nsegment keep][npol][nchan] */
};

/* Transforms the segments of which a spectrum is wanted. */
void psr_channelise_transform(psr_channelise *p, const struct psr_channelise_samples *s);

#endif
