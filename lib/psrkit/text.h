/* text.h: text from anywhere, which may be no text, and may not end; and text for programs that are
 * strict about it. */
#ifndef PSRKIT_TEXT_H
#define PSRKIT_TEXT_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

PSR_API_BEGIN

/* --- lines ------------------------------------------------------------------------------------ */

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

/* --- numbers and names ------------------------------------------------------------------------ */

/* Reads a file of numbers, parted by blanks and line ends.
 * Returned: *x [*n], malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO, PSR_ENOMEM; PSR_EFORMAT for a word that is no number within 1e30, for no numbers
 *           at all, a byte 0, and more than 16 MiB */
PSR_MUST_CHECK psr_status psr_numbers_read(const char *path, double **x, size_t *n, psr_err *err);

/* Names, of files as a rule; all zeros are none. */
struct psr_names {
    char **name; /* [n] of room for [room]; owned */
    size_t n, room;
};

/* Adds a copy of one.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_names_add(struct psr_names *names, const char *name, psr_err *err);

/* Adds those in a list, one a line, without blanks around it; empty lines and '#' comments are passed
 * over.  Status: as psr_text_lines_next, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_names_read(struct psr_names *names, const char *path, psr_err *err);

void psr_names_clear(struct psr_names *names);

/* path with its suffix replaced, or with one added where it has none: the .inf of a .dat, the
 * .stats of a .mask.
 * Given:    suffix   with its dot
 * Returned: malloc'd, caller frees; NULL where there is no memory */
char *psr_path_beside(const char *path, const char *suffix);

/* --- characters ------------------------------------------------------------------------------- */

/* Bytes of the character that text, which ends with a byte 0, begins with; 0 where there is none.
 * Overlong forms, surrogates, and U+FFFE and its like are none: readers of XML and JSON do not take
 * them. */
size_t psr_utf8_length(const char *text);

/* Writes text as a string of JSON, quotes included, piece by piece. */
void psr_json_text(const char *text, void (*put)(void *ctx, const char *bytes, size_t n),
                   void *ctx);

PSR_API_END

#endif
