/* fold_kernels.h: searches around folds on the device. */
#ifndef PSR_KERNELS_FOLD_KERNELS_H
#define PSR_KERNELS_FOLD_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FOLD_K_PARTS = 64,   /* the most of a fold that is searched */
    FOLD_K_BINS = 128,   /* likewise */
    FOLD_K_DMS = 32,     /* DMs of a thread block */
    FOLD_K_TRIALS = 384, /* trials of p-dot and period of a thread block */
};

/* Of a DM: chi^2 = (sqrt(power) unit + error)^2 + common at most, less the error at least; of the
 * power of a trial, in units of the variance of a bin. */
struct fold_k_dm {
    float unit, error, common;
    uint32_t flat; /* all trials are equal */
};

/* A trial that may be the best. */
struct fold_k_hit {
    uint32_t dm, trial;
    float most; /* that chi^2 may be */
};

struct fold_k_best {
    uint32_t dm, trial;
    double redchi;
};

struct fold_k_counts {
    uint32_t nhit, nbest;
    int least; /* bits of a float: what chi^2 of the best trial is at least */
};

struct fold_k_search {
    size_t npart, nsub, nbin, ndm, nperiod;
    size_t first_period, nperiods, npdots; /* trials: npdots rows of nperiods */
    int pstep;
    double prof_avg, prof_var;
    const double *d_profile;     /* [npart][nsub][nbin] */
    const uint32_t *d_dm_offset; /* [ndm][nsub] bins by which sub-bands are advanced */
    const double *d_delay;       /* [npdots][npart] of parts */
    double *d_part;              /* [ndm][npart][nbin] */
    void *d_factor;              /* [fold_k_factor_bytes] */
    struct fold_k_dm *d_dm;      /* [ndm, up to whole FOLD_K_DMS] */
    uint8_t *d_trial;            /* [npdots nperiods, up to whole FOLD_K_TRIALS][FOLD_K_PARTS] */
    struct fold_k_hit *d_hit;    /* [nhit] room; more are counted, not kept */
    struct fold_k_best *d_best;  /* [nhit] likewise */
    size_t nhit;
    struct fold_k_counts *d_counts;
};

size_t fold_k_factor_bytes(const struct fold_k_search *search);

/* Lists by how many bins every trial advances the parts: once for all folds of a shape. */
cudaError_t fold_k_list(const struct fold_k_search *search, cudaStream_t stream);

/* Sums the sub-bands of all DMs: once for a fold. */
cudaError_t fold_k_sum_bands(const struct fold_k_search *search, cudaStream_t stream);

/* Returned: d_counts, and of the trials that no bound excludes, among them the best, chi^2 / (nbin - 1)
 *           with the host's bits in d_best, in any order */
cudaError_t fold_k_find(const struct fold_k_search *search, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
