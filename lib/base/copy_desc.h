/* copy_desc.h: copies descriptions from and to callers built with another version of the library
 * (private). */
#ifndef PSR_BASE_COPY_DESC_H
#define PSR_BASE_COPY_DESC_H

#include <psrkit/status.h>
#include <stddef.h>

/* Copies a description whose first field is its size in the caller's version.  Fields that an
 * earlier version lacks become 0; those that only a later version has must be 0.
 * Given:  bytes   of *to
 *         name   of the description, for the message
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_copy_desc(void *to, size_t bytes, const void *from, const char *name,
                                        psr_err *err);

/* Writes a description for a caller whose version of it has "size" bytes: fields that only that version has become 0.
 * Given: all   [bytes] of this version, its size not set */
void psr_give_desc(void *to, size_t size, const void *all, size_t bytes);

#endif
