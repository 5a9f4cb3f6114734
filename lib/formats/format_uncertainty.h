/* format_uncertainty.h: a value with its error as papers print it, "20011.50(50)", in PRESTO's spelling
 * (private). */
#ifndef PSR_FORMATS_FORMAT_UNCERTAINTY_H
#define PSR_FORMATS_FORMAT_UNCERTAINTY_H

#include <stddef.h>

enum { PSR_UNCERTAINTY_MAX = 64 };

/* Given:    digits   of the error: 1 or 2
 * Returned: text, with a blank in front where the value is positive; "nan" where value or error is
 *           not finite */
void psr_format_uncertainty(char text[PSR_UNCERTAINTY_MAX], double value, double error, int digits);

#endif
