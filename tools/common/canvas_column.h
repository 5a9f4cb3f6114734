/* canvas_column.h: names and numbers below each other in a picture. */
#ifndef PSR_TOOLS_CANVAS_COLUMN_H
#define PSR_TOOLS_CANVAS_COLUMN_H

#include "canvas.h"

/* Where the next line goes. */
struct canvas_column {
    struct canvas *canvas;
    double x, y;
};

void canvas_column_text(struct canvas_column *c, const char *name, const char *text);

/* Nothing for what is not a number.
 * Given: format   of one double */
void canvas_column_number(struct canvas_column *c, const char *name, const char *format,
                          double value);

#endif
