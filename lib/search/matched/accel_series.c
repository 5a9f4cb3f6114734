/* Transforms the series of a batch on the host. */
#include "accel_series.h"
#include "formats/series/series_internal.h"

#include <stdlib.h>
#include <string.h>

static psr_status transform_one(const struct psr_accel_search *s, const psr_rfft *rfft,
                                struct psr_accelsearch_input *in, psr_err *err)
{
    const size_t bytes = 2 * s->nbin * sizeof(float);
    float *room = malloc(bytes + 2 * sizeof *room);
    if (!room)
        return psr_fail_nomem(err, "a transform", (double)bytes);
    psr_rfft_execute(rfft, in->x, room);
    memcpy(in->spectrum, room, bytes);
    free(room);
    in->x = in->spectrum;
    in->photons = (double)in->x[0];
    return s->redden.start ? psr_spectrum_deredden(in->spectrum, (int64_t)s->nbin, &s->redden, err)
                           : PSR_OK;
}

psr_status psr_accel_series_transform(const struct psr_accel_search *s, const psr_rfft *rfft,
                                      size_t n, struct psr_accelsearch_input *in, psr_err *err)
{
    psr_status all = PSR_OK;
#pragma omp parallel for schedule(dynamic) num_threads(s->nthread)
    for (size_t k = 0; k < n; k++) {
        psr_err why;
        psr_status st = transform_one(s, rfft, &in[k], &why);
#pragma omp critical(psr_accel_series)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
    }
    return all;
}
