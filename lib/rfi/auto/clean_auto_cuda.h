/* clean_auto_cuda.h: what automatic cleaning keeps on a CUDA device (private). */
#ifndef PSR_RFI_AUTO_CLEAN_AUTO_CUDA_H
#define PSR_RFI_AUTO_CLEAN_AUTO_CUDA_H

#include "clean_auto_plan.h"

#include <clean_kernels.h>

enum { RANGES = PSR_AUTO_BLOCKS + 1, CELLS = PSR_AUTO_GROUPS * PSR_AUTO_GROUPS };

struct auto_cuda {
    int device;
    cudaStream_t stream;
    struct clean_k_window w; /* owns its arrays but d_in and d_out */
    struct clean_k_range *d_range;
    float *d_gain, *d_offset, *d_level;
    unsigned char *d_weight;
    unsigned char *d_held, *d_cleaned; /* [in_room] spectra that came, [out_room] and became */
    size_t in_room, out_room;

    /* Page-locked. */
    struct clean_k_range *range; /* [RANGES] */
    float *gain, *offset;        /* [RANGES][nchan] */
    float *level;                /* [nchan] */
    unsigned char *weight;       /* [nchan] */
    uint64_t *s1, *s2;           /* [PSR_AUTO_BLOCKS][nchan] */
    unsigned char *spark;        /* [window] */
    unsigned char *pulse;        /* [window] */
    unsigned char *silent;       /* [window] sparks and bursts */
    float *product;              /* [PSR_AUTO_WIDTHS][ngroup][ngroup] */
    double *centre;              /* [PSR_AUTO_GROUPS] */
    uint32_t *ntile;             /* [PSR_AUTO_WIDTHS] */
};

#endif
