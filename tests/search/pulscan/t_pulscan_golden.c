/* pulscan: a compatible search against the lists that Pulscan (CPU, git 2a86de22) wrote.
 *
 * `t_pulscan_golden write FILE.fft` writes the spectrum they were made from; beside it, any .inf
 * does.  The commands are in the table below. */
#include <psrkit/experimental/pulscan.h>
#include <psrkit/fake.h>
#include <psrkit/series.h>

#include "fake/fake_internal.h"
#include "formats/series/series_internal.h"
#include "search/pulscan/pulscan_internal.h"
#include "tests/support/tap.h"
#include "tests/support/write_spectrum.h"
#include <string.h>

enum { NBIN = 20011 };

/* --- the spectrum ----------------------------------------------------------------------------- */

static void add_line(float *x, size_t first, size_t n, float height)
{
    for (size_t i = 0; i < n; i++)
        x[2 * (first + i) + i % 2] += i % 3 ? height : -height;
}

/* Noise that grows, a drifting signal of three harmonics, a narrow one, and a stretch of zeros with
 * a few ones, whose median absolute deviation is 0. */
static float *make_spectrum(void)
{
    float *x = tap_take(2 * NBIN, sizeof *x);
    psr_rng_normal(77, 0, 0, 2 * NBIN, x);
    for (size_t i = 0; i < NBIN; i++)
        for (size_t part = 0; part < 2; part++)
            x[2 * i + part] *= (float)(1 + i / 4096);
    for (size_t h = 1; h <= 3; h++)
        add_line(x, 3000 * h, 12 * h, 3);
    add_line(x, 17000, 1, 60);
    for (size_t i = 24000; i < 28000; i++)
        x[i] = i % 100 == 0;
    x[0] = 12345;
    return x;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct row {
    double sigma, power;
    long r;
    int z, nharm;
};

static int by_place(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    if (a->nharm != b->nharm)
        return a->nharm < b->nharm ? -1 : 1;
    if (a->z != b->z)
        return a->z < b->z ? -1 : 1;
    return (a->r > b->r) - (a->r < b->r);
}

enum { MAX_ROWS = 10000 };

static size_t read_rows(const char *path, struct row *row)
{
    FILE *f = fopen(path, "r");
    char line[512];
    size_t n = 0;
    while (f && n < MAX_ROWS && fgets(line, sizeof line, f))
        n += sscanf(line, "%lf %lf %*s %*s %ld %*s %d %*s %*s %d", &row[n].sigma, &row[n].power,
                    &row[n].r, &row[n].z, &row[n].nharm) == 5;
    if (f)
        fclose(f);
    qsort(row, n, sizeof *row, by_place);
    return n;
}

static size_t search_rows(const float *x, const struct psr_pulscan_desc *d, struct row *row)
{
    psr_pulscan *plan;
    psr_err err;
    struct psr_pulscan_result r = {0};
    if (psr_pulscan_create(&plan, d, &err) || psr_pulscan_execute(plan, 1, &x, &r, &err))
        diag("%s", err.msg);
    size_t n = r.nhit < MAX_ROWS ? r.nhit : MAX_ROWS;
    for (size_t k = 0; k < n; k++)
        row[k] = (struct row){r.hit[k].sigma, (double)r.hit[k].power, (long)r.hit[k].r, r.hit[k].z,
                              r.hit[k].nharm};
    psr_pulscan_destroy(plan);
    qsort(row, n, sizeof *row, by_place);
    return n;
}

/* Its sums are single-precision ones of another order, and its sigmas come from them. */
static bool same_row(const struct row *a, const struct row *b)
{
    return by_place(a, b) == 0 && fabs(a->power - b->power) <= 5e-5 + 2e-6 * b->power &&
           fabs(a->sigma - b->sigma) <= 5e-5 + 2e-6 * b->sigma;
}

static void compare(const char *path, const float *x, const struct psr_pulscan_desc *d)
{
    static struct row got[MAX_ROWS], want[MAX_ROWS];
    size_t ngot = search_rows(x, d, got), nwant = read_rows(path, want), nsame = 0;
    for (size_t k = 0; k < ngot && k < nwant; k++)
        nsame += same_row(&got[k], &want[k]);
    const char *name = strrchr(path, '/');
    ok(nwant > 0 && ngot == nwant && nsame == nwant, "%s: %zu rows, %zu found, %zu the same",
       name ? name + 1 : path, nwant, ngot, nsame);
}

/* --- cases ------------------------------------------------------------------------------------ */

static const int sums[] = {1, 2, 3, 4};

static const struct kase {
    const char *name; /* pulscan g.fft .. */
    struct psr_pulscan_desc d;
} cases[] = {
    /* -zmax 40 -numharm 4 -zstep 1 -chunkwidth 1000 -normalizechunkwidth 1000 -sigma 1 */
    {"z40-h4", {.zmax = 40, .nnharm = 4, .zstep = 1, .block = 1000, .normblock = 1000, .sigma = 1}},
    /* -zmax 100 -numharm 3 */
    {"z100-h3", {.zmax = 100, .nnharm = 3, .zstep = 2, .block = 32768, .sigma = 2}},
    /* -zmax 64 -numharm 2 -turbo 3 -chunkwidth 512 */
    {"z64-h2-turbo3", {.zmax = 64, .nnharm = 2, .logz = true, .block = 512, .sigma = 2}},
    /* -zmax 20 -zstep 3 -turbo 1 -chunkwidth 700 */
    {"z20-turbo1", {.zmax = 20, .nnharm = 1, .zstep = 3, .rblock = true, .block = 700, .sigma = 2}},
};

static void test_generated(const char *srcdir)
{
    float *x = make_spectrum();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct psr_pulscan_desc d = cases[k].d;
        d.size = sizeof d;
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/golden/pulscan/%s.pulscand", srcdir, cases[k].name);
        d.nbin = NBIN;
        d.nharm = sums;
        d.compat = true;
        compare(path, x, &d);
    }
    free(x);
}

