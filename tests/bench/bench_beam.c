/* Speed of forming beams on the CPU, with the ceiling of its arithmetic measured in the same run.
 *   bench_beam [repeats [threads]]
 * The work: a frame of each case of Smith 2022, Tables 3 and 4, of random voltages; a few of its
 * channels, whose number does not matter to the time of one. */
#include <psrkit/experimental/beam.h>

#include "beam/beam_internal.h"
#include "bench.h"
#include "tests/support/tap.h"
#if defined __x86_64__
#include <immintrin.h>
#endif
#include <omp.h>
#include <string.h>

enum { NFREQ = 4, MAXBEAM = 5760 };

static const struct work {
    const char *name;
    size_t ndish, m, n, tds;
    double tsamp_us;
    size_t nbeam, n_ns, n_ew; /* Table 4 */
} works[] = {
    {"pathfinder 8 x 8", 64, 8, 8, 40, 27.3, 640, 32, 32},
    {"pathfinder 8 x 12", 64, 8, 12, 40, 27.3, 960, 32, 48},
    {"HIRAX 16 x 16", 256, 16, 16, 25, 41.0, 2560, 64, 64},
    {"HIRAX 16 x 20", 256, 16, 20, 25, 41.0, 3200, 64, 80},
    {"CHORD 24 x 24", 512, 24, 24, 40, 27.3, MAXBEAM, 96, 96},
};

/* --- the ceiling ------------------------------------------------------------------------------ */

enum { MUL_ROUNDS = 2000000, MUL_CHAINS = 12 };

/* Multiply-adds in registers, in chains that do not wait for each other. */
#define DEFINE_MULS(name, REG, SPLAT, FMA, FIRST, ISA)                                             \
    ISA static float name(float by)                                                                \
    {                                                                                              \
        REG x[MUL_CHAINS], b = SPLAT(by);                                                          \
        for (int i = 0; i < MUL_CHAINS; i++)                                                       \
            x[i] = SPLAT((float)i);                                                                \
        for (int r = 0; r < MUL_ROUNDS; r++)                                                       \
            for (int i = 0; i < MUL_CHAINS; i++)                                                   \
                x[i] = FMA(x[i], b, b);                                                            \
        for (int i = 1; i < MUL_CHAINS; i++)                                                       \
            x[0] = FMA(x[i], b, x[0]);                                                             \
        return FIRST(x[0]);                                                                        \
    }

#if defined __x86_64__
#define FIRST_256(x) _mm_cvtss_f32(_mm256_castps256_ps128(x))
#define FIRST_512(x) _mm_cvtss_f32(_mm512_castps512_ps128(x))
DEFINE_MULS(muls_avx2, __m256, _mm256_set1_ps, _mm256_fmadd_ps, FIRST_256,
            __attribute__((target("avx2,fma"))))
DEFINE_MULS(muls_avx512, __m512, _mm512_set1_ps, _mm512_fmadd_ps, FIRST_512,
            __attribute__((target("avx512f"))))
#endif
#define SAME(x)        (x)
#define FUSED(a, b, c) ((a) * (b) + (c))
DEFINE_MULS(muls_base, float, SAME, FUSED, SAME, )

/* Floating-point operations a second. */
static double multiply_rate(int nthread)
{
    float sink = 0;
    int width = 1;
    float (*run)(float) = muls_base;
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        run = muls_avx512, width = 16;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        run = muls_avx2, width = 8;
#endif
    double start = bench_wall_s();
#pragma omp parallel num_threads(nthread) reduction(+ : sink)
    sink += run(0.999f);
    double took_s = bench_wall_s() - start;
    if (sink == 1)
        diag("never");
    return 2.0 * width * MUL_CHAINS * MUL_ROUNDS * nthread / took_s;
}

/* --- the work --------------------------------------------------------------------------------- */

