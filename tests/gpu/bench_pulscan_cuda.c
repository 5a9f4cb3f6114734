/* Speed of pulscan on a CUDA device, on the workload of White et al.: 600 s at 128 us, 2.34 M bins,
 * zmax 256, the sums of 1 to 4 harmonics, blocks of 256 starts, 64 spectra; beside the seconds of
 * the published kernels on an H200, and what the device does at most.  Then the whole way: from
 * .dat files in the system's cache to candidates. */
#include "bench_cuda.h"
#include "fake/fake_internal.h"
#include "search/pulscan/cuda/pulscan_cuda.h"
#include "search/pulscan/pulscan_internal.h"
#include "tests/support/scratch.h"

#include <math.h>
#include <psrkit/device.h>
#include <psrkit/fake.h>
#include <pthread.h>

enum { NBIN = 2343750, BATCH = 64, DISTINCT = 8, REPEAT = 5, STAGES = 3 };

static const int sums[] = {1, 2, 3, 4};

/* --- ceilings --------------------------------------------------------------------------------- */

struct ceilings {
    double copy, up; /* bytes a second: device memory read and written, host to device */
};

/* --- kernels ---------------------------------------------------------------------------------- */

static const struct entry {
    const char *name;
    bool logz;
    double pulscan_us, goal_us;
} entries[] = {{"log-z", true, 417, 50}, {"every z", false, 1710, 250}};

static struct psr_pulscan_desc describe(bool logz)
{
    return (struct psr_pulscan_desc){.size = sizeof(struct psr_pulscan_desc),
                                     .nbin = NBIN,
                                     .batch = BATCH,
                                     .zmax = 256,
                                     .logz = logz,
                                     .nharm = sums,
                                     .nnharm = sizeof sums / sizeof *sums,
                                     .block = 256,
                                     .sigma = 2,
                                     .mem_bytes = INT64_C(1) << 36};
}

static struct psr_cuda_group group_of(const struct psr_pulscan_state *c, size_t first)
{
    struct psr_cuda_group g = c->group[0];
    g.first = first;
    g.n = BATCH - first < c->most ? BATCH - first : c->most;
    return g;
}

static void clear(const struct psr_pulscan_state *c, const struct psr_cuda_group *g)
{
    size_t pieces = g->n * c->s->nharm * c->plan.npiece;
    MUST(cudaMemsetAsync(g->d_groups, 0, pieces * sizeof *g->d_groups, c->work));
    MUST(cudaMemsetAsync(g->d_count, 0, sizeof *g->d_count, c->work));
}

/* One pass over the batch; at says when the stages of each group ended. */
static void pass(const struct psr_pulscan_state *c, cudaEvent_t at[][STAGES + 1])
{
    for (size_t first = 0, n = 0; first < BATCH; first += c->most, n++) {
        const struct psr_cuda_group g = group_of(c, first);
        const struct pulscan_k_norm norm = psr_pulscan_cuda_norm(c, &g);
        const struct pulscan_k_search job = psr_pulscan_cuda_search(c, &g);
        MUST(cudaEventRecord(at[n][0], c->work));
        clear(c, &g);
        MUST(cudaMemsetAsync(norm.d_bad, 0x7f, g.n * sizeof *norm.d_bad, c->work));
        MUST(pulscan_k_normalise(&norm, c->work));
        MUST(cudaEventRecord(at[n][1], c->work));
        MUST(pulscan_k_prefilter(&job, c->work));
        MUST(cudaEventRecord(at[n][2], c->work));
        MUST(pulscan_k_peaks(&job, c->work));
        MUST(cudaEventRecord(at[n][3], c->work));
    }
}

/* Microseconds a spectrum: in all, and of each stage. */
static void time_pass(const struct psr_pulscan_state *c, double us[STAGES + 1])
{
    static cudaEvent_t at[BATCH][STAGES + 1];
    double all[STAGES + 1][REPEAT + 1] = {{0}};
    const size_t last = (BATCH - 1) / c->most;
    for (size_t n = 0; n <= last; n++)
        for (int k = 0; k <= STAGES; k++)
            MUST(cudaEventCreate(&at[n][k]));
    for (int r = 0; r <= REPEAT; r++) {
        pass(c, at);
        all[0][r] = bench_between_s(at[0][0], at[last][STAGES]);
        for (size_t n = 0; n <= last; n++)
            for (int k = 0; k < STAGES; k++)
                all[k + 1][r] += bench_between_s(at[n][k], at[n][k + 1]);
    }
    for (int k = 0; k <= STAGES; k++)
        us[k] = 1e6 * bench_median(all[k] + 1, REPEAT) / BATCH;
}

