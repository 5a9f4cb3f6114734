/* fast_number_io: the tools' fast numbers against strtod and printf. */
#include "tests/support/tap.h"
#include "tools/chi2sig/chi2sig.h"
#include <string.h>

/* Any double, or one that a person might write. */
static double draw(uint64_t *seed, int kind)
{
    uint64_t bits = tap_random(seed);
    double v;
    memcpy(&v, &bits, sizeof v);
    switch (kind % 4) {
    case 0:
        return v;
    case 1:
        return -exp(50 * tap_uniform(seed) - 20);
    case 2:
        return (double)tap_between(seed, -1000000, 1000000) / 1000;
    default:
        return (1 + (double)tap_between(seed, -2, 2) * 1e-15) *
               pow(10, (double)tap_between(seed, -320, 308));
    }
}

static void test_put(uint64_t *seed)
{
    bool all = true;
    for (int i = 0; i < 400000; i++) {
        char got[NUMTEXT_MAX + 1], want[64];
        double v = draw(seed, i);
        got[fast_number_put(got, v)] = '\0';
        snprintf(want, sizeof want, "%.15g", v);
        if (strcmp(got, want)) {
            diag("%.17g: got %s, want %s", v, got, want);
            all = false;
        }
    }
    ok(all, "fast_number_put writes what %%.15g writes");
}

static void test_get(uint64_t *seed)
{
    static const char *const format[] = {"%.17g\n", "%.6f ", "%.3e,", "+%.0f\t", "%a "};
    bool all = true;
    for (int i = 0; i < 400000; i++) {
        char text[400];
        double v = fabs(draw(seed, i)), got;
        if (!isfinite(v))
            continue;
        snprintf(text, sizeof text, format[i % 5], v);
        const char *at = text;
        char *end;
        double want = strtod(text, &end);
        if (!fast_number_get(&at, &got) || got != want || at != end) {
            diag("'%s': got %.17g, want %.17g", text, got, want);
            all = false;
        }
    }
    ok(all, "fast_number_get reads what strtod reads");
}

/* 2^64 times anything, of which an integer of 64 bits keeps nothing, and what is next to it. */
static void test_overflow(void)
{
    static const char *const words[] = {
        "18446744073709551616",  "18446744073709551616e3", "0.0018446744073709551616",
        "36893488147419103232",  "18446744073709551617",   "000000000000000000000000000005",
        "184467440737095516160", "3402823669209384634634", "99999999999999999999999999",
    };
    bool all = true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = words[i];
        double got = -1;
        if (!fast_number_get(&at, &got) || got != strtod(words[i], NULL)) {
            diag("'%s': got %.17g", words[i], got);
            all = false;
        }
    }
    ok(all, "more digits than 64 bits hold");
}

static void test_refused(void)
{
    static const char *const words[] = {"",   "\n5", " 5",  "-",   ".",
                                        "e5", "abc", "nan", "inf", "1e999"};
    bool all = true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = words[i];
        double v;
        all &= !fast_number_get(&at, &v) && at == words[i];
    }
    ok(all, "what is no number is refused");
    const char *at = "1e+\n";
    double v;
    ok(fast_number_get(&at, &v) && v == 1 && *at == 'e', "an exponent without digits is none");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_put(&seed);
    test_get(&seed);
    test_overflow();
    test_refused();
    return done_testing();
}
