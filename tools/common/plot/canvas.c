/* Contents of pictures: lines, images, dots and text. */
#include "canvas.h"

#include "canvas_internal.h"
#include "tools/common/quote.h"

#include <math.h>
#include <stdio.h>

/* Axes of a picture's panels. */

static const double tick = 4;

/* Pixels of values of a panel. */
static double canvas_x(const struct canvas_panel *p, double x)
{
    return p->left + p->width * (x - p->x_min) / (p->x_max - p->x_min);
}

static double canvas_y(const struct canvas_panel *p, double y)
{
    if (p->log_y)
        return p->top + p->height * log(p->y_max / y) / log(p->y_max / p->y_min);
    return p->top + p->height * (p->y_max - y) / (p->y_max - p->y_min);
}

/* About n steps of 1, 2 or 5 times a power of ten. */
static double choose_step(double range, double n)
{
    const double raw = range / n, power = pow(10, floor(log10(raw))), lead = raw / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

/* Numbers of neighbouring ticks differ. */
static void write_number(char text[32], double value, double step)
{
    const double digits = step > 0 && value != 0 ? ceil(log10(fabs(value) / step)) + 1 : 0;
    snprintf(text, 32, "%.*g", (int)fmin(fmax(digits, 6), 15),
             fabs(value) < step * 1e-6 ? 0 : value);
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
        c->cairo.text_extents(c->pen, text, &size);
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
    char clean[CANVAS_TEXT];
    quote_shown(clean, sizeof clean, text);
    c->cairo.text_extents(c->pen, clean, &size);
    c->cairo.move_to(c->pen, x - size.width * (right ? 1 : 0.5) - size.x_bearing,
                     y - size.height / 2 - size.y_bearing);
    c->cairo.show_text(c->pen, clean);
    return size.width;
}

/* A line of one pixel from a point on. */
static void canvas_tick(struct canvas *c, double x, double y, double dx, double dy)
{
    c->cairo.move_to(c->pen, floor(x) + 0.5, floor(y) + 0.5);
    c->cairo.rel_line_to(c->pen, dx, dy);
    c->cairo.stroke(c->pen);
}

/* A tick on both sides; its number at the bottom or the left one.
 * Returned: width of the number */
static double draw_value(struct canvas *c, const struct canvas_panel *p, bool is_x, double v,
                         double step)
{
    char text[32];
    const double x = canvas_x(p, v), y = canvas_y(p, v);
    if (is_x) {
        canvas_tick(c, x, p->top + p->height, 0, -tick);
        canvas_tick(c, x, p->top, 0, tick);
    } else {
        canvas_tick(c, p->left, y, tick, 0);
        canvas_tick(c, p->left + p->width, y, -tick, 0);
    }
    if (is_x ? p->no_x_numbers : p->no_y_numbers)
        return 0;
    write_number(text, v, step);
    return is_x ? write_centred(c, x, p->top + p->height + 10, text, false)
                : write_centred(c, p->left - 5, y, text, true);
}

/* Returned: width of the widest number */
static double draw_values(struct canvas *c, const struct canvas_panel *p, bool is_x)
{
    const double min = is_x ? p->x_min : p->y_min, max = is_x ? p->x_max : p->y_max;
    const double low = fmin(min, max), high = fmax(min, max);
    const double step =
        is_x ? choose_wide_step(c, low, high, p->width) : choose_step(high - low, p->height / 40);
    double widest = 0;
    for (double v = ceil(low / step) * step; v <= high + step * 1e-6 && step > 0; v += step)
        widest = fmax(widest, draw_value(c, p, is_x, v, step));
    return widest;
}

/* 1, 2 and 5 times each power of ten.  Returned: width of the widest number */
static double draw_decades(struct canvas *c, const struct canvas_panel *p)
{
    static const double lead[] = {1, 2, 5};
    double widest = 0;
    for (double power = pow(10, floor(log10(p->y_min))); power <= p->y_max; power *= 10)
        for (int k = 0; k < 3; k++)
            if (lead[k] * power >= p->y_min && lead[k] * power <= p->y_max)
                widest = fmax(widest, draw_value(c, p, false, lead[k] * power, lead[k] * power));
    return widest;
}

static void write_label(struct canvas *c, double x, double y, const char *text, double angle)
{
    if (!text)
        return;
    c->cairo.save(c->pen);
    c->cairo.translate(c->pen, x, y);
    c->cairo.rotate(c->pen, angle);
    write_centred(c, 0, 0, text, false);
    c->cairo.restore(c->pen);
}

void canvas_frame(struct canvas *c, const struct canvas_panel *p)
{
    c->cairo.rectangle(c->pen, floor(p->left) + 0.5, floor(p->top) + 0.5, floor(p->width),
                       floor(p->height));
    c->cairo.stroke(c->pen);
    draw_values(c, p, true);
    const double beside = (p->log_y ? draw_decades(c, p) : draw_values(c, p, false)) + 18;
    write_label(c, p->left + p->width / 2, p->top + p->height + 26, p->x_label, 0);
    write_label(c, p->left - fmax(beside, 48), p->top + p->height / 2, p->y_label, -M_PI / 2);
    write_label(c, p->left + p->width / 2, p->top - 10, p->title, 0);
}

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
    const double px = canvas_x(p, x), py = canvas_y(p, y);
    const bool is_seen = px > p->left - radius && px < p->left + p->width + radius &&
                         py > p->top - radius && py < p->top + p->height + radius;
    if (!is_seen) /* as most events of an observation beside those of a burst, or not a number */
        return;
    begin_clip(c, p);
    choose_ink(c, colour, (colour >> 24) / 255.0);
    c->cairo.arc(c->pen, px, py, radius, 0, 2 * M_PI);
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

/* Names and numbers below each other in a picture. */

static const double line_pixels = 16, text_pixels = 12, value_pixels = 105;

void canvas_column_text(struct canvas_column *c, const char *name, const char *text)
{
    canvas_text(c->canvas, c->x, c->y, text_pixels, name);
    canvas_text(c->canvas, c->x + value_pixels, c->y, text_pixels, text);
    c->y += line_pixels;
}

void canvas_column_number(struct canvas_column *c, const char *name, const char *format,
                          double value)
{
    char text[64];
    if (isnan(value))
        return;
    snprintf(text, sizeof text, format, value);
    canvas_column_text(c, name, text);
}
