/* accel_search.h: a validated search, as its parts see it (private). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_ACCEL_SEARCH_H
#define PSR_SEARCH_MATCHED_RESPONSE_ACCEL_SEARCH_H

#include "base/base.h"

#include <psrkit/experimental/accelsearch.h>
#include <psrkit/series.h>
#include <psrkit/signif.h>

struct psr_accel_search {
    size_t nbin;
    int jmax, lmax;      /* z = 2 j, w = 20 l */
    int numharm, nstage; /* stage s sums 2^s harmonics */
    int64_t ilo, ihi;    /* half bins of the highest harmonic, both included */
    enum psr_accelsearch_norm norm;
    bool series;              /* they come as series, */
    struct psr_redden redden; /* and red noise is taken out of their spectra */
    struct psr_span *zap;     /* [nzap] ascending, apart, within the spectrum; owned */
    size_t nzap;
    struct psr_template_plans *plans; /* of candidates' responses; owned */
    double trials[PSR_ACCELSEARCH_NSTAGE];
    enum psr_trials count;             /* how trials make a chance of many */
    float cut[PSR_ACCELSEARCH_NSTAGE]; /* sums above it are candidates */
    bool keep_harmonics, free_harmonics;
    size_t max;        /* candidates; 0: no bound */
    double rlo, rhi;   /* bins; of a compatible search, whole ones */
    int nthread;       /* >= 1 */
    int64_t mem_bytes; /* > 0 */
    int device;
    struct psr_stop stop;
};

/* A place whose sum is above the cut: half bin i, drift j and jerk l of the highest harmonic. */
struct psr_accel_hit {
    int64_t i;
    int j, l, stage;
    float power;
};

/* Hits as they come; room grows. */
struct psr_accel_hits {
    struct psr_accel_hit *hit; /* [n] malloc'd */
    size_t n, room;
};

/* Harmonic h of H, at the half bin nearest to i h/H, the upper of two; i >= 0. */
static inline int64_t psr_harmonic_bin(int64_t i, int h, int H)
{
    return (2 * i * h + H) / (2 * H);
}

/* The step nearest to j h/H, the farther from 0 of two. */
static inline int psr_harmonic_step(int j, int h, int H)
{
    return j < 0 ? -((-2 * j * h + H) / (2 * H)) : (2 * j * h + H) / (2 * H);
}

#endif
