/* Reads JSON (RFC 8259) as a tree of values. */
#include "json_read.h"

#include "base/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct parser {
    char *text, *at;
    const char *what;
    int depth;
    psr_err *err;
};

static psr_status fail(const struct parser *p, const char *why)
{
    return psr_fail(p->err, PSR_EFORMAT, "%s: byte %zu: %s", p->what, (size_t)(p->at - p->text) + 1,
                    why);
}

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

static bool take(struct parser *p, char c)
{
    skip_blanks(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

/* Four hexadecimal digits; -1: they are not there. */
static long take_hex(struct parser *p)
{
    long code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = *p->at ? strchr(digits, *p->at) : NULL;
        if (!digit)
            return -1;
        const long value = digit - digits;
        code = code << 4 | (value > 15 ? value - 6 : value);
    }
    return code;
}

static char *put_utf8(char *to, long code)
{
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[4] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(lead[more] | code >> (6 * more));
    for (int i = more - 1; i >= 0; i--)
        *to++ = (char)(0x80 | (code >> (6 * i) & 0x3f));
    return to;
}

/* After \u; half of a pair, and 0, become U+FFFD.
 * Returned: where the next character goes; NULL: no digits */
static char *take_code(struct parser *p, char *to)
{
    enum { HIGH = 0xd800, LOW = 0xdc00, END = 0xe000, REPLACEMENT = 0xfffd };
    long code = take_hex(p);
    if (code < 0)
        return NULL;
    if (code >= HIGH && code < LOW && p->at[0] == '\\' && p->at[1] == 'u') {
        p->at += 2;
        const long low = take_hex(p);
        if (low < 0)
            return NULL;
        code =
            low >= LOW && low < END ? 0x10000 + ((code - HIGH) << 10) + (low - LOW) : REPLACEMENT;
    } else if (code == 0 || (code >= HIGH && code < END)) {
        code = REPLACEMENT;
    }
    return put_utf8(to, code);
}

/* Returned: where the next character goes; NULL: no such escape */
static char *take_escape(struct parser *p, char *to)
{
    static const char from[] = "\"\\/bfnrt", value[] = "\"\\/\b\f\n\r\t";
    const char c = *p->at, *known = c ? strchr(from, c) : NULL;
    if (c)
        p->at++;
    if (c == 'u')
        return take_code(p, to);
    if (!known)
        return NULL;
    *to++ = value[known - from];
    return to;
}

/* In place: a string is never longer than what it is written as. */
static psr_status take_string(struct parser *p, const char **text)
{
    char *to = p->at;
    *text = to;
    while (*p->at != '"') {
        if ((unsigned char)*p->at < 0x20)
            return fail(p, "a string without an end, or with a control character");
        if (*p->at != '\\') {
            *to++ = *p->at++;
            continue;
        }
        p->at++;
        to = take_escape(p, to);
        if (!to)
            return fail(p, "no such escape");
    }
    p->at++;
    *to = '\0';
    return PSR_OK;
}

static psr_status take_value(struct parser *p, struct json_value **value);

static psr_status take_number(struct parser *p, struct json_value *v)
{
    char word[64];
    const size_t n = strspn(p->at, "+-.0123456789eE");
    psr_err why;
    if (n == 0 || n >= sizeof word || *p->at == '+')
        return fail(p, "no value");
    memcpy(word, p->at, n);
    word[n] = '\0';
    if (psr_parse_double("", word, -1e308, 1e308, &v->number, &why))
        return fail(p, "no number");
    v->type = JSON_NUMBER;
    p->at += n;
    return PSR_OK;
}

static psr_status take_word(struct parser *p, struct json_value *v)
{
    static const char *const word[] = {"null", "false", "true"};
    for (int i = 0; i < 3; i++)
        if (!strncmp(p->at, word[i], strlen(word[i]))) {
            p->at += strlen(word[i]);
            v->type = (enum json_type)i;
            return PSR_OK;
        }
    return take_number(p, v);
}

static psr_status take_name(struct parser *p, const char **name)
{
    if (!take(p, '"'))
        return fail(p, "no name of a member");
    psr_status st = take_string(p, name);
    if (!st && !take(p, ':'))
        st = fail(p, "no colon after a name");
    return st;
}

static psr_status take_members(struct parser *p, struct json_value *v)
{
    const char end = v->type == JSON_OBJECT ? '}' : ']';
    struct json_value **last = &v->first;
    if (take(p, end))
        return PSR_OK;
    do {
        const char *name = NULL;
        psr_status st = v->type == JSON_OBJECT ? take_name(p, &name) : PSR_OK;
        if (!st)
            st = take_value(p, last);
        if (st)
            return st;
        (*last)->name = name;
        last = &(*last)->next;
    } while (take(p, ','));
    return take(p, end) ? PSR_OK : fail(p, "no comma, and no end of an array or object");
}

static psr_status take_value(struct parser *p, struct json_value **value)
{
    *value = calloc(1, sizeof **value);
    if (!*value)
        return psr_fail_nomem(p->err, p->what, sizeof **value);
    (*value)->number = NAN;
    struct json_value *v = *value;
    if (take(p, '"')) {
        v->type = JSON_STRING;
        return take_string(p, &v->text);
    }
    if (*p->at != '{' && *p->at != '[')
        return take_word(p, v);
    if (p->depth == DEPTH_MAX)
        return fail(p, "nested too deep");
    v->type = *p->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
    p->depth++;
    psr_status st = take_members(p, v);
    p->depth--;
    return st;
}

psr_status json_parse(struct json_value **value, char *text, const char *what, psr_err *err)
{
    struct parser p = {.text = text, .at = text, .what = what, .err = err};
    psr_status st = take_value(&p, value);
    skip_blanks(&p);
    if (!st && *p.at)
        st = fail(&p, "more after the value");
    if (st) {
        json_clear(*value);
        *value = NULL;
    }
    return st;
}

void json_clear(struct json_value *value)
{
    while (value) {
        struct json_value *next = value->next;
        json_clear(value->first);
        free(value);
        value = next;
    }
}

const struct json_value *json_member(const struct json_value *object, const char *name)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const struct json_value *v = object->first; v; v = v->next)
        if (!strcmp(v->name, name))
            return v;
    return NULL;
}

const char *json_text(const struct json_value *object, const char *name)
{
    const struct json_value *v = json_member(object, name);
    return v && v->type == JSON_STRING ? v->text : "";
}

double json_number(const struct json_value *object, const char *name)
{
    const struct json_value *v = json_member(object, name);
    return v ? v->number : NAN;
}
