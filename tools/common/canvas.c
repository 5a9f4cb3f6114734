/* Pictures of panels with axes, drawn by cairo. */
#include "canvas.h"

#include "png.h"

#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double font = 11, tick = 4;

struct canvas {
    cairo_surface_t *surface;
    cairo_t *pen;
};

psr_status canvas_create(struct canvas **out, int width, int height, psr_err *err)
{
    struct canvas *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return psr_fail_nomem(err, "a picture", sizeof *c);
    c->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    c->pen = cairo_create(c->surface);
    if (cairo_status(c->pen) != CAIRO_STATUS_SUCCESS) {
        canvas_destroy(c);
        return psr_fail_nomem(err, "a picture", 4.0 * width * height);
    }
    cairo_set_source_rgb(c->pen, 1, 1, 1);
    cairo_paint(c->pen);
    cairo_set_source_rgb(c->pen, 0, 0, 0);
    cairo_set_line_width(c->pen, 1);
    cairo_select_font_face(c->pen, "sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c->pen, font);
    *out = c;
    return PSR_OK;
}

void canvas_destroy(struct canvas *c)
{
    if (!c)
        return;
    cairo_destroy(c->pen);
    cairo_surface_destroy(c->surface);
    free(c);
}

/* --- axes ------------------------------------------------------------------------------------- */

static double find_x(const struct canvas_panel *p, double x)
{
    return p->left + p->width * (x - p->x_min) / (p->x_max - p->x_min);
}

static double find_y(const struct canvas_panel *p, double y)
{
    return p->top + p->height * (p->y_max - y) / (p->y_max - p->y_min);
}

/* About n steps of 1, 2 or 5 times a power of ten. */
static double choose_step(double range, double n)
{
    const double raw = range / n, power = pow(10, floor(log10(raw))), lead = raw / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

static void write_number(char text[32], double value, double step)
{
    snprintf(text, 32, "%.6g", fabs(value) < step * 1e-6 ? 0 : value);
}

/* Pixels of the numbers at the ends of an axis, the wider one. */
static double measure_numbers(struct canvas *c, double low, double high, double step)
{
    const double value[2] = {ceil(low / step) * step, floor(high / step) * step};
    double widest = 0;
    for (int i = 0; i < 2; i++) {
        char text[32];
        cairo_text_extents_t size;
        write_number(text, value[i], step);
        cairo_text_extents(c->pen, text, &size);
        widest = fmax(widest, size.width);
    }
    return widest;
}

/* Step of a horizontal axis: as many ticks as leave room between numbers. */
static double choose_wide_step(struct canvas *c, double low, double high, double width)
{
    double step = 0;
    for (double n = width / 50; n > 1; n *= 0.7) {
        step = choose_step(high - low, n);
        if (step > 0 && measure_numbers(c, low, high, step) + 10 <= width * step / (high - low))
            break;
    }
    return step;
}

/* Writes text with its middle at (x, y), or with its right end there.
 * Returned: its width */
static double write_centred(struct canvas *c, double x, double y, const char *text, bool right)
{
    cairo_text_extents_t size;
    cairo_text_extents(c->pen, text, &size);
    cairo_move_to(c->pen, x - size.width * (right ? 1 : 0.5) - size.x_bearing,
                  y - size.height / 2 - size.y_bearing);
    cairo_show_text(c->pen, text);
    return size.width;
}

static void draw_tick(struct canvas *c, double x, double y, double dx, double dy)
{
    cairo_move_to(c->pen, floor(x) + 0.5, floor(y) + 0.5);
    cairo_rel_line_to(c->pen, dx, dy);
    cairo_stroke(c->pen);
}

/* Ticks on both sides; numbers at the bottom or the left one.
 * Returned: width of the widest number */
static double draw_ticks(struct canvas *c, const struct canvas_panel *p, bool is_x, bool numbers)
{
    const double min = is_x ? p->x_min : p->y_min, max = is_x ? p->x_max : p->y_max;
    const double low = fmin(min, max), high = fmax(min, max);
    const double step =
        is_x ? choose_wide_step(c, low, high, p->width) : choose_step(high - low, p->height / 40);
    double widest = 0;
    for (double v = ceil(low / step) * step; v <= high + step * 1e-6 && step > 0; v += step) {
        char text[32];
        const double x = find_x(p, v), y = find_y(p, v);
        write_number(text, v, step);
        if (is_x) {
            draw_tick(c, x, p->top + p->height, 0, -tick);
            draw_tick(c, x, p->top, 0, tick);
        } else {
            draw_tick(c, p->left, y, tick, 0);
            draw_tick(c, p->left + p->width, y, -tick, 0);
        }
        if (numbers)
            widest = fmax(widest, is_x ? write_centred(c, x, p->top + p->height + 10, text, false)
                                       : write_centred(c, p->left - 5, y, text, true));
    }
    return widest;
}

static void write_label(struct canvas *c, double x, double y, const char *text, double angle)
{
    if (!text)
        return;
    cairo_save(c->pen);
    cairo_translate(c->pen, x, y);
    cairo_rotate(c->pen, angle);
    write_centred(c, 0, 0, text, false);
    cairo_restore(c->pen);
}

void canvas_frame(struct canvas *c, const struct canvas_panel *p)
{
    cairo_rectangle(c->pen, floor(p->left) + 0.5, floor(p->top) + 0.5, floor(p->width),
                    floor(p->height));
    cairo_stroke(c->pen);
    draw_ticks(c, p, true, !p->no_x_numbers);
    const double beside = draw_ticks(c, p, false, !p->no_y_numbers) + 18;
    write_label(c, p->left + p->width / 2, p->top + p->height + 26, p->x_label, 0);
    write_label(c, p->left - fmax(beside, 48), p->top + p->height / 2, p->y_label, -M_PI / 2);
    write_label(c, p->left + p->width / 2, p->top - 10, p->title, 0);
}

/* --- contents --------------------------------------------------------------------------------- */

static void begin_clip(struct canvas *c, const struct canvas_panel *p)
{
    cairo_save(c->pen);
    cairo_rectangle(c->pen, p->left, p->top, p->width, p->height);
    cairo_clip(c->pen);
}

void canvas_line(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                 size_t n)
{
    begin_clip(c, p);
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && isfinite(y[i]))
            cairo_line_to(c->pen, find_x(p, x[i]), find_y(p, y[i]));
    cairo_stroke(c->pen);
    cairo_restore(c->pen);
}

void canvas_cross(struct canvas *c, const struct canvas_panel *p, double x, double y)
{
    const double dash[] = {3, 3};
    begin_clip(c, p);
    cairo_set_dash(c->pen, dash, 2, 0);
    cairo_set_source_rgb(c->pen, 0.8, 0, 0);
    if (isfinite(x))
        draw_tick(c, find_x(p, x), p->top, 0, p->height);
    if (isfinite(y))
        draw_tick(c, p->left, find_y(p, y), p->width, 0);
    cairo_restore(c->pen);
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
static uint32_t *find_row(cairo_surface_t *image, size_t ny, size_t j)
{
    unsigned char *data = cairo_image_surface_get_data(image);
    const size_t stride = (size_t)cairo_image_surface_get_stride(image);
    return (uint32_t *)(void *)(data + (ny - 1 - j) * stride);
}

/* Fills the panel with the image, which it destroys. */
static void paint_image(struct canvas *c, const struct canvas_panel *p, cairo_surface_t *image,
                        size_t nx, size_t ny)
{
    cairo_surface_mark_dirty(image);
    begin_clip(c, p);
    cairo_translate(c->pen, p->left, p->top);
    cairo_scale(c->pen, p->width / (double)nx, p->height / (double)ny);
    cairo_set_source_surface(c->pen, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c->pen), CAIRO_FILTER_NEAREST);
    cairo_paint(c->pen);
    cairo_restore(c->pen);
    cairo_surface_destroy(image);
}

void canvas_image(struct canvas *c, const struct canvas_panel *p, const float *value, size_t nx,
                  size_t ny, double low, double high, bool colour)
{
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)nx, (int)ny);
    for (size_t j = 0; j < ny && cairo_image_surface_get_data(image); j++) {
        uint32_t *row = find_row(image, ny, j);
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
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)nx, (int)ny);
    for (size_t j = 0; j < ny && cairo_image_surface_get_data(image); j++) {
        uint32_t *row = find_row(image, ny, j);
        for (size_t i = 0; i < nx; i++)
            row[i] = colour[value[j * nx + i]];
    }
    paint_image(c, p, image, nx, ny);
}

