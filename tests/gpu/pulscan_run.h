/* pulscan_run.h: a search of a batch on a backend, for tests. */
#ifndef PSR_TESTS_GPU_PULSCAN_RUN_H
#define PSR_TESTS_GPU_PULSCAN_RUN_H

#include "search/pulscan/pulscan_internal.h"
#include "tests/support/tap.h"

#include <psrkit/experimental/pulscan.h>
#include <string.h>

enum { BATCH = 5 };

/* Plans and searches x [nspec][2 nbin], twice, so that nothing is left of the first; in_place: from
 * the plan's own memory. */
static void search(struct psr_pulscan_desc *d, const char *backend, size_t nspec, float **x,
                   bool in_place, psr_pulscan **plan, struct psr_pulscan_result *result)
{
    const float *in[BATCH];
    psr_err err;
    d->backend = backend;
    if (psr_pulscan_create(plan, d, &err)) {
        ok(false, "%s: %s", backend, err.msg);
        exit(done_testing());
    }
    for (int n = 0; n < 2; n++) {
        for (size_t s = 0; s < nspec; s++) {
            float *own = in_place ? psr_pulscan_input(*plan, s) : NULL;
            if (own)
                memcpy(own, x[s], 2 * d->nbin * sizeof *own);
            in[s] = own ? own : x[s];
        }
        if (psr_pulscan_execute(*plan, nspec, in, result, &err)) {
            ok(false, "%s: %s", backend, err.msg);
            exit(done_testing());
        }
    }
}

#endif
