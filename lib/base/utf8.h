/* utf8.h: characters of UTF-8 (private). */
#ifndef PSR_BASE_UTF8_H
#define PSR_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character that text, which ends with a byte 0, begins with; 0 where there is none.
 * Overlong forms, surrogates, and U+FFFE and its like are none: readers of XML and JSON do not take
 * them. */
size_t psr_utf8_length(const char *text);

#endif
