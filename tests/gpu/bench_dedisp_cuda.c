/* Speed of dedispersion on a CUDA device, on the workload of Novotny et al. (2023), table 2: 10 s
 * of 1400 +- 150 MHz at 64 us, 3050 trials to DM 500, exact delays; beside the published kernel
 * seconds of AstroAccelerate, tuned, on an H200, and what the device does at most.
 *
 * The sums timed are compared with those of the plain kernel, at trials all over the sweep. */
#include "../../lib/search/dedisp_cuda.h"
#include "ceilings.h"

#include <cornerturn.h>
#include <math.h>
#include <psrkit/delays.h>
#include <psrkit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NSAMP = 156250, NTRIAL = 3050, REPEAT = 5, CHECKED = 48 };

/* Kernel seconds on an H200, where published, and the aim. */
static const struct entry {
    size_t nchan;
    int nbit;
    double astroaccelerate_s, goal_s;
} entries[] = {
    {512, 8, 0.0197, 0.0070}, {1024, 8, 0.0390, 0.0120}, {2048, 8, 0.0776, 0.021},
    {4096, 8, 0.1549, 0.039}, {8192, 8, 0.3095, 0.072},  {4096, 4, 0, 0.039},
    {4096, 16, 0, 0},
};

static void must(cudaError_t e, const char *what)
{
    if (!e)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
}
#define MUST(call) must(call, #call)

