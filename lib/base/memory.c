/* Grows arrays one element at a time, in amortised constant time. */

#include "base/base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- copies the fields of a description that both library versions have ----------------------- */

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

/* --- allocates arrays that live as long as their owner ---------------------------------------- */

/* Stands before the elements, which keep malloc's alignment. */
struct psr_own_array {
    _Alignas(max_align_t) struct psr_own_array *before;
};

void *psr_own(struct psr_own *own, size_t n, size_t size)
{
    struct psr_own_array *array = NULL;
    own->bytes += (double)n * (double)size;
    if (!own->failed && n <= (SIZE_MAX - sizeof *array) / size)
        array = calloc(1, sizeof *array + n * size);
    if (!array) {
        own->failed = true;
        return NULL;
    }
    array->before = own->last;
    own->last = array;
    return array + 1;
}

psr_status psr_own_check(const struct psr_own *own, const char *what, psr_err *err)
{
    return own->failed ? psr_fail_nomem(err, what, own->bytes) : PSR_OK;
}

void psr_own_free(struct psr_own *own)
{
    for (struct psr_own_array *array = own->last; array;) {
        struct psr_own_array *before = array->before;
        free(array);
        array = before;
    }
    *own = (struct psr_own){0};
}

/* --- grows arrays one element at a time, in amortised constant time --------------------------- */

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
