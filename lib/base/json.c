/* Writes JSON strings. */
#include <psrkit/tool.h>

#include <string.h>

/* Quotes, backslashes and control characters; all else stands for itself. */
static size_t escape(char to[8], unsigned char c)
{
    if (c == '"' || c == '\\')
        return (size_t)snprintf(to, 8, "\\%c", c);
    return (size_t)snprintf(to, 8, "\\u%04x", c);
}

void psr_json_text(const char *text, void (*put)(void *ctx, const char *bytes, size_t n), void *ctx)
{
    put(ctx, "\"", 1);
    while (*text) {
        size_t n = 0;
        while ((unsigned char)text[n] >= 0x20 && text[n] != '"' && text[n] != '\\')
            n++;
        if (n)
            put(ctx, text, n);
        text += n;
        if (*text) {
            char escaped[8];
            put(ctx, escaped, escape(escaped, (unsigned char)*text));
            text++;
        }
    }
    put(ctx, "\"", 1);
}
