/* Time of a search around folds with prepfold's full grid: 64 parts, 128 sub-bands, 64 bins, 385 DMs x
 * 257 periods x 257 p-dots, of noise and of a pulse, on a device and on the CPU. */
#include "search/fold/fold_internal.h"
#include "tests/bench/bench.h"
#include "tests/support/tap.h"

#include <psrkit/device.h>
#include <psrkit/experimental/fold.h>

enum { PARTS = 64, BANDS = 128, BINS = 64, DMS = 385, TRIALS = 257, REPEAT = 9 };

static psr_err err;

static void make_fold(struct psr_pfd *p, double pulse, uint64_t *seed)
{
    *p = (struct psr_pfd){.ndm = DMS,
                          .nperiod = TRIALS,
                          .npdot = TRIALS,
                          .nsub = BANDS,
                          .npart = PARTS,
                          .nbin = BINS,
                          .nchan = 8 * BANDS,
                          .pstep = 2,
                          .pdstep = 4,
                          .lofreq_mhz = 1200,
                          .width_mhz = 0.3,
                          .fold = {.f = 10}};
    bench_must(psr_pfd_allocate(p, &err), &err);
    for (int k = 0; k < PARTS * BANDS; k++) {
        for (int b = 0; b < BINS; b++)
            p->profile[k * BINS + b] = 1000 + tap_normal(seed) + (b == 20 || b == 21 ? pulse : 0);
        p->stats[k] = (struct psr_fold_stats){
            .numprof = BINS, .prof_avg = 1000 + pulse * 2 / BINS, .prof_var = 1};
    }
    for (int i = 0; i < DMS; i++)
        p->trial_dm[i] = 0.5 * i;
    p->dm = 100;
}

/* Median seconds of one search; the first one is not counted. */
static double measure(const struct psr_pfd *fold, const char *backend, int repeat,
                      struct psr_fold_best *best)
{
    const struct psr_fold_search_desc d = {.size = sizeof d, .backend = backend};
    const struct psr_fold_times times = {0.15, 6, 0.15 * 6 * PARTS};
    psr_fold_search *search;
    double s[REPEAT + 1];
    bench_must(psr_fold_search_create(&search, &d, &err), &err);
    for (int k = 0; k <= repeat; k++) {
        const double began_s = bench_wall_s();
        bench_must(psr_fold_search_run(search, fold, &times, best, &err), &err);
        s[k] = bench_wall_s() - began_s;
    }
    psr_fold_search_destroy(search);
    return bench_median(s + 1, (size_t)repeat);
}

int main(void)
{
    struct psr_device device;
    uint64_t seed = 1;
    bench_must(psr_device_describe(0, &device, &err), &err);
    printf("# %s; multiply-adds of halves: 2 x 64 x 64 a trial\n", device.name);
    printf("%-8s %10s %10s %12s %10s %8s\n", "fold", "GPU, ms", "CPU, ms", "Tmultiply/s", "summed",
           "same");
    for (int k = 0; k < 3; k++) {
        static const double pulse[] = {0, 0.1, 2};
        static const char *const name[] = {"noise", "faint", "bright"};
        struct psr_pfd fold;
        struct psr_fold_best gpu, cpu;
        make_fold(&fold, pulse[k], &seed);
        const double gpu_s = measure(&fold, "cuda", REPEAT, &gpu);
        const double cpu_s = measure(&fold, "cpu", 1, &cpu);
        const bool same = gpu.dm == cpu.dm && gpu.period == cpu.period && gpu.pdot == cpu.pdot &&
                          gpu.stats.redchi == cpu.stats.redchi;
        printf("%-8s %10.3f %10.1f %12.1f %10lld %8s\n", name[k], 1e3 * gpu_s, 1e3 * cpu_s,
               (double)gpu.ntrial * 2 * PARTS * BINS / gpu_s * 1e-12, (long long)gpu.nsummed,
               same ? "yes" : "NO");
        psr_pfd_clear(&fold);
        if (!same)
            bench_stop("the device's best is not the CPU's");
    }
    return EXIT_SUCCESS;
}
