/* png.h: writes pictures as PNG. */
#ifndef PSR_TOOLS_PNG_H
#define PSR_TOOLS_PNG_H

#include <psrkit/experimental/outfile.h>

/* Makes a PNG of pixels 0x00RRGGBB, [height] rows of stride bytes; fast rather than small.
 * Returned: *bytes [*n], malloc'd, caller frees; NULL on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status png_encode(unsigned char **bytes, size_t *n, const unsigned char *pixels,
                                     size_t width, size_t height, size_t stride, psr_err *err);

/* Writes such a PNG.
 * Status: those of psr_outfile_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status png_write(psr_outfile *f, const unsigned char *pixels, size_t width,
                                    size_t height, size_t stride, psr_err *err);

#endif
