/* A list of peaks that grows. */
#include "base/tool.h"
#include "search/pulscan/pulscan_internal.h"

psr_status psr_pulscan_room(struct psr_pulscan_found *found, size_t n, psr_err *err)
{
    psr_status st = PSR_OK;
    if (n > found->most || found->n > found->most - n)
        return psr_fail(err, PSR_ENOMEM,
                        "search: %zu boxes above the threshold of sigma are more than the limit of "
                        "memory has room for, which are %zu: raise either",
                        found->n + n, found->most);
    while (!st && found->cap - found->n < n)
        st = psr_grow(&found->peak, &found->cap, found->cap, sizeof *found->peak, "peaks", err);
    return st;
}
