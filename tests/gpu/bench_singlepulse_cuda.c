/* How long the single-pulse search of series on a CUDA device takes, for several longest boxcars, beside
 * how long the device takes to read and write its memory.
 *
 *   bench_singlepulse_cuda [NSERIES [REPEAT]]
 *
 * Series are white noise of 3 blocks of 131072 samples, which are the same. */
#include "bench_cuda.h"
#include "search/singlepulse/singlepulse_internal.h"

#include <math.h>
#include <psrkit/device.h>
#include <psrkit/experimental/singlepulse.h>

enum { BLOCK = 131072, BLOCKS = 3, DIFFERENT = 61, MOST = 51 };

struct work {
    float *d_x; /* [nseries][BLOCK] */
    double *dm;
    size_t nseries;
};

/* The sum of twelve uniform numbers less 6. */
static void make_noise(float *x, size_t n)
{
    uint64_t state = 1;
    for (size_t j = 0; j < n; j++) {
        uint64_t sum = 0;
        for (int k = 0; k < 6; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sum += (state >> 40 & 0xffff) + (state >> 20 & 0xffff);
        }
        x[j] = 100 + (float)sum / 65536 - 6;
    }
}

static void make_work(struct work *w, size_t nseries)
{
    const size_t bytes = (size_t)BLOCK * sizeof *w->d_x;
    float *x = bench_take(DIFFERENT * (size_t)BLOCK, sizeof *x);
    make_noise(x, DIFFERENT * (size_t)BLOCK);
    w->nseries = nseries;
    w->dm = bench_take(nseries, sizeof *w->dm);
    MUST(cudaMalloc((void **)&w->d_x, nseries * bytes));
    for (size_t i = 0; i < nseries; i += DIFFERENT) {
        size_t n = nseries - i < DIFFERENT ? nseries - i : DIFFERENT;
        MUST(cudaMemcpy(w->d_x + i * BLOCK, x, n * bytes, cudaMemcpyHostToDevice));
    }
    for (size_t i = 0; i < nseries; i++)
        w->dm[i] = (double)i;
    free(x);
}

static size_t count_events(const psr_singlepulse *p, size_t nseries)
{
    const struct psr_event *event;
    size_t n = 0;
    for (size_t i = 0; i < nseries; i++)
        n += psr_singlepulse_events(p, i, &event);
    return n;
}

/* Seconds of one search. */
static double search(const struct work *w, double maxwidth, size_t *nevent)
{
    psr_singlepulse *p;
    psr_err err;
    const struct psr_singlepulse_desc desc = {.size = sizeof desc,
                                              .nseries = w->nseries,
                                              .dm = w->dm,
                                              .tsamp_s = 1e-3,
                                              .threshold = 6,
                                              .maxwidth_s = maxwidth * 1e-3,
                                              .block = BLOCK};
    const struct psr_device_series series = {.nseries = w->nseries, .d_x = w->d_x, .stride = BLOCK};
    bench_must(psr_singlepulse_create(&p, &desc, &err), &err);
    for (int b = 0; b < BLOCKS; b++)
        bench_must(psr_singlepulse_execute_device(p, &series, 1, BLOCK, NULL, 0, &err), &err);
    bench_must(psr_singlepulse_finish(p, &err), &err);
    double s = psr_singlepulse_device_seconds(p);
    *nevent = count_events(p, w->nseries);
    psr_singlepulse_destroy(p);
    return s;
}

static void report(const struct work *w, double maxwidth, int repeat, double memory)
{
    double s[MOST];
    size_t nevent;
    for (int k = 0; k <= repeat; k++)
        s[k] = search(w, maxwidth, &nevent);
    double once = (double)w->nseries * BLOCK * BLOCKS * sizeof *w->d_x / memory;
    double least = s[1], median = bench_median(s + 1, (size_t)repeat);
    for (int k = 1; k <= repeat; k++)
        least = s[k] < least ? s[k] : least;
    printf("%8.0f %10.2f %10.2f %10.1f %10zu\n", maxwidth, median * 1e3, least * 1e3, median / once,
           nevent);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const double maxwidths[] = {300, 100, 30};
    struct work w;
    size_t nseries = argc > 1 ? strtoul(argv[1], NULL, 10) : 3050;
    int repeat = argc > 2 ? atoi(argv[2]) : BENCH_REPEAT;
    repeat = repeat < 1 ? 1 : repeat < MOST ? repeat : MOST - 1;
    make_work(&w, nseries);
    double memory = bench_copy_rate();
    printf("%zu series of %d samples; memory %.2f TB/s\n%8s %10s %10s %10s %10s\n", nseries,
           BLOCK * BLOCKS, memory * 1e-12, "maxwidth", "median ms", "least ms", "readings",
           "events");
    for (size_t k = 0; k < sizeof maxwidths / sizeof *maxwidths; k++)
        report(&w, maxwidths[k], repeat, memory);
    MUST(cudaFree(w.d_x));
    free(w.dm);
    return 0;
}
