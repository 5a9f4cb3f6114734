/* Writes HTML: text, numbers and pictures. */
#include "html.h"

#include "base/tool.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(struct html *h, const char *bytes, size_t n)
{
    if (!h->status)
        h->status = psr_outfile_write(h->f, bytes, n, h->err);
}

void html_raw(struct html *h, const char *markup)
{
    put(h, markup, strlen(markup));
}

/* What stands for a character; NULL: it itself. */
static const char *escape(const char *at, size_t n)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char c = (unsigned char)*at;
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        break;
    }
    const bool is_c1 = n == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0;
    return n == 0 || c < 0x20 || c == 0x7f || is_c1 ? replacement : NULL;
}

void html_text(struct html *h, const char *text)
{
    while (*text) {
        const size_t n = psr_utf8_length(text);
        const char *other = escape(text, n);
        if (other)
            html_raw(h, other);
        else
            put(h, text, n);
        text += n ? n : 1;
    }
}

void html_number(struct html *h, const char *format, double value)
{
    char text[64];
    if (!isfinite(value)) {
        html_raw(h, "\xe2\x80\x93");
        return;
    }
    snprintf(text, sizeof text, format, value);
    html_raw(h, text);
}

void html_cell(struct html *h, const char *format, double value)
{
    html_raw(h, "<td class=\"n\"");
    if (isfinite(value)) {
        html_raw(h, " data-v=\"");
        html_number(h, "%.12g", value);
        html_raw(h, "\"");
    }
    html_raw(h, ">");
    html_number(h, format, value);
    html_raw(h, "</td>");
}

void html_count(struct html *h, size_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", n);
    html_raw(h, text);
}

void html_size(struct html *h, double bytes)
{
    char text[PSR_SIZE_TEXT];
    html_raw(h, psr_size_text(text, bytes));
}

void html_href(struct html *h, const char *base, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/";
    const char *const part[2] = {base, name};
    for (int i = 0; i < 2; i++)
        for (const char *at = part[i]; *at; at++) {
            char text[8];
            snprintf(text, sizeof text, strchr(plain, *at) ? "%c" : "%%%02X", (unsigned char)*at);
            html_raw(h, text);
        }
}

void html_base64(struct html *h, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4096];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        const unsigned long word = (unsigned long)bytes[i] << 16 |
                                   (i + 1 < n ? (unsigned long)bytes[i + 1] << 8 : 0) |
                                   (i + 2 < n ? bytes[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            text[used++] = i + k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
        if (used == sizeof text || i + 3 >= n) {
            put(h, text, used);
            used = 0;
        }
    }
}
