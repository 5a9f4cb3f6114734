/* Speed of the search of one spectrum of 2.35 million bins (600 s at 128 us), beside the time of
 * reading that spectrum from memory once, in the same run.
 *   bench_pulscan [repeats]
 * Where PSRKIT_BENCH_PULSCAN names Pulscan's program, it takes turns at the same noise, with the
 * same settings and threads; its time is the one it prints, file in and list out. */
#include <psrkit/experimental/pulscan.h>
#include <psrkit/fake.h>

#include "bench.h"
#include "fake/fake_internal.h"
#include "tests/support/scratch.h"

enum { NBIN = 2350000, MOST = 101 };

static const int sums[] = {1, 2, 3, 4};

static const struct work {
    const char *name;
    int zmax, zstep, nharm, block;
    bool logz, peer;
} works[] = {
    {"zmax 200, 4 harmonics, every other z", 200, 2, 4, 32768, false, true},
    {"zmax 1200, 1 harmonic, every other z", 1200, 2, 1, 32768, false, true},
    {"zmax 200, 4 harmonics, every z", 200, 1, 4, 4096, false, false},
    {"zmax 1200, 4 harmonics, every z", 1200, 1, 4, 4096, false, false},
    {"zmax 256, 4 harmonics, log z", 256, 1, 4, 4096, true, false},
};
enum { NWORK = sizeof works / sizeof *works };

struct bench {
    float *x; /* [NBIN][2] */
    size_t repeats;
    const char *peer;
};

/* Seconds to read the spectrum once with all threads; *sum keeps the compiler honest. */
static double read_s(const struct bench *b, double *sum)
{
    double t[MOST];
    for (size_t r = 0; r < b->repeats; r++) {
        double began = bench_wall_s();
        float total = 0;
#pragma omp parallel for reduction(+ : total)
        for (size_t i = 0; i < 2 * NBIN / 32; i++) {
            float part[32];
            for (size_t l = 0; l < 32; l++)
                part[l] = b->x[32 * i + l];
            for (size_t l = 1; l < 32; l++)
                part[0] += part[l];
            total += part[0];
        }
        *sum += (double)total;
        t[r] = bench_wall_s() - began;
    }
    return bench_median(t, b->repeats);
}

static double search_s(psr_pulscan *plan, const float *x)
{
    struct psr_pulscan_result result;
    psr_err err;
    double began = bench_wall_s();
    bench_must(psr_pulscan_execute(plan, 1, &x, &result, &err), &err);
    return bench_wall_s() - began;
}

/* --- the peer --------------------------------------------------------------------------------- */

static void write_peer_input(const struct bench *b)
{
    scratch_make();
    if (chdir(scratch_dir))
        bench_stop("no folder for the peer's input");
    FILE *fft = fopen("n.fft", "wb"), *inf = fopen("n.inf", "w");
    if (!fft || !inf || fwrite(b->x, 8, NBIN, fft) != NBIN)
        bench_stop("the peer's input cannot be written");
    fprintf(inf, " Width of each time series bin (sec)    =  0.000128\n");
    if (fclose(fft) || fclose(inf))
        bench_stop("the peer's input cannot be written");
}

static double peer_s(const struct bench *b, const struct work *w, int nthread)
{
    char command[4096], line[512];
    double t = -1;
    snprintf(command, sizeof command,
             "'%s' n.fft -ncpus %d -zmax %d -numharm %d -zstep %d -chunkwidth %d", b->peer, nthread,
             w->zmax, w->nharm, w->zstep, w->block);
    FILE *said = popen(command, "r");
    while (said && fgets(line, sizeof line, said)) {
        const char *number = strstr(line, "Total time spent was");
        number = number ? strpbrk(number, "\033") : NULL; /* it prints in colour */
        number = number ? strchr(number, 'm') : NULL;
        if (number)
            t = strtod(number + 1, NULL);
    }
    if (!said || pclose(said) || t < 0)
        bench_stop("the peer failed");
    return t;
}

/* --- the whole -------------------------------------------------------------------------------- */

static double boxes_of(const struct work *w)
{
    double n = 0, widths = w->logz ? 10 : w->zmax / w->zstep + 1;
    for (int h = 1; h <= w->nharm; h++)
        n += (double)NBIN / h * widths;
    return n;
}

static void measure(const struct bench *b, const struct work *w, double floor_s)
{
    const struct psr_pulscan_desc d = {
        .size = sizeof d,
        .nbin = NBIN,
        .zmax = w->zmax,
        .zstep = w->zstep,
        .logz = w->logz,
        .nharm = sums,
        .nnharm = (size_t)w->nharm,
        .block = (size_t)w->block,
        .sigma = 2,
        .backend = "cpu",
    };
    psr_pulscan *plan;
    psr_err err;
    bench_must(psr_pulscan_create(&plan, &d, &err), &err);
    double t[MOST], peer[MOST];
    bool with_peer = b->peer && w->peer;
    for (size_t r = 0; r < b->repeats; r++) {
        t[r] = search_s(plan, b->x);
        peer[r] = with_peer ? peer_s(b, w, (int)sysconf(_SC_NPROCESSORS_ONLN)) : 0;
    }
    double mine = bench_median(t, b->repeats);
    printf("%-38s %7.2f ms, %5.1f readings of the spectrum, %6.1f G boxes/s", w->name, 1e3 * mine,
           mine / floor_s, boxes_of(w) / mine / 1e9);
    if (with_peer)
        printf(", Pulscan %.0f ms, %.1f x", 1e3 * bench_median(peer, b->repeats),
               bench_median(peer, b->repeats) / mine);
    puts("");
    psr_pulscan_destroy(plan);
}

int main(int argc, char **argv)
{
    struct bench b = {.repeats = argc > 1 ? strtoul(argv[1], NULL, 10) : 9,
                      .peer = getenv("PSRKIT_BENCH_PULSCAN")};
    if (b.repeats < 1 || b.repeats > MOST)
        bench_stop("repeats are 1 to 101");
    b.x = bench_take(NBIN, 2 * sizeof *b.x);
    psr_rng_normal(1, 1, 0, 2 * NBIN, b.x);
    double sum = 0, floor_s = read_s(&b, &sum);
    printf("reading a spectrum of %d bins: %.2f ms, %.1f GB/s\n", NBIN, 1e3 * floor_s,
           8e-9 * NBIN / floor_s);
    if (b.peer)
        write_peer_input(&b);
    for (int k = 0; k < NWORK; k++)
        measure(&b, &works[k], floor_s);
    free(b.x);
    return sum == 1 ? EXIT_FAILURE : EXIT_SUCCESS;
}