/* Of a frame of one channel: transforms pruned of their zeros, 5 n log2 n each. */
static double transform_flops(const struct work *k)
{
    double m = 2 * (double)k->m, n = 2 * (double)k->n;
    return 2 * (5 * n * log2(n) * (double)k->m + 5 * m * log2(m) * n);
}

/* Best of some runs, seconds for a frame of NFREQ channels. */
static double time_plan(const struct psr_beam_desc *d, size_t nt, const uint8_t *in, int repeats)
{
    psr_beam *p = NULL;
    psr_err err;
    double best = INFINITY;
    bench_must(psr_beam_create(&p, d, &err), &err);
    size_t stride = psr_beam_rows(p, nt), nrow;
    float *out = bench_take(psr_beam_count(p) * stride * NFREQ, sizeof *out);
    for (int r = 0; r < repeats; r++) {
        psr_beam_reset(p);
        double start = bench_wall_s();
        bench_must(psr_beam_execute(p, in, nt, out, stride, &nrow, &err), &err);
        best = fmin(best, bench_wall_s() - start);
    }
    free(out);
    psr_beam_destroy(p);
    return best;
}

static void bench(const struct work *k, int repeats, int nthread, double peak)
{
    static double theta_ns[NFREQ * MAXBEAM], theta_ew[NFREQ * MAXBEAM];
    uint64_t seed = 1;
    size_t nt = 32 * k->tds, bytes = nt * NFREQ * 2 * k->ndish, tds[NFREQ];
    struct psr_array a = {.m = k->m, .n = k->n, .ns_m = 1, .ew_m = 1, .ndish = k->ndish};
    struct psr_beam_desc d = {.size = sizeof d,
                              .array = &a,
                              .nfreq = NFREQ,
                              .tds = tds,
                              .nthread = nthread,
                              .backend = "cpu",
                              .nbeam = k->nbeam,
                              .n_ns = k->n_ns,
                              .n_ew = k->n_ew,
                              .theta_ns = theta_ns,
                              .theta_ew = theta_ew};
    uint8_t *in = bench_take(bytes, 1);
    a.cell = bench_take(k->ndish, sizeof *a.cell);
    for (size_t i = 0; i < k->ndish; i++)
        a.cell[i] = (int32_t)i;
    for (size_t i = 0; i < bytes; i++)
        in[i] = (uint8_t)(tap_random(&seed) >> 56);
    for (size_t i = 0; i < NFREQ * k->nbeam; i++) {
        theta_ns[i] = tap_uniform(&seed) * (double)k->m;
        theta_ew[i] = tap_uniform(&seed) * (double)k->n;
    }
    for (size_t f = 0; f < NFREQ; f++)
        tds[f] = k->tds;
    double took_s[3], samples = (double)nt * NFREQ;
    for (int pattern = 0; pattern < 3; pattern++) {
        d.pattern = (enum psr_beam_pattern)pattern;
        took_s[pattern] = time_plan(&d, nt, in, repeats);
    }
    double flops = transform_flops(k) * samples / took_s[0];
    printf("%-18s  grid %6.2f us a sample (%5.1f GFLOP/s, %4.1f %%; %4.1f channels in real time)   "
           "%5zu beams +%6.2f   %3zu x %3zu +%5.2f\n",
           k->name, took_s[0] / samples * 1e6, flops / 1e9, 100 * flops / peak,
           k->tsamp_us * 1e-6 * samples / took_s[0], k->nbeam,
           (took_s[1] - took_s[0]) / samples * 1e6, k->n_ns, k->n_ew,
           (took_s[2] - took_s[0]) / samples * 1e6);
    free(in);
    psr_array_clear(&a);
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 3;
    int nthread = argc > 2 ? atoi(argv[2]) : omp_get_max_threads();
    double peak = multiply_rate(nthread);
    printf("%d threads; multiply-adds %.1f GFLOP/s; both polarisations, all samples of a channel\n",
           nthread, peak / 1e9);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        bench(works + i, repeats, nthread, peak);
    return 0;
}
