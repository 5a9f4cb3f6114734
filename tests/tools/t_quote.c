/* What a picture shows of a text: itself, and question marks for what cannot be shown. */
#include "tests/support/tap.h"
#include "tools/common/quote.h"

#include <string.h>

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

static void test_random(uint64_t *seed)
{
    /* Bytes that begin, go on or end what matters, and any. */
    static const char likely[] = "a0 \n\177\303\244\342\202\355\240\360\220\364\217\277\276";
    int bad = 0;
    for (int k = 0; k < 20000; k++) {
        char text[24] = "", got[ROOM], want[ROOM];
        for (int64_t i = 0, n = tap_between(seed, 0, 20); i < n; i++)
            text[i] = tap_uniform(seed) < 0.8
                          ? likely[tap_between(seed, 0, (int64_t)sizeof likely - 2)]
                          : (char)tap_between(seed, 1, 255);
        quote_shown(got, sizeof got, text);
        shown(text, want);
        bad += strcmp(got, want) != 0;
    }
    ok(bad == 0, "20000 random texts: %d wrong", bad);
}

/* What is cut keeps whole characters. */
static void test_room(void)
{
    char got[9];
    quote_shown(got, sizeof got, "abc\303\244\342\202\254\360\237\230\200");
    ok(!strcmp(got, "abc\303\244"), "8 bytes hold %s", got);
    quote_shown(got, sizeof got, "");
    ok(!*got, "nothing is nothing");
}

int main(void)
{
    uint64_t seed = tap_seed();
    for (int k = 0; k < NHOSTILE; k++) {
        char got[ROOM], want[ROOM];
        quote_shown(got, sizeof got, hostile[k]);
        shown(hostile[k], want);
        ok(!strcmp(got, want), "hostile text %d", k);
    }
    test_random(&seed);
    test_room();
    return done_testing();
}
