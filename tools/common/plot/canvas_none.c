/* What a build without cairo has instead of pictures: none is begun, and so nothing else is called. */
#include "canvas.h"

bool canvas_can_draw(void)
{
    return false;
}

psr_status canvas_create(struct canvas **out, int width, int height, psr_err *err)
{
    return canvas_create_for(out, CANVAS_PNG, width, height, err);
}

psr_status canvas_create_for(struct canvas **out, enum canvas_format format, int width, int height,
                             psr_err *err)
{
    (void)format, (void)width, (void)height;
    *out = NULL;
    return psr_fail(err, PSR_EINVAL, "no picture: built without cairo");
}

psr_status canvas_write(struct canvas *c, psr_outfile *f, psr_err *err)
{
    (void)f;
    return canvas_create_for(&c, CANVAS_PNG, 0, 0, err);
}

psr_status canvas_encode(const struct canvas *c, unsigned char **bytes, size_t *n, psr_err *err)
{
    struct canvas *none;
    (void)c;
    *bytes = NULL;
    *n = 0;
    return canvas_create_for(&none, CANVAS_PNG, 0, 0, err);
}

void canvas_destroy(struct canvas *c)
{
    (void)c;
}

void canvas_frame(struct canvas *c, const struct canvas_panel *p)
{
    (void)c, (void)p;
}

void canvas_line(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                 size_t n)
{
    (void)c, (void)p, (void)x, (void)y, (void)n;
}

void canvas_curve(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                  size_t n, double width, uint32_t colour)
{
    (void)c, (void)p, (void)x, (void)y, (void)n, (void)width, (void)colour;
}

void canvas_cross(struct canvas *c, const struct canvas_panel *p, double x, double y)
{
    (void)c, (void)p, (void)x, (void)y;
}

void canvas_image(struct canvas *c, const struct canvas_panel *p, const float *value, size_t nx,
                  size_t ny, double low, double high, bool colour)
{
    (void)c, (void)p, (void)value, (void)nx, (void)ny, (void)low, (void)high, (void)colour;
}

void canvas_map(struct canvas *c, const struct canvas_panel *p, const unsigned char *value,
                size_t nx, size_t ny, const uint32_t *colour)
{
    (void)c, (void)p, (void)value, (void)nx, (void)ny, (void)colour;
}

void canvas_dot(struct canvas *c, const struct canvas_panel *p, double x, double y, double radius,
                uint32_t colour)
{
    (void)c, (void)p, (void)x, (void)y, (void)radius, (void)colour;
}

void canvas_ring(struct canvas *c, const struct canvas_panel *p, double x, double y, double radius,
                 uint32_t colour)
{
    (void)c, (void)p, (void)x, (void)y, (void)radius, (void)colour;
}

void canvas_band(struct canvas *c, const struct canvas_panel *p, double x_min, double x_max,
                 uint32_t colour)
{
    (void)c, (void)p, (void)x_min, (void)x_max, (void)colour;
}

void canvas_patch(struct canvas *c, double left, double top, double width, double height,
                  uint32_t colour)
{
    (void)c, (void)left, (void)top, (void)width, (void)height, (void)colour;
}

void canvas_text(struct canvas *c, double x, double y, double height, const char *text)
{
    (void)c, (void)x, (void)y, (void)height, (void)text;
}

void canvas_text_up(struct canvas *c, double x, double y, double height, const char *text)
{
    (void)c, (void)x, (void)y, (void)height, (void)text;
}

void canvas_column_text(struct canvas_column *c, const char *name, const char *text)
{
    (void)c, (void)name, (void)text;
}

void canvas_column_number(struct canvas_column *c, const char *name, const char *format,
                          double value)
{
    (void)c, (void)name, (void)format, (void)value;
}
