/* Names and numbers below each other in a picture. */
#include "canvas_column.h"

#include <math.h>
#include <stdio.h>

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
