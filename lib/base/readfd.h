/* readfd.h: reading from descriptors (private). */
#ifndef PSR_BASE_READFD_H
#define PSR_BASE_READFD_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Opens a file that can be read again and again.
 * Returned: *fd      -1 for "-" and for what is no regular file, as a pipe is none
 *           *status  of it, where there is a file
 * Status:   PSR_EIO */
PSR_MUST_CHECK psr_status psr_open_regular(int *fd, struct stat *status, const char *path,
                                           psr_err *err);

/* One read() that waits for data also where the descriptor does not block.  A signal ends the wait
 * with EINTR if its handler was installed without SA_RESTART: who does so wants to stop. */
ssize_t psr_read_some(int fd, void *to, size_t n);

/* Reads n bytes of a file from place "at", whatever signals come.
 * Returned: how many, fewer only where the file ends; -1 with errno */
ssize_t psr_read_at(int fd, void *to, size_t n, int64_t at);

/* Reads n bytes from where fd stands.  Status: PSR_EIO, also where the file ends early; path is for
 * the message. */
PSR_MUST_CHECK psr_status psr_read_all(int fd, const char *path, void *to, int64_t n, psr_err *err);

#endif
