/* Copies the fields of a description that both library versions have. */
#include "copy_desc.h"

#include <string.h>

/* Sizes above this are no sizes. */
enum { SIZE_MAX_BYTES = 1 << 16 };

psr_status psr_copy_desc(void *to, size_t bytes, const void *from, const char *name, psr_err *err)
{
    const unsigned char *byte = from;
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size <= sizeof size || size > SIZE_MAX_BYTES)
        return psr_fail_field(err, PSR_EINVAL, "size",
                              "%s: size = %zu bytes, must be sizeof the description", name, size);
    for (size_t k = bytes; k < size; k++)
        if (byte[k])
            return psr_fail(err, PSR_EINVAL,
                            "%s: byte %zu of the description is not known to this library", name,
                            k);
    memset(to, 0, bytes);
    memcpy(to, from, size < bytes ? size : bytes);
    memcpy(to, &bytes, sizeof bytes);
    return PSR_OK;
}

void psr_give_desc(void *to, size_t size, const void *all, size_t bytes)
{
    memset(to, 0, size);
    memcpy(to, all, size < bytes ? size : bytes);
    memcpy(to, &size, sizeof size);
}
