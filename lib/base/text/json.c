/* Writes JSON: objects, arrays and values, with the commas between them. */
#include "base/tool.h"

#include <math.h>
#include <string.h>

static void put_bytes(struct psr_json *j, const char *text)
{
    j->put(j->ctx, text, strlen(text));
}

/* Quotes, backslashes and control characters; all else stands for itself. */
static size_t escape(char to[8], unsigned char c)
{
    if (c == '"' || c == '\\')
        return (size_t)snprintf(to, 8, "\\%c", c);
    return (size_t)snprintf(to, 8, "\\u%04x", c);
}

static void put_string(struct psr_json *j, const char *text)
{
    put_bytes(j, "\"");
    while (*text) {
        size_t n = 0;
        while ((unsigned char)text[n] >= 0x20 && text[n] != '"' && text[n] != '\\')
            n++;
        if (n)
            j->put(j->ctx, text, n);
        text += n;
        if (*text) {
            char escaped[8];
            j->put(j->ctx, escaped, escape(escaped, (unsigned char)*text));
            text++;
        }
    }
    put_bytes(j, "\"");
}

/* What is before a value: the comma after the one before it, a new line, the name. */
static void put_start(struct psr_json *j, const char *name)
{
    if (j->after_value)
        put_bytes(j, j->on_new_line ? "," : ", ");
    if (j->on_new_line) {
        put_bytes(j, "\n");
        for (int i = 0; i < j->indent; i++)
            put_bytes(j, " ");
    }
    if (name) {
        put_string(j, name);
        put_bytes(j, ": ");
    }
    j->after_value = true;
    j->on_new_line = false;
}

void psr_json_new_line(struct psr_json *j, int indent)
{
    j->on_new_line = true;
    j->indent = indent;
}

void psr_json_begin(struct psr_json *j, const char *name, enum psr_json_kind kind)
{
    put_start(j, name);
    put_bytes(j, kind == PSR_JSON_OBJECT ? "{" : "[");
    j->after_value = false;
}

void psr_json_end(struct psr_json *j, enum psr_json_kind kind)
{
    j->after_value = false;
    put_start(j, NULL);
    put_bytes(j, kind == PSR_JSON_OBJECT ? "}" : "]");
}

void psr_json_string(struct psr_json *j, const char *name, const char *text)
{
    put_start(j, name);
    put_string(j, text);
}

void psr_json_digits(struct psr_json *j, const char *name, const char *digits, size_t n)
{
    put_start(j, name);
    j->put(j->ctx, digits, n);
}

void psr_json_int(struct psr_json *j, const char *name, int64_t value)
{
    char digits[24];
    psr_json_digits(j, name, digits,
                    (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value));
}

void psr_json_double(struct psr_json *j, const char *name, double value)
{
    char digits[32] = "null";
    size_t n = strlen(digits);
    if (isfinite(value))
        n = (size_t)snprintf(digits, sizeof digits, "%.10g", value);
    psr_json_digits(j, name, digits, n);
}

/* --- finds the length of UTF-8 characters, and those that must not reach a terminal ----------- */

size_t psr_utf8_length(const char *text)
{
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text, c = *at;
    const size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    unsigned code = n > 1 ? c & (0x7f >> n) : c;
    for (size_t k = 1; k < n; k++) {
        if (at[k] >> 6 != 2)
            return 0;
        code = code << 6 | (at[k] & 0x3f);
    }
    const bool none = code >= 0x110000 || code >> 11 == 0x1b || (code & 0xfffe) == 0xfffe;
    return none || code < least[n] ? 0 : n;
}

/* Control characters, those of ISO 8859-1 too. */
static bool is_control(const unsigned char *at)
{
    return *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
}

void psr_make_printable(char *text)
{
    for (size_t n; *text; text += n) {
        n = psr_utf8_length(text);
        const bool plain = n && !is_control((unsigned char *)text);
        n = n ? n : 1;
        for (size_t k = 0; k < n && !plain; k++)
            text[k] = '?';
    }
}
