/* accel_plan.h: derives the search from its description (private). */
#ifndef PSR_SEARCH_MATCHED_ACCEL_PLAN_H
#define PSR_SEARCH_MATCHED_ACCEL_PLAN_H

#include "search/matched/response/accel_internal.h"
#include "search/matched/response/response.h"

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_accelsearch_check(const struct psr_accelsearch_desc *d, psr_err *err);

/* Fills s from a checked description; psr_accel_search_forget frees what s holds, also after an
 * error. */
PSR_MUST_CHECK psr_status psr_accel_search_resolve(struct psr_accel_search *s,
                                                   const struct psr_accelsearch_desc *d,
                                                   psr_err *err);
void psr_accel_search_forget(struct psr_accel_search *s);

/* Given:    in [n], finite series
 * Returned: in: x is spectrum, photons what bin 0 was before red noise was taken out
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_series_transform(const struct psr_accel_search *s,
                                                     const psr_rfft *rfft, size_t n,
                                                     struct psr_accelsearch_input *in,
                                                     psr_err *err);

/* Takes the responses of bright lines out of the places around them.
 *
 * A line of amplitude a, frequency R, drift Z and jerk W puts a K(k - R; Z, W) into bin k (response.h),
 * and with that power into all of the plane within a bin for two of drift: a line of power 4000 is
 * above the threshold of single harmonics up to zmax / 2 bins away.  Its r, z and w are those of the
 * highest power, a is that of least squares; what a place then has without the line is computed from
 * bins less the line's. */

struct psr_accel_lines;

/* Given:    s   must outlive it
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_lines_create(struct psr_accel_lines **out,
                                                 const struct psr_accel_search *s, psr_err *err);

/* Finds the lines among the hits of one harmonic, and takes their responses out of the powers of all
 * hits that have a harmonic near them, but not at them.  A hit is dropped if its power was mostly
 * a line's, or is no longer above the cut.  What is no line, as after the response to one frequency,
 * drift and jerk is taken out more than a twentieth of its power is left, is not touched.
 * Given:    norm   has measured the spectrum
 *           bank   templates of the search, with taps
 *           hits   in any order
 * Returned: hits, in an order that only depends on which there are
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_lines_subtract(struct psr_accel_lines *lines,
                                                   const struct psr_accel_normalise *norm,
                                                   const struct psr_template_bank *bank,
                                                   struct psr_accel_hits *hits, psr_err *err);

/* Subtracts the lines found last, except those at r, from normalised bins first .. first + n - 1. */
void psr_accel_lines_clean(const struct psr_accel_lines *lines, double r, int64_t first, size_t n,
                           struct psr_split x);

/* Whether one of them is at r. */
bool psr_accel_lines_have(const struct psr_accel_lines *lines, double r);

/* NULL is fine. */
void psr_accel_lines_destroy(struct psr_accel_lines *lines);

/* Interface between accelsearch.c and a backend.
 *
 * accelsearch.c checks the description and makes lists of hits; all backends find the same hits, to
 * the bit: whatever they use to find places, powers are those of response.h. */

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