/* Lists every piece that there is.
 * Returned: how many */
static uint32_t list_all(const struct psr_pulscan_state *c, const struct psr_cuda_group *g,
                         uint32_t *list)
{
    uint32_t n = 0, sum = 0;
    for (size_t k = 0; k < g->n * c->s->nharm; k++, sum += c->plan.npiece)
        for (uint32_t p = 0; p * PULSCAN_PIECE < NBIN / (uint32_t)sums[k % c->s->nharm]; p++)
            list[n++] = sum + p;
    return n;
}

/* Every box is summed: what the sieve saves, and the time of the worst of data. */
static double time_all_boxes(const struct psr_pulscan_state *c)
{
    const struct psr_cuda_group g = group_of(c, 0);
    const struct pulscan_k_search job = psr_pulscan_cuda_search(c, &g);
    const size_t room = g.n * c->s->nharm * c->plan.npiece;
    uint32_t *list = bench_take(room, sizeof *list);
    struct pulscan_k_count count = {.nlist = list_all(c, &g, list)};
    double s[REPEAT + 1];
    cudaEvent_t a, b;
    MUST(cudaEventCreate(&a));
    MUST(cudaEventCreate(&b));
    MUST(cudaMemcpy(g.d_list, list, count.nlist * sizeof *list, cudaMemcpyHostToDevice));
    MUST(cudaMemset(g.d_groups, 0xff, room * sizeof *list));
    for (int n = 0; n <= REPEAT; n++) {
        MUST(cudaMemcpy(g.d_count, &count, sizeof count, cudaMemcpyHostToDevice));
        MUST(cudaEventRecord(a, c->work));
        MUST(pulscan_k_peaks(&job, c->work));
        MUST(cudaEventRecord(b, c->work));
        s[n] = bench_between_s(a, b);
    }
    free(list);
    return 1e6 * bench_median(s + 1, REPEAT) / (double)g.n;
}

static void report_kernels(const struct entry *e, const struct ceilings *ceil, const float *noise)
{
    struct psr_pulscan_desc d = describe(e->logz);
    struct psr_pulscan_search s;
    struct psr_significance significance;
    struct psr_pulscan_state c = {.s = &s};
    struct pulscan_k_count count;
    double us[STAGES + 1], read_us = 1e6 * 8.0 * NBIN / ceil->copy;
    psr_err err;
    bench_must(psr_pulscan_resolve(&s, &significance, &d, &err), &err);
    bench_must(psr_pulscan_cuda_start(&c, &err), &err);
    for (size_t n = 0; n < BATCH; n++)
        MUST(cudaMemcpy(c.d_x + n * c.pitch * 2, noise + n % DISTINCT * 2 * NBIN, 8L * NBIN,
                        cudaMemcpyHostToDevice));
    time_pass(&c, us);
    MUST(cudaMemcpy(&count, c.group[0].d_count, sizeof count, cudaMemcpyDeviceToHost));
    const struct psr_cuda_group last = group_of(&c, (BATCH - 1) / c.most * c.most);
    double all_us = time_all_boxes(&c);
    printf("%-8s %7.1f %9.1f %6.1f %6.1f %10.2f %8.1f %6.1f %9.3f%% %9.1f\n", e->name, us[0], us[1],
           us[2], us[3], us[0] / read_us, e->pulscan_us / us[0], e->goal_us / us[0],
           100.0 * count.nlist /
               ((double)last.n * NBIN / PULSCAN_PIECE * (1 + 1 / 2. + 1 / 3. + 1 / 4.)),
           all_us);
    psr_pulscan_cuda_free(&c);
    psr_pulscan_forget(&s);
}

/* --- from files ------------------------------------------------------------------------------- */

enum { WORKERS = 3, FILES = 144, TURN = 12, READERS = 5 };

struct worker {
    int first; /* turn */
    psr_pulscan *plan;
    size_t hits;
};

static FILE *open_file(int n, const char *mode)
{
    char path[PATH_MAX]; /* scratch() is not for threads */
    snprintf(path, sizeof path, "%s/%d.dat", scratch_dir, n % BATCH);
    FILE *f = fopen(path, mode);
    if (!f)
        bench_stop("a .dat file is not opened");
    return f;
}

