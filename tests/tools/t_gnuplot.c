/* What reaches gnuplot of a text: itself, and nothing that gnuplot would act on. */
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include "tools/common/gnuplot.h"
#include "tools/common/gnuplot_run.h"

enum { ROOM = 4096 };

/* Well-formed UTF-8, by the table of the Unicode standard (3-7): ranges of the bytes of each row. */
static const struct row {
    size_t n;
    unsigned char range[4][2];
} rows[] = {
    {1, {{0x20, 0x7e}}},
    {2, {{0xc2, 0xdf}, {0x80, 0xbf}}},
    {3, {{0xe0, 0xe0}, {0xa0, 0xbf}, {0x80, 0xbf}}},
    {3, {{0xe1, 0xec}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {3, {{0xed, 0xed}, {0x80, 0x9f}, {0x80, 0xbf}}},
    {3, {{0xee, 0xef}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {4, {{0xf0, 0xf0}, {0x90, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {4, {{0xf1, 0xf3}, {0x80, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {4, {{0xf4, 0xf4}, {0x80, 0x8f}, {0x80, 0xbf}, {0x80, 0xbf}}},
};

static size_t match_row(const unsigned char *text)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        size_t i = 0;
        while (i < rows[k].n && text[i] >= rows[k].range[i][0] && text[i] <= rows[k].range[i][1])
            i++;
        /* U+xFFFE and U+xFFFF are no characters. */
        if (i == rows[k].n && !(i > 2 && text[i - 1] >= 0xbe && text[i - 2] == 0xbf &&
                                (i == 3 ? text[0] == 0xef : (text[1] & 0xf) == 0xf)))
            return i;
    }
    return 0;
}

/* What is to be seen of text. */
static void shown(const char *text, char *to)
{
    while (*text) {
        size_t n = match_row((const unsigned char *)text);
        if (n)
            memcpy(to, text, n);
        else
            *to = '?';
        to += n ? n : 1;
        text += n ? n : 1;
    }
    *to = '\0';
}

/* The string as it is sent, without "noenhanced". */
static void send(const char *text, char *to)
{
    static const char end[] = " noenhanced";
    struct gnuplot g = {.script = gnuplot_memory("script")};
    gnuplot_text(&g, text);
    rewind(g.script);
    size_t n = fread(to, 1, ROOM - 1, g.script);
    fclose(g.script);
    to[n] = '\0';
    if (n > strlen(end) && !strcmp(to + n - strlen(end), end))
        to[n - strlen(end)] = '\0';
    else
        to[0] = '\0';
}

/* Undoes octal escapes; false where anything else is in the quotes but letters, digits, blanks and
 * question marks. */
static bool decode(const char *sent, char *to)
{
    size_t n = strlen(sent);
    if (n < 2 || sent[0] != '"' || sent[n - 1] != '"')
        return false;
    for (const char *end = sent + n - 1, *at = sent + 1; at < end; to++) {
        unsigned code;
        /* gnuplot takes any number of digits. */
        if (*at == '\\' && strspn(at + 1, "01234567") == 3 && sscanf(at + 1, "%3o", &code) == 1) {
            *to = (char)code;
            at += 4;
        } else if (strchr(" ?", *at) || (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') ||
                   (*at >= 'a' && *at <= 'z')) {
            *to = *at++;
        } else {
            return false;
        }
    }
    *to = '\0';
    return true;
}

static const char *const hostile[] = {
    "`touch ran`",
    "$(touch ran)",
    "'\"`touch ran`\"'",
    "\"; system(\"touch ran\"); s=\"",
    "\n!touch ran\n",
    "\nsystem 'touch ran'\n#",
    "|touch ran #.png",
    "@run '@run' \"@run\"",
    "%d %s %n %5$s",
    "{/Symbol m}_{x}^2 &{x} ~a{.6b}",
    "\\",
    "\\\\",
    "\\\"",
    "\\n\\t\\140touch ran\\140",
    "\\U+0060",
    "a\rb\tc\033[31md\177",
    "\303\244\342\202\254\360\237\230\200", /* two, three, four bytes */
    "\303",
    "\300\200",
    "\355\240\200",
    "\364\220\200\200",
    "\357\277\276",
    "\377x",
    "<script>alert(1)</script>&amp;",
    "# comment",
    "EOD\n$x << EOD",
    "1\0012",
    "",
};
enum { NHOSTILE = sizeof hostile / sizeof *hostile };

static void test_text(const char *text, const char *what)
{
    char sent[ROOM], back[ROOM], want[ROOM];
    send(text, sent);
    shown(text, want);
    bool safe = decode(sent, back);
    if (!ok(safe && !strcmp(back, want), "%s", what))
        diag("sent %s", sent);
}

static void test_random(uint64_t *seed)
{
    /* Bytes that begin, go on or end what matters, and any. */
    static const char likely[] =
        "`'\"\\@%{}|\n$#\303\244\342\202\355\240\360\220\364\217\277\276 0a";
    int bad = 0;
    for (int k = 0; k < 20000; k++) {
        char text[24] = "", sent[ROOM], back[ROOM], want[ROOM];
        for (int64_t i = 0, n = tap_between(seed, 0, 20); i < n; i++)
            text[i] = tap_uniform(seed) < 0.8
                          ? likely[tap_between(seed, 0, (int64_t)sizeof likely - 2)]
                          : (char)tap_between(seed, 1, 255);
        send(text, sent);
        shown(text, want);
        bad += !decode(sent, back) || strcmp(back, want);
    }
    ok(bad == 0, "20000 random texts: %d wrong", bad);
}

/* gnuplot itself must read the text, and do nothing else. */
static void test_in_gnuplot(void)
{
    char sent[ROOM], want[ROOM], line[ROOM];
    FILE *script = gnuplot_memory("script"), *drawn = gnuplot_memory("drawn");
    psr_err err = {0};
    int bad = 0;
    fprintf(script, "run = \"!touch ran\"\nset print '-'\n");
    for (int k = 0; k < NHOSTILE; k++) {
        send(hostile[k], sent);
        fprintf(script, "print %s\n", sent);
    }
    ok(!gnuplot_run("x.png", script, drawn, &err), "gnuplot takes all texts %s", err.msg);
    rewind(drawn);
    for (int k = 0; k < NHOSTILE; k++) {
        shown(hostile[k], want);
        strcat(want, "\n");
        if (!fgets(line, sizeof line, drawn) || strcmp(line, want) != 0) {
            diag("read %s, want %s", line, want);
            bad++;
        }
    }
    ok(bad == 0, "and reads what was meant");
    ok(access("ran", F_OK) != 0 && scratch_count("") == 0, "and runs nothing");
    fclose(script);
    fclose(drawn);
}

static void test_failures(void)
{
    struct gnuplot g;
    psr_err err = {0};
    ok(gnuplot_open(&g, "plot.gif", &err) == PSR_EINVAL && !g.out, "%s", err.msg);
    ok(gnuplot_open(&g, "no/where/plot.png", &err) == PSR_EIO && !g.out, "%s", err.msg);
    if (ok(!gnuplot_open(&g, "plot.png", &err) && !gnuplot_begin(&g, 5, 4, &err),
           "a plot is begun %s", err.msg)) {
        fprintf(g.script, "nonsense\n");
        ok(gnuplot_end(&g, &err) == PSR_EIO && strstr(err.msg, "plot.png: gnuplot failed: ") &&
               scratch_count("") == 0,
           "%s", err.msg);
    }
    if (ok(!gnuplot_open(&g, "plot.png", &err) && !gnuplot_begin(&g, 5, 4, &err), "another %s",
           err.msg))
        ok(gnuplot_end(&g, &err) == PSR_EIO && strstr(err.msg, "did not draw all of it") &&
               scratch_count("") == 0,
           "%s", err.msg);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    if (chdir(scratch_dir))
        return EXIT_FAILURE;
    for (int k = 0; k < NHOSTILE; k++) {
        char what[80];
        snprintf(what, sizeof what, "hostile text %d is sent harmless", k);
        test_text(hostile[k], what);
    }
    test_random(&seed);
    if (system("gnuplot --version >/dev/null 2>&1") == 0) {
        test_in_gnuplot();
        test_failures();
    } else {
        skip("texts in gnuplot", "no gnuplot");
    }
    return done_testing();
}
