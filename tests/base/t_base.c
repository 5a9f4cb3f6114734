/* base: status texts, numbers from text, arrays that grow. */
#include "base/tool.h"
#include <psrkit/ddplan.h>
#include <psrkit/status.h>

#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void keep_note(void *ctx, const char *msg)
{
    snprintf(ctx, 64, "%s", msg);
}

static void test_status(void)
{
    psr_err err;
    ok(psr_fail(&err, PSR_EFORMAT, "%s: nbits = %d", "a\nb.fil", 3) == PSR_EFORMAT &&
           err.code == PSR_EFORMAT && !strcmp(err.msg, "a?b.fil: nbits = 3"),
       "psr_fail returns and keeps its code, and prints no control characters");
    ok(psr_fail(NULL, PSR_EIO, "x") == PSR_EIO, "psr_fail takes no psr_err");
    errno = ENOSPC;
    ok(psr_fail_errno(&err, "x.dat") == PSR_EIO && strstr(err.msg, strerror(ENOSPC)),
       "psr_fail_errno tells of errno");
    errno = ENOMEM;
    ok(psr_fail_errno(&err, "x") == PSR_ENOMEM, "ENOMEM is PSR_ENOMEM");
    bool all = true;
    for (int s = PSR_OK; s <= PSR_ESTOPPED; s++)
        all &= strcmp(psr_status_text((psr_status)s), "unknown status") != 0;
    ok(all, "every status has a text");
    char seen[64] = "";
    psr_note(&(struct psr_notes){.note = keep_note, .ctx = seen}, "%d rows", 3);
    ok(!strcmp(seen, "3 rows"), "psr_note reaches its function");
    psr_note(NULL, "nobody listens");
}

/* A name as long as the system takes leaves room for what is wrong with it. */
static void test_long_names(void)
{
    psr_err err, outer;
    char path[4096];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    errno = ENAMETOOLONG;
    psr_fail_errno(&err, "%s: cannot create %s.part", path, path);
    const char *reason = strerror(ENAMETOOLONG);
    ok(strlen(err.msg) == sizeof err.msg - 1 && err.code == PSR_EIO &&
           !strncmp(err.msg, path, 100) && strstr(err.msg, "x...x") &&
           !strcmp(err.msg + sizeof err.msg - 1 - strlen(reason), reason),
       "the cause stands: %s", err.msg + sizeof err.msg - 60);
    psr_fail(&outer, PSR_EFORMAT, "%s: %s", "list", err.msg);
    ok(!strncmp(outer.msg, "list: xxx", 9) &&
           !strcmp(outer.msg + sizeof err.msg - 1 - strlen(reason), reason),
       "and in a message around it");
    path[sizeof err.msg - 1] = '\0';
    psr_fail(&err, PSR_EIO, "%s", path);
    ok(!strcmp(err.msg, path), "what fits is kept");
}

