/* ffa_cuda.h: parts of the fast folding search on a CUDA device (private). */
#ifndef PSR_SEARCH_FFA_CUDA_FFA_CUDA_H
#define PSR_SEARCH_FFA_CUDA_FFA_CUDA_H

#include "base/device/cuda_call.h"
#include "search/ffa/ffa_backend.h"

#include <ffa/ffa_kernels.h>

/* Folds of one step that are transformed together. */
struct psr_ffa_group {
    size_t fold0, nfold;
    uint32_t nbin;                            /* most of a fold, or more */
    struct ffa_k_sweep sweep[FFA_MAX_SWEEPS]; /* [nsweep] from the samples up */
    size_t nsweep;
    uint32_t nblock[FFA_MAX_SWEEPS], ntile[FFA_MAX_SWEEPS];
    size_t number0
        [FFA_MAX_SWEEPS]; /* of its nfold + 1 thread blocks in number, which as many tiles follow */
    size_t tile0[FFA_MAX_SWEEPS]; /* bytes before its tiles */
};

/* How a device does a search. */
struct psr_ffa_cuda_plan {
    struct psr_ffa_group *group;
    size_t ngroup;
    struct ffa_k_fold *fold; /* [folds of the search] */
    uint32_t *number; /* [nnumber] first thread blocks, and tiles, of folds, sweep by sweep */
    size_t nnumber;
    size_t tile_bytes; /* of all tiles */
    float *gain;       /* [folds of the search][2][FFA_MAX_WIDTHS] */
    struct ffa_k_step *step;
    size_t nq, npart;
    size_t sums; /* bins of the scratch memory of a group */
};

/* Status: PSR_ENOMEM; PSR_EUNSUPPORTED for steps of floats */
PSR_MUST_CHECK psr_status psr_ffa_cuda_plan_make(struct psr_ffa_cuda_plan *p,
                                                 const struct psr_ffa_search *s, psr_err *err);
void psr_ffa_cuda_plan_free(struct psr_ffa_cuda_plan *p);

#endif
