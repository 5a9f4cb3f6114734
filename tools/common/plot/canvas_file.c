/* Pictures are begun and written here: cairo is loaded, and makes the format of a file. */
#include "canvas_internal.h"

#include <config.h>
#include <dlfcn.h>
#include <psrkit/experimental/outfile.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Writes pictures as PNG (RFC 2083): rows as differences from the row above, deflated quickly. */

enum { ABOVE = 2, BITS = 8, RGB = 2 };
enum { CHUNK = 12 }; /* bytes of a chunk without contents */

static void put_32(unsigned char to[4], uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Appends length, type, bytes, checksum of the last two.
 * Returned: where the next chunk goes */
static unsigned char *put_chunk(unsigned char *to, const char *type, const unsigned char *bytes,
                                size_t n)
{
    put_32(to, (uint32_t)n);
    memcpy(to + 4, type, 4);
    if (n)
        memcpy(to + 8, bytes, n);
    put_32(to + 8 + n, (uint32_t)crc32(crc32(0, NULL, 0), to + 4, (uInt)(n + 4)));
    return to + CHUNK + n;
}

static void filter_row(unsigned char *to, const unsigned char *row, const unsigned char *above,
                       size_t width)
{
    *to++ = ABOVE;
    for (size_t i = 0; i < width; i++) {
        uint32_t here, over = 0;
        memcpy(&here, row + 4 * i, 4);
        if (above)
            memcpy(&over, above + 4 * i, 4);
        for (int k = 16; k >= 0; k -= 8)
            *to++ = (unsigned char)((here >> k) - (over >> k));
    }
}

/* Deflates the filtered rows.
 * Returned: *packed   malloc'd; its length; 0: no memory */
static size_t pack(const unsigned char *pixels, size_t width, size_t height, size_t stride,
                   unsigned char **packed)
{
    const size_t row = 3 * width + 1;
    uLongf n = compressBound(row * height);
    unsigned char *raw = malloc(row * height);
    *packed = malloc(n);
    for (size_t j = 0; raw && j < height; j++)
        filter_row(raw + j * row, pixels + j * stride, j ? pixels + (j - 1) * stride : NULL, width);
    if (!raw || !*packed || compress2(*packed, &n, raw, row * height, Z_BEST_SPEED) != Z_OK)
        n = 0;
    free(raw);
    return n;
}

bool canvas_can_draw(void)
{
    return true;
}

/* What cairo makes of a file, a piece at a time. */
static cairo_status_t take_bytes(void *ctx, const unsigned char *bytes, unsigned n)
{
    struct canvas *c = ctx;
    if (c->n + n > c->room) {
        const size_t room = 2 * (c->n + n);
        unsigned char *more = realloc(c->bytes, room);
        if (!more)
            return CAIRO_STATUS_NO_MEMORY;
        c->bytes = more;
        c->room = room;
    }
    memcpy(c->bytes + c->n, bytes, n);
    c->n += n;
    return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *create_surface(struct canvas *c, enum canvas_format format, double width,
                                       double height)
{
    const struct canvas_cairo *cairo = &c->cairo;
    cairo_surface_t *s;
    if (format == CANVAS_PDF)
        return cairo->pdf_surface_create_for_stream(take_bytes, c, width, height);
    if (format == CANVAS_SVG)
        return cairo->svg_surface_create_for_stream(take_bytes, c, width, height);
    if (format == CANVAS_PNG)
        return cairo->image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    s = cairo->ps_surface_create_for_stream(take_bytes, c, width, height);
    cairo->ps_surface_set_eps(s, format == CANVAS_EPS);
    return s;
}

void canvas_destroy(struct canvas *c)
{
    if (!c)
        return;
    c->cairo.destroy(c->pen);
    c->cairo.surface_destroy(c->surface);
    free(c->bytes);
    free(c);
}

static psr_status create(struct canvas **out, enum canvas_format format, double dots, int width,
                         int height, psr_err *err)
{
    struct canvas *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return psr_fail_nomem(err, "a picture", sizeof *c);
    /* Unloading is left out: some of the libraries do not outlive it. */
    void *library = dlopen(PSR_CAIRO_SO, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool complete = library != NULL;
#define TAKE(name)                                                                                 \
    complete = complete && (*(void **)&c->cairo.name = dlsym(library, "cairo_" #name));
    CANVAS_CAIRO_FUNCTIONS(TAKE)
    if (!complete)
        psr_fail(err, PSR_EIO, "no picture: it needs cairo: %s", dlerror());
    if (library)
        dlclose(library);
    psr_status st = complete ? PSR_OK : PSR_EIO;
    if (st) {
        free(c);
        return st;
    }
    c->raster = format == CANVAS_PNG;
    c->surface = create_surface(c, format, dots * width, dots * height);
    c->pen = c->cairo.create(c->surface);
    if (c->cairo.status(c->pen) != CAIRO_STATUS_SUCCESS) {
        canvas_destroy(c);
        return psr_fail_nomem(err, "a picture", 4.0 * width * height);
    }
    c->cairo.scale(c->pen, dots, dots);
    c->cairo.set_source_rgb(c->pen, 1, 1, 1);
    c->cairo.paint(c->pen);
    c->cairo.set_source_rgb(c->pen, 0, 0, 0);
    c->cairo.set_line_width(c->pen, 1);
    c->cairo.select_font_face(c->pen, "sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    c->cairo.set_font_size(c->pen, 11);
    *out = c;
    return PSR_OK;
}

psr_status canvas_create(struct canvas **out, int width, int height, psr_err *err)
{
    return create(out, CANVAS_PNG, 1, width, height, err);
}

psr_status canvas_create_for(struct canvas **out, enum canvas_format format, int width, int height,
                             psr_err *err)
{
    return create(out, format, format == CANVAS_PNG ? 1.25 : 0.75, width, height, err);
}

/* Not by cairo, which takes several times as long: fast rather than small. */
psr_status canvas_encode(const struct canvas *c, unsigned char **bytes, size_t *n, psr_err *err)
{
    const struct canvas_cairo *cairo = &c->cairo;
    cairo->surface_flush(c->surface);
    const size_t width = (size_t)cairo->image_surface_get_width(c->surface);
    const size_t height = (size_t)cairo->image_surface_get_height(c->surface);
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char header[13] = {[8] = BITS, [9] = RGB}, *packed;
    put_32(header, (uint32_t)width);
    put_32(header + 4, (uint32_t)height);
    const size_t npacked = pack(cairo->image_surface_get_data(c->surface), width, height,
                                (size_t)cairo->image_surface_get_stride(c->surface), &packed);
    *n = sizeof signature + 3 * CHUNK + sizeof header + npacked;
    *bytes = npacked ? malloc(*n) : NULL;
    if (*bytes) {
        memcpy(*bytes, signature, sizeof signature);
        unsigned char *to = put_chunk(*bytes + sizeof signature, "IHDR", header, sizeof header);
        to = put_chunk(to, "IDAT", packed, npacked);
        put_chunk(to, "IEND", NULL, 0);
    }
    free(packed);
    return *bytes ? PSR_OK : psr_fail_nomem(err, "a picture", (double)(width * height) * 6);
}

psr_status canvas_write(struct canvas *c, psr_outfile *f, psr_err *err)
{
    const struct canvas_cairo *cairo = &c->cairo;
    unsigned char *bytes = NULL;
    size_t n = 0;
    bool whole = cairo->status(c->pen) == CAIRO_STATUS_SUCCESS;
    if (whole && c->raster) {
        psr_status st = canvas_encode(c, &bytes, &n, err);
        if (!st)
            st = psr_outfile_write(f, bytes, n, err);
        free(bytes);
        return st;
    }
    cairo->surface_finish(c->surface);
    whole = whole && cairo->surface_status(c->surface) == CAIRO_STATUS_SUCCESS;
    return whole ? psr_outfile_write(f, c->bytes, c->n, err)
                 : psr_fail(err, PSR_ENOMEM, "cairo did not draw all of a picture");
}
