/* canvas.h: pictures of panels with axes, drawn by cairo.  A build without it has the same functions, and no picture. */
#ifndef PSR_TOOLS_CANVAS_H
#define PSR_TOOLS_CANVAS_H

#include <psrkit/experimental/outfile.h>
#include <stdbool.h>
#include <stdint.h>

struct canvas;

/* Whether this build draws. */
bool canvas_can_draw(void);

/* A white picture of that many pixels.
 * Status: PSR_EINVAL in a build without cairo, PSR_EIO where cairo cannot be loaded, PSR_ENOMEM */
PSR_MUST_CHECK psr_status canvas_create(struct canvas **out, int width, int height, psr_err *err);
void canvas_destroy(struct canvas *c);

enum canvas_format { CANVAS_PNG, CANVAS_PDF, CANVAS_SVG, CANVAS_EPS, CANVAS_PS };

/* The same for a file of a format; a PNG has 1.25 dots a pixel, the others three quarters of a point.
 * Status: those of canvas_create */
PSR_MUST_CHECK psr_status canvas_create_for(struct canvas **out, enum canvas_format format,
                                            int width, int height, psr_err *err);

/* Writes the picture; nothing can be drawn in it then.
 * Status: those of psr_outfile_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status canvas_write(struct canvas *c, psr_outfile *f, psr_err *err);

/* Makes a PNG of a picture of canvas_create.
 * Returned: *bytes [*n], malloc'd, caller frees; NULL on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status canvas_encode(const struct canvas *c, unsigned char **bytes, size_t *n,
                                        psr_err *err);

/* A rectangle of the picture, in pixels from the upper left corner, and the values at its edges; a
 * label that is NULL is not drawn. */
struct canvas_panel {
    double left, top, width, height;
    double x_min, x_max, y_min, y_max;
    const char *x_label, *y_label, *title;
    bool no_x_numbers, no_y_numbers;
    bool log_y; /* y_min and y_max are positive */
};

/* Draws the panel's edges, ticks, numbers and labels. */
void canvas_frame(struct canvas *c, const struct canvas_panel *p);

/* Draws a line through n points; what is outside the panel is cut off. */
void canvas_line(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                 size_t n);

/* The same of that many pixels' width and a colour 0x00RRGGBB. */
void canvas_curve(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                  size_t n, double width, uint32_t colour);

/* Draws dashed lines across the panel at x and y; not a number: none. */
void canvas_cross(struct canvas *c, const struct canvas_panel *p, double x, double y);

/* What pictures show where there are no data. */
enum { CANVAS_NO_DATA = 0xcccccc };

/* Fills the panel with values [ny][nx], the first row at the bottom: from white at low to black at
 * high, or from dark blue over green to yellow; CANVAS_NO_DATA for what is not a number. */
void canvas_image(struct canvas *c, const struct canvas_panel *p, const float *value, size_t nx,
                  size_t ny, double low, double high, bool colour);

/* Fills the panel with cells [ny][nx], the first row at the bottom, of colours 0x00RRGGBB by value. */
void canvas_map(struct canvas *c, const struct canvas_panel *p, const unsigned char *value,
                size_t nx, size_t ny, const uint32_t *colour);

/* Fills a circle of that many pixels around (x, y) with a colour 0xAARRGGBB, of which AA is how opaque
 * it is; outside the panel it is cut off. */
void canvas_dot(struct canvas *c, const struct canvas_panel *p, double x, double y, double radius,
                uint32_t colour);

/* Draws a circle of that many pixels around (x, y); outside the panel it is cut off. */
void canvas_ring(struct canvas *c, const struct canvas_panel *p, double x, double y, double radius,
                 uint32_t colour);

/* Fills the panel's height between two values of x. */
void canvas_band(struct canvas *c, const struct canvas_panel *p, double x_min, double x_max,
                 uint32_t colour);

/* Fills a rectangle, with an edge. */
void canvas_patch(struct canvas *c, double left, double top, double width, double height,
                  uint32_t colour);

/* Writes text of that many pixels' height, from x on; y is that of its base line. */
void canvas_text(struct canvas *c, double x, double y, double height, const char *text);

/* The same from y upwards. */
void canvas_text_up(struct canvas *c, double x, double y, double height, const char *text);

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
