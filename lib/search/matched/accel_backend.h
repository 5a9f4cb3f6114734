/* accel_backend.h: interface between accelsearch.c and a backend (private).
 *
 * accelsearch.c checks the description and makes lists of hits; all backends find the same hits, to
 * the bit: whatever they use to find places, powers are those of response.h. */
#ifndef PSR_SEARCH_MATCHED_ACCEL_BACKEND_H
#define PSR_SEARCH_MATCHED_ACCEL_BACKEND_H

#include "search/matched/response/accel_normalise.h"
#include "search/matched/response/template_bank.h"

/* Spectra to search, or series where the backend transforms: norm[i] is free to measure spectrum i,
 * and is needed afterwards; hits[i] gets the best place of every cell and stage that has one above
 * the cut, of equals the one of lowest l, j and i, in any order.  found is called for every i, in
 * ascending order, once hits[i] has all; it may be NULL. */
struct psr_accel_batch {
    size_t n;
    const struct psr_accelsearch_input *in;  /* [n] */
    struct psr_accel_normalise *const *norm; /* [n] */
    struct psr_accel_hits *hits;             /* [n] empty */
    int64_t *bad; /* [n] or NULL; set by a backend that checks: the lowest float that is not finite,
                   * -1 where all are; such a spectrum has no hits */
    psr_status (*found)(void *ctx, size_t i, psr_err *err);
    void *ctx;
};

struct psr_accel_ops {
    const char *name;

    /* Keeps s, which outlives the state.  batch: spectra of a search, at most.  PSR_EDEVICE where the
     * device is absent, PSR_EUNSUPPORTED for searches the backend does not do: "auto" then takes the
     * next. */
    psr_status (*create)(void **state, const struct psr_accel_search *s, size_t batch,
                         psr_err *err);
    psr_status (*search)(void *state, const struct psr_accel_batch *b, psr_err *err);
    /* Whether it takes series, and finds what is not finite; NULL: never. */
    bool (*transforms)(const void *state);
    bool (*checks)(const void *state);
    /* The templates of the search, with taps. */
    const struct psr_template_bank *(*bank)(const void *state);
    double (*bytes)(const void *state);
    void (*destroy)(void *state);
};

extern const struct psr_accel_ops psr_accel_cpu, psr_accel_cuda;

#endif
