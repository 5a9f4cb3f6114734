/* make_mask ROOT NCHAN NSAMP TSAMP MJD LOWEST WIDTH: ROOT.mask and ROOT.stats as rfifind would
 * write them of such data, with one channel in 20 masked throughout, one in 20 in each interval,
 * and one interval as a whole.  For benchmarks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NFIELD = 8, PTS = 8 * 2400 };

static void put_ints(FILE *f, const int32_t *v, size_t n)
{
    if (fwrite(v, sizeof *v, n, f) != n)
        exit(EXIT_FAILURE);
}

static void put_int(FILE *f, int32_t v)
{
    put_ints(f, &v, 1);
}

static FILE *create(const char *root, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", root, suffix);
    FILE *f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return f;
}

/* Channels every 20th from the first on; returned: how many. */
static int32_t list_channels(int32_t *list, int32_t first, int32_t nchan)
{
    int32_t n = 0;
    for (int32_t c = first; c < nchan; c += 20)
        list[n++] = c;
    return n;
}

static void write_mask(FILE *f, const double head[6], int32_t nchan, int32_t nint, int32_t *list)
{
    if (fwrite(head, sizeof *head, 6, f) != 6)
        exit(EXIT_FAILURE);
    const int32_t size[3] = {nchan, nint, PTS};
    put_ints(f, size, 3);
    int32_t n = list_channels(list, 3, nchan);
    put_int(f, n);
    put_ints(f, list, (size_t)n);
    put_int(f, 1);
    put_int(f, nint / 2);
    for (int32_t i = 0; i < nint; i++)
        put_int(f, list_channels(list, i % 20, nchan));
    for (int32_t i = 0; i < nint; i++)
        put_ints(f, list, (size_t)list_channels(list, i % 20, nchan));
}

static void write_stats(FILE *f, int32_t nchan, int32_t nint)
{
    const int32_t size[5] = {nchan, nint, PTS, 5, 2};
    const float mean = 127.5F;
    put_ints(f, size, 5);
    for (int64_t k = 0; k < 3 * (int64_t)nchan * nint; k++)
        if (fwrite(&mean, sizeof mean, 1, f) != 1)
            exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    if (argc != NFIELD) {
        fprintf(stderr, "usage: make_mask ROOT NCHAN NSAMP TSAMP MJD LOWEST WIDTH\n");
        return EXIT_FAILURE;
    }
    int32_t nchan = atoi(argv[2]), nint = (int32_t)((atol(argv[3]) + PTS - 1) / PTS);
    const double head[6] = {10,           4, atof(argv[5]), PTS * atof(argv[4]), atof(argv[6]),
                            atof(argv[7])};
    int32_t *list = calloc((size_t)nchan, sizeof *list);
    if (!list || nchan < 20)
        return EXIT_FAILURE;
    FILE *mask = create(argv[1], ".mask"), *stats = create(argv[1], ".stats");
    write_mask(mask, head, nchan, nint, list);
    write_stats(stats, nchan, nint);
    free(list);
    return fclose(mask) | fclose(stats) ? EXIT_FAILURE : EXIT_SUCCESS;
}
