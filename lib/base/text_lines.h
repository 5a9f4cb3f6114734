/* text_lines.h: lines of text files, which may be no text files, and may not end (private). */
#ifndef PSR_BASE_TEXT_LINES_H
#define PSR_BASE_TEXT_LINES_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes of a table of numbers or a list of names that nobody needs more of. */
enum { PSR_TABLE_MAX_BYTES = 1 << 26 };

struct psr_text_lines {
    FILE *file;
    const char *name;  /* as messages call it; borrowed */
    int64_t most, got; /* bytes: allowed, and so far */
    long number;       /* of the line read last, from 1 */
};

/* Opens path, "-" being standard input.
 * Given:  most   bytes allowed
 * Status: PSR_EIO.  On error there is nothing to close. */
PSR_MUST_CHECK psr_status psr_text_lines_open(struct psr_text_lines *l, const char *path,
                                              int64_t most, psr_err *err);

/* Reads the next line, with its end.
 * Given:    line [room]
 * Returned: *there, false at the end of the file
 * Status:   PSR_EIO; PSR_EFORMAT "NAME: line N: ..." for one that does not fit into room - 1 bytes or
 *           has a byte 0 in it, and for a file beyond its most: whatever is read, it ends */
PSR_MUST_CHECK psr_status psr_text_lines_next(struct psr_text_lines *l, char *line, size_t room,
                                              bool *there, psr_err *err);

void psr_text_lines_close(struct psr_text_lines *l);

#endif
