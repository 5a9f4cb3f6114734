/* Contents of pictures: lines, images, dots and text. */
#include "canvas_internal.h"

#include "quote.h"

#include <math.h>

static void choose_ink(struct canvas *c, uint32_t colour, double opaque)
{
    c->cairo.set_source_rgba(c->pen, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                             (colour & 255) / 255.0, opaque);
}

static void begin_clip(struct canvas *c, const struct canvas_panel *p)
{
    c->cairo.save(c->pen);
    c->cairo.rectangle(c->pen, p->left, p->top, p->width, p->height);
    c->cairo.clip(c->pen);
}

void canvas_curve(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                  size_t n, double width, uint32_t colour)
{
    begin_clip(c, p);
    choose_ink(c, colour, 1);
    c->cairo.set_line_width(c->pen, width);
    for (size_t i = 0; i < n; i++)
        if (isfinite(canvas_x(p, x[i])) && isfinite(canvas_y(p, y[i])))
            c->cairo.line_to(c->pen, canvas_x(p, x[i]), canvas_y(p, y[i]));
    c->cairo.stroke(c->pen);
    c->cairo.restore(c->pen);
}

void canvas_line(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                 size_t n)
{
    canvas_curve(c, p, x, y, n, 1, 0);
}

void canvas_cross(struct canvas *c, const struct canvas_panel *p, double x, double y)
{
    const double dash[] = {3, 3};
    begin_clip(c, p);
    c->cairo.set_dash(c->pen, dash, 2, 0);
    c->cairo.set_source_rgb(c->pen, 0.8, 0, 0);
    if (isfinite(x))
        canvas_tick(c, canvas_x(p, x), p->top, 0, p->height);
    if (isfinite(y))
        canvas_tick(c, p->left, canvas_y(p, y), p->width, 0);
    c->cairo.restore(c->pen);
}

/* Shades of grey, or the colours of viridis, at x from 0 to 1. */
static uint32_t choose_colour(double x, bool colour)
{
    static const double stop[5][3] = {{0.267, 0.005, 0.329},
                                      {0.229, 0.322, 0.546},
                                      {0.128, 0.567, 0.551},
                                      {0.369, 0.789, 0.383},
                                      {0.993, 0.906, 0.144}};
    uint32_t pixel = 0;
    x = x > 0 ? fmin(x, 1) : 0; /* also if it is not a number */
    const size_t k = x < 1 ? (size_t)(x * 4) : 3;
    const double part = x * 4 - (double)k;
    for (int i = 0; i < 3; i++) {
        const double value = colour ? stop[k][i] * (1 - part) + stop[k + 1][i] * part : 1 - x;
        pixel = pixel << 8 | (uint32_t)(value * 255 + 0.5);
    }
    return pixel;
}

/* Pixels of an image, rows from the bottom. */
static uint32_t *find_row(const struct canvas *c, cairo_surface_t *image, size_t ny, size_t j)
{
    unsigned char *data = c->cairo.image_surface_get_data(image);
    const size_t stride = (size_t)c->cairo.image_surface_get_stride(image);
    return (uint32_t *)(void *)(data + (ny - 1 - j) * stride);
}

/* Fills the panel with the image, which it destroys. */
static void paint_image(struct canvas *c, const struct canvas_panel *p, cairo_surface_t *image,
                        size_t nx, size_t ny)
{
    c->cairo.surface_mark_dirty(image);
    begin_clip(c, p);
    c->cairo.translate(c->pen, p->left, p->top);
    c->cairo.scale(c->pen, p->width / (double)nx, p->height / (double)ny);
    c->cairo.set_source_surface(c->pen, image, 0, 0);
    c->cairo.pattern_set_filter(c->cairo.get_source(c->pen), CAIRO_FILTER_NEAREST);
    c->cairo.paint(c->pen);
    c->cairo.restore(c->pen);
    c->cairo.surface_destroy(image);
}

void canvas_image(struct canvas *c, const struct canvas_panel *p, const float *value, size_t nx,
                  size_t ny, double low, double high, bool colour)
{
    cairo_surface_t *image = c->cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)nx, (int)ny);
    for (size_t j = 0; j < ny && c->cairo.image_surface_get_data(image); j++) {
        uint32_t *row = find_row(c, image, ny, j);
        for (size_t i = 0; i < nx; i++) {
            const double v = (double)value[j * nx + i];
            row[i] = isnan(v) ? CANVAS_NO_DATA : choose_colour((v - low) / (high - low), colour);
        }
    }
    paint_image(c, p, image, nx, ny);
}

void canvas_map(struct canvas *c, const struct canvas_panel *p, const unsigned char *value,
                size_t nx, size_t ny, const uint32_t *colour)
{
    cairo_surface_t *image = c->cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)nx, (int)ny);
    for (size_t j = 0; j < ny && c->cairo.image_surface_get_data(image); j++) {
        uint32_t *row = find_row(c, image, ny, j);
        for (size_t i = 0; i < nx; i++)
            row[i] = colour[value[j * nx + i]];
    }
    paint_image(c, p, image, nx, ny);
}

void canvas_dot(struct canvas *c, const struct canvas_panel *p, double x, double y, double radius,
                uint32_t colour)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    begin_clip(c, p);
    choose_ink(c, colour, (colour >> 24) / 255.0);
    c->cairo.arc(c->pen, canvas_x(p, x), canvas_y(p, y), radius, 0, 2 * M_PI);
    c->cairo.fill(c->pen);
    c->cairo.restore(c->pen);
}

void canvas_ring(struct canvas *c, const struct canvas_panel *p, double x, double y, double radius,
                 uint32_t colour)
{
    begin_clip(c, p);
    choose_ink(c, colour, 1);
    c->cairo.set_line_width(c->pen, 2);
    c->cairo.arc(c->pen, canvas_x(p, x), canvas_y(p, y), radius, 0, 2 * M_PI);
    c->cairo.stroke(c->pen);
    c->cairo.restore(c->pen);
}

void canvas_band(struct canvas *c, const struct canvas_panel *p, double x_min, double x_max,
                 uint32_t colour)
{
    const double left = canvas_x(p, x_min);
    begin_clip(c, p);
    c->cairo.rectangle(c->pen, left, p->top, canvas_x(p, x_max) - left, p->height);
    choose_ink(c, colour, 1);
    c->cairo.fill(c->pen);
    c->cairo.restore(c->pen);
}

void canvas_patch(struct canvas *c, double left, double top, double width, double height,
                  uint32_t colour)
{
    c->cairo.save(c->pen);
    c->cairo.rectangle(c->pen, left + 0.5, top + 0.5, width, height);
    choose_ink(c, colour, 1);
    c->cairo.fill_preserve(c->pen);
    c->cairo.set_source_rgb(c->pen, 0, 0, 0);
    c->cairo.stroke(c->pen);
    c->cairo.restore(c->pen);
}

void canvas_text(struct canvas *c, double x, double y, double height, const char *text)
{
    char clean[CANVAS_TEXT];
    quote_shown(clean, sizeof clean, text);
    c->cairo.save(c->pen);
    c->cairo.set_font_size(c->pen, height);
    c->cairo.move_to(c->pen, x, y);
    c->cairo.show_text(c->pen, clean);
    c->cairo.restore(c->pen);
}

void canvas_text_up(struct canvas *c, double x, double y, double height, const char *text)
{
    c->cairo.save(c->pen);
    c->cairo.translate(c->pen, x, y);
    c->cairo.rotate(c->pen, -M_PI / 2);
    canvas_text(c, 0, 0, height, text);
    c->cairo.restore(c->pen);
}
