/* tap.h: the few words a test needs to speak TAP to automake's driver.
 *
 * A test calls ok, near and skip in any order and returns done_testing() from main. */
#ifndef PSR_TAP_H
#define PSR_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static bool ok(bool pass, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    vprintf(fmt, ap);
    printf("\n");
    fflush(stdout);
    va_end(ap);
    tap_failed += !pass;
    return pass;
}

__attribute__((format(printf, 1, 2), unused)) static void diag(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("# ");
    vprintf(fmt, ap);
    printf("\n");
    fflush(stdout);
    va_end(ap);
}

/* |got - want| <= tol; a NaN never passes. */
__attribute__((unused)) static bool near(double got, double want, double tol, const char *what)
{
    bool pass = fabs(got - want) <= tol;
    ok(pass, "%s", what);
    if (!pass)
        diag("got %.17g, want %.17g within %g", got, want, tol);
    return pass;
}

__attribute__((unused)) static void skip(const char *what, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
    fflush(stdout);
}

__attribute__((unused)) static bool tap_is_long(void)
{
    const char *text = getenv("PSRKIT_LONG");
    return text && *text;
}

/* How many of cases to run: all in `make check-long` and .ci/run, else some. */
__attribute__((unused)) static int tap_cases(int some, int all)
{
    if (tap_is_long())
        return all;
    diag("%d of %d cases: PSRKIT_LONG=1 or make check-long runs all", some, all);
    return some;
}

/* Whether to run cases that take long, as in `make check-long` and .ci/run; skips them if not. */
__attribute__((unused)) static bool tap_long(const char *what)
{
    const bool wanted = tap_is_long();
    if (!wanted)
        skip(what, "a long case: PSRKIT_LONG=1 or make check-long runs it");
    return wanted;
}

__attribute__((unused)) static int done_testing(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Zeroed memory, or the end of the test. */
__attribute__((unused)) static void *tap_take(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p) {
        printf("Bail out! no memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

/* Random numbers for tests: xorshift64*, good enough and the same everywhere. */
__attribute__((unused)) static uint64_t tap_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* Uniform in [lo, hi], hi - lo < 2^63. */
__attribute__((unused)) static int64_t tap_between(uint64_t *state, int64_t lo, int64_t hi)
{
    return lo + (int64_t)((tap_random(state) >> 1) % (uint64_t)(hi - lo + 1));
}

__attribute__((unused)) static double tap_uniform(uint64_t *state)
{
    return (double)(tap_random(state) >> 11) * 0x1p-53;
}

__attribute__((unused)) static double tap_normal(uint64_t *state)
{
    double r = sqrt(-2 * log(1 - tap_uniform(state)));
    return r * cos(2 * M_PI * tap_uniform(state));
}

static int tap_compare_floats(const void *pa, const void *pb)
{
    float a = *(const float *)pa, b = *(const float *)pb;
    return (a > b) - (a < b);
}

__attribute__((unused)) static void tap_sort_floats(float *x, size_t n)
{
    qsort(x, n, sizeof *x, tap_compare_floats);
}

static int tap_compare_doubles(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

__attribute__((unused)) static void tap_sort_doubles(double *x, size_t n)
{
    qsort(x, n, sizeof *x, tap_compare_doubles);
}

/* The seed of a property test: PSRKIT_TEST_SEED, or a fixed one; printed so that a failure can be
 * repeated. */
__attribute__((unused)) static uint64_t tap_seed(void)
{
    const char *text = getenv("PSRKIT_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : UINT64_C(20260417);
    diag("PSRKIT_TEST_SEED=%llu", (unsigned long long)seed);
    return seed ? seed : 1;
}

#endif
