/* base: lines and whole files of text, which end wherever what is read does not. */
#include "base/input/readfd.h"
#include "base/tool.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <math.h>
#include <psrkit/ddplan.h>

static psr_err err;

static psr_status read_lines(const char *path, int64_t most, size_t room, char *all, long *number)
{
    char *line = tap_take(room, 1);
    struct psr_text_lines in;
    bool there;
    *all = '\0';
    psr_status st = psr_text_lines_open(&in, path, most, &err);
    if (!st) {
        while (!(st = psr_text_lines_next(&in, line, room, &there, &err)) && there)
            strcat(all, line);
        *number = in.number;
        psr_text_lines_close(&in);
    }
    free(line);
    return st;
}

static void test_lines(const char *path)
{
    static const char text[] = "one\n\nthree\nno end";
    const int64_t n = sizeof text - 1;
    char all[100];
    long number;
    scratch_write_text(path, text);
    ok(!read_lines(path, n, 8, all, &number) && !strcmp(all, text) && number == 4,
       "all lines, up to the bound");
    ok(read_lines(path, n - 1, 8, all, &number) == PSR_EFORMAT && number == 4 &&
           strstr(err.msg, "line 4: beyond 16 bytes"),
       "%s", err.msg);
    ok(read_lines(path, n, 7, all, &number) == PSR_OK && !strcmp(all, text), "a line that fits");
    ok(read_lines(path, n, 6, all, &number) == PSR_EFORMAT && number == 3 &&
           strstr(err.msg, "line 3: longer than 4 bytes"),
       "%s", err.msg);
    scratch_write(path, "a\nb\0c\n", 6);
    ok(read_lines(path, n, 8, all, &number) == PSR_EFORMAT && strstr(err.msg, "line 2: a byte 0"),
       "%s", err.msg);
    scratch_write_text(path, "");
    ok(!read_lines(path, n, 8, all, &number) && !*all && number == 0, "an empty file");
    ok(read_lines(scratch_dir, n, 8, all, &number) == PSR_EIO, "%s", err.msg);
    ok(read_lines(scratch("gone"), n, 8, all, &number) == PSR_EIO, "%s", err.msg);
    ok(read_lines("/dev/zero", n, 8, all, &number) == PSR_EFORMAT, "%s", err.msg);
}

/* A child that writes until nobody reads. */
static pid_t stage(const char *path, size_t most)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        FILE *f = fopen(path, "w");
        for (size_t n = 0; f && n < most; n++)
            fputc('x', f);
        _exit(f ? fclose(f) : 1);
    }
    return child;
}

static void test_slurp(const char *path, const char *pipe)
{
    char *text = NULL;
    size_t n = 0;
    int status;
    scratch_write_text(path, "1234567");
    ok(!psr_read_file(path, 7, &text, &n, &err) && n == 7 && !strcmp(text, "1234567"),
       "a whole file");
    free(text);
    ok(psr_read_file(path, 6, &text, &n, &err) == PSR_EFORMAT && !text &&
           strstr(err.msg, "7 bytes, beyond 6 bytes"),
       "%s", err.msg);
    truncate(path, (off_t)1 << 40);
    ok(psr_read_file(path, 1 << 20, &text, &n, &err) == PSR_EFORMAT && !text, "%s", err.msg);
    ok(psr_read_file("/dev/zero", 1 << 20, &text, &n, &err) == PSR_EFORMAT && !text, "%s", err.msg);
    mkfifo(pipe, 0600);
    for (size_t bytes = 99999; bytes <= 100001; bytes++) {
        pid_t child = stage(pipe, bytes);
        psr_status st = psr_read_file(pipe, 100000, &text, &n, &err);
        ok(bytes <= 100000 ? !st && n == bytes && text[n] == 0 : st == PSR_EFORMAT && !text,
           "%zu bytes of a pipe, of which 100000 may come", bytes);
        free(text);
        waitpid(child, &status, 0);
    }
    ok(psr_read_file(scratch_dir, 100, &text, &n, &err) == PSR_EIO && !text, "%s", err.msg);
    ok(psr_read_file(scratch("gone"), 100, &text, &n, &err) == PSR_EIO && !text, "%s", err.msg);
}

