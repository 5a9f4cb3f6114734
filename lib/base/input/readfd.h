/* readfd.h: opens inputs and reads from their descriptors (private). */
#ifndef PSR_BASE_INPUT_READFD_H
#define PSR_BASE_INPUT_READFD_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Reads all of path; "-" is standard input.
 * Given:    most   bytes allowed
 * Returned: *text [*n], followed by a NUL byte, malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO, PSR_ENOMEM; PSR_EFORMAT if the file is larger than most */
PSR_MUST_CHECK psr_status psr_read_file(const char *path, size_t most, char **text, size_t *n,
                                        psr_err *err);

/* Opens a regular file.
 * Returned: *fd, -1 for "-", a ring, the network and anything else that is not a regular file, such as a pipe
 *           *status   of the file, if there is one
 * Status:   PSR_EIO */
PSR_MUST_CHECK psr_status psr_open_regular(int *fd, struct stat *status, const char *path,
                                           psr_err *err);

/* Opens an input for reading.
 * Returned: *fd, the caller's to close also on error, if not -1; of "-" another one for standard input, which is
 *           read from where it stands: what came earlier belongs to another reader
 *           *stream   it is standard input, a ring dada://KEY, or no regular file; *size   as of fstat
 * Status:   PSR_EIO, also for a folder; those of psr_dada_ring_read */
PSR_MUST_CHECK psr_status psr_open_input(int *fd, bool *stream, int64_t *size, const char *path,
                                         psr_err *err);

/* Whether path is that of a regular file; "-" is not. */
bool psr_is_regular(const char *path);

/* One read() that waits for data even if the descriptor is non-blocking.  A signal interrupts the
 * wait with EINTR if its handler was installed without SA_RESTART, which means that the program
 * wants to stop. */
ssize_t psr_read_some(int fd, void *to, size_t n);

/* The same, and should_stop(ctx), unless it is NULL, is polled each 0.1 s that nothing comes; signals do not end the wait
 * then.  Returned: 0 as at the end if it is true */
ssize_t psr_read_unless(bool (*should_stop)(void *ctx), void *ctx, int fd, void *to, size_t n);

/* Reads n bytes of a file from offset "at", retrying after signals.
 * Returned: number of bytes, fewer only at the end of the file; -1 with errno */
ssize_t psr_read_at(int fd, void *to, size_t n, int64_t at);

/* Reads n bytes from the current position of fd.
 * Status: PSR_EIO, also if the file ends early; path is for the message */
PSR_MUST_CHECK psr_status psr_read_all(int fd, const char *path, void *to, int64_t n, psr_err *err);

#endif
