/* canvas.h: pictures of panels with axes, as PNG.  Drawn by cairo: only in a build that has it. */
#ifndef PSR_TOOLS_CANVAS_H
#define PSR_TOOLS_CANVAS_H

#include <psrkit/experimental/outfile.h>
#include <stdint.h>

struct canvas;

/* A white picture of that many pixels.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status canvas_create(struct canvas **out, int width, int height, psr_err *err);
void canvas_destroy(struct canvas *c);

/* Writes the picture.
 * Status: those of psr_outfile_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status canvas_write(const struct canvas *c, psr_outfile *f, psr_err *err);

/* Makes a PNG of the picture.
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
};

/* Draws the panel's edges, ticks, numbers and labels. */
void canvas_frame(struct canvas *c, const struct canvas_panel *p);

/* Draws a line through n points; what is outside the panel is cut off. */
void canvas_line(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                 size_t n);

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

/* Fills a rectangle, with an edge. */
void canvas_patch(struct canvas *c, double left, double top, double width, double height,
                  uint32_t colour);

/* Writes text of that many pixels' height, from x on; y is that of its base line. */
void canvas_text(struct canvas *c, double x, double y, double height, const char *text);

#endif
