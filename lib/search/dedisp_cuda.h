/* dedisp_cuda.h: how trials and channels are dealt out to the kernels (private). */
#ifndef PSR_SEARCH_DEDISP_CUDA_H
#define PSR_SEARCH_DEDISP_CUDA_H

#include "dedisp_backend.h"

#include <dedisp.h>

/* Trials by rising DM, in blocks; each block with its groups of channels.  Blocks next to each
 * other that group alike share the groups' entries.  Stages are made for a batch of blocks at a
 * time. */
struct psr_cuda_plan {
    double *dm;                   /* [ndm] rising */
    uint32_t *row;                /* [ndm] place in the sweep */
    struct dedisp_k_block *block; /* [nblock] */
    struct dedisp_k_group *group; /* [ngroup] */
    size_t *batch;                /* [nbatch + 1] first block of each */
    size_t nblock, ngroup, nbatch;
    size_t nstage; /* of the largest batch */
    int nplane;    /* of bytes, to hold a sample; 0: floats */
    int spread;    /* of any block */
    bool multiply; /* by matrix products; else sample by sample, and there are no blocks */
};

/* Given:    max_spread  of dedisp_k_max_spread
 *           max_stages  of a batch
 * Status:   PSR_ENOMEM.  plan is to be freed after a failure too. */
PSR_MUST_CHECK psr_status psr_cuda_plan_make(struct psr_cuda_plan *plan, const struct psr_sweep *s,
                                             int max_spread, size_t max_stages, psr_err *err);
void psr_cuda_plan_free(struct psr_cuda_plan *plan);

#endif
