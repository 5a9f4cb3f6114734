/* pulscan_kernels.h: searches harmonic sums of spectra on the device with boxcars.
 *
 * Spectra are converted to powers (pulscan_norm.cu).  Powers are never negative, so a box has at
 * most the power of a wider one around it: tests of some wide boxes (pulscan_prefilter.cu) find the
 * few pieces of the spectrum, each of PULSCAN_PIECE starts or the rest of a block, in which a box
 * of some group of widths may exceed its floor; all boxes are summed and compared only there
 * (pulscan_peaks.cu).  The peaks of a piece are then compared with the boxes in reach beyond the
 * piece (pulscan_peaks.cu).  The definitions are those of lib/psrkit/experimental/pulscan.h; i counts starts, H
 * is the number of harmonics. */
#ifndef PSR_KERNELS_PULSCAN_KERNELS_H
#define PSR_KERNELS_PULSCAN_KERNELS_H

#include "search/pulscan/pulscan_backend.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PULSCAN_PIECE = 256,
    PULSCAN_GROUPS = 32, /* of widths, at most */
    PULSCAN_STEPS = 2,   /* tests stand at every start, or at every 4th: 4^step */
};

/* No bin has this number, and no box this power. */
#define PULSCAN_NO_BIN  0x7f00000000000000LL
#define PULSCAN_OUTDONE -2.0f

/* Spectra to powers.  Device arrays. */
struct pulscan_k_norm {
    const float *d_x; /* [nspec][pitch][2], pitch in bins */
    size_t pitch, nbin, nspec;
    const struct psr_norm_block *d_norm_block; /* [nnorm_block] */
    size_t nnorm_block, normblock;
    bool keep_flat;                 /* data are not changed where the deviation is 0 */
    struct psr_norm_level *d_level; /* [nspec][nnorm_block] */
    float *d_power;                 /* [nspec][power_pitch], power_pitch a multiple of 4 */
    size_t power_pitch;
    const struct psr_span *d_zap; /* [nzap] */
    size_t nzap;
    long long *d_bad; /* [nspec] lowest bin that is not finite; above PULSCAN_NO_BIN before */
};

cudaError_t pulscan_k_normalise(const struct pulscan_k_norm *norm, cudaStream_t stream);

/* A test asks whether a box of m 4^step bins reaches floor.  Powers are scaled, cut, and rounded up
 * to integers for it. */
struct pulscan_k_test {
    uint32_t m, floor;
    uint32_t groups; /* of widths that may have a box above its floor if this one reaches its own */
    uint32_t unused;
};

/* One H of the search. */
struct pulscan_k_sum {
    int nharm;
    int begin, end; /* starts of any width */
    float cut, scale;
    uint32_t test[PULSCAN_STEPS + 1]; /* tests of step n: test[n] .. test[n + 1] - 1 */
};

/* One box width, z + 1 bins. */
struct pulscan_k_width {
    float floor; /* infinite for widths that are not searched */
    int begin, end;
    uint32_t index; /* of z in the search's list */
};

struct pulscan_k_count {
    uint32_t nlist, taken, npeak, held; /* taken, held: of the list, and of the peaks, so far */
};

/* Powers to peaks.  Device arrays but for sum. */
struct pulscan_k_search {
    const float *d_power; /* [nspec][pitch] */
    size_t pitch, nbin, nspec;
    uint32_t spec0; /* number of the first */
    const long long
        *d_bad; /* [nspec] as of pulscan_k_norm: those with a bad bin are not searched; or NULL */
    const struct pulscan_k_sum *d_sum;     /* [nsum], by rising nharm */
    const struct pulscan_k_test *d_test;   /* with one more behind the last */
    const struct pulscan_k_width *d_width; /* [nsum][nwidth] by z; nwidth a multiple of 8 */
    int nsum, nharm, nwidth;               /* nharm: the highest */
    int begin, end;                        /* starts of any sum */
    int halo;                              /* the most bins of a box of any test */
    int group_shift; /* width z belongs to group z >> group_shift, which is 3 or more */
    const int *d_z;  /* [nz] the search's list */
    bool by_block;   /* the best box of each piece and width, not every peak */
    int64_t block;
    uint32_t npiece;                 /* of one spectrum and sum */
    uint32_t *d_groups;              /* [nspec][nsum][npiece], zero but for pulscan_k_prefilter */
    uint32_t *d_list;                /* pieces with groups; room for as many as there are */
    struct pulscan_k_count *d_count; /* zero but for these functions */
    struct psr_pulscan_peak *d_peak; /* room for cap; npeak counts further ones, too */
    uint32_t cap;
};

/* The widest box of a test that fits beside a tile of the prefilter on the current device. */
int pulscan_k_max_halo(void);

/* Pieces of one block. */
uint32_t pulscan_k_pieces(int64_t block);

/* Makes the list of pieces. */
cudaError_t pulscan_k_prefilter(const struct pulscan_k_search *search, cudaStream_t stream);

/* Returns the peaks of the listed pieces; those of power PULSCAN_OUTDONE do not count. */
cudaError_t pulscan_k_peaks(const struct pulscan_k_search *search, cudaStream_t stream);

/* Marks the peaks that are exceeded by boxes beyond their piece: a part of pulscan_k_peaks. */
cudaError_t pulscan_k_outdo(const struct pulscan_k_search *search, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
