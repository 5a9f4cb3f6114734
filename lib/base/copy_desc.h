/* copy_desc.h: descriptions that a caller built with another library may have filled (private). */
#ifndef PSR_BASE_COPY_DESC_H
#define PSR_BASE_COPY_DESC_H

#include <psrkit/status.h>
#include <stddef.h>

/* Copies a description whose first field is its size as the caller knows it.  Fields of a later
 * library must be those that this one can do without: all zeros.
 * Given:  bytes   of *to, which is all zeros
 *         least   a size that no caller's is below or equal to
 *         name    of what is described, for the message
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_copy_desc(void *to, size_t bytes, size_t least, const void *from,
                                        const char *name, psr_err *err);

#endif
