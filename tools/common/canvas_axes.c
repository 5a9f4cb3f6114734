/* Axes of a picture's panels. */
#include "canvas_internal.h"
#include "quote.h"

#include <math.h>
#include <stdio.h>

static const double tick = 4;

double canvas_x(const struct canvas_panel *p, double x)
{
    return p->left + p->width * (x - p->x_min) / (p->x_max - p->x_min);
}

double canvas_y(const struct canvas_panel *p, double y)
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

void canvas_tick(struct canvas *c, double x, double y, double dx, double dy)
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
