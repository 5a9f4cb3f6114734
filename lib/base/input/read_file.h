/* read_file.h: reads a small file into memory (private). */
#ifndef PSR_BASE_INPUT_READ_FILE_H
#define PSR_BASE_INPUT_READ_FILE_H

#include <psrkit/status.h>
#include <stddef.h>

/* Reads all of path; "-" is standard input.
 * Given:    most   bytes allowed
 * Returned: *text [*n], followed by a NUL byte, malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO, PSR_ENOMEM; PSR_EFORMAT if the file is larger than most */
PSR_MUST_CHECK psr_status psr_read_file(const char *path, size_t most, char **text, size_t *n,
                                        psr_err *err);

#endif