static void test_numbers(void)
{
    psr_err err;
    int64_t i = -7;
    double d = -7;
    ok(psr_parse_int("n", "0x10", 0, 99, &i, &err) == PSR_OK && i == 16, "hexadecimal");
    ok(psr_parse_int("n", " -0X1f", -99, 99, &i, &err) == PSR_OK && i == -31, "with a sign");
    ok(psr_parse_int("n", "0037", 0, 99, &i, &err) == PSR_OK && i == 37, "zeros first");
    ok(psr_parse_int("n", "-008", -99, 99, &i, &err) == PSR_OK && i == -8, "that are not octal");
    ok(psr_parse_int("n", "0x", 0, 99, &i, &err) == PSR_EINVAL && i == -8, "no digits");
    i = 16;
    ok(psr_parse_int("n", "12a", 0, 99, &i, &err) == PSR_EINVAL && i == 16, "trailing text");
    ok(psr_parse_int("n", "", 0, 99, &i, &err) == PSR_EINVAL, "no text");
    ok(psr_parse_int("n", "100", 0, 99, &i, &err) == PSR_EINVAL && strstr(err.msg, "above 99"),
       "above the limit");
    ok(psr_parse_int("n", "99999999999999999999", 0, 99, &i, &err) == PSR_EINVAL, "overflow");
    ok(psr_parse_double("x", "2.5e1", 0, 99, &d, &err) == PSR_OK && d == 25, "a double");
    ok(psr_parse_double("x", "nan", 0, 99, &d, &err) == PSR_EINVAL, "nan is no number");
    ok(psr_parse_double("x", "-1", 0, 99, &d, &err) == PSR_EINVAL && d == 25, "below the limit");
    ok(psr_parse_size("m", "1.5K", &i, &err) == PSR_OK && i == 1536, "1.5K");
    ok(psr_parse_size("m", "2GiB", &i, &err) == PSR_OK && i == INT64_C(2) << 30, "2GiB");
    ok(psr_parse_size("m", "2x", &i, &err) == PSR_EINVAL, "an unknown suffix");
    ok(psr_parse_size("m", "-2", &i, &err) == PSR_EINVAL, "a negative size");
    static const struct {
        double bytes;
        const char *text;
    } size[] = {{1, "1 B"},          {1023, "1023 B"},   {1024, "1 KiB"},
                {69512, "67.9 KiB"}, {69530, "68 KiB"},  {1025, "1.01 KiB"},
                {0x1p30, "1 GiB"},   {200e9, "187 GiB"}, {3e18, "2.72848e+06 TiB"}};
    char text[PSR_SIZE_TEXT];
    for (size_t k = 0; k < sizeof size / sizeof *size; k++)
        ok(!strcmp(psr_size_text(text, size[k].bytes), size[k].text), "%g bytes are %s",
           size[k].bytes, text);
}

/* A word may have 62 characters, a file none that is no number. */
static void test_number_files(void)
{
    static const struct {
        const char *text;
        size_t n;
    } file[] = {
        {"1 2.5\n-3e2\t4\r\n", 4},
        {"00000000000000000000000000000000000000000000000000000000000001\n", 1},
        {"000000000000000000000000000000000000000000000000000000000000001\n", 0},
        {"1e30 -1e30\n", 2},
        {"1.001e30\n", 0},
        {"-1.001e30\n", 0},
        {"1 x\n", 0},
        {" \n\n", 0},
    };
    scratch_make();
    const char *path = scratch("numbers");
    for (size_t k = 0; k < sizeof file / sizeof *file; k++) {
        double *x = NULL;
        size_t n = 7;
        psr_err err = {.msg = ""};
        scratch_write_text(path, file[k].text);
        psr_status st = psr_numbers_read(path, &x, &n, &err);
        bool good = file[k].n > 0 ? !st && n == file[k].n : st != PSR_OK && !x;
        if (!ok(good, "a file of %zu numbers", file[k].n))
            diag("%zu of '%.70s': %s", n, file[k].text, err.msg);
        free(x);
    }
}

static void test_growth(void)
{
    enum { N = 1000 };
    psr_err err;
    double *x = NULL;
    size_t room = 0, most = SIZE_MAX / 8;
    bool fits = true, same = true;
    for (size_t i = 0; i < N && fits; i++) {
        fits = psr_grow(&x, &room, i, sizeof *x, "numbers", &err) == PSR_OK && room > i;
        if (fits)
            x[i] = (double)i;
    }
    for (size_t i = 0; i < N && fits; i++)
        same = same && x[i] == (double)i;
    ok(fits && same, "an array grows and keeps what it holds");
    const double *before = x;
    ok(psr_grow(&x, &most, most, sizeof *x, "numbers", &err) == PSR_ENOMEM &&
           strstr(err.msg, "numbers") && x == before && most == SIZE_MAX / 8,
       "an array beyond all memory is an error and stays: %s", err.msg);
    free(x);
}

int main(void)
{
    test_status();
    test_long_names();
    test_numbers();
    test_number_files();
    test_growth();
    return done_testing();
}
