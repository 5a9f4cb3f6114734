/* Copies the fields of a description that both library versions have. */
#include "copy_desc.h"

#include <string.h>

psr_status psr_copy_desc(void *to, size_t bytes, size_t least, const void *from, const char *name,
                         psr_err *err)
{
    const unsigned char *byte = from;
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size <= least)
        return psr_fail(err, PSR_EINVAL, "%s: size = %zu bytes: psr_%s_defaults sets it", name,
                        size, name);
    for (size_t k = bytes; k < size; k++)
        if (byte[k])
            return psr_fail(err, PSR_EINVAL,
                            "%s: byte %zu of the description is not known to this library", name,
                            k);
    memcpy(to, from, size < bytes ? size : bytes);
    return PSR_OK;
}
