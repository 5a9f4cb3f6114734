/* readfd.h: reading from descriptors (private). */
#ifndef PSR_BASE_READFD_H
#define PSR_BASE_READFD_H

#include <stddef.h>
#include <sys/types.h>

/* One read() that is not put off by signals or a descriptor that does not block. */
ssize_t psr_read_some(int fd, void *to, size_t n);

#endif
