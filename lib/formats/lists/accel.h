/* accel.h: formats a value with its error in parentheses, "20011.50(50)", as PRESTO
 * does (private). */
#ifndef PSR_FORMATS_LISTS_ACCEL_H
#define PSR_FORMATS_LISTS_ACCEL_H

#include <stddef.h>

enum { PSR_UNCERTAINTY_MAX = 64 };

/* Given:    digits   of the error: 1 or 2
 * Returned: text, with a leading blank if the value is positive; "nan" if value or error is not
 *           finite */
void psr_format_uncertainty(char text[PSR_UNCERTAINTY_MAX], double value, double error, int digits);

#endif
