/* Speed of dedispersion on the CPU, with the ceilings of the machine measured in the same run.
 *   bench_dedisp [repeats [workload [direct | tree]]]
 * Exact sums and the tree algorithm in turns.  The work: W1 60 s of 1024 channels and 200 trials, W2 600 s of 256 channels and 100 trials, W3 10
 * s of 4096 channels and 4096 trials; random bytes in memory, output into one block's buffer. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>

#include "bench_adds.h"
#include <string.h>

struct work {
    const char *name;
    size_t nchan;
    double fch1_mhz, foff_mhz, tsamp_s, seconds;
    size_t ndm;
    double dm, dm_step;
};

static const struct work works[] = {
    {"W1", 1024, 1550, -0.292968752, 128e-6, 60, 200, 150, 0.5},
    {"W2", 256, 1550, -1.171875, 128e-6, 600, 100, 150, 1},
    {"W3", 4096, 1549.963, -0.0732421875, 64e-6, 10, 4096, 0, 0.2442},
};

/* --- ceilings --------------------------------------------------------------------------------- */

/* Bytes a second that memcpy moves, reading and writing counted once. */
static double copy_rate(int nthread)
{
    enum { PART = 64 << 20, REPEAT = 6 };
    char *from = bench_take((size_t)nthread, PART), *to = bench_take((size_t)nthread, PART);
    double best = 0;
    memset(from, 1, (size_t)nthread * PART);
    memset(to, 2, (size_t)nthread * PART);
    for (int r = 0; r < REPEAT; r++) {
        double start = bench_wall_s();
#pragma omp parallel for num_threads(nthread)
        for (int n = 0; n < nthread; n++)
            memcpy(to + (size_t)n * PART, from + (size_t)n * PART, PART);
        double rate = (double)nthread * PART / (bench_wall_s() - start);
        best = rate > best ? rate : best;
    }
    free(from);
    free(to);
    return best;
}

/* --- the work --------------------------------------------------------------------------------- */

