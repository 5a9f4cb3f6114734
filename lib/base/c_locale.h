/* c_locale.h: formats and parses numbers with '.' as decimal point, in every locale (private). */
#ifndef PSR_BASE_C_LOCALE_H
#define PSR_BASE_C_LOCALE_H

#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf, snprintf and strtod. */
int psr_c_locale_vsnprintf(char *text, size_t room, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
int psr_c_locale_snprintf(char *text, size_t room, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
double psr_c_locale_strtod(const char *text, char **end);

#endif
