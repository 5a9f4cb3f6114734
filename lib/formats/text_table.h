/* text_table.h: text files of rows of words, '#' beginning a comment (private). */
#ifndef PSR_FORMATS_TEXT_TABLE_H
#define PSR_FORMATS_TEXT_TABLE_H

#include <psrkit/status.h>
#include <psrkit/text.h>
#include <stddef.h>
#include <stdint.h>

enum { PSR_ROW_WORDS = 16, PSR_ROW_BYTES = 4096 };

struct psr_text_row {
    const char *path;
    long number; /* of the line, from 1 */
    int n;       /* words, at least 1 */
    char *word[PSR_ROW_WORDS];
};

typedef psr_status psr_text_row_function(void *ctx, const struct psr_text_row *row, psr_err *err);

/* Calls take for each line that holds a word, until the file ends or take fails.
 * Given:  path   "-" is standard input
 * Status: PSR_EIO; PSR_EFORMAT (a line too long, too many words, a byte 0, a file
 *         beyond PSR_TABLE_MAX_BYTES); what take returned. */
PSR_MUST_CHECK psr_status psr_text_table_read(const char *path, psr_text_row_function *take,
                                              void *ctx, psr_err *err);

/* The same for a file that is open, and has a bound of its own. */
PSR_MUST_CHECK psr_status psr_text_table_take(struct psr_text_lines *lines,
                                              psr_text_row_function *take, void *ctx, psr_err *err);

/* A row that its first word tells how to take. */
struct psr_text_row_key {
    const char *name;
    psr_text_row_function *take;
    int most; /* words, the first one included */
};

/* Takes a row by its key.  Status: PSR_EFORMAT for none of n keys, or too many words; what take
 * returned. */
PSR_MUST_CHECK psr_status psr_text_row_take(const struct psr_text_row *row,
                                            const struct psr_text_row_key *key, size_t n, void *ctx,
                                            psr_err *err);

/* PSR_EFORMAT "PATH: line N: ..." */
psr_status psr_text_row_fail(const struct psr_text_row *row, psr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Word i as a number in [min, max]; PSR_EFORMAT naming file, line, what and value, also where there
 * is no such word. */
PSR_MUST_CHECK psr_status psr_text_row_int(const struct psr_text_row *row, int i, const char *what,
                                           int64_t min, int64_t max, int64_t *value, psr_err *err);
PSR_MUST_CHECK psr_status psr_text_row_double(const struct psr_text_row *row, int i,
                                              const char *what, double min, double max,
                                              double *value, psr_err *err);

#endif
