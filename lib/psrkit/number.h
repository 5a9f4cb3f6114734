/* number.h: parses numbers, checks their range, and reports errors. */
#ifndef PSRKIT_NUMBER_H
#define PSRKIT_NUMBER_H

#include <psrkit/status.h>
#include <stdint.h>

PSR_API_BEGIN

/* Given:    what   the name of the number, for the message
 *           text   must be a number from its first to its last character
 *           min, max   inclusive limits
 * Returned: *value, unchanged on error
 * Status:   PSR_EINVAL with "WHAT: 'TEXT' is not a number" (or "a whole number"), "... is below
 *           MIN" or "... is above MAX"
 * Notes:    0x begins a hexadecimal integer; a leading 0 is decimal (octal in PRESTO).  NaN and
 *           infinity are rejected.  The decimal point is '.' in every locale. */
PSR_MUST_CHECK psr_status psr_parse_int(const char *what, const char *text, int64_t min,
                                        int64_t max, int64_t *value, psr_err *err);
PSR_MUST_CHECK psr_status psr_parse_double(const char *what, const char *text, double min,
                                           double max, double *value, psr_err *err);

/* As psr_parse_int for a size in bytes: a number, possibly with a fraction, and an optional suffix
 * K M G T (powers of 1024, either case, optionally followed by B or iB); 1 byte to 4 EiB. */
PSR_MUST_CHECK psr_status psr_parse_size(const char *what, const char *text, int64_t *bytes,
                                         psr_err *err);

enum { PSR_SIZE_TEXT = 32 };

/* Writes a number of bytes as 512 B, 67.9 KiB or 3 GiB, rounded up to three digits.
 * Returned: text */
const char *psr_size_text(char text[PSR_SIZE_TEXT], double bytes);

PSR_API_END
#endif
