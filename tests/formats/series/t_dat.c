/* series: .dat files read, and what is wrong with them. */
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <psrkit/series.h>

static void put_bytes(const char *name, const char *bytes, size_t n)
{
    FILE *f = fopen(scratch(name), "wb");
    if (f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0)
        return;
    diag("%s not written", name);
}

/* Where standard input is closed, as a daemon's may be, the file becomes descriptor 0. */
static void test_no_stdin(void)
{
    struct psr_inf inf;
    psr_err err = {0};
    float *x = NULL;
    int64_t n = 0;
    int keep = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    ok(psr_dat_read(scratch("a.dat"), &x, &n, &inf, &err) == PSR_OK && n == 2,
       "read without a standard input");
    free(x);
    if (keep >= 0) {
        dup2(keep, STDIN_FILENO);
        close(keep);
    }
}

static void test_dat_read(void)
{
    struct psr_inf inf;
    psr_err err;
    float *x;
    int64_t n;
    static const char text[] = "Number of bins = 2\nWidth of each = 1\n";
    ok(psr_dat_read(scratch("a.dat"), &x, &n, &inf, &err) == PSR_EIO && !x, "missing: %s", err.msg);
    put_bytes("a.dat", "12345678", 8);
    ok(psr_dat_read(scratch("a.dat"), &x, &n, &inf, &err) == PSR_EFORMAT &&
           strstr(err.msg, "a.inf"),
       "no .inf: %s", err.msg);
    put_bytes("a.inf", text, sizeof text - 1);
    ok(psr_dat_read(scratch("a.dat"), &x, &n, &inf, &err) == PSR_OK && n == 2 &&
           !memcmp(x, "12345678", 8),
       "read");
    free(x);
    test_no_stdin();
    put_bytes("a.dat", "1234567", 7);
    ok(psr_dat_read(scratch("a.dat"), &x, &n, &inf, &err) == PSR_EFORMAT, "size: %s", err.msg);
    put_bytes("a.dat", "123456781234", 12);
    ok(psr_dat_read(scratch("a.dat"), &x, &n, &inf, &err) == PSR_EFORMAT &&
           strstr(err.msg, "3 samples"),
       "length: %s", err.msg);
    put_bytes("a.inf", "x", 1);
    ok(psr_dat_read(scratch("a.dat"), &x, &n, &inf, &err) == PSR_EFORMAT, "bad .inf: %s", err.msg);
    mkdir(scratch("d.dat"), 0777);
    put_bytes("d.inf", text, sizeof text - 1);
    ok(psr_dat_read(scratch("d.dat"), &x, &n, &inf, &err) == PSR_EFORMAT, "folder: %s", err.msg);
    scratch_empty();
    const char *data = getenv("PSRKIT_TEST_DATA");
    if (!data) {
        skip("a series of PRESTO's", "PSRKIT_TEST_DATA is not set");
        return;
    }
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/GBT_J1807-0847.dat", data);
    ok(psr_dat_read(path, &x, &n, &inf, &err) == PSR_OK && n == 131072 && inf.dm == 112.3802,
       "a series of PRESTO's");
    free(x);
}

int main(void)
{
    scratch_make();
    test_dat_read();
    return done_testing();
}
