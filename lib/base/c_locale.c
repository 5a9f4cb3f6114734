/* Prints and reads numbers with a decimal point, whatever the program's locale. */
#include "base/base.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The locale "C" is there without being loaded, so asking for it is cheap and does not fail; were
 * it to fail, the thread's own locale would serve, as it does in all programs that never set one.
 */
static locale_t enter_c_locale(locale_t *plain)
{
    *plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *plain ? uselocale(*plain) : (locale_t)0;
}

static void leave_c_locale(locale_t plain, locale_t before)
{
    if (!plain)
        return;
    uselocale(before);
    freelocale(plain);
}

int psr_c_locale_vsnprintf(char *text, size_t room, const char *fmt, va_list ap)
{
    locale_t plain, before = enter_c_locale(&plain);
    int n = vsnprintf(text, room, fmt, ap);
    leave_c_locale(plain, before);
    return n;
}

int psr_c_locale_snprintf(char *text, size_t room, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = psr_c_locale_vsnprintf(text, room, fmt, ap);
    va_end(ap);
    return n;
}

double psr_c_locale_strtod(const char *text, char **end)
{
    locale_t plain, before = enter_c_locale(&plain);
    double value = strtod(text, end);
    leave_c_locale(plain, before);
    return value;
}
