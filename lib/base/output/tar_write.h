/* tar_write.h: members of a POSIX tar file (private).
 *
 * Equal members are equal bytes: they have no owner, and one date, 2000-01-01. */
#ifndef PSR_BASE_OUTPUT_TAR_WRITE_H
#define PSR_BASE_OUTPUT_TAR_WRITE_H

#include <psrkit/experimental/outfile.h>

/* Returned: bytes that psr_tar_add writes. */
int64_t psr_tar_bytes(const char *name, size_t n);

/* Adds a file.
 * Given:  name   at most 255 bytes; above 100 it gets a header of its own (pax)
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_tar_add(psr_outfile *f, const char *name, const void *bytes, size_t n,
                                      psr_err *err);

/* Adds the two blocks that end a tar file. */
PSR_MUST_CHECK psr_status psr_tar_end(psr_outfile *f, psr_err *err);

#endif
