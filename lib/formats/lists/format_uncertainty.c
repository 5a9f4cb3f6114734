/* Formats a value with its error in parentheses, as PRESTO does. */
#include "format_uncertainty.h"

#include "base/c_locale.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double EPS = 1e-14;

/* What both forms are made from. */
struct rounded {
    int err_exp, err; /* the error is err x 10^(err_exp - digits + 1) */
    double value;     /* to the place of the error's last digit */
    int exp;          /* of value */
    double mantissa;  /* value / 10^exp, signed */
};

static int decimal_exponent(double x)
{
    return x == 0 ? 0 : (int)floor(log10(fabs(x)));
}

static struct rounded round_to_error(double value, double error, int digits)
{
    struct rounded r = {.err_exp = decimal_exponent(error)};
    int limit = digits == 1 ? 10 : 100;
    r.err = (int)floor(fabs(error) * pow(10, digits - 1 - r.err_exp) + EPS + 0.5);
    if (r.err == limit) {
        r.err = limit / 10;
        r.err_exp++;
    }
    int place = r.err_exp - (digits - 1);
    r.value = pow(10, place) * floor(value * pow(10, -place) + 0.5);
    r.exp = decimal_exponent(r.value);
    r.mantissa = r.value * pow(10, -r.exp);
    return r;
}

/* Digits in front of the point that log10 counts. */
static int whole_digits(double value)
{
    int n = value == 0 ? 1 : (int)ceil(log10(fabs(value)));
    return n == 0 ? 1 : n;
}

static int at_least_0(int n)
{
    return n < 0 ? 0 : n;
}

static void format_1(char *text, double value, double error)
{
    const struct rounded r = round_to_error(value, error, 1);
    const int X = r.exp, E = r.err_exp;
    int precision = whole_digits(value) - E + (fabs(fabs(r.mantissa) - 1) < EPS);
    double m = copysign(r.mantissa, r.value < 0 ? -1.0 : 1.0);
    if ((X >= 0 && E > 0 && X > E) || (X < -4 && X >= E))
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%d)x10^%d",
                              at_least_0(precision - 1), m, r.err, X);
    else if (X >= 0 && E > 0 && X == E)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% lld(%d)x10^%d", (long long)m, r.err, X);
    else if (X < E && E != 0)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% lld(%d)x10^%d", (long long)(m + EPS),
                              r.err, E);
    else if (E == 0 && fabs(r.value) < 1e-15)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% d(%d)", 0, r.err);
    else if (fabs(r.value) <= EPS && E < -5)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "0.0(%d)x10^%d", r.err, E + 1);
    else
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%d)", at_least_0(-E), r.value,
                              r.err);
}

/* Values below 1e-4. */
static void format_2_small(char *text, const struct rounded *r)
{
    const int X = r->exp, decimals = X - r->err_exp + 1, e = r->err;
    if (decimals >= 2)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%.2d)x10^%d", decimals, r->mantissa,
                              e, X);
    else if (decimals == 0)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", r->mantissa / 10,
                              e / 10, e % 10, X + 1);
    else
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", r->mantissa, e / 10,
                              e % 10, X);
}

/* Errors of less than 1. */
static void format_2_fraction(char *text, const struct rounded *r)
{
    const int E = r->err_exp, e = r->err;
    /* What is 0 to all digits has no sign. */
    double value = fabs(r->value) * pow(10, 1 - E) < 0.1 ? fabs(r->value) : r->value;
    if (fabs(value) <= EPS && E < -4)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "0.0(%d.%d)x10^%d", e / 10, e % 10, E);
    else
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%.2d)", 1 - E, value, e);
}

/* Errors of 10 and more. */
static void format_2_large(char *text, const struct rounded *r)
{
    const int X = r->exp, E = r->err_exp, e = r->err;
    double m = r->mantissa;
    if (X == E && E > 1) {
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", m, e / 10, e % 10,
                              E);
    } else if (E - X == 1) {
        m = fabs(m) < 1 - EPS ? fabs(m) : m;
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)x10^%d", m / 10, e / 10,
                              e % 10, E);
    } else if (E > 1 && X > E) {
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .*f(%.2d)x10^%d", X - E + 1, m, e, X);
    } else {
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% lld(%.2d)", (long long)r->value, e);
    }
}

static void format_2(char *text, double value, double error)
{
    const struct rounded r = round_to_error(value, error, 2);
    const int E = r.err_exp;
    if (r.exp < -4)
        format_2_small(text, &r);
    else if (E - decimal_exponent(value) > 1 && E != 0 && E != 1)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "0.0(%d.%d)x10^%d", r.err / 10, r.err % 10,
                              E);
    else if (E == 0)
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, "% .1f(%d.%d)",
                              fabs(r.value) < 0.1 ? fabs(r.value) : r.value, r.err / 10,
                              r.err % 10);
    else if (E < 0)
        format_2_fraction(text, &r);
    else
        format_2_large(text, &r);
}

void psr_format_uncertainty(char text[PSR_UNCERTAINTY_MAX], double value, double error, int digits)
{
    static const double MOST = 1e15; /* whole numbers beyond it are none */
    if (!(fabs(value) <= MOST) || !(fabs(error) <= MOST)) {
        bool finite = isfinite(value) && isfinite(error);
        psr_c_locale_snprintf(text, PSR_UNCERTAINTY_MAX, finite ? "% .6g(%.1g)" : " nan", value,
                              error);
    } else if (digits == 1) {
        format_1(text, value, error);
    } else {
        format_2(text, value, error);
    }
}
