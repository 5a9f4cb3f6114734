/* Writes pictures as PNG (RFC 2083): rows as differences from the row above, deflated quickly. */
#include "png.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ABOVE = 2, BITS = 8, RGB = 2 };
enum { CHUNK = 12 }; /* bytes of a chunk without contents */

static void put_32(unsigned char to[4], uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Appends length, type, bytes, checksum of the last two.
 * Returned: where the next chunk goes */
static unsigned char *put_chunk(unsigned char *to, const char *type, const unsigned char *bytes,
                                size_t n)
{
    put_32(to, (uint32_t)n);
    memcpy(to + 4, type, 4);
    if (n)
        memcpy(to + 8, bytes, n);
    put_32(to + 8 + n, (uint32_t)crc32(crc32(0, NULL, 0), to + 4, (uInt)(n + 4)));
    return to + CHUNK + n;
}

static void filter_row(unsigned char *to, const unsigned char *row, const unsigned char *above,
                       size_t width)
{
    *to++ = ABOVE;
    for (size_t i = 0; i < width; i++) {
        uint32_t here, over = 0;
        memcpy(&here, row + 4 * i, 4);
        if (above)
            memcpy(&over, above + 4 * i, 4);
        for (int k = 16; k >= 0; k -= 8)
            *to++ = (unsigned char)((here >> k) - (over >> k));
    }
}

/* Deflates the filtered rows.
 * Returned: *packed   malloc'd; its length; 0: no memory */
static size_t pack(const unsigned char *pixels, size_t width, size_t height, size_t stride,
                   unsigned char **packed)
{
    const size_t row = 3 * width + 1;
    uLongf n = compressBound(row * height);
    unsigned char *raw = malloc(row * height);
    *packed = malloc(n);
    for (size_t j = 0; raw && j < height; j++)
        filter_row(raw + j * row, pixels + j * stride, j ? pixels + (j - 1) * stride : NULL, width);
    if (!raw || !*packed || compress2(*packed, &n, raw, row * height, Z_BEST_SPEED) != Z_OK)
        n = 0;
    free(raw);
    return n;
}

psr_status png_encode(unsigned char **bytes, size_t *n, const unsigned char *pixels, size_t width,
                      size_t height, size_t stride, psr_err *err)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char header[13] = {[8] = BITS, [9] = RGB}, *packed;
    put_32(header, (uint32_t)width);
    put_32(header + 4, (uint32_t)height);
    const size_t npacked = pack(pixels, width, height, stride, &packed);
    *n = sizeof signature + 3 * CHUNK + sizeof header + npacked;
    *bytes = npacked ? malloc(*n) : NULL;
    if (*bytes) {
        memcpy(*bytes, signature, sizeof signature);
        unsigned char *to = put_chunk(*bytes + sizeof signature, "IHDR", header, sizeof header);
        to = put_chunk(to, "IDAT", packed, npacked);
        put_chunk(to, "IEND", NULL, 0);
    }
    free(packed);
    return *bytes ? PSR_OK : psr_fail_nomem(err, "a picture", (double)(width * height) * 6);
}

psr_status png_write(psr_outfile *f, const unsigned char *pixels, size_t width, size_t height,
                     size_t stride, psr_err *err)
{
    unsigned char *bytes;
    size_t n;
    psr_status st = png_encode(&bytes, &n, pixels, width, height, stride, err);
    if (!st)
        st = psr_outfile_write(f, bytes, n, err);
    free(bytes);
    return st;
}
