/* text_table.h: reads text files of rows of words with '#' comments (private). */
#ifndef PSR_FORMATS_SPECTRA_TEXT_TABLE_H
#define PSR_FORMATS_SPECTRA_TEXT_TABLE_H

#include "base/tool.h"
#include <psrkit/experimental/outfile.h>
#include <psrkit/status.h>

#include <stdarg.h>
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

/* Calls take for each line with a word, until the file ends or take fails.
 * Given:  path   "-" is standard input
 * Status: PSR_EIO; PSR_EFORMAT (a line too long, too many words, a NUL byte, a file beyond
 *         PSR_TABLE_MAX_BYTES); that of take */
PSR_MUST_CHECK psr_status psr_text_table_read(const char *path, psr_text_row_function *take,
                                              void *ctx, psr_err *err);

/* The same for an open file with its own size limit. */
PSR_MUST_CHECK psr_status psr_text_table_take(struct psr_text_lines *lines,
                                              psr_text_row_function *take, void *ctx, psr_err *err);

/* A type of row, identified by its first word. */
struct psr_text_row_key {
    const char *name;
    psr_text_row_function *take;
    int most; /* maximum number of words, including the first */
};

/* Processes a row according to its key.
 * Status: PSR_EFORMAT for an unknown key or too many words; that of take */
PSR_MUST_CHECK psr_status psr_text_row_take(const struct psr_text_row *row,
                                            const struct psr_text_row_key *key, size_t n, void *ctx,
                                            psr_err *err);

/* PSR_EFORMAT "PATH: line N: ..."; field as in psr_fail_field. */
psr_status psr_text_fail_line(const char *path, long number, psr_err *err, const char *field,
                              const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));

/* The same of a row. */
psr_status psr_text_row_fail(const struct psr_text_row *row, psr_err *err, const char *field,
                             const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Parses word i as a number in [min, max]; PSR_EFORMAT naming file, line, what and value, also if
 * there is no such word. */
PSR_MUST_CHECK psr_status psr_text_row_int(const struct psr_text_row *row, int i, const char *what,
                                           int64_t min, int64_t max, int64_t *value, psr_err *err);
PSR_MUST_CHECK psr_status psr_text_row_double(const struct psr_text_row *row, int i,
                                              const char *what, double min, double max,
                                              double *value, psr_err *err);

/* --- pieces of rows of comma-separated values, and JSON into output files --- */

/* Writes a value in quotes, doubled inside, where the text would not be one value without. */
PSR_MUST_CHECK psr_status psr_csv_write_text(psr_outfile *f, const char *text, psr_err *err);

/* Where psr_json_put writes to; status is that of the first failure. */
struct psr_json_output {
    psr_outfile *f;
    psr_err *err;
    psr_status status;
};

/* For put of a struct psr_json; ctx is a struct psr_json_output. */
void psr_json_put(void *ctx, const char *bytes, size_t n);

#endif
