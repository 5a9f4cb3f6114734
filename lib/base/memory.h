/* memory.h: memory limit of a plan (private). */
#ifndef PSR_BASE_MEMORY_H
#define PSR_BASE_MEMORY_H

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

#endif
