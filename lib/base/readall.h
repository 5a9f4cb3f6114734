/* readall.h: bytes from a descriptor, all of them or an error (private). */
#ifndef PSR_BASE_READALL_H
#define PSR_BASE_READALL_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

/* Reads n bytes from where fd stands.  Status: PSR_EIO, also where the file ends early; path is for
 * the message. */
PSR_MUST_CHECK psr_status psr_read_all(int fd, const char *path, void *to, int64_t n, psr_err *err);

#endif
