/* Pictures in a page: PNG files and plots, embedded. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE_MAX_BYTES = 1 << 25, HEAD = 8, CHUNK = 12, IHDR = 13 };

static uint32_t take_32(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Whether these are the chunks of a whole PNG (RFC 2083), to its end. */
static bool is_whole_png(const unsigned char *bytes, size_t n)
{
    static const unsigned char signature[HEAD] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    size_t at = HEAD, length = 0;
    if (n < HEAD + CHUNK + IHDR || memcmp(bytes, signature, HEAD) != 0 ||
        memcmp(bytes + HEAD + 4, "IHDR", 4) != 0)
        return false;
    for (; at + CHUNK <= n; at += CHUNK + length) {
        length = take_32(bytes + at);
        if (!memcmp(bytes + at + 4, "IEND", 4))
            return length == 0 && at + CHUNK == n;
    }
    return false;
}

static psr_status read_png(const char *path, unsigned char **bytes, size_t *n, psr_err *err)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return psr_fail_errno(err, "%s", path);
    *bytes = malloc(PICTURE_MAX_BYTES);
    psr_status st = *bytes ? PSR_OK : psr_fail_nomem(err, path, PICTURE_MAX_BYTES);
    *n = st ? 0 : fread(*bytes, 1, PICTURE_MAX_BYTES, f);
    if (!st && ferror(f))
        st = psr_fail_errno(err, "%s: cannot read", path);
    else if (!st && *n == PICTURE_MAX_BYTES)
        st = psr_fail(err, PSR_EFORMAT, "%s: a picture of %d bytes or more", path,
                      PICTURE_MAX_BYTES);
    else if (!st && !is_whole_png(*bytes, *n))
        st = psr_fail(err, PSR_EFORMAT, "%s: no PNG, or one that is cut off", path);
    fclose(f);
    return st;
}

static void put_size(struct html *h, const char *name, uint32_t value)
{
    html_raw(h, name);
    html_count(h, value);
    html_raw(h, "\"");
}

void page_picture(struct page *p, const unsigned char *bytes, size_t n, const char *alt)
{
    struct html *h = &p->html;
    html_raw(h, "<label class=\"pic\"><input type=\"checkbox\"/><img alt=\"");
    html_text(h, alt);
    put_size(h, "\" width=\"", take_32(bytes + HEAD + 8));
    put_size(h, " height=\"", take_32(bytes + HEAD + 12));
    html_raw(h, " src=\"data:image/png;base64,");
    html_base64(h, bytes, n);
    html_raw(h, "\"/></label>");
    p->left_bytes -= (int64_t)n;
}

static void link_picture(struct page *p, const char *name)
{
    struct html *h = &p->html;
    html_raw(h, "<a href=\"");
    html_href(h, p->base, name);
    html_raw(h, "\">picture</a>");
    p->left_out++;
}

psr_status page_file_picture(struct page *p, const char *name, const char *alt, psr_err *err)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    psr_err why;
    char *path = report_path(p->r, name);
    if (!path)
        return psr_fail_nomem(err, name, (double)strlen(name));
    psr_status st = read_png(path, &bytes, &n, &why);
    if (st)
        (void)report_problem(p->r, &why); /* a page is whole without a picture */
    else if ((int64_t)n > p->left_bytes)
        link_picture(p, name);
    else
        page_picture(p, bytes, n, alt);
    free(bytes);
    free(path);
    return PSR_OK;
}