static void choose_ink(struct canvas *c, uint32_t colour, double opaque)
{
    cairo_set_source_rgba(c->pen, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                          (colour & 255) / 255.0, opaque);
}

void canvas_dot(struct canvas *c, const struct canvas_panel *p, double x, double y, double radius,
                uint32_t colour)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    begin_clip(c, p);
    choose_ink(c, colour, (colour >> 24) / 255.0);
    cairo_arc(c->pen, find_x(p, x), find_y(p, y), radius, 0, 2 * M_PI);
    cairo_fill(c->pen);
    cairo_restore(c->pen);
}

void canvas_patch(struct canvas *c, double left, double top, double width, double height,
                  uint32_t colour)
{
    cairo_save(c->pen);
    cairo_rectangle(c->pen, left + 0.5, top + 0.5, width, height);
    choose_ink(c, colour, 1);
    cairo_fill_preserve(c->pen);
    cairo_set_source_rgb(c->pen, 0, 0, 0);
    cairo_stroke(c->pen);
    cairo_restore(c->pen);
}

void canvas_text(struct canvas *c, double x, double y, double height, const char *text)
{
    cairo_save(c->pen);
    cairo_set_font_size(c->pen, height);
    cairo_move_to(c->pen, x, y);
    cairo_show_text(c->pen, text);
    cairo_restore(c->pen);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Not by cairo, which takes several times as long. */
psr_status canvas_write(const struct canvas *c, psr_outfile *f, psr_err *err)
{
    cairo_surface_flush(c->surface);
    return png_write(f, cairo_image_surface_get_data(c->surface),
                     (size_t)cairo_image_surface_get_width(c->surface),
                     (size_t)cairo_image_surface_get_height(c->surface),
                     (size_t)cairo_image_surface_get_stride(c->surface), err);
}

psr_status canvas_encode(const struct canvas *c, unsigned char **bytes, size_t *n, psr_err *err)
{
    cairo_surface_flush(c->surface);
    return png_encode(bytes, n, cairo_image_surface_get_data(c->surface),
                      (size_t)cairo_image_surface_get_width(c->surface),
                      (size_t)cairo_image_surface_get_height(c->surface),
                      (size_t)cairo_image_surface_get_stride(c->surface), err);
}
