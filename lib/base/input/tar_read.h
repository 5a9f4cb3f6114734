/* tar_read.h: members of a POSIX tar file (private). */
#ifndef PSR_BASE_INPUT_TAR_READ_H
#define PSR_BASE_INPUT_TAR_READ_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stdint.h>

enum { PSR_TAR_BLOCK = 512, PSR_TAR_NAME = 256 };

/* End of the name of a file of lists, and of that of its first member, which has their places. */
#define PSR_LISTS       ".lists"
#define PSR_LISTS_INDEX ".index"

/* A file in a tar file. */
struct psr_tar_member {
    char name[PSR_TAR_NAME]; /* without its folder */
    int64_t first;           /* byte at which its headers begin */
    int64_t at, n;           /* its bytes */
};

/* Opens a regular file: a pipe would be waited for.
 * Returned: -1 with errno */
int psr_tar_open(const char *path);

/* Reads the headers of the next regular file.
 * Given:    path   for messages
 *           *next   byte at which headers begin; 0 at first
 * Returned: *next, behind the member; *exists, false at the end
 * Status:   PSR_EFORMAT: no tar file, cut short, or a name beyond PSR_TAR_NAME; PSR_EIO */
PSR_MUST_CHECK psr_status psr_tar_next(int fd, const char *path, int64_t *next,
                                       struct psr_tar_member *member, bool *exists, psr_err *err);

#endif
