/* pulscan_backend.h: interface between pulscan.c and a backend (private).
 *
 * pulscan.c validates the description and computes normalisation blocks, widths, starts and the
 * powers of hits, so that all backends agree on these; it also computes the sigma of hits. */
#ifndef PSR_SEARCH_PULSCAN_BACKEND_H
#define PSR_SEARCH_PULSCAN_BACKEND_H

#include "base/base.h"
#include <psrkit/experimental/pulscan.h>

/* Bins [begin, end) are normalised by the medians of bins [first, first + count), which hold them.
 * Blocks are contiguous; all have the same count, except the last of a compatible
 * search. */
struct psr_norm_block {
    int64_t begin, end, first, count;
};

/* Starts lo .. hi - 1 are searched (none where hi <= lo); a box is a hit if power > floor. */
struct psr_boxes {
    int64_t lo, hi;
    float floor;
};

/* A test that saves many sums: powers are never negative, so if no box of this many bins is above the
 * floor, no narrower one is.  The floor is the lowest of those of the widths that the test covers, from
 * the width after that of the previous test on. */
struct psr_prefilter {
    int width; /* bins */
    float floor;
};

/* A validated description.
 *   s_H[i] = (..((p[i] + d_2) + d_3) ..) + d_H,
 *   d_h    = (..(p[h i] + p[h i + 1]) ..) + p[h i + h - 1],
 * with no products fused into the sums. */
struct psr_pulscan_search {
    struct psr_own own;
    size_t nbin;
    bool series;
    struct psr_redden redden; /* start 0: no de-reddening */
    size_t batch;             /* >= 1 */
    bool compat; /* boxes may extend beyond the end, over zeros; data are unchanged if d = 0 */

    size_t nnorm_block, normblock; /* normblock: the most bins any stretch has */
    struct psr_norm_block *norm_block;
    size_t nzap;
    struct psr_span *zap; /* [nzap] ascending, apart, within the spectrum: p = 2 */

    size_t nz, nharm;
    int *z;                          /* [nz] ascending */
    int *harm;                       /* [nharm] ascending */
    struct psr_boxes *boxes;         /* [nharm][nz] */
    size_t *nprefilter;              /* [nharm] */
    struct psr_prefilter *prefilter; /* [nharm][nz], nprefilter[h] of them used, by rising width */
    bool by_block;                   /* one hit a block, z and H, not every peak */
    int64_t block;                   /* start i >= 1 belongs to block (i - 1) / block */
    int64_t rlo, rhi;                /* requested range of bins; rhi exists */
    bool logz;                       /* z is 0, 1, 2, 4 .. */

    int nthread;       /* >= 1 */
    int64_t mem_bytes; /* > 0 */
    int device;
    struct psr_stop stop; /* polled on the CPU */
};

/* A peak; by_block: the box of most power, the lowest of equals, of one block, z and H, or of a part
 * of the block, of which pulscan.c keeps the best. */
struct psr_pulscan_peak {
    int64_t first;
    float power;
    uint32_t spec;
    uint32_t harm, z; /* indices into the search's lists; no gap follows, as peaks are copied */
};

struct psr_pulscan_found {
    struct psr_pulscan_peak *peak; /* [n] any order; room for cap */
    size_t n, cap;
    size_t most;  /* peaks that memory allows */
    int64_t *bad; /* [batch] lowest bin or sample that is not finite; -1: none */
};

/* Makes room for n more peaks.
 * Status: PSR_ENOMEM, with what to change, also beyond the largest number allowed */
PSR_MUST_CHECK psr_status psr_pulscan_room(struct psr_pulscan_found *found, size_t n, psr_err *err);

/* Distance in bins within which a box of more power suppresses a peak: both share bins, or one is a
 * side lobe of the other. */
static inline int64_t psr_pulscan_reach(int z)
{
    return z > PSR_PULSCAN_NEAR ? z : PSR_PULSCAN_NEAR;
}

/* Normalised powers are limited to this, so that their sums stay finite. */
#define PSR_PULSCAN_MOST 1e30f

/* Normalisation of a block: (x - median) * scale, scale 0 where d = 0; re, then im. */
struct psr_norm_level {
    float median[2], scale[2];
};

/* On the CPU with s->nthread threads, for "cpu" and "hybrid": the levels of a spectrum [nbin][2],
 * its powers with bin 0 and zapped bins set, and the lowest bin that is not finite (-1).
 * Returned: level [nnorm_block]; power [nbin], untouched where *bad >= 0 */
PSR_MUST_CHECK psr_status psr_pulscan_powers(const struct psr_pulscan_search *s, const float *in,
                                             struct psr_norm_level *level, float *power,
                                             int64_t *bad, psr_err *err);

struct psr_pulscan_ops {
    const char *name;
    bool by_name_only; /* "auto" does not take it */

    /* Keeps s, which outlives the state.  PSR_EDEVICE if the device is absent, PSR_EUNSUPPORTED for
     * searches that the backend does not support: "auto" then uses the next one. */
    psr_status (*create)(void **state, const struct psr_pulscan_search *s, psr_err *err);

    /* Memory for spectrum slot < batch that execute reads fastest; NULL: any memory. */
    float *(*input)(void *state, size_t slot);

    /* Searches in [nspec]; found comes with n = 0 and bad [nspec] = -1, and gets every hit. */
    psr_status (*execute)(void *state, size_t nspec, const float *const *in,
                          struct psr_pulscan_found *found, psr_err *err);

    /* As psr_pulscan_amplitudes, of bins that exist. */
    psr_status (*amplitudes)(void *state, size_t slot, int64_t first, size_t n, float *x,
                             psr_err *err);
    int64_t (*bytes)(const void *state);
    void (*destroy)(void *state);
};

extern const struct psr_pulscan_ops psr_pulscan_cpu, psr_pulscan_cuda, psr_pulscan_hybrid;

#endif
