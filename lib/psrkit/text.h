/* text.h: reads lines, numbers and names from untrusted text, and writes text for strict readers.
 */
#ifndef PSRKIT_TEXT_H
#define PSRKIT_TEXT_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

PSR_API_BEGIN

/* --- lines ------------------------------------------------------------------------------------ */

/* Size limit of a table of numbers or a list of names. */
enum { PSR_TABLE_MAX_BYTES = 1 << 26 };

struct psr_text_lines {
    FILE *file;
    const char *name;  /* for messages; borrowed */
    int64_t most, got; /* bytes allowed, and read so far */
    long number;       /* number of the last line read, from 1 */
};

/* Opens path; "-" is standard input.
 * Given:  most   bytes allowed
 * Status: PSR_EIO.  On error there is nothing to close. */
PSR_MUST_CHECK psr_status psr_text_lines_open(struct psr_text_lines *l, const char *path,
                                              int64_t most, psr_err *err);

/* Reads the next line, including its line end.
 * Given:    line   [room]
 * Returned: *there, false at the end of the file
 * Status:   PSR_EIO; PSR_EFORMAT "NAME: line N: ..." for a line that does not fit into room - 1
 *           bytes or contains a NUL byte, and for a file longer than allowed, so that reading
 *           always ends */
PSR_MUST_CHECK psr_status psr_text_lines_next(struct psr_text_lines *l, char *line, size_t room,
                                              bool *there, psr_err *err);

void psr_text_lines_close(struct psr_text_lines *l);

/* --- numbers and names ------------------------------------------------------------------------ */

/* Reads a file of numbers separated by blanks and line ends.
 * Returned: *x [*n], malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO, PSR_ENOMEM; PSR_EFORMAT for a word that is not a number within 1e30, a file
 *           without numbers, a NUL byte, or more than 16 MiB */
PSR_MUST_CHECK psr_status psr_numbers_read(const char *path, double **x, size_t *n, psr_err *err);

/* A list of names, usually of files; zero-initialise for an empty list. */
struct psr_names {
    char **name; /* [n] with capacity [room]; owned */
    size_t n, room;
};

/* Adds a copy of a name.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_names_add(struct psr_names *names, const char *name, psr_err *err);

/* Adds names from a file, one per line, without surrounding blanks; empty lines and '#' comments
 * are skipped.
 * Status: as psr_text_lines_next, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_names_read(struct psr_names *names, const char *path, psr_err *err);

void psr_names_clear(struct psr_names *names);

/* Replaces the suffix of path, or adds one if it has none: the .inf of a .dat, the .stats of a
 * .mask.
 * Given:    suffix   with its dot
 * Returned: malloc'd, caller frees; NULL if out of memory */
char *psr_path_beside(const char *path, const char *suffix);

/* --- characters ------------------------------------------------------------------------------- */

/* Length in bytes of the first character of text, which ends with a NUL byte; 0 if there is none.
 * Overlong forms, surrogates, and U+FFFE and similar non-characters are invalid, since XML and JSON
 * readers reject them. */
size_t psr_utf8_length(const char *text);

/* Writes text as a JSON string, including the quotes, piece by piece. */
void psr_json_text(const char *text, void (*put)(void *ctx, const char *bytes, size_t n),
                   void *ctx);

PSR_API_END

#endif
