/* overwrite_check.h: checks that no output is an input, and that no two outputs are one file.
 *
 * A program registers the names of all inputs and outputs before it writes.  Files are identified
 * by device and inode, through any links; a name that does not exist yet, by its folder.
 * Terminals, sockets and /dev/null may be shared. */
#ifndef PSRKIT_OVERWRITE_CHECK_H
#define PSRKIT_OVERWRITE_CHECK_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

struct psr_overwrite_file;

/* Initialise with zeros.  Not thread-safe. */
struct psr_overwrite_check {
    struct psr_overwrite_file *file; /* [n] with capacity [room] */
    size_t n, room;
    uint32_t *slot; /* [nslot] 1 + index of a file, by hash; 0: free */
    size_t nslot;
    char *folder; /* folder of the last name, and its device and inode */
    uint64_t folder_dev, folder_ino;
};

/* Registers an input.  NULL and a file that does not exist are accepted.
 * Given:  path   copied; "-" is standard input
 * Status: PSR_EIO if it is already an output; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_check_input(struct psr_overwrite_check *c, const char *path,
                                                    psr_err *err);

/* Registers an output.
 * Given:  path   copied; "-" is standard output; NULL is accepted
 *         of   the input that it is made from, for messages; NULL: none in particular; borrowed
 * Status: PSR_EIO if it is already an input or output, or as psr_outfile_check_path; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_overwrite_check_output(struct psr_overwrite_check *c,
                                                     const char *path, const char *of,
                                                     psr_err *err);

void psr_overwrite_check_clear(struct psr_overwrite_check *c);

/* True if both names refer to the same existing file. */
bool psr_same_file(const char *a, const char *b);

PSR_API_END

#endif
