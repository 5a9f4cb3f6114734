/* Parses numbers and sizes with units, and checks their ranges. */

#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A 0 that comes first only fills a column: beam 0037 is beam 37. */
static int base_of(const char *text)
{
    const char *digit = text + strspn(text, " \t\n\v\f\r");
    digit += *digit == '-' || *digit == '+';
    return digit[0] == '0' && (digit[1] == 'x' || digit[1] == 'X') ? 16 : 10;
}

psr_status psr_parse_int(const char *what, const char *text, int64_t min, int64_t max,
                         int64_t *value, psr_err *err)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, base_of(text));
    if (end == text || *end)
        return psr_fail_field(err, PSR_EINVAL, what, "%s: '%s' is not a whole number", what, text);
    if (v < min || (errno == ERANGE && v < 0))
        return psr_fail_field(err, PSR_EINVAL, what, "%s: %s is below %lld", what, text,
                              (long long)min);
    if (v > max || errno == ERANGE)
        return psr_fail_field(err, PSR_EINVAL, what, "%s: %s is above %lld", what, text,
                              (long long)max);
    *value = v;
    return PSR_OK;
}

psr_status psr_parse_double(const char *what, const char *text, double min, double max,
                            double *value, psr_err *err)
{
    char *end;
    double v = psr_c_locale_strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return psr_fail_field(err, PSR_EINVAL, what, "%s: '%s' is not a number", what, text);
    if (v < min)
        return psr_fail_field(err, PSR_EINVAL, what, "%s: %s is below %g", what, text, min);
    if (v > max)
        return psr_fail_field(err, PSR_EINVAL, what, "%s: %s is above %g", what, text, max);
    *value = v;
    return PSR_OK;
}

/* Returned: the power of 1024 that suffix stands for, or -1. */
static int size_exponent(const char *suffix)
{
    static const char letters[] = "KMGT";
    if (!*suffix)
        return 0;
    for (int i = 0; letters[i]; i++)
        if (strncasecmp(suffix, letters + i, 1) == 0) {
            const char *rest = suffix + 1;
            return !*rest || !strcasecmp(rest, "B") || !strcasecmp(rest, "iB") ? i + 1 : -1;
        }
    return -1;
}

psr_status psr_parse_size(const char *what, const char *text, int64_t *bytes, psr_err *err)
{
    char *end;
    double v = psr_c_locale_strtod(text, &end);
    int exponent = end == text ? -1 : size_exponent(end);
    if (exponent < 0 || !isfinite(v))
        return psr_fail_field(err, PSR_EINVAL, what, "%s: '%s' is not a size such as 512M or 2G",
                              what, text);
    v *= pow(1024.0, exponent);
    if (v < 1 || v > 0x1p62)
        return psr_fail_field(err, PSR_EINVAL, what, "%s: %s is outside 1 byte to 4 EiB", what,
                              text);
    *bytes = (int64_t)v;
    return PSR_OK;
}

const char *psr_size_text(char text[PSR_SIZE_TEXT], double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;
    for (; bytes >= 1024 && i + 1 < sizeof unit / sizeof *unit; i++)
        bytes /= 1024;
    double step = i == 0 || bytes >= 100 ? 1 : bytes >= 10 ? 0.1 : 0.01;
    psr_c_locale_snprintf(text, PSR_SIZE_TEXT, "%.6g %s", ceil(bytes / step) * step, unit[i]);
    return text;
}
