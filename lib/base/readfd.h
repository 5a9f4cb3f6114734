/* readfd.h: reading from descriptors (private). */
#ifndef PSR_BASE_READFD_H
#define PSR_BASE_READFD_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One read() that is not put off by signals or a descriptor that does not block. */
ssize_t psr_read_some(int fd, void *to, size_t n);

/* Reads n bytes from where fd stands.  Status: PSR_EIO, also where the file ends early; path is for
 * the message. */
PSR_MUST_CHECK psr_status psr_read_all(int fd, const char *path, void *to, int64_t n, psr_err *err);

#endif
