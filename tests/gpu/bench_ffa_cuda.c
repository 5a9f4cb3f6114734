/* Time of the fast folding search of 540 s at 64 us in its default ranges, a series, on a device. */
#include "tests/bench/bench.h"
#include "tests/support/tap.h"

#include <psrkit/device.h>
#include <psrkit/experimental/ffa.h>

enum { NSAMP = 8437500, BATCH = 8, REPEAT = 5, NGAP = 20 };

static psr_err err;

int main(int argc, char **argv)
{
    struct psr_device device;
    struct psr_ffa_range range[PSR_FFA_MAX_RANGE];
    struct psr_ffa_desc d = {.size = sizeof d,
                             .nsamp = NSAMP,
                             .tsamp_s = 64e-6,
                             .range = range,
                             .batch = BATCH,
                             .backend = "cuda"};
    struct psr_ffa_result result[BATCH];
    struct psr_ffa_info info;
    float *x[BATCH];
    double s[REPEAT + 1];
    uint64_t seed = 1;
    psr_ffa *plan;
    if (psr_device_count(&err) < 1) {
        printf("no GPU: %s\n", err.msg);
        return 0;
    }
    bench_must(psr_device_describe(0, &device, &err), &err);
    d.nrange = psr_ffa_default_ranges(NSAMP, 64e-6, range);
    struct psr_span gap[NGAP]; /* 7 % of the samples */
    for (int i = 0; i < NGAP; i++)
        gap[i] = (struct psr_span){NSAMP / NGAP * i + 5000, 30000};
    const size_t first = argc > 1 ? (size_t)atoi(argv[1]) : 0;
    for (int i = 0; i < BATCH; i++) {
        x[i] = tap_take(NSAMP, sizeof *x[i]);
        for (size_t k = 0; k < NSAMP; k++)
            x[i][k] = (float)(tap_normal(&seed) +
                              (fmod((double)k * 64e-6 / 0.7321, 1) < 0.02 ? 0.06 : 0));
    }
    for (size_t only = first; only <= d.nrange + 1; only++) {
        struct psr_ffa_desc part = d;
        const bool gaps = only > d.nrange;
        if (gaps) {
            part.gap = gap;
            part.ngap = NGAP;
        } else if (only) {
            part.range = range + only - 1;
            part.nrange = 1;
        }
        bench_must(psr_ffa_create(&plan, &part, &err), &err);
        psr_ffa_describe(plan, &info);
        for (int k = 0; k <= REPEAT; k++) {
            const double began_s = bench_wall_s();
            bench_must(psr_ffa_execute(plan, BATCH, (const float *const *)x, result, &err), &err);
            s[k] = bench_wall_s() - began_s;
        }
        printf("%s, ranges %zu%s: %zu trials, %.2f ms a series; %zu peaks", device.name,
               gaps ? 0 : only, gaps ? " with gaps" : "", info.ntrial,
               1e3 * bench_median(s + 1, REPEAT) / BATCH, result[0].npeak);
        if (result[0].npeak)
            printf(", first %.5f s, S/N %.1f", result[0].peak[0].period_s, result[0].peak[0].snr);
        printf("\n");
        psr_ffa_destroy(plan);
    }
    return 0;
}
