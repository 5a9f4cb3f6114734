/* header_keys.h: keys and values of a text header: DADA's lines, FITS cards of GUPPI (private). */
#ifndef PSR_FORMATS_SPECTRA_HEADER_KEYS_H
#define PSR_FORMATS_SPECTRA_HEADER_KEYS_H

#include "base/tool.h"
#include <psrkit/experimental/outfile.h>
#include <psrkit/status.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psr_header_key {
    char *key, *value; /* key is owned; value is in the same memory, NULL: a line without one */
    const char *line;  /* [length] of the text, borrowed; NULL of a card */
    size_t length;
};

/* Initialise with zeros but for the name. */
struct psr_header_keys {
    const char *name; /* of the file, for messages; borrowed */
    struct psr_header_key *entry;
    size_t n, room;
};

/* Parse lines "KEY value # comment" up to the end or a byte 0, or 80-character cards "KEY = value"
 * up to END.  Of values in quotes the quotes and blanks at the end are dropped.  Keys may be
 * repeated: the last counts.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_header_keys_lines(struct psr_header_keys *k, const char *text,
                                                size_t n, psr_err *err);
PSR_MUST_CHECK psr_status psr_header_keys_cards(struct psr_header_keys *k, const char *text,
                                                size_t n, psr_err *err);

/* The value of a key; NULL if there is none. */
const char *psr_header_keys_text(const struct psr_header_keys *k, const char *key);

/* Copies the text of a key, if there is one, to an array of PSR_TEXT_MAX. */
void psr_header_keys_copy(const struct psr_header_keys *k, const char *key, char *to);

/* A number in [min, max]: a whole one, or any. */
struct psr_header_number {
    const char *key;
    bool needed;
    double min, max;
    int64_t *whole; /* NULL: any number */
    double *number;
};

/* Reads n numbers.
 * Given:    number[i].whole or .number   the default, for a key that is absent and not needed
 * Status:   PSR_EFORMAT naming file, key, value and limit */
PSR_MUST_CHECK psr_status psr_header_keys_numbers(const struct psr_header_keys *k,
                                                  const struct psr_header_number *number, size_t n,
                                                  psr_err *err);

/* Position "hh:mm:ss.s" and "dd:mm:ss.s" in degrees.
 * Returned: true if both are there and make sense */
bool psr_header_keys_position(const struct psr_header_keys *k, const char *ra, const char *dec,
                              double *ra_deg, double *dec_deg);

void psr_header_keys_clear(struct psr_header_keys *k);

/* --- reads text files of rows of words with '#' comments --- */

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
void psr_csv_put_text(psr_outfile *f, const char *text);

/* For put of a struct psr_json; ctx is a psr_outfile, whose status tells of failures. */
void psr_json_put(void *ctx, const char *bytes, size_t n);

/* --- parses lists of channels, of intervals and of trial DMs from text and from files --- */

/* Clears channels in a mask of channels to keep, in the syntax of PRESTO's -ignorechan.
 * Given:    text   "3,5:9,20:30:5" (single channels, first:last, first:last:step; last is included;
 *                  an omitted bound, as in ":5", "20:" or "::2", is the end of the band), or the
 *                  name of a file of such text with lines and '#' comments; channel 0 is the lowest
 *                  in frequency
 *           ascending   the first channel of the data is the lowest in frequency
 *           keep [nchan]   in the order of the data
 * Returned: keep   0 for the listed channels, others unchanged; on error some are cleared
 * Status:   PSR_EINVAL naming the item that is not a channel range within 0..nchan-1; PSR_EIO;
 *           PSR_EFORMAT for a line of 4 KiB or more; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ignore_channels(const char *text, size_t nchan, int ascending,
                                              unsigned char *keep, psr_err *err);

/* Parses such a list, not the name of a file, of n things.
 * Given:    what   option it belongs to, for messages
 * Returned: *list [*nlist] in the order of the text; malloc'd, caller frees; NULL on error
 * Status:   PSR_EINVAL naming the item that is not a range within 0..n-1; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ranges_parse(const char *text, const char *what, size_t n,
                                           int32_t **list, size_t *nlist, psr_err *err);

/* Reads trial DMs, one per line (words may follow, but no number).  '#' comments and empty lines
 * are allowed.
 * Returned: *dm [*ndm] pc cm^-3 in file order; malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value: a DM outside 0 to 1e6, two in a line,
 *           none at all, a line of 4 KiB or more; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dms_read(const char *path, double **dm, size_t *ndm, psr_err *err);

/* Computes an even grid, trial i at lodm + i dmstep, with PRESTO's arithmetic.
 * Returned: *dm [ndm]; malloc'd, caller frees; NULL on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dms_grid(double lodm, double dmstep, size_t ndm, double **dm,
                                       psr_err *err);

#endif
