/* Reads and prints numbers as strtod and printf do, many times faster. */
#include "tools/chi2sig/chi2sig.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 15 };

static const double exact_power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Adds the digits at p to *mantissa, which more than 19 of them overflow; returns where they end.
 * *ndigit counts them from the first that is not 0. */
static const char *take_digits(const char *p, uint64_t *mantissa, int *ndigit)
{
    for (; *p >= '0' && *p <= '9'; p++) {
        *mantissa = 10 * *mantissa + (uint64_t)(*p - '0');
        *ndigit += *ndigit > 0 || *p != '0';
    }
    return p;
}

static const char *take_exponent(const char *p, int *exponent)
{
    if ((*p | 0x20) != 'e')
        return p;
    const char *digit = p + 1 + (p[1] == '+' || p[1] == '-');
    if (*digit < '0' || *digit > '9')
        return p;
    int e = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        e = e < 10000 ? 10 * e + (*digit - '0') : e;
    *exponent += p[1] == '-' ? -e : e;
    return digit;
}

static bool get_slowly(const char **text, double *value)
{
    char *end = NULL;
    bool found = !isspace((unsigned char)**text); /* strtod would pass over a newline */
    if (found)
        *value = strtod(*text, &end);
    found = found && end != *text && isfinite(*value);
    *text = found ? end : *text;
    return found;
}

bool fast_number_get(const char **text, double *value)
{
    const char *p = *text;
    bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    uint64_t mantissa = 0;
    int ndigit = 0, exponent = 0;
    const char *start = p, *point = NULL;
    p = take_digits(p, &mantissa, &ndigit);
    ptrdiff_t width = p - start;
    if (*p == '.') {
        point = p + 1;
        p = take_digits(point, &mantissa, &ndigit);
        exponent -= (int)(p - point);
        width += p - point;
    }
    p = take_exponent(p, &exponent);
    /* A mantissa and a power of ten that are both exact give a product or quotient that is rounded
     * once.  All else, hexadecimal and words included, is for strtod. */
    bool exact = width > 0 && ndigit <= 19 && mantissa <= UINT64_C(1) << 53 && abs(exponent) <= 22;
    if (!exact || (*p | 0x20) == 'x')
        return get_slowly(text, value);
    double v = (double)mantissa;
    v = exponent < 0 ? v / exact_power[-exponent] : v * exact_power[exponent];
    *value = negative ? -v : v;
    *text = p;
    return true;
}

/* 10^k for |k| <= 350, with a relative error below 2^-62. */
static long double power_of_ten(int k)
{
    static const long double fine[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,
                                       1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L,
                                       1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L,
                                       1e24L, 1e25L, 1e26L, 1e27L, 1e28L, 1e29L, 1e30L, 1e31L};
#if LDBL_MAX_10_EXP > 400
    static const long double coarse[] = {1e-352L, 1e-320L, 1e-288L, 1e-256L, 1e-224L, 1e-192L,
                                         1e-160L, 1e-128L, 1e-96L,  1e-64L,  1e-32L,  1e0L,
                                         1e32L,   1e64L,   1e96L,   1e128L,  1e160L,  1e192L,
                                         1e224L,  1e256L,  1e288L,  1e320L,  1e352L};
    return coarse[(k + 352) / 32] * fine[(k + 352) % 32];
#else
    return k < 0 ? 0 : fine[k % 32]; /* not used: fast_number_put leaves all to printf */
#endif
}

/* value = *digits x 10^(*exponent - DIGITS + 1), with DIGITS digits, rounded to nearest; false
 * where the last digit is too close to call. */
static bool split_decimal(double value, uint64_t *digits, int *exponent)
{
    int e2;
    frexp(value, &e2);
    int e = (int)floor((e2 - 1) * 0.30102999566398120);
    long double x = (long double)value * power_of_ten(DIGITS - 1 - e);
    if (x >= 1e15L) { /* the estimate may be one too low */
        e++;
        x = (long double)value * power_of_ten(DIGITS - 1 - e);
    }
    uint64_t n = (uint64_t)x;
    double rest = (double)(x - (long double)n);
    if (LDBL_MANT_DIG < 64 || fabs(rest - 0.5) < 1e-3)
        return false;
    n += rest > 0.5;
    bool carried = n == UINT64_C(1000000000000000);
    *digits = carried ? n / 10 : n;
    *exponent = e + carried;
    return true;
}

static void print_digits(char *out, uint64_t n)
{
    for (int i = DIGITS - 1; i >= 0; i--, n /= 10)
        out[i] = (char)('0' + n % 10);
}

static char *put_exponent(char *out, int e)
{
    *out++ = 'e';
    *out++ = e < 0 ? '-' : '+';
    e = abs(e);
    if (e >= 100)
        *out++ = (char)('0' + e / 100);
    *out++ = (char)('0' + e / 10 % 10);
    *out++ = (char)('0' + e % 10);
    return out;
}

/* Lays out the first n digits of value 0.d1d2d3... x 10^(e + 1) as %g does. */
static char *put_layout(char *out, const char *digit, int n, int e)
{
    bool scientific = e < -4 || e >= DIGITS;
    int before = scientific ? 1 : e + 1; /* digits before the point */
    if (before <= 0) {
        memcpy(out, "0.000", 5);
        out += 2 - before;
        memcpy(out, digit, (size_t)n);
        return out + n;
    }
    memcpy(out, digit, (size_t)before); /* zeros were trimmed, but digit has all DIGITS */
    out += before;
    if (n > before) {
        *out++ = '.';
        memcpy(out, digit + before, (size_t)(n - before));
        out += n - before;
    }
    return scientific ? put_exponent(out, e) : out;
}

size_t fast_number_put(char *out, double value)
{
    uint64_t digits;
    int e, n = DIGITS;
    char digit[DIGITS];
    if (value == 0 || !isfinite(value) || !split_decimal(fabs(value), &digits, &e))
        return (size_t)snprintf(out, NUMTEXT_MAX, "%.*g", DIGITS, value);
    print_digits(digit, digits);
    while (digit[n - 1] == '0')
        n--;
    char *p = out;
    if (value < 0)
        *p++ = '-';
    return (size_t)(put_layout(p, digit, n, e) - out);
}
