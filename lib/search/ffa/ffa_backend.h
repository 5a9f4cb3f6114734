/* ffa_backend.h: interface between ffa.c and a backend (private).
 *
 * ffa.c validates the description and computes the ladder, widths and threshold, so that all backends
 * agree on these; it also groups what backends find. */
#ifndef PSR_SEARCH_FFA_BACKEND_H
#define PSR_SEARCH_FFA_BACKEND_H

#include "base/base.h"
#include "ffa_internal.h"

/* A trial above the threshold; width is an index into the widths of its range. */
struct psr_ffa_hit {
    uint32_t series, fold;
    size_t trial;
    float snr;
    int width;
};

struct psr_ffa_found {
    struct psr_ffa_hit *hit; /* [n] any order; room for cap */
    size_t n, cap;
    int64_t *bad; /* [batch] lowest sample that is not finite; -1: none */
    double *rms;  /* [batch] */
};

struct psr_ffa_ops {
    const char *name;

    /* Keeps s, which outlives the state.  PSR_EDEVICE if the device is absent, PSR_EUNSUPPORTED for
     * searches that the backend does not support: "auto" then uses the next one. */
    psr_status (*create)(void **state, const struct psr_ffa_search *s, psr_err *err);

    /* Searches in [nseries]; found comes with n = 0, bad [nseries] = -1 and rms [nseries] = 0, and
     * gets every trial with S/N > s->sigma. */
    psr_status (*execute)(void *state, size_t nseries, const float *const *in,
                          struct psr_ffa_found *found, psr_err *err);

    /* S/N of all trials of one series, and indices of widths: [ntrial] each. */
    psr_status (*periodogram)(void *state, const float *in, float *snr, int *width, psr_err *err);

    /* s->gap has changed, and is not empty, nor was it; NULL: nothing to do. */
    psr_status (*replace_gaps)(void *state, psr_err *err);
    int64_t (*bytes)(const void *state);
    void (*destroy)(void *state);
};

/* What the last execute found; peaks of it, grouped, for nseries results. */
struct psr_ffa_found *psr_ffa_hits(psr_ffa *p);
PSR_MUST_CHECK psr_status psr_ffa_make_peaks(psr_ffa *p, size_t nseries,
                                             struct psr_ffa_result *result, psr_err *err);

extern const struct psr_ffa_ops psr_ffa_cpu, psr_ffa_cuda;

#endif
