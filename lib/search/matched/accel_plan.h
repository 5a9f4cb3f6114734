/* accel_plan.h: from a description to the search that backends carry out (private). */
#ifndef PSR_SEARCH_MATCHED_ACCEL_PLAN_H
#define PSR_SEARCH_MATCHED_ACCEL_PLAN_H

#include "accel_normalise.h"

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_accelsearch_check(const struct psr_accelsearch_desc *d, psr_err *err);

/* Fills s from a checked description; psr_accel_search_forget frees what s holds, also after an
 * error. */
PSR_MUST_CHECK psr_status psr_accel_search_resolve(struct psr_accel_search *s,
                                                   const struct psr_accelsearch_desc *d,
                                                   psr_err *err);
void psr_accel_search_forget(struct psr_accel_search *s);

struct psr_accel_ops {
    const char *name;

    /* Keeps s and level, which outlive the state.  PSR_EDEVICE where the device is absent,
     * PSR_EUNSUPPORTED for searches the backend does not do: "auto" then takes the next. */
    psr_status (*create)(void **state, const struct psr_accel_search *s,
                         const struct psr_accel_normalise *level, psr_err *err);

    /* Adds the hits of the spectrum that level has measured, in any order. */
    psr_status (*search)(void *state, struct psr_accel_hits *hits, psr_err *err);
    double (*bytes)(const void *state);
    void (*destroy)(void *state);
};

extern const struct psr_accel_ops psr_accel_cpu;

#endif
