/* Speed of synthetic observations, with the ceilings measured in the same run.
 *   bench_fake [repeats]
 * The work: W1 60 s of 1024 channels, W2 600 s of 256, 8 bits, 128 us, and a pulsar of 5 ms. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/fake.h>

#include "bench.h"
#include "fake/fake_internal.h"
#include <string.h>

enum { BLOCK = 32 << 20, NORMALS = 1 << 15 };

static const struct work {
    const char *name;
    size_t nchan;
    double foff_mhz, seconds;
    bool binary;
    double fake_s; /* SIGPROC's fake, one thread of a Zen 4 */
} works[] = {
    {"W1", 1024, -0.292968752, 60, false, 14.2},
    {"W1 -binary", 1024, -0.292968752, 60, true, 66},
    {"W2", 256, -1.171875, 600, false, 38},
};

/* Deviates a second of all cores, by processor time, so that other programs do not count. */
static double normal_rate(void)
{
    double began = bench_cpu_s(), n = 0;
    float *x = bench_take(NORMALS, sizeof *x);
    for (uint64_t k = 0; k < 3000; k++, n += NORMALS)
        psr_rng_normal(1, 0, k * NORMALS, NORMALS, x);
    free(x);
    return n / (bench_cpu_s() - began);
}

/* Bytes a second into a file of 480 MB, by wall time. */
static double write_rate(const char *path, const void *block)
{
    psr_err err;
    psr_outfile *f;
    double began = bench_wall_s();
    bench_must(psr_outfile_create(&f, path, &err), &err);
    for (int k = 0; k < 15; k++)
        bench_must(psr_outfile_write(f, block, BLOCK, &err), &err);
    double rate = 15.0 * BLOCK / (bench_wall_s() - began);
    psr_outfile_abort(f);
    return rate;
}

static psr_fake *make_plan(const struct work *w, struct psr_obs *obs)
{
    const struct psr_fake_signal pulsar = {
        .kind = PSR_FAKE_PULSAR,
        .dm = 200,
        .width_s = 0.0002,
        .peak = 0.03,
        .period_s = 0.005,
        .binary = w->binary,
        .orbit = {36000, 0.1, 3, 1, 0},
    };
    psr_err err;
    psr_fake *p;
    psr_obs_init(obs);
    obs->nchan = w->nchan;
    obs->nif = 1;
    obs->nbit = 8;
    obs->fch1_mhz = 1550;
    obs->foff_mhz = w->foff_mhz;
    obs->tsamp_s = 128e-6;
    obs->nsamp = (int64_t)(w->seconds / obs->tsamp_s + 0.5);
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = obs,
                              .seed = 1,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .nsignal = 1,
                              .signal = &pulsar,
                              .noise_sigma = 1};
    bench_must(psr_fake_create(&p, &d, &err), &err);
    return p;
}

struct took {
    double wall_s, cpu_s, written_s; /* written_s: wall seconds with a file as well */
};

/* Makes all of it; f may be NULL. */
static double make_all(psr_fake *p, const struct psr_obs *obs, void *block, psr_outfile *f)
{
    psr_err err;
    double began = bench_wall_s();
    int64_t rows = BLOCK / (int64_t)psr_fake_row_bytes(p);
    for (int64_t t = 0; t < obs->nsamp; t += rows) {
        size_t n = (size_t)(obs->nsamp - t < rows ? obs->nsamp - t : rows);
        bench_must(psr_fake_execute(p, t, n, block, &err), &err);
        if (f)
            bench_must(psr_outfile_write(f, block, n * psr_fake_row_bytes(p), &err), &err);
    }
    return bench_wall_s() - began;
}

static struct took measure(const struct work *w, void *block, const char *path, int repeats)
{
    struct took best = {1e9, 1e9, 1e9};
    for (int r = 0; r < repeats; r++) {
        struct psr_obs obs;
        psr_err err;
        psr_outfile *f;
        psr_fake *p = make_plan(w, &obs);
        double cpu = bench_cpu_s(), wall = make_all(p, &obs, block, NULL);
        cpu = bench_cpu_s() - cpu;
        bench_must(psr_outfile_create(&f, path, &err), &err);
        double written = make_all(p, &obs, block, f);
        psr_outfile_abort(f);
        best.wall_s = wall < best.wall_s ? wall : best.wall_s;
        best.cpu_s = cpu < best.cpu_s ? cpu : best.cpu_s;
        best.written_s = written < best.written_s ? written : best.written_s;
        psr_fake_destroy(p);
    }
    return best;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 3;
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char path[4096];
    char *block = bench_take(BLOCK, 1);
    memset(block, 1, BLOCK);
    snprintf(path, sizeof path, "%s/bench_fake.out", folder);
    double normals = normal_rate(), written = write_rate(path, block);
    printf(
        "ceilings: %.0f M Gaussian deviates a second of a core, %.2f GB/s into a file in %s\n"
        "of_rng: processor time the deviates alone take, over that of all.  of_disk: GB/s with the "
        "file over the file's.\n"
        "            made_s   cpu_s  of_rng  with_file_s    GB/s  of_disk  fake_s  faster\n",
        normals * 1e-6, written * 1e-9, folder);
    for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
        const struct work *w = works + k;
        struct took t = measure(w, block, path, repeats < 1 ? 1 : repeats);
        double bytes = w->seconds / 128e-6 * (double)w->nchan;
        printf("%-10s %7.3f %7.3f %7.2f %12.3f %7.2f %8.2f %7.1f %6.0fx\n", w->name, t.wall_s,
               t.cpu_s, bytes / normals / t.cpu_s, t.written_s, bytes / t.written_s * 1e-9,
               bytes / t.written_s / written, w->fake_s, w->fake_s / t.written_s);
    }
    free(block);
    return EXIT_SUCCESS;
}
