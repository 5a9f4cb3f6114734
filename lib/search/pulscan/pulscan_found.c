/* A list of peaks that grows. */
#include "pulscan_backend.h"

#include <stdlib.h>

psr_status psr_pulscan_room(struct psr_pulscan_found *found, size_t n, psr_err *err)
{
    if (found->cap - found->n >= n)
        return PSR_OK;
    size_t cap = found->n + n + found->cap / 2 + 64;
    struct psr_pulscan_peak *more = realloc(found->peak, cap * sizeof *more);
    if (!more)
        return psr_fail_nomem(err, "peaks", (double)cap * sizeof *more);
    found->peak = more;
    found->cap = cap;
    return PSR_OK;
}
