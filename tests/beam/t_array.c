/* array: files of arrays, and which way a direction lies. */
#include <psrkit/experimental/array.h>

#include "beam/beam_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

static const char *write_text(const char *text)
{
    const char *path = scratch("x.array");
    scratch_write_text(path, text);
    return path;
}

static void test_good(void)
{
    struct psr_array a;
    psr_err err = {0};
    const char *text = "# an array\ntelescope CHORD\nsite -119.62 49.32 545\ngrid 3 4 # M N\n"
                       "spacing 8.5 -6.3\n\ndish 1 2 3\ndish 0 0 1\ndish 2 none\n";
    ok(!psr_array_read(&a, write_text(text), &err), "read %s", err.msg);
    ok(a.m == 3 && a.n == 4 && a.ns_m == 8.5 && a.ew_m == -6.3 && a.ndish == 3, "its sizes");
    ok(a.cell && a.cell[0] == 1 && a.cell[1] == 11 && a.cell[2] == -1, "its dishes");
    ok(a.has_site && a.lat_deg == 49.32 && a.lon_deg == -119.62 && a.height_m == 545 &&
           !strcmp(a.telescope, "CHORD"),
       "where it stands");
    psr_array_clear(&a);
}

static void refused(const char *text, const char *part)
{
    struct psr_array a;
    psr_err err = {0};
    ok(psr_array_read(&a, write_text(text), &err) == PSR_EFORMAT && strstr(err.msg, part) &&
           !a.cell,
       "refused: %s", err.msg);
}

static void test_refusals(void)
{
    struct psr_array a;
    psr_err err = {0};
    ok(psr_array_read(&a, scratch("none"), &err) == PSR_EIO, "%s", err.msg);
    refused("", "no 'grid M N'");
    refused("grid 2 2\ndish 0 0 0\n", "no 'spacing");
    refused("grid 2 2\nspacing 1 1\n", "0 dishes");
    refused("grid 2 2\nspacing 0 1\ndish 0 0 0\n", "line 2: a spacing of 0 m");
    refused("grid 2 2\nspacing 1 0\ndish 0 0 0\n", "line 2: a spacing of 0 m");
    refused("grid 2 2\nspacing 1 1\ndish 0 none 3\n", "line 3: '3' is a word too many");
    refused("grid 2 2\nspacing 1 1\ndish 0 none\n", "none of 1 dishes");
    refused("grid 2 2\ngrid 2 2\n", "a second 'grid'");
    refused("grid 2\n", "N is missing");
    refused("grid 0 2\n", "M: 0 is below 1");
    refused("grid 2 2 2\n", "a word too many");
    refused("spacing 1 x\n", "not a number");
    refused("dish 0 0 0\n", "before the grid");
    refused("grid 2 2\nspacing 1 1\ndish 0 2 0\n", "line 3: m: 2 is above 1");
    refused("grid 2 2\nspacing 1 1\ndish 0 0 0\ndish 0 1 1\n", "line 4: dish 0 is listed twice");
    refused("grid 2 2\nspacing 1 1\ndish 0 0 0\ndish 1 0 0\n", "dishes 0 and 1 both stand at 0 0");
    refused("grid 2 2\nspacing 1 1\ndish 0 0 0\ndish 2 0 1\n", "dish 1 of 0 to 2 is missing");
    refused("site 0 91 0\n", "latitude");
    refused("telescope\n", "name is missing");
    refused("standin site sky\n", "'sky' is none of site, spacing");
    refused("standin site site site site site\n", "a word too many");
    refused("standin site\nstandin places\n", "a second 'standin'");
    refused("dsh 0 0 0\n", "'dsh' is none of");
    refused("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", "more than 16 words");
}

/* The files that come with psrkit. */
static void test_shipped(void)
{
    static const struct {
        const char *name;
        size_t m, n, ndish;
    } files[] = {{"chord", 24, 24, 512},
                 {"chord-pathfinder-8x8", 8, 8, 64},
                 {"chord-pathfinder-8x12", 8, 12, 64},
                 {"hirax-16x16", 16, 16, 256},
                 {"hirax-16x20", 16, 20, 256}};
    const char *srcdir = getenv("srcdir");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        struct psr_array a;
        psr_err err = {0};
        snprintf(path, sizeof path, "%s/data/arrays/%s.array", srcdir ? srcdir : ".",
                 files[i].name);
        ok(!psr_array_read(&a, path, &err) && a.m == files[i].m && a.n == files[i].n &&
               a.ndish == files[i].ndish && a.has_site,
           "%s %s", files[i].name, err.msg);
        psr_array_clear(&a);
    }
}

/* Eq. 1: theta is M times the path between neighbours, in wavelengths. */
static void test_directions(void)
{
    struct psr_array a = {.m = 24, .n = 20, .ns_m = 8.5, .ew_m = 6.3};
    double ns, ew, north, east, lambda_m = 299.792458 / 600;
    psr_array_theta(&a, 600, 0.01, 0, &ns, &ew);
    near(ns, 24 * 8.5 * 0.01 / lambda_m, 1e-12, "a source north of the zenith has positive theta");
    near(ew, 0, 0, "and theta' 0");
    psr_array_theta(&a, 600, 0, 0.02, &ns, &ew);
    near(ew, 20 * 6.3 * 0.02 / lambda_m, 1e-12, "a source east of it has positive theta'");
    psr_array_theta(&a, 1200, 0, 0.02, &ns, &north);
    near(north, 2 * ew, 1e-12, "twice as large at twice the frequency");
    psr_array_theta(&a, 723, -0.3, 0.4, &ns, &ew);
    psr_array_cosines(&a, 723, ns, ew, &north, &east);
    ok(fabs(north + 0.3) < 1e-15 && fabs(east - 0.4) < 1e-15, "there and back");
}

int main(void)
{
    scratch_make();
    test_good();
    test_refusals();
    test_shipped();
    test_directions();
    return done_testing();
}
