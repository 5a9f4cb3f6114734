/* page_check FILE: whether a page is well-formed, loads nothing from elsewhere, and has pictures that can
 * be decoded; prints its numbers of pictures, tables and rows in one line. */
#include "base/tool.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PAGE_BYTES = 1 << 28, DEPTH = 64, NAME = 16 };

struct page {
    char *text, *at;
    char open[DEPTH][NAME]; /* elements that have not ended */
    size_t depth;
    size_t pictures, tables, rows;
};

__attribute__((noreturn)) static void stop(const struct page *p, const char *why)
{
    fprintf(stderr, "page_check: byte %zu: %s: %.60s\n", (size_t)(p->at - p->text), why, p->at);
    exit(EXIT_FAILURE);
}

/* --- pictures --------------------------------------------------------------------------------- */

static uint32_t take_32(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Returned: bytes, in place of the digits */
static size_t decode_base64(const struct page *p, char *text, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0, padding = 0;
    if (n % 4 || !n)
        stop(p, "base64 of an odd length");
    while (padding < 2 && text[n - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word = 0;
        for (size_t k = i; k < i + 4; k++) {
            const char *digit = k < n - padding ? memchr(digits, text[k], 64) : digits;
            if (!digit)
                stop(p, "no base64");
            word = word << 6 | (uint32_t)(digit - digits);
        }
        for (int k = 2; k >= 0; k--)
            text[used++] = (char)(word >> (8 * k));
    }
    return used - padding;
}

/* Inflates the pixels that come in many chunks, and counts them. */
static size_t inflate_pixels(const struct page *p, const unsigned char *png, size_t n)
{
    unsigned char room[1 << 14];
    z_stream z = {.next_in = NULL};
    int rc = inflateInit(&z);
    for (size_t at = 8, length; at + 12 <= n; at += 12 + length) {
        length = take_32(png + at);
        if (length > n - at - 12)
            stop(p, "a chunk beyond the picture's end");
        if (crc32(0, png + at + 4, (uInt)length + 4) != take_32(png + at + 8 + length))
            stop(p, "a chunk with a wrong sum");
        if (memcmp(png + at + 4, "IDAT", 4) != 0)
            continue;
        z.next_in = (unsigned char *)(uintptr_t)(png + at + 8);
        z.avail_in = (uInt)length;
        while (rc == Z_OK && z.avail_in) {
            z.next_out = room;
            z.avail_out = sizeof room;
            rc = inflate(&z, Z_NO_FLUSH);
        }
    }
    while (rc == Z_OK) {
        z.next_out = room;
        z.avail_out = sizeof room;
        rc = inflate(&z, Z_FINISH);
    }
    if (rc != Z_STREAM_END)
        stop(p, "pixels that cannot be inflated");
    inflateEnd(&z);
    return z.total_out;
}

static void check_png(const struct page *p, const unsigned char *png, size_t n)
{
    static const int samples[7] = {1, 0, 3, 1, 2, 0, 4}; /* by colour type */
    if (n < 45 || memcmp(png, "\x89PNG\r\n\x1a\n", 8) != 0 || memcmp(png + n - 8, "IEND", 4) != 0)
        stop(p, "no whole PNG");
    const size_t width = take_32(png + 16), height = take_32(png + 20);
    const size_t bits = width * png[24] * (size_t)samples[png[25] % 7];
    if (!bits || !height || png[28])
        stop(p, "a picture without pixels, or interlaced");
    if (inflate_pixels(p, png, n) != height * (1 + (bits + 7) / 8))
        stop(p, "a picture with too few or too many pixels");
}

/* --- markup ----------------------------------------------------------------------------------- */

/* Text, and values of attributes. */
static void check_text(struct page *p, char end)
{
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    while (*p->at && *p->at != end) {
        const size_t n = psr_utf8_length(p->at);
        bool known = *p->at != '&';
        for (size_t i = 0; i < sizeof entity / sizeof *entity; i++)
            known = known || !strncmp(p->at, entity[i], strlen(entity[i]));
        if (!known || !n || *p->at == '<' || *p->at == '>' ||
            ((unsigned char)*p->at < 0x20 && *p->at != '\n'))
            stop(p, "text that is not escaped");
        p->at += n;
    }
}

static void check_address(struct page *p, const char *name, char *value, size_t n)
{
    static const char picture[] = "data:image/png;base64,";
    const size_t skipped = sizeof picture - 1;
    if (!strcmp(name, "src")) {
        if (n < skipped || strncmp(value, picture, skipped) != 0)
            stop(p, "a source that is no picture in the page");
        char *text = strndup(value + skipped, n - skipped);
        const size_t size = text ? decode_base64(p, text, n - skipped) : 0;
        check_png(p, (const unsigned char *)text, size);
        free(text);
        p->pictures++;
    } else if (!strcmp(name, "href") && strncmp(value, "./", 2) != 0 && *value != '/') {
        stop(p, "an address that is no file's");
    } else if (!strcmp(name, "href") && !strncmp(value, "//", 2)) {
        stop(p, "an address of a server");
    }
}

static void take_name(struct page *p, char name[static NAME])
{
    size_t n = 0;
    while (isalnum((unsigned char)*p->at) || *p->at == '-') {
        if (n + 1 == NAME)
            stop(p, "a long name");
        name[n++] = *p->at++;
    }
    name[n] = '\0';
    if (!n)
        stop(p, "no name");
}

static void take_attributes(struct page *p)
{
    while (*p->at == ' ') {
        char name[NAME];
        p->at++;
        take_name(p, name);
        if (strncmp(p->at, "=\"", 2) != 0)
            stop(p, "an attribute without a value in quotes");
        p->at += 2;
        if (!strncmp(name, "on", 2))
            stop(p, "a script in an attribute");
        char *value = p->at;
        if (!strcmp(name, "content"))
            p->at += strcspn(p->at, "\"");
        else
            check_text(p, '"');
        check_address(p, name, value, (size_t)(p->at - value));
        p->at++;
    }
}

/* Scripts and styles are not markup. */
static void skip_raw(struct page *p, const char *name)
{
    char end[NAME + 4];
    snprintf(end, sizeof end, "</%s>", name);
    char *found = strstr(p->at, end);
    if (!found)
        stop(p, "a script or style without an end");
    p->at = found;
}

static void take_tag(struct page *p)
{
    char name[NAME];
    const bool ends = p->at[1] == '/';
    p->at += 1 + ends;
    take_name(p, name);
    p->tables += !ends && !strcmp(name, "table");
    p->rows += !ends && !strcmp(name, "tr");
    take_attributes(p);
    if (!ends && !strncmp(p->at, "/>", 2)) {
        p->at += 2;
        return;
    }
    if (*p->at++ != '>')
        stop(p, "a tag without an end");
    if (ends) {
        if (!p->depth || strcmp(p->open[--p->depth], name) != 0)
            stop(p, "the end of what is not open");
        return;
    }
    if (p->depth == DEPTH)
        stop(p, "nested too deep");
    strcpy(p->open[p->depth++], name);
    if (!strcmp(name, "script") || !strcmp(name, "style"))
        skip_raw(p, name);
}

int main(int argc, char **argv)
{
    static const char begin[] = "<!DOCTYPE html>\n";
    static struct page p;
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    p.text = calloc(1, PAGE_BYTES);
    const size_t n = f && p.text ? fread(p.text, 1, PAGE_BYTES - 1, f) : 0;
    p.at = p.text;
    if (!n || fclose(f) || strlen(p.text) != n || strncmp(p.text, begin, sizeof begin - 1) != 0)
        stop(&p, "no page");
    p.at += sizeof begin - 1;
    while (*p.at)
        if (*p.at == '<')
            take_tag(&p);
        else
            check_text(&p, '<');
    if (p.depth)
        stop(&p, "elements without an end");
    printf("%zu pictures, %zu tables, %zu rows\n", p.pictures, p.tables, p.rows);
    free(p.text);
    return 0;
}