/* --- a larger case, of data kept elsewhere ---------------------------------------------------- */

enum { ACC3_NSAMP = 262144 };

/* Three pulsars in 262144 samples; PSRKIT_TEST_DATA has a folder golden beside it. */
static float *read_acc3(const char *golden)
{
    char path[4096];
    psr_rfft *rfft;
    psr_err err;
    snprintf(path, sizeof path, "%s/in/acc3.dat", golden);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    float *x = tap_take(ACC3_NSAMP + 2, sizeof *x);
    if (fread(x, 4, ACC3_NSAMP, f) != ACC3_NSAMP || psr_rfft_create(&rfft, ACC3_NSAMP, &err)) {
        printf("Bail out! %s\n", path);
        exit(EXIT_FAILURE);
    }
    fclose(f);
    psr_rfft_execute(rfft, x, x);
    psr_rfft_destroy(rfft);
    return x;
}

static const struct kase acc3_cases[] = {
    {"zmax200", {.zmax = 200, .nnharm = 1, .zstep = 2, .block = 32768, .sigma = 2}},
    {"zmax200-numharm4", {.zmax = 200, .nnharm = 4, .zstep = 2, .block = 32768, .sigma = 2}},
    {"zmax200-numharm4-zstep1-chunkwidth4096",
     {.zmax = 200, .nnharm = 4, .zstep = 1, .block = 4096, .sigma = 2}},
    {"zmax200-turbo1",
     {.zmax = 200, .nnharm = 1, .zstep = 2, .block = 32768, .rblock = true, .sigma = 2}},
    {"zmax200-turbo3", {.zmax = 200, .nnharm = 1, .logz = true, .block = 32768, .sigma = 2}},
};

/* The pulsars at r = 20011.75 (z = -121) and 31000.5 (z = 12, w = 160); the third is too weak for
 * boxes. */
static void test_acc3_pulsars(const float *x)
{
    struct psr_pulscan_desc d = {.size = sizeof d,
                                 .nbin = ACC3_NSAMP / 2,
                                 .zmax = 200,
                                 .nharm = sums,
                                 .nnharm = 4,
                                 .block = 4096,
                                 .sigma = 2};
    const struct psr_pulscan_merge_desc how = {.size = sizeof how, .max = 10};
    struct psr_pulscan_result r = {0};
    struct psr_pulscan_cand *c = NULL;
    size_t n = 0;
    psr_pulscan *plan;
    psr_err err;
    if (psr_pulscan_create(&plan, &d, &err) || psr_pulscan_execute(plan, 1, &x, &r, &err) ||
        psr_pulscan_merge(r.hit, r.nhit, &how, &c, &n, NULL, &err))
        diag("%s", err.msg);
    ok(n >= 2 && fabs(c[0].best.r - 31000.5) <= 6 && c[0].best.sigma >= 22,
       "acc3: a pulsar that accelerates ever more");
    ok(n >= 2 && fabs(c[1].best.r - 20011.75) <= 3 && c[1].best.sigma >= 10 &&
           abs(c[1].best.z - 121) <= 10,
       "acc3: a drifting pulsar");
    free(c);
    psr_pulscan_destroy(plan);
}

static void test_acc3(void)
{
    const char *data = getenv("PSRKIT_TEST_DATA");
    char golden[2048], path[4096];
    snprintf(golden, sizeof golden, "%s/../golden", data ? data : "");
    float *x = data ? read_acc3(golden) : NULL;
    if (!x) {
        skip("acc3", "no PSRKIT_TEST_DATA with golden/in/acc3.dat beside it");
        return;
    }
    for (size_t k = 0; k < sizeof acc3_cases / sizeof *acc3_cases; k++) {
        struct psr_pulscan_desc d = acc3_cases[k].d;
        d.size = sizeof d;
        snprintf(path, sizeof path, "%s/out/pulscan/acc3-%s.pulscand.txt", golden,
                 acc3_cases[k].name);
        d.nbin = ACC3_NSAMP / 2;
        d.nharm = sums;
        d.compat = true;
        compare(path, x, &d);
    }
    test_acc3_pulsars(x);
    free(x);
}

int main(int argc, char **argv)
{
    const char *srcdir = getenv("srcdir");
    if (argc == 3 && !strcmp(argv[1], "write"))
        return write_spectrum(argv[2], make_spectrum(), NBIN);
    test_generated(srcdir ? srcdir : ".");
    test_acc3();
    return done_testing();
}
