/* overwrite_check.h: no output is an input, and no two outputs are one file.
 *
 * A program gives the names of all it reads and of all it will write, before it writes.  Files are
 * told apart by device and inode, whatever links lead to them; a name that is not there yet by its
 * folder.  Terminals, sockets and /dev/null may be shared. */
#ifndef PSRKIT_OVERWRITE_CHECK_H
#define PSRKIT_OVERWRITE_CHECK_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

struct psr_overwrite_file;

/* Empty where it is all zeros.  One thread at a time. */
struct psr_overwrite_check {
    struct psr_overwrite_file *file; /* [n] of room for [room] */
    size_t n, room;
    uint32_t *slot; /* [nslot] 1 + index of a file, by hash; 0: free */
    size_t nslot;
    char *folder; /* of the last name, and which it is */
    uint64_t folder_dev, folder_ino;
};

/* A file that is read.  One that is not there passes, and NULL does.
 * Given:  path   copied; "-" is standard input
 * Status: PSR_EIO where it is an output so far; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_check_input(struct psr_overwrite_check *c, const char *path,
                                                    psr_err *err);

/* A file that will be written.
 * Given:  path   copied; "-" is standard output; NULL passes
 *         of     the input that it is made of, for messages; NULL: no particular one; borrowed
 * Status: PSR_EIO where it is an input or output so far, or as psr_outfile_check_path; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_check_output(struct psr_overwrite_check *c,
                                                     const char *path, const char *of,
                                                     psr_err *err);

void psr_overwrite_check_clear(struct psr_overwrite_check *c);

/* Whether two names stand for one file that is there. */
bool psr_same_file(const char *a, const char *b);

PSR_API_END

#endif
