/* memory.h: memory limit of a plan (private). */
#ifndef PSR_BASE_MEMORY_H
#define PSR_BASE_MEMORY_H

#include "base/tool.h"
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Returns the requested bytes, or a quarter of the machine's memory if 0. */
static inline int64_t psr_count_memory(int64_t asked)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (asked)
        return asked;
    return pages > 0 && page > 0 ? (int64_t)pages * page / 4 : INT64_C(1) << 30;
}

/* --- arrays of one owner, freed at once ------------------------------------------------------- */

/* Start with {0}.  What is asked for may be checked once, at the end: after a failure all that follows is NULL. */
struct psr_own {
    struct psr_own_array *last;
    double bytes; /* asked for */
    bool failed;
};

/* Returns n zeroed elements of size bytes, or NULL. */
void *psr_own(struct psr_own *own, size_t n, size_t size);

/* PSR_ENOMEM if something asked for is not there. */
PSR_MUST_CHECK psr_status psr_own_check(const struct psr_own *own, const char *what, psr_err *err);

/* Frees all and leaves {0}. */
void psr_own_free(struct psr_own *own);

#endif