static void *take(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p) {
        fprintf(stderr, "no memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

static void *to_device(const void *from, size_t bytes)
{
    void *p;
    MUST(cudaMalloc(&p, bytes + 4096));
    if (from)
        MUST(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
    return p;
}

static float stop_ms(cudaEvent_t from, cudaEvent_t to)
{
    float ms;
    MUST(cudaEventRecord(to, 0));
    MUST(cudaEventSynchronize(to));
    MUST(cudaEventElapsedTime(&ms, from, to));
    return ms;
}

static int by_size(const void *a, const void *b)
{
    return *(const float *)a > *(const float *)b ? 1 : -1;
}

/* Median milliseconds of what run does. */
static double time_ms(cudaError_t (*run)(void *), void *ctx)
{
    cudaEvent_t from, to;
    float ms[REPEAT + 1];
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&to));
    for (int n = 0; n <= REPEAT; n++) { /* the first warms up */
        MUST(cudaEventRecord(from, 0));
        MUST(run(ctx));
        ms[n] = stop_ms(from, to);
    }
    qsort(ms + 1, REPEAT, sizeof *ms, by_size);
    MUST(cudaEventDestroy(from));
    MUST(cudaEventDestroy(to));
    return ms[1 + REPEAT / 2];
}

/* --- the workload ----------------------------------------------------------------------------- */

struct work {
    struct psr_sweep s;
    struct psr_cuda_plan plan;
    struct dedisp_k_delays delays;
    struct dedisp_k_io io;
    struct cornerturn_k_desc turn;
    void *d_raw, *d_run, *d_block, *d_group, *d_stage, *d_fault;
};

static double novotny_dm(size_t i)
{
    return i < 1500   ? 0.1 * (double)i
           : i < 2250 ? 150 + 0.2 * (double)(i - 1500)
                      : 300 + 0.25 * (double)(i - 2250);
}

static void make_sweep(struct psr_sweep *s, size_t nchan, int nbit)
{
    double step_mhz = 300.0 / (double)nchan, top_mhz = 1550 - step_mhz / 2;
    *s = (struct psr_sweep){.nchan = nchan,
                            .nkept = nchan,
                            .nbit = nbit,
                            .kind = PSR_UINT,
                            .downsamp = 1,
                            .ndm = NTRIAL,
                            .dt_s = 64e-6};
    s->dm = take(s->ndm, sizeof *s->dm);
    s->law = take(nchan, sizeof *s->law);
    s->chan = take(nchan, sizeof *s->chan);
    s->pre = take(nchan, sizeof *s->pre);
    for (size_t i = 0; i < s->ndm; i++)
        s->dm[i] = novotny_dm(i);
    for (size_t k = 0; k < nchan; k++) {
        double f = top_mhz - (double)k * step_mhz;
        s->law[k] = 1 / PSR_DMCONST_PRESTO * f * f;
        s->chan[k] = k;
    }
    s->law_top = s->law[0];
    s->law_low = s->law[nchan - 1];
    s->maxoff = psr_lag(s->dm[s->ndm - 1], s->law_low, s->law_top, s->dt_s);
}

static void place_buffers(struct work *w)
{
    const struct psr_sweep *s = &w->s;
    size_t nout = NSAMP - (size_t)s->maxoff, pitch = (NSAMP + DEDISP_BEHIND + 127) / 128 * 128;
    size_t row_bytes = s->nchan * (size_t)s->nbit / 8, planes = (size_t)w->plan.nplane;
    uint32_t *chan = take(s->nkept, sizeof *chan);
    for (size_t k = 0; k < s->nkept; k++)
        chan[k] = (uint32_t)k;
    w->d_raw = to_device(NULL, NSAMP * row_bytes);
    w->d_run = to_device(NULL, planes * pitch * s->nkept + DEDISP_BEHIND);
    MUST(cudaMemset(w->d_run, 0, planes * pitch * s->nkept + DEDISP_BEHIND));
    MUST(ceiling_fill(w->d_raw, NSAMP * row_bytes, s->nchan));
    w->turn = (struct cornerturn_k_desc){.nbit = s->nbit,
                                         .row_bytes = row_bytes,
                                         .nkept = s->nkept,
                                         .downsamp = 1,
                                         .nplane = w->plan.nplane,
                                         .pitch = pitch,
                                         .plane = pitch * s->nkept};
    w->turn.d_chan = to_device(chan, s->nkept * sizeof *chan);
    w->turn.d_pre = to_device(s->pre, s->nkept * sizeof *s->pre);
    w->io = (struct dedisp_k_io){.d_lane = (char *)w->d_run + DEDISP_FRONT,
                                 .pitch = pitch,
                                 .plane = pitch * s->nkept,
                                 .nplane = w->plan.nplane,
                                 .nkept = s->nkept,
                                 .nout = nout,
                                 .out_pitch = (nout + 31) / 32 * 32,
                                 .downsamp = 1};
    w->io.d_out = to_device(NULL, s->ndm * w->io.out_pitch * sizeof(float));
    w->io.d_row = to_device(w->plan.row, s->ndm * sizeof(uint32_t));
    free(chan);
}

static void place_plan(struct work *w)
{
    const struct psr_sweep *s = &w->s;
    const struct psr_cuda_plan *p = &w->plan;
    w->delays = (struct dedisp_k_delays){.frame = {s->law_top, s->law_low, s->dt_s}};
    w->delays.d_dm = to_device(p->dm, s->ndm * sizeof *p->dm);
    w->delays.d_law = to_device(s->law, s->nkept * sizeof *s->law);
    w->d_block = to_device(p->block, p->nblock * sizeof *p->block);
    w->d_group = to_device(p->group, p->ngroup * sizeof *p->group);
    w->d_stage = to_device(NULL, p->nstage * dedisp_k_stage_bytes());
    w->d_fault = to_device(NULL, sizeof(int));
}

static void free_work(struct work *w)
{
    void *const device[] = {w->d_raw,
                            w->d_run,
                            w->d_block,
                            w->d_group,
                            w->d_stage,
                            w->d_fault,
                            w->io.d_out,
                            (void *)w->io.d_row,
                            (void *)w->delays.d_dm,
                            (void *)w->delays.d_law,
                            (void *)w->turn.d_chan,
                            (void *)w->turn.d_pre};
    for (size_t n = 0; n < sizeof device / sizeof *device; n++)
        MUST(cudaFree(device[n]));
    psr_cuda_plan_free(&w->plan);
    free(w->s.dm);
    free(w->s.law);
    free(w->s.chan);
    free(w->s.pre);
}

static cudaError_t run_turn(void *ctx)
{
    struct work *w = ctx;
    return cornerturn_k_turn(&w->turn, w->d_raw, 0, (void *)w->io.d_lane, NSAMP, 0);
}

static cudaError_t run_aim(void *ctx)
{
    struct work *w = ctx;
    return dedisp_k_aim(w->d_stage, w->d_fault, w->d_block, w->plan.nblock, w->d_group, &w->delays,
                        0);
}

static cudaError_t run_multiply(void *ctx)
{
    struct work *w = ctx;
    return dedisp_k_multiply(&w->io, w->d_block, w->plan.nblock, w->d_stage, w->plan.spread, 0);
}

/* Outputs that are not those of the plain kernel, at trials all over the sweep. */
static size_t count_wrong(struct work *w)
{
    size_t nout = w->io.nout, bad = 0;
    float *got = take(nout, sizeof *got), *want = take(nout, sizeof *want);
    for (size_t n = 0; n < CHECKED; n++) {
        size_t i = n < CHECKED - 1 ? n * (w->s.ndm / CHECKED) + n % 32 : w->s.ndm - 1;
        struct dedisp_k_io io = w->io;
        struct dedisp_k_delays delays = w->delays;
        MUST(cudaMemcpy(got, w->io.d_out + i * io.out_pitch, nout * sizeof *got,
                        cudaMemcpyDeviceToHost));
        io.d_row += i;
        delays.d_dm += i;
        MUST(dedisp_k_gather(&io, 1, &delays, 0));
        MUST(cudaMemcpy(want, w->io.d_out + i * io.out_pitch, nout * sizeof *got,
                        cudaMemcpyDeviceToHost));
        for (size_t t = 0; t < nout; t++)
            bad += !(got[t] == want[t]);
    }
    free(got);
    free(want);
    return bad;
}

/* --- ceilings --------------------------------------------------------------------------------- */

struct ceiling {
    int *d_sink;
    double amount;
};

static cudaError_t run_products(void *ctx)
{
    struct ceiling *c = ctx;
    return ceiling_products(c->d_sink, &c->amount);
}

static cudaError_t run_shared(void *ctx)
{
    struct ceiling *c = ctx;
    return ceiling_shared(c->d_sink, &c->amount);
}

static cudaError_t run_copy(void *ctx)
{
    struct ceiling *c = ctx;
    c->amount = 2.0 * (1 << 30);
    return cudaMemcpyAsync(c->d_sink + (1 << 28), c->d_sink, 1 << 30, cudaMemcpyDeviceToDevice, 0);
}

static double rate(cudaError_t (*run)(void *), struct ceiling *c)
{
    double ms = time_ms(run, c);
    return c->amount / ms * 1e3;
}

/* --- figures ---------------------------------------------------------------------------------- */

static void print_ratio(double x)
{
    if (x > 0)
        printf(" %9.2f", x);
    else
        printf(" %9s", "-");
}

static void report(const struct entry *e, double products)
{
    struct work w = {0};
    psr_err err;
    int max_spread;
    make_sweep(&w.s, e->nchan, e->nbit);
    MUST(dedisp_k_max_spread(&max_spread));
    if (psr_cuda_plan_make(&w.plan, &w.s, max_spread, SIZE_MAX, &err) || !w.plan.multiply) {
        fprintf(stderr, "no plan for %zu channels\n", e->nchan);
        exit(EXIT_FAILURE);
    }
    place_buffers(&w);
    place_plan(&w);
    double turn_ms = time_ms(run_turn, &w), aim_ms = time_ms(run_aim, &w);
    MUST(cudaMemset(w.io.d_out, 0xff, w.s.ndm * w.io.out_pitch * sizeof(float)));
    double ms = time_ms(run_multiply, &w);
    double adds = (double)w.io.nout * (double)w.s.nkept * (double)w.s.ndm / ms * 1e3;
    size_t bad = count_wrong(&w);
    printf("%5zu %4d %9.2f %8.1f %7.3f", e->nchan, e->nbit, ms, adds * 1e-12, adds / products);
    print_ratio(e->astroaccelerate_s * 1e3 / ms);
    print_ratio(e->goal_s * 1e3 / ms);
    printf(" %9.2f %7.2f %7zu  %s\n", turn_ms, aim_ms, w.plan.nstage / w.plan.nblock,
           bad ? "WRONG" : "exact");
    fflush(stdout);
    free_work(&w);
    if (bad)
        exit(EXIT_FAILURE);
}

static double now_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must_plan(psr_status st, const psr_err *err)
{
    if (!st)
        return;
    fprintf(stderr, "%s\n", err->msg);
    exit(EXIT_FAILURE);
}

/* The same work through the library, from the caller's memory to the caller's memory. */
static void report_stream(size_t nchan)
{
    psr_dedisp *p;
    psr_err err;
    size_t done = 0, got, block = 16384;
    double *freq_mhz = take(nchan, sizeof *freq_mhz), dm[NTRIAL];
    for (size_t c = 0; c < nchan; c++)
        freq_mhz[c] = 1550 - 300.0 / (double)nchan * ((double)c + 0.5);
    for (size_t i = 0; i < NTRIAL; i++)
        dm[i] = novotny_dm(i);
    const struct psr_dedisp_desc desc = {.nchan = nchan,
                                         .freq_mhz = freq_mhz,
                                         .tsamp_s = 64e-6,
                                         .nbit = 8,
                                         .kind = PSR_UINT,
                                         .downsamp = 1,
                                         .dmconst = PSR_DMCONST_PRESTO,
                                         .ndm = NTRIAL,
                                         .dm = dm,
                                         .backend = "cuda"};
    double t0 = now_s();
    must_plan(psr_dedisp_create(&p, &desc, &err), &err);
    double create_s = now_s() - t0;
    size_t stride = psr_dedisp_ready(p, NSAMP);
    unsigned char *in = take(NSAMP, nchan);
    float *out = take(NTRIAL * stride, sizeof *out);
    memset(in, 3, NSAMP * nchan);
    memset(out, 0, NTRIAL * stride * sizeof *out); /* the pages are there */
    t0 = now_s();
    for (size_t t = 0; t < NSAMP; t += block, done += got) {
        size_t n = NSAMP - t < block ? NSAMP - t : block;
        must_plan(psr_dedisp_execute(p, in + t * nchan, n, out + done, stride, &got, &err), &err);
    }
    double s = now_s() - t0,
           gb = 1e-9 * ((double)NSAMP * (double)nchan + 4e0 * NTRIAL * (double)done);
    printf("%5zu channels through the library: plan %.2f s, stream %.3f s, %.1f GB/s in and out\n",
           nchan, create_s, s, gb / s);
    psr_dedisp_destroy(p);
    free(freq_mhz);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    struct psr_device device;
    psr_err err;
    struct ceiling c = {0};
    if (psr_device_describe(0, &device, &err)) {
        printf("SKIP: %s\n", err.msg);
        return 0;
    }
    MUST(cudaMalloc((void **)&c.d_sink, (size_t)2 << 30));
    MUST(ceiling_fill(c.d_sink, (size_t)2 << 30, 1));
    double copy = rate(run_copy, &c), products = rate(run_products, &c),
           shared = rate(run_shared, &c);
    MUST(cudaFree(c.d_sink));
    printf("%s: copies %.2f TB/s, byte products %.0f T/s, shared memory %.1f TB/s\n", device.name,
           copy * 1e-12, products * 1e-12, shared * 1e-12);
    printf(
        "10 s of 1400 +- 150 MHz, 3050 trials; goal and AstroAccelerate: their time over ours\n");
    printf("nchan bits kernel_ms T_adds/s of_prod astroacc.      goal   turn_ms  aim_ms  groups\n");
    for (size_t n = 0; n < sizeof entries / sizeof *entries; n++)
        if (argc < 2 || (size_t)atoi(argv[1]) == entries[n].nchan)
            report(entries + n, products);
    report_stream(argc < 2 ? 4096 : (size_t)atoi(argv[1]));
    return 0;
}
