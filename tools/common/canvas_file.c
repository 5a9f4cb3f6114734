/* Pictures are begun and written here: cairo is loaded, and makes the format of a file. */
#include "canvas_internal.h"
#include "png.h"

#include <config.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool canvas_can_draw(void)
{
    return true;
}

/* Unloading is left out: some of the libraries do not outlive it. */
static psr_status load_cairo(struct canvas_cairo *c, psr_err *err)
{
    void *library = dlopen(PSR_CAIRO_SO, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool complete = library != NULL;
#define TAKE(name) complete = complete && (*(void **)&c->name = dlsym(library, "cairo_" #name));
    CANVAS_CAIRO_FUNCTIONS(TAKE)
    if (!complete)
        psr_fail(err, PSR_EIO, "no picture: it needs cairo: %s", dlerror());
    if (library)
        dlclose(library);
    return complete ? PSR_OK : PSR_EIO;
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

static psr_status create(struct canvas **out, enum canvas_format format, double dots, int width,
                         int height, psr_err *err)
{
    struct canvas *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return psr_fail_nomem(err, "a picture", sizeof *c);
    psr_status st = load_cairo(&c->cairo, err);
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

void canvas_destroy(struct canvas *c)
{
    if (!c)
        return;
    c->cairo.destroy(c->pen);
    c->cairo.surface_destroy(c->surface);
    free(c->bytes);
    free(c);
}

/* Not by cairo, which takes several times as long. */
psr_status canvas_encode(const struct canvas *c, unsigned char **bytes, size_t *n, psr_err *err)
{
    const struct canvas_cairo *cairo = &c->cairo;
    cairo->surface_flush(c->surface);
    return png_encode(bytes, n, cairo->image_surface_get_data(c->surface),
                      (size_t)cairo->image_surface_get_width(c->surface),
                      (size_t)cairo->image_surface_get_height(c->surface),
                      (size_t)cairo->image_surface_get_stride(c->surface), err);
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