static void test_names(const char *path)
{
    struct psr_names names = {0};
    scratch_write_text(path, "# a list\n a b.dat \t\r\n\n  # no name\nlast");
    bool fine = !psr_names_add(&names, "first", &err) && !psr_names_read(&names, path, &err);
    ok(fine && names.n == 3 && !strcmp(names.name[0], "first") &&
           !strcmp(names.name[1], "a b.dat") && !strcmp(names.name[2], "last"),
       "names, one by one and in a list");
    psr_names_clear(&names);
    ok(names.n == 0 && !names.name, "are forgotten");
    ok(psr_names_read(&names, scratch("gone"), &err) == PSR_EIO && names.n == 0, "%s", err.msg);
    psr_names_clear(&names);
}

static void test_numbers(const char *path)
{
    double *x;
    size_t n;
    scratch_write_text(path, "1 -2.5\n\t3e2\r\n");
    ok(!psr_numbers_read(path, &x, &n, &err) && n == 3 && x[0] == 1 && x[1] == -2.5 && x[2] == 300,
       "numbers");
    free(x);
    const char *const bad[] = {"1 two", "", "1e31", "0x"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        scratch_write_text(path, bad[k]);
        psr_status st = psr_numbers_read(path, &x, &n, &err);
        ok(st && !x, "%s", err.msg);
    }
    scratch_write(path, "1 \0 2", 5);
    ok(psr_numbers_read(path, &x, &n, &err) == PSR_EFORMAT && !x, "%s", err.msg);
}

struct text {
    char text[4096];
    size_t n;
};

static void put(void *ctx, const char *bytes, size_t n)
{
    struct text *t = ctx;
    memcpy(t->text + t->n, bytes, n);
    t->n += n;
}

/* Every byte, by the words of RFC 8259: below 0x20, quotes and backslashes are escaped. */
static void test_json(void)
{
    bool fine = true;
    for (int c = 1; c < 256; c++) {
        char in[4] = {'a', (char)c, 'b', 0}, want[16];
        struct text t = {.n = 0};
        if (c == '"' || c == '\\')
            snprintf(want, sizeof want, "\"a\\%cb\"", c);
        else if (c < 0x20)
            snprintf(want, sizeof want, "\"a\\u%04xb\"", (unsigned)c);
        else
            snprintf(want, sizeof want, "\"a%cb\"", c);
        psr_json_string(&(struct psr_json){.put = put, .ctx = &t}, NULL, in);
        fine = fine && t.n == strlen(want) && !memcmp(t.text, want, t.n);
    }
    struct text none = {.n = 0};
    psr_json_string(&(struct psr_json){.put = put, .ctx = &none}, NULL, "");
    ok(fine && none.n == 2 && !memcmp(none.text, "\"\"", 2), "strings of JSON");
}

static void test_json_layout(void)
{
    const char *want = "{\n  \"a\": 1, \"b\": [0.3, null, null],\n  \"c\": {},\n  \"d\": \"e\"\n}";
    struct text t = {.n = 0};
    struct psr_json j = {.put = put, .ctx = &t};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_new_line(&j, 2);
    psr_json_int(&j, "a", 1);
    psr_json_begin(&j, "b", PSR_JSON_ARRAY);
    psr_json_double(&j, NULL, 0.1 + 0.2);
    psr_json_double(&j, NULL, INFINITY);
    psr_json_digits(&j, NULL, "null", 4);
    psr_json_end(&j, PSR_JSON_ARRAY);
    psr_json_new_line(&j, 2);
    psr_json_begin(&j, "c", PSR_JSON_OBJECT);
    psr_json_end(&j, PSR_JSON_OBJECT);
    psr_json_new_line(&j, 2);
    psr_json_string(&j, "d", "e");
    psr_json_new_line(&j, 0);
    psr_json_end(&j, PSR_JSON_OBJECT);
    ok(t.n == strlen(want) && !memcmp(t.text, want, t.n), "commas, lines and names of JSON");
}

int main(void)
{
    char path[PATH_MAX], pipe[PATH_MAX];
    scratch_make();
    snprintf(path, sizeof path, "%s", scratch("file"));
    snprintf(pipe, sizeof pipe, "%s", scratch("pipe"));
    test_lines(path);
    test_slurp(path, pipe);
    test_names(path);
    test_numbers(path);
    test_json();
    test_json_layout();
    return done_testing();
}
