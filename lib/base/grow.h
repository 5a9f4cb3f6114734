/* grow.h: arrays that grow by one element at a time (private). */
#ifndef PSR_BASE_GROW_H
#define PSR_BASE_GROW_H

#include <psrkit/status.h>
#include <stddef.h>

/* Makes room for element n of an array.
 * Given:    array   address of its pointer, of any type: malloc'd, or NULL
 *           room   capacity in elements, at least n
 *           size   of an element, bytes
 *           what   the array holds, for the message
 * Returned: *array and *room, enlarged if necessary; unchanged on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_grow(void *array, size_t *room, size_t n, size_t size,
                                   const char *what, psr_err *err);

#endif
