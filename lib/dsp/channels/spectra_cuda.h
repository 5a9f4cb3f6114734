/* spectra_cuda.h: what the plan of spectra keeps on a CUDA device (private). */
#ifndef PSR_DSP_CHANNELS_SPECTRA_CUDA_H
#define PSR_DSP_CHANNELS_SPECTRA_CUDA_H

#include "spectra_plan.h"

#include "base/device/cufft.h"
#include <channelise_kernels.h>

struct spectra_cuda_slot {
    uint8_t *d_bytes;             /* [block_bytes] */
    unsigned char *d_good, *good; /* [spectra of a block]; good is page-locked */
    float *d_row, *row;           /* [most_rows][nvalue]; row is page-locked */
    cudaEvent_t copied, done, fetched;
};

struct spectra_cuda {
    int device;
    cudaStream_t copy, compute, back; /* to the device, on it, and from it */
    struct channelise_k_coding coding;
    size_t batch;  /* segments of a plane that are transformed at a time */
    size_t njob;   /* of all planes */
    bool direct;   /* transforms read segments where they are */
    size_t stride; /* samples from a plane to the next */
    size_t apart;  /* bins from a job to the next */
    size_t nsum;   /* floats of a transform */
    float *d_x;    /* [nplane][stride] samples */
    float *d_held; /* [nplane][segment] those kept from block to block */
    float *d_y;    /* [njob][nsum]; NULL: direct */
    float *d_z;    /* [njob][apart] complex */
    float *d_part; /* [njob][nbin] complex; NULL: nfft 1 */
    float *d_window, *d_response;
    struct psr_cufft_batch forward, backward;
    struct spectra_cuda_slot slot[PSR_SPECTRA_SLOTS];
    const float *d_last; /* the row that is incomplete */
};

/* Make s->state, and free it (spectra_cuda_memory.c). */
PSR_MUST_CHECK psr_status psr_spectra_cuda_create(psr_spectra *s, psr_err *err);
void psr_spectra_cuda_destroy(psr_spectra *s);

#endif
