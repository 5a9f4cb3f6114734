/* Allocates arrays that live as long as their owner. */
#include "base/own.h"

#include <stdint.h>
#include <stdlib.h>

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
