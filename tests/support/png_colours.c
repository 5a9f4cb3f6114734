/* png_colours FILE RRGGBB...: width and height of a picture of tools/common/plot/canvas_file.c, and how many pixels
 * have each colour, in one line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEADER = 33, CHUNK = 8, SUM = 4 }; /* signature and IHDR; length and type; checksum */

static uint32_t take_32(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

__attribute__((noreturn)) static void stop(const char *why)
{
    fprintf(stderr, "png_colours: %s\n", why);
    exit(EXIT_FAILURE);
}

/* Rows of 3 width bytes after one that says whether they are differences from the row above. */
static unsigned char *read_rows(const char *path, uint32_t *width, uint32_t *height)
{
    static unsigned char file[1 << 23];
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(file, 1, sizeof file, f) : 0;
    if (!f || fclose(f) || n < HEADER + CHUNK || memcmp(file + 1, "PNG", 3) != 0)
        stop("no picture");
    *width = take_32(file + 16);
    *height = take_32(file + 20);
    const uint32_t packed = take_32(file + HEADER);
    uLongf size = (uLongf)*height * (3 * *width + 1);
    unsigned char *rows = malloc(size);
    if (!rows || HEADER + CHUNK + packed + SUM > n ||
        uncompress(rows, &size, file + HEADER + CHUNK, packed) != Z_OK ||
        size != (uLongf)*height * (3 * *width + 1))
        stop("a picture that is cut off");
    for (uint32_t j = 1; j < *height; j++)
        for (uint32_t i = 1; i <= 3 * *width; i++)
            rows[j * (3 * *width + 1) + i] = (unsigned char)(rows[j * (3 * *width + 1) + i] +
                                                             rows[(j - 1) * (3 * *width + 1) + i]);
    return rows;
}

static size_t count_pixels(const unsigned char *rows, uint32_t width, uint32_t height,
                           unsigned long colour)
{
    size_t count = 0;
    for (uint32_t j = 0; j < height; j++)
        for (uint32_t i = 0; i < width; i++) {
            const unsigned char *at = rows + j * (3 * width + 1) + 1 + 3 * i;
            count += (at[0] * 65536UL + at[1] * 256UL + at[2]) == colour;
        }
    return count;
}

int main(int argc, char **argv)
{
    uint32_t width, height;
    if (argc < 2)
        stop("FILE RRGGBB...");
    unsigned char *rows = read_rows(argv[1], &width, &height);
    printf("%u %u", width, height);
    for (int k = 2; k < argc; k++)
        printf(" %zu", count_pixels(rows, width, height, strtoul(argv[k], NULL, 16)));
    printf("\n");
    free(rows);
    return EXIT_SUCCESS;
}
