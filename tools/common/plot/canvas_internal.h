/* canvas_internal.h: the parts of a picture (private to canvas*.c).
 *
 * cairo is loaded with the first picture: it brings some 20 libraries, for which every program would wait at its
 * start. */
#ifndef PSR_TOOLS_CANVAS_INTERNAL_H
#define PSR_TOOLS_CANVAS_INTERNAL_H

#include "canvas.h"

#include <cairo-pdf.h>
#include <cairo-ps.h>
#include <cairo-svg.h>
#include <cairo.h>

#define CANVAS_CAIRO_FUNCTIONS(F)                                                                  \
    F(arc)                                                                                         \
    F(clip)                                                                                        \
    F(create)                                                                                      \
    F(destroy)                                                                                     \
    F(fill)                                                                                        \
    F(fill_preserve)                                                                               \
    F(get_source)                                                                                  \
    F(image_surface_create)                                                                        \
    F(image_surface_get_data)                                                                      \
    F(image_surface_get_height)                                                                    \
    F(image_surface_get_stride)                                                                    \
    F(image_surface_get_width)                                                                     \
    F(line_to)                                                                                     \
    F(move_to)                                                                                     \
    F(paint)                                                                                       \
    F(pattern_set_filter)                                                                          \
    F(pdf_surface_create_for_stream)                                                               \
    F(ps_surface_create_for_stream)                                                                \
    F(ps_surface_set_eps)                                                                          \
    F(rectangle)                                                                                   \
    F(rel_line_to)                                                                                 \
    F(restore)                                                                                     \
    F(rotate)                                                                                      \
    F(save)                                                                                        \
    F(scale)                                                                                       \
    F(select_font_face)                                                                            \
    F(set_dash)                                                                                    \
    F(set_font_size)                                                                               \
    F(set_line_width)                                                                              \
    F(set_source_rgb)                                                                              \
    F(set_source_rgba)                                                                             \
    F(set_source_surface)                                                                          \
    F(show_text)                                                                                   \
    F(status)                                                                                      \
    F(stroke)                                                                                      \
    F(surface_destroy)                                                                             \
    F(surface_finish)                                                                              \
    F(surface_flush)                                                                               \
    F(surface_mark_dirty)                                                                          \
    F(surface_status)                                                                              \
    F(svg_surface_create_for_stream)                                                               \
    F(text_extents)                                                                                \
    F(translate)

struct canvas_cairo {
#define CANVAS_CAIRO_MEMBER(name) __typeof__(cairo_##name) *name;
    CANVAS_CAIRO_FUNCTIONS(CANVAS_CAIRO_MEMBER)
#undef CANVAS_CAIRO_MEMBER
};

struct canvas {
    struct canvas_cairo cairo;
    cairo_surface_t *surface;
    cairo_t *pen;
    bool raster;          /* the surface is an image */
    unsigned char *bytes; /* [n] of the file that another surface makes; NULL where memory ended */
    size_t n, room;
};

enum { CANVAS_TEXT = 1024 }; /* bytes of a text that are drawn */

#endif
