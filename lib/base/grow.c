/* Grows arrays one element at a time, in amortised constant time. */
#include "base/tool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

psr_status psr_grow(void *array, size_t *room, size_t n, size_t size, const char *what,
                    psr_err *err)
{
    const size_t more = *room ? 2 * *room : 16;
    void *old, *grown;
    if (n < *room)
        return PSR_OK;
    memcpy(&old, array, sizeof old);
    grown = more <= SIZE_MAX / size ? realloc(old, more * size) : NULL;
    if (!grown)
        return psr_fail_nomem(err, what, (double)more * (double)size);
    memcpy(array, &grown, sizeof grown);
    *room = more;
    return PSR_OK;
}