static unsigned char *make_noise(size_t bytes)
{
    uint64_t *x = bench_take(bytes, 1);
#pragma omp parallel for
    for (size_t n = 0; n < (bytes + 63) / 64 * 8; n++) {
        uint64_t z = (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        x[n] = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    }
    return (unsigned char *)x;
}

static psr_status make_plan(psr_dedisp **p, const struct work *w, enum psr_dedisp_algo algo,
                            int nthread, psr_err *err)
{
    double *freq = bench_take(w->nchan, sizeof *freq), *dm = bench_take(w->ndm, sizeof *dm);
    for (size_t c = 0; c < w->nchan; c++)
        freq[c] = w->fch1_mhz + w->foff_mhz * (double)c;
    for (size_t i = 0; i < w->ndm; i++)
        dm[i] = w->dm + w->dm_step * (double)i;
    struct psr_dedisp_desc d = {
        .size = sizeof d,
        .nchan = w->nchan,
        .freq_mhz = freq,
        .tsamp_s = w->tsamp_s,
        .nbit = 8,
        .kind = PSR_UINT,
        .downsamp = 1,
        .dmconst = PSR_DMCONST_PRESTO,
        .ndm = w->ndm,
        .dm = dm,
        .algo = algo,
        .nthread = nthread,
        .backend = "cpu",
        .mem_bytes = INT64_C(1) << 30,
    };
    psr_status st = psr_dedisp_create(p, &d, err);
    free(freq);
    free(dm);
    return st;
}

static psr_status sweep(psr_dedisp *p, const struct work *w, const unsigned char *in, size_t nsamp,
                        float *out, size_t stride, psr_err *err)
{
    size_t block = psr_dedisp_block(p), got;
    psr_dedisp_reset(p);
    for (size_t t = 0; t < nsamp; t += block) {
        size_t n = nsamp - t < block ? nsamp - t : block;
        psr_status st = psr_dedisp_execute(p, in + t * w->nchan, n, out, stride, &got, err);
        if (st)
            return st;
    }
    return PSR_OK;
}

/* A plan and what its sweeps took. */
struct ran {
    const char *name;
    psr_dedisp *plan;
    double create_s, took[64], cpu[64];
};

static void print(const struct work *w, struct ran *r, int nthread, int repeats, size_t nsamp,
                  double copy, double adds)
{
    struct psr_dedisp_info info;
    psr_dedisp_describe(r->plan, &info);
    double t = bench_median(r->took, (size_t)repeats);
    double nout = (double)(nsamp - psr_dedisp_maxshift(r->plan));
    double moved = (double)nsamp * (double)w->nchan + nout * (double)w->ndm * 4;
    printf("%-3s %-6s %7d %8.3f %7.3f %7.3f %9.3f %8.2f %8.2f %9.2f %9.2f %7.0f\n", w->name,
           r->name, nthread, r->create_s, t, bench_median(r->cpu, (size_t)repeats),
           info.adds_direct * nout / t * 1e-12, info.adds_direct / info.adds_planned,
           info.adds_direct * nout / t / adds, info.adds_planned * nout / t / adds,
           moved / t / copy, (double)info.bytes * 1e-6);
    fflush(stdout);
}

static void bench(const struct work *w, const unsigned char *in, const char *only, int nthread,
                  int repeats, double copy, double adds)
{
    size_t nsamp = (size_t)(w->seconds / w->tsamp_s + 0.5), most = 0;
    struct ran ran[] = {{.name = "direct"}, {.name = "tree"}};
    psr_err err;
    for (int a = 0; a < 2; a++) {
        double start = bench_wall_s();
        bench_must(
            make_plan(&ran[a].plan, w, a ? PSR_DEDISP_TREE : PSR_DEDISP_DIRECT, nthread, &err),
            &err);
        ran[a].create_s = bench_wall_s() - start;
        size_t block = psr_dedisp_block(ran[a].plan);
        most = block > most ? block : most;
    }
    float *out = bench_take(w->ndm * most, sizeof *out);
    for (int r = 0; r < 2 * repeats; r++) {
        struct ran *now = &ran[r % 2];
        if (only && strcmp(only, now->name))
            continue;
        double start = bench_wall_s();
        now->cpu[r / 2] = -bench_cpu_s();
        bench_must(sweep(now->plan, w, in, nsamp, out, most, &err), &err);
        now->took[r / 2] = bench_wall_s() - start;
        now->cpu[r / 2] += bench_cpu_s();
    }
    for (int a = 0; a < 2; a++) {
        if (!only || !strcmp(only, ran[a].name))
            print(w, &ran[a], nthread, repeats, nsamp, copy, adds);
        psr_dedisp_destroy(ran[a].plan);
    }
    free(out);
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 3, nthread[] = {1, 2};
    double copy[2], adds[2];
    repeats = repeats < 1 ? 1 : repeats > 64 ? 64 : repeats;
    for (int n = 0; n < 2; n++) {
        copy[n] = copy_rate(nthread[n]);
        adds[n] = bench_add_rate(nthread[n]);
        printf("ceilings, %d thread%s: copy %.1f GB/s, 16-bit adds %.1f G/s\n", nthread[n],
               n ? "s" : "", copy[n] * 1e-9, adds[n] * 1e-9);
    }
    printf(
        "T adds/s: samples out x channels x trials.  saved: those for one that is done.  of adds:\n"
        "T adds/s, and adds done, over the ceiling.  of copy: bytes in and out over the ceiling.\n"
        "    algorithm threads create_s time_s   cpu_s  T_adds/s    saved  of_adds  done/adds   "
        "of_copy "
        "plan_MB\n");
    for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
        const struct work *w = works + k;
        if (argc > 2 && strcmp(argv[2], w->name))
            continue;
        unsigned char *in = make_noise((size_t)(w->seconds / w->tsamp_s + 1) * w->nchan);
        for (int n = 0; n < 2; n++)
            bench(w, in, argc > 3 ? argv[3] : NULL, nthread[n], repeats, copy[n], adds[n]);
        free(in);
    }
    return EXIT_SUCCESS;
}