static void read_file(int n, float *to)
{
    FILE *f = open_file(n, "rb");
    if (setvbuf(f, NULL, _IONBF, 0) || fread(to, sizeof *to, 2 * NBIN, f) != 2 * NBIN)
        bench_stop("a .dat file is not read");
    fclose(f);
}

/* Takes every second turn of files. */
static void *work(void *arg)
{
    struct worker *w = arg;
    struct psr_pulscan_result result[TURN];
    const float *in[TURN];
    psr_err err;
    for (int turn = w->first; turn < FILES / TURN; turn += WORKERS) {
#pragma omp parallel for num_threads(READERS) schedule(dynamic)
        for (int n = 0; n < TURN; n++) {
            float *to = psr_pulscan_input(w->plan, (size_t)n);
            read_file(turn * TURN + n, to);
            in[n] = to;
        }
        bench_must(psr_pulscan_execute(w->plan, TURN, in, result, &err), &err);
        for (int n = 0; n < TURN; n++)
            w->hits += result[n].nhit;
    }
    return NULL;
}

static void write_files(const float *noise)
{
    for (int n = 0; n < BATCH; n++) {
        FILE *f = open_file(n, "wb");
        if (fwrite(noise + n % DISTINCT * 2 * NBIN, 8, NBIN, f) != NBIN || fclose(f))
            bench_stop("a .dat file is not written");
    }
}

static double time_workers(struct worker w[WORKERS])
{
    pthread_t thread[WORKERS];
    double t0 = bench_wall_s();
    for (int k = 0; k < WORKERS; k++)
        if (pthread_create(&thread[k], NULL, work, &w[k]))
            exit(EXIT_FAILURE);
    for (int k = 0; k < WORKERS; k++)
        pthread_join(thread[k], NULL);
    return bench_wall_s() - t0;
}

static void report_files(const struct entry *e, const struct ceilings *ceil)
{
    struct psr_pulscan_desc d = describe(e->logz);
    struct worker w[WORKERS];
    double s[3];
    size_t hits = 0;
    psr_err err;
    d.series = true;
    d.batch = TURN;
    d.backend = "cuda";
    for (int k = 0; k < WORKERS; k++) {
        w[k] = (struct worker){.first = k};
        bench_must(psr_pulscan_create(&w[k].plan, &d, &err), &err);
    }
    for (int r = 0; r < 3; r++)
        s[r] = time_workers(w);
    for (int k = 0; k < WORKERS; k++) {
        hits += w[k].hits;
        psr_pulscan_destroy(w[k].plan);
    }
    double rate = 8.0 * NBIN * FILES / bench_median(s, 3);
    printf("%-8s %6.1f GB/s of .dat, %4.2f of host to device, %6.1f us a file, %zu hits\n", e->name,
           1e-9 * rate, rate / ceil->up, 8e6 * NBIN / rate, hits);
}

int main(void)
{
    enum { ENTRIES = sizeof entries / sizeof *entries };
    struct psr_device device;
    psr_err err;
    if (psr_device_describe(0, &device, &err)) {
        printf("SKIP: %s\n", err.msg);
        return 0;
    }
    struct ceilings ceil = {bench_copy_rate(), bench_upload_rate()};
    float *noise = bench_take((size_t)DISTINCT * 2 * NBIN, sizeof *noise);
    for (int n = 0; n < DISTINCT; n++)
        psr_rng_normal(1, (uint64_t)n, 0, 2 * NBIN, noise + (size_t)n * 2 * NBIN);
    printf("%s: copies %.2f TB/s, host to device %.1f GB/s\n", device.name, ceil.copy * 1e-12,
           ceil.up * 1e-9);
    printf("us per spectrum of %d bins, %d in a batch; Pulscan, goal: their time over ours\n", NBIN,
           BATCH);
    printf("             all normalise  sieve  peaks  of_reading  pulscan   goal pieces_left "
           "all_boxes\n");
    for (int n = 0; n < ENTRIES; n++)
        report_kernels(&entries[n], &ceil, noise);
    scratch_make();
    write_files(noise);
    for (int n = 0; n < ENTRIES; n++)
        report_files(&entries[n], &ceil);
    scratch_remove();
    free(noise);
    return 0;
}
