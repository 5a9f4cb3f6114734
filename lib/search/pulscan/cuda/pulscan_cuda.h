/* pulscan_cuda.h: searches spectra on a CUDA device (private to its files). */
#ifndef PSR_SEARCH_PULSCAN_CUDA_PULSCAN_CUDA_H
#define PSR_SEARCH_PULSCAN_CUDA_PULSCAN_CUDA_H

#include "base/device/cuda_call.h"
#include "search/pulscan/pulscan_internal.h"

#include <pulscan/pulscan_kernels.h>

/* --- what the kernels are told ---------------------------------------------------------------- */

struct psr_boxes_plan {
    struct pulscan_k_sum *sum;     /* [nharm] */
    struct pulscan_k_test *test;   /* [ntest + 1] */
    struct pulscan_k_width *width; /* [nharm][nwidth] */
    size_t ntest;
    int nwidth, halo, group_shift;
    int begin, end; /* starts of any sum and width */
    uint32_t npiece;
};

/* Computes the tests of a search.
 * Status: PSR_EUNSUPPORTED for boxes, or numbers of bins, beyond the limits of the kernels */
PSR_MUST_CHECK psr_status psr_boxes_plan_make(struct psr_boxes_plan *p,
                                              const struct psr_pulscan_search *s, psr_err *err);
void psr_boxes_plan_free(struct psr_boxes_plan *p);

/* --- a search on a device --------------------------------------------------------------------- */

/* Spectra searched together.  There are two groups, so that host and device work at the same time.
 */
struct psr_cuda_group {
    size_t first, n; /* spectra; n 0: nothing under way */
    float *d_power;
    uint32_t *d_groups, *d_list;
    struct pulscan_k_count *d_count, *h_count;
    struct psr_pulscan_peak *d_peak;
    size_t cap;
    cudaEvent_t copied, done;
};

struct psr_pulscan_state {
    const struct psr_pulscan_search *s;
    bool hybrid;  /* powers are made by the host */
    bool started; /* there is a device to free things on */
    struct psr_boxes_plan plan;
    struct psr_cufft fft;

    size_t pitch;       /* bins from spectrum to spectrum */
    size_t power_pitch; /* floats */
    size_t most;        /* spectra of a group */
    float *h_in;        /* [batch][pitch][2], pinned; hybrid: powers [batch][power_pitch] */
    float *d_x;         /* [batch][pitch][2]; not hybrid */
    struct psr_norm_block *d_norm_block;
    struct psr_span *d_zap;
    struct psr_span *d_redden; /* [nredden] blocks that red noise is measured in */
    double *d_redness;         /* [most][nredden] */
    size_t nredden;
    struct psr_norm_level *d_level; /* [batch][nnorm_block] */
    long long *d_bad, *h_bad;       /* [batch]; hybrid: h_bad goes to d_bad, not back */
    struct pulscan_k_sum *d_sum;
    struct pulscan_k_test *d_test;
    struct pulscan_k_width *d_width;
    int *d_z; /* [nz] */
    struct psr_cuda_group group[2];
    cudaStream_t in, work;
    int64_t bytes;

    /* hybrid */
    struct psr_pulscan_series *series; /* NULL: spectra come as such */
    struct psr_norm_level *level;      /* [batch][nnorm_block] */
    const float **given;               /* [batch] spectra of the last execute */
};

psr_status psr_pulscan_cuda_fail(const struct psr_pulscan_state *c, cudaError_t e, const char *what,
                                 psr_err *err);

/* Allocates memory and creates streams for a search. */
PSR_MUST_CHECK psr_status psr_pulscan_cuda_start(struct psr_pulscan_state *c, psr_err *err);
void psr_pulscan_cuda_free(struct psr_pulscan_state *c);

/* Allocates room for twice as many peaks as a group found, and more. */
PSR_MUST_CHECK cudaError_t psr_pulscan_cuda_grow(struct psr_pulscan_state *c,
                                                 struct psr_cuda_group *g, size_t n);

/* Kernel parameters for a group. */
struct pulscan_k_norm psr_pulscan_cuda_norm(const struct psr_pulscan_state *c,
                                            const struct psr_cuda_group *g);
struct pulscan_k_search psr_pulscan_cuda_search(const struct psr_pulscan_state *c,
                                                const struct psr_cuda_group *g);

#endif
