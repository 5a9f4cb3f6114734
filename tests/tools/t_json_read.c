/* JSON read as a tree: values, escapes, what is refused, and what psr_json wrote. */
#include "tests/support/tap.h"

#include "base/tool.h"
#include "tools/common/json_read.h"
#include <string.h>

static struct json_value *parse(const char *from, psr_status *st, psr_err *err)
{
    static char text[1 << 14];
    struct json_value *v;
    snprintf(text, sizeof text, "%s", from);
    *st = json_parse(&v, text, "file: line 3", err);
    return v;
}

static void test_values(void)
{
    psr_status st;
    psr_err err;
    struct json_value *v =
        parse(" {\"s\": \"x\", \"n\":-1.5e2 ,\"t\":true,\"f\":false,\"z\":null, \"a\":[1,[],{}], "
              "\"n\": 3}\r\n",
              &st, &err);
    ok(!st && v->type == JSON_OBJECT, "an object");
    ok(!strcmp(json_text(v, "s"), "x"), "a string");
    ok(json_number(v, "n") == -150, "a number, the first of two with one name");
    ok(json_member(v, "t")->type == JSON_TRUE && json_member(v, "f")->type == JSON_FALSE &&
           json_member(v, "z")->type == JSON_NULL,
       "words");
    const struct json_value *a = json_member(v, "a")->first;
    ok(a->number == 1 && a->next->type == JSON_ARRAY && !a->next->first &&
           a->next->next->type == JSON_OBJECT && !a->next->next->next,
       "an array, with empty ones in it");
    ok(!json_member(v, "none") && !*json_text(v, "none") && isnan(json_number(v, "s")) &&
           !*json_text(v, "n") && !json_member(NULL, "s") && !json_member(a, "s"),
       "members that are not there, or of another type");
    json_clear(v);
    json_clear(NULL);
}

static void test_strings(void)
{
    static const char *const text[][2] = {
        {"\"\"", ""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83d\"", "\xef\xbf\xbd"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"},
        {"\"\\ude00x\"", "\xef\xbf\xbdx"},
        {"\"a\\u0000b\"", "a\xef\xbf\xbd"
                          "b"},
        {"\"\xff<\"", "\xff<"},
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        psr_status st;
        psr_err err;
        struct json_value *v = parse(text[i][0], &st, &err);
        ok(!st && v->type == JSON_STRING && !strcmp(v->text, text[i][1]), "%zu: escapes", i);
        json_clear(v);
    }
}

static void test_refused(void)
{
    static const char *const text[] = {
        "",      "{",          "}",   "[1,]",    "[1 2]",       "{\"a\"}",          "{\"a\":}",
        "{a:1}", "{\"a\":1,}", "\"",  "\"\\x\"", "\"\\u12g4\"", "\"\n\"",           "\"\\",
        "+1",    "--1",        "nul", "1 2",     "1e999",       "\"\\ud83d\\u12\"",
    };
    char deep[200];
    psr_status st;
    psr_err err;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct json_value *v = parse(text[i], &st, &err);
        ok(st == PSR_EFORMAT && !v && !strncmp(err.msg, "file: line 3: byte ", 19), "refused: %s",
           strpbrk(text[i], "\n") ? "a line end" : text[i]);
    }
    for (int n = 64; n <= 65; n++) {
        memset(deep, '[', (size_t)n);
        memset(deep + n, ']', (size_t)n);
        deep[2 * n] = '\0';
        struct json_value *v = parse(deep, &st, &err);
        ok((st == PSR_OK) == (n == 64), "%d arrays in each other", n);
        json_clear(v);
    }
    parse("[true, xyz]", &st, &err);
    ok(!strcmp(err.msg, "file: line 3: byte 8: no value"), "the place: %s", err.msg);
}

static void append(void *ctx, const char *bytes, size_t n)
{
    strncat(ctx, bytes, n);
}

static void test_own(void)
{
    char text[4096] = "";
    struct psr_json j = {.put = append, .ctx = text};
    static const char hostile[] = "a\"b\\c\n\t<script>\xc3\xa9\xff\x01";
    psr_status st;
    psr_err err;
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_string(&j, "s", hostile);
    psr_json_double(&j, "d", 0.1 + 0.2);
    psr_json_double(&j, "none", NAN);
    psr_json_int(&j, "i", 1LL << 40);
    psr_json_end(&j, PSR_JSON_OBJECT);
    struct json_value *v = parse(text, &st, &err);
    ok(!st && !strcmp(json_text(v, "s"), hostile), "a string that psr_json wrote");
    ok(json_number(v, "d") == 0.3 && isnan(json_number(v, "none")) &&
           json_number(v, "i") == 1099511627776.0,
       "numbers that it wrote");
    json_clear(v);
}

int main(void)
{
    test_values();
    test_strings();
    test_refused();
    test_own();
    return done_testing();
}
