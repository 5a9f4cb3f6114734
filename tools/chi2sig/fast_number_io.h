/* fast_number_io.h: converts numbers to and from text like strtod and printf, many times faster. */
#ifndef PSR_TOOLS_FAST_NUMBER_IO_H
#define PSR_TOOLS_FAST_NUMBER_IO_H

#include <stdbool.h>
#include <stddef.h>

enum { NUMTEXT_MAX = 32 }; /* bytes that fast_number_put may write */

/* Reads a number at *text and moves *text behind it.  The number must be followed by a byte that
 * belongs to no number, a newline or zero at the latest.
 * Returned: false where there is none; text is then where it was. */
bool fast_number_get(const char **text, double *value);

/* Writes value as printf's %.15g does, without a final zero byte.
 * Returned: bytes written */
size_t fast_number_put(char *out, double value);

#endif
