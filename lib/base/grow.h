/* grow.h: arrays that get longer, one element after the other (private). */
#ifndef PSR_BASE_GROW_H
#define PSR_BASE_GROW_H

#include <psrkit/status.h>
#include <stddef.h>

/* Makes room for element n of an array.
 * Given:    array   where its pointer is, of whatever type: malloc'd, or NULL
 *           room   elements that it has room for, n or more
 *           size   of an element, bytes
 *           what   the array holds, for the message
 * Returned: *array and *room, larger where need be; untouched on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_grow(void *array, size_t *room, size_t n, size_t size,
                                   const char *what, psr_err *err);

#endif
