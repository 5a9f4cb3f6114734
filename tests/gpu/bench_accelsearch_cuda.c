/* Speed of the matched search on a CUDA device: spectra of 2.34 M bins (600 s at 128 us) of noise,
 * a pair at a time; beside what the device does at most. */
#include "bench_cuda.h"
#include "search/matched/accel_plan.h"
#include "search/matched/cuda/accel_cuda.h"

#include <psrkit/experimental/accelsearch.h>
#include <psrkit/signif.h>

enum { NBIN = 2343750, REPEAT = 5, STAGES = 2 };

static const struct entry {
    int zmax, wmax, numharm;
    double goal_ms; /* of an H200 */
} entries[] = {
    {200, 0, 8, 4.5}, {200, 0, 4, 3.5}, {200, 0, 16, 0}, {50, 0, 8, 0}, {200, 600, 4, 200}};

/* Flops of the transforms: 5 n log2 n of a block of 4096 half bins and template. */
static double flops_of(const struct psr_accel_cuda *c)
{
    return (double)c->plan.strip[c->s->numharm].nblock * (double)c->bank->n * 5 * 4096 * 12;
}

static float *make_noise(uint64_t seed)
{
    float *x = bench_take(2 * (size_t)NBIN, sizeof *x);
    uint64_t r = seed;
    for (size_t i = 0; i < 2 * (size_t)NBIN; i++) {
        double sum = -6; /* of twelve uniform numbers */
        for (int k = 0; k < 12; k++) {
            r = r * 6364136223846793005U + 1442695040888963407U;
            sum += (double)(r >> 40) * 0x1p-24;
        }
        x[i] = (float)sum;
    }
    return x;
}

/* Milliseconds of bounds and of places, a spectrum, over all bands. */
static void time_pair(struct psr_accel_cuda *c, double ms[STAGES])
{
    double all[STAGES][REPEAT + 1] = {{0}};
    cudaEvent_t at[STAGES + 1];
    for (int k = 0; k <= STAGES; k++)
        MUST(cudaEventCreate(&at[k]));
    for (int r = 0; r <= REPEAT; r++)
        for (int64_t first = c->plan.first; first < c->plan.end; first += c->plan.band) {
            const struct psr_accel_part band = psr_accel_cuda_band(c, first);
            MUST(cudaEventRecord(at[0], c->work));
            MUST(psr_accel_cuda_bound(c, &c->slot[0], &band));
            MUST(cudaEventRecord(at[1], c->work));
            MUST(psr_accel_cuda_search(c, &c->slot[0], &band));
            MUST(cudaEventRecord(at[2], c->work));
            for (int k = 0; k < STAGES; k++)
                all[k][r] += 1e3 * bench_between_s(at[k], at[k + 1]) / (double)c->slot[0].n;
        }
    for (int k = 0; k < STAGES; k++)
        ms[k] = bench_median(all[k] + 1, REPEAT);
    for (int k = 0; k <= STAGES; k++)
        MUST(cudaEventDestroy(at[k]));
}

static void report(const struct entry *e, enum accel_k_number kind, float *const noise[2])
{
    const struct psr_accelsearch_desc d = {.size = sizeof d,
                                           .nbin = NBIN,
                                           .zmax = e->zmax,
                                           .wmax = e->wmax,
                                           .numharm = e->numharm,
                                           .sigma = 2,
                                           .batch = 2,
                                           .mem_bytes = INT64_C(1) << 40};
    const struct psr_accelsearch_input in[2] = {{.x = noise[0]}, {.x = noise[1]}};
    struct psr_accel_normalise *level[2];
    struct psr_accel_hits hits[2] = {{0}};
    const struct psr_accel_batch b = {.n = 2, .in = in, .norm = level, .hits = hits};
    struct psr_accel_search s;
    struct psr_accel_cuda c = {.s = &s};
    double ms[STAGES];
    psr_err err;
    bench_must(psr_accel_search_resolve(&s, &d, &err), &err);
    double start_s = bench_wall_s();
    for (int k = 0; k < 2; k++)
        bench_must(
            psr_accel_normalise_create(&level[k], &s, psr_template_reach(s.jmax, s.lmax), &err),
            &err);
    bench_must(psr_accel_cuda_start(&c, kind, 2, &err), &err);
    start_s = bench_wall_s() - start_s;
    bench_must(psr_accel_cuda_upload(&c, &c.slot[0], &b, 0, &err), &err);
    double upload_s = bench_wall_s();
    bench_must(psr_accel_cuda_upload(&c, &c.slot[0], &b, 0, &err), &err);
    MUST(cudaStreamSynchronize(c.in));
    upload_s = (bench_wall_s() - upload_s) / 2;
    time_pair(&c, ms);
    printf("%-6s %5d %5d %3d %8.2f %8.2f %8.2f %7.1f %8.1f %9u %6u %6.1f %6.1f\n",
           kind == ACCEL_HALF ? "half" : "float", e->zmax, e->wmax, e->numharm, ms[0] + ms[1],
           ms[0], ms[1], e->goal_ms, 1e-9 * flops_of(&c) / ms[0], c.slot[0].h_count[0],
           c.slot[0].h_count[1], 1e3 * upload_s, start_s);
    fflush(stdout);
    psr_accel_cuda_free(&c);
    for (int k = 0; k < 2; k++)
        psr_accel_normalise_destroy(level[k]);
    psr_accel_search_forget(&s);
}

int main(int argc, char **argv)
{
    const size_t all = sizeof entries / sizeof *entries;
    const size_t count = argc > 1 ? (size_t)atoi(argv[1]) : all;
    float *const noise[2] = {make_noise(1), make_noise(2)};
    printf("copy %.2f TB/s, shared memory %.1f TB/s\n", 1e-12 * bench_copy_rate(),
           1e-12 * bench_ceiling_rate(ceiling_shared));
    printf("%-6s %5s %5s %3s %8s %8s %8s %7s %8s %9s %6s %6s %6s\n", "", "zmax", "wmax", "H",
           "ms each", "bounds", "places", "goal", "TFLOP/s", "entries", "hits", "up ms", "plan s");
    for (size_t n = 0; n < count; n++)
        report(&entries[n], ACCEL_FLOAT, noise);
    if (count == all)
        report(&entries[0], ACCEL_HALF, noise);
    free(noise[0]);
    free(noise[1]);
    return EXIT_SUCCESS;
}
