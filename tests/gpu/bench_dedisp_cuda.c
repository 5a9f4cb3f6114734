/* Speed of dedispersion on a CUDA device, through the library: seconds that its kernels take,
 * beside published ones of others on an H200, our aims, and what the device does at most.
 *
 *   N      10 s of 1400 +- 150 MHz at 64 us, 3050 trials to DM 500 (Novotny et al. 2023, table 2)
 *   HTRU   60 s of 1382 +- 200 MHz at 64 us in 1024 channels, 1197 trials to DM 1000
 *   low, mid, high   their table 3, with the lines that psr_ddplan makes
 *   tree   N with the tree algorithm, whose adds are counted as those of exact sums
 *
 * Every sum is one of those that the naive formula gives with the plan's delays: some are checked.
 *
 *   bench_dedisp_cuda [WORK [CHANNELS]] */
#include "base/device/device_internal.h"
#include "bench_cuda.h"
#include "search/dedisp/dedisp_internal.h"
#include "search/singlepulse/singlepulse_internal.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>
#include <psrkit/experimental/singlepulse.h>
#include <string.h>

enum { REPEAT = 3, CHECKED = 64, MAX_LINES = PSR_DDPLAN_MAX_LINES };
static const size_t MOST_BYTES = 256 << 20;

/* --- workloads -------------------------------------------------------------------------------- */

enum trials { NOVOTNY, NOVOTNY_TREE, HTRU, DDPLAN };

/* Seconds of others and of the aim; 0 where there is no figure. */
static const struct work {
    const char *name;
    enum trials trials;
    size_t nchan;
    int nbit;
    double fctr_mhz, bw_mhz, tsamp_s, length_s, hidm;
    double peer_s, goal_s;
} works[] = {
    {"N", NOVOTNY, 512, 4, 1400, 300, 64e-6, 10, 500, 0, 0.0070},
    {"N", NOVOTNY, 512, 8, 1400, 300, 64e-6, 10, 500, 0.0197, 0.0070},
    {"N", NOVOTNY, 512, 16, 1400, 300, 64e-6, 10, 500, 0, 0.0140},
    {"N", NOVOTNY, 1024, 4, 1400, 300, 64e-6, 10, 500, 0, 0.0120},
    {"N", NOVOTNY, 1024, 8, 1400, 300, 64e-6, 10, 500, 0.0390, 0.0120},
    {"N", NOVOTNY, 1024, 16, 1400, 300, 64e-6, 10, 500, 0, 0.0240},
    {"N", NOVOTNY, 2048, 4, 1400, 300, 64e-6, 10, 500, 0, 0.021},
    {"N", NOVOTNY, 2048, 8, 1400, 300, 64e-6, 10, 500, 0.0776, 0.021},
    {"N", NOVOTNY, 2048, 16, 1400, 300, 64e-6, 10, 500, 0, 0.042},
    {"N", NOVOTNY, 4096, 4, 1400, 300, 64e-6, 10, 500, 0.1069, 0.039},
    {"N", NOVOTNY, 4096, 8, 1400, 300, 64e-6, 10, 500, 0.1549, 0.039},
    {"N", NOVOTNY, 4096, 16, 1400, 300, 64e-6, 10, 500, 0.587, 0.078},
    {"N", NOVOTNY, 8192, 4, 1400, 300, 64e-6, 10, 500, 0, 0.072},
    {"N", NOVOTNY, 8192, 8, 1400, 300, 64e-6, 10, 500, 0.3095, 0.072},
    {"N", NOVOTNY, 8192, 16, 1400, 300, 64e-6, 10, 500, 0, 0.144},
    {"tree", NOVOTNY_TREE, 512, 8, 1400, 300, 64e-6, 10, 500, 0.0197, 0},
    {"tree", NOVOTNY_TREE, 1024, 8, 1400, 300, 64e-6, 10, 500, 0.0390, 0},
    {"tree", NOVOTNY_TREE, 2048, 8, 1400, 300, 64e-6, 10, 500, 0.0776, 0},
    {"tree", NOVOTNY_TREE, 4096, 4, 1400, 300, 64e-6, 10, 500, 0.1069, 0},
    {"tree", NOVOTNY_TREE, 4096, 8, 1400, 300, 64e-6, 10, 500, 0.1549, 0.004},
    {"tree", NOVOTNY_TREE, 4096, 16, 1400, 300, 64e-6, 10, 500, 0.587, 0},
    {"tree", NOVOTNY_TREE, 8192, 8, 1400, 300, 64e-6, 10, 500, 0.3095, 0.007},
    {"HTRU", HTRU, 1024, 2, 1382, 400, 64e-6, 60, 1000, 0.875, 0.05},
    {"HTRU", HTRU, 1024, 8, 1382, 400, 64e-6, 60, 1000, 1.127, 0},
    {"low", DDPLAN, 1024, 8, 400, 200, 256e-6, 300, 1500, 0, 0},
    {"mid", DDPLAN, 4096, 8, 800, 200, 128e-6, 50, 2000, 0, 0},
    {"high", DDPLAN, 4096, 8, 1400, 300, 64e-6, 50, 3000, 0, 0},
};

struct line {
    double *dm;
    size_t ndm, downsamp;
};

static void make_novotny(struct line *l)
{
    *l = (struct line){bench_take(3050, sizeof *l->dm), 3050, 1};
    for (size_t i = 0; i < l->ndm; i++)
        l->dm[i] = i < 1500   ? 0.1 * (double)i
                   : i < 2250 ? 150 + 0.2 * (double)(i - 1500)
                              : 300 + 0.25 * (double)(i - 2250);
}

/* Levin's steps, as the dedisp library takes them: smearing may grow by a quarter from one trial to
 * the next, for pulses of 40 us. */
static void make_htru(const struct work *w, struct line *l)
{
    const double us = w->tsamp_s * 1e6, tol2 = 1.25 * 1.25, ghz = w->fctr_mhz * 1e-3;
    const double a = 8.3 * w->bw_mhz / (double)w->nchan / (ghz * ghz * ghz);
    const double b2 = a * a * (double)(w->nchan * w->nchan) / 16;
    const double c = (us * us + 40 * 40) * (tol2 - 1);
    *l = (struct line){bench_take(4096, sizeof *l->dm), 1, 1};
    while (l->ndm < 4096 && l->dm[l->ndm - 1] < w->hidm) {
        double dm = l->dm[l->ndm - 1], k = c + tol2 * a * a * dm * dm;
        l->dm[l->ndm++] = (b2 * dm + sqrt((a * a + b2) * k - a * a * b2 * dm * dm)) / (a * a + b2);
    }
}

static size_t make_plan(const struct work *w, struct line *l)
{
    psr_err err;
    static struct psr_ddplan plan;
    const struct psr_ddplan_desc d = {
        .size = sizeof d,
        .band = {w->tsamp_s, w->fctr_mhz, w->bw_mhz, (int64_t)w->nchan},
        .hidm = w->hidm,
        .blocklen = 2400,
        .nproc = 1};
    bench_must(psr_ddplan_make(&plan, &d, &err), &err);
    for (int k = 0; k < plan.nline; k++) {
        const struct psr_ddplan_line *p = &plan.line[k];
        l[k] = (struct line){bench_take((size_t)p->ndm, sizeof *l->dm), (size_t)p->ndm,
                             (size_t)p->downsamp};
        for (size_t i = 0; i < l[k].ndm; i++)
            l[k].dm[i] = p->lodm + p->dmstep * (double)i;
    }
    return (size_t)plan.nline;
}

static size_t make_lines(const struct work *w, struct line *l)
{
    if (w->trials == DDPLAN)
        return make_plan(w, l);
    if (w->trials == HTRU)
        make_htru(w, l);
    else
        make_novotny(l);
    return 1;
}

static psr_dedisp *create(const struct work *w, const struct line *l)
{
    psr_err err;
    psr_dedisp *p;
    double *freq_mhz = bench_take(w->nchan, sizeof *freq_mhz);
    for (size_t c = 0; c < w->nchan; c++)
        freq_mhz[c] = w->fctr_mhz + w->bw_mhz * (0.5 - ((double)c + 0.5) / (double)w->nchan);
    bench_must(psr_dedisp_create(&p,
                                 &(struct psr_dedisp_desc){.size = sizeof(struct psr_dedisp_desc),
                                                           .nchan = w->nchan,
                                                           .freq_mhz = freq_mhz,
                                                           .tsamp_s = w->tsamp_s,
                                                           .nbit = w->nbit,
                                                           .kind = PSR_UINT,
                                                           .downsamp = l->downsamp,
                                                           .dmconst = PSR_DMCONST_PRESTO,
                                                           .ndm = l->ndm,
                                                           .dm = l->dm,
                                                           .mem_bytes = INT64_C(16) << 30,
                                                           .algo = w->trials == NOVOTNY_TREE
                                                                       ? PSR_DEDISP_TREE
                                                                       : PSR_DEDISP_DIRECT,
                                                           .backend = "cuda"},
                                 &err),
               &err);
    free(freq_mhz);
    return p;
}

static size_t count_spectra(const struct work *w)
{
    return (size_t)(w->length_s / w->tsamp_s + 0.5);
}

/* --- exactness -------------------------------------------------------------------------------- */

/* Random spectra, pinned, of which some are repeated again and again. */
struct input {
    unsigned char *data;
    size_t row_bytes;
    size_t room, block; /* spectra; those that are repeated */
    int nbit;
};

static void fill(struct input *in, const struct work *w)
{
    psr_err err;
    void *p, *d_p;
    in->nbit = w->nbit;
    in->row_bytes = w->nchan * (size_t)w->nbit / 8;
    in->room = MOST_BYTES / in->row_bytes;
    bench_must(psr_device_pin(&p, MOST_BYTES, &err), &err);
    in->data = p;
    MUST(cudaMalloc(&d_p, MOST_BYTES));
    MUST(ceiling_fill(d_p, MOST_BYTES, 7));
    MUST(cudaMemcpy(p, d_p, MOST_BYTES, cudaMemcpyDeviceToHost));
    MUST(cudaFree(d_p));
}

static unsigned sample(const struct input *in, size_t t, size_t c)
{
    const unsigned char *row = in->data + t % in->block * in->row_bytes;
    size_t bit = c * (size_t)in->nbit;
    if (in->nbit == 16)
        return row[2 * c] + 256u * row[2 * c + 1];
    return row[bit / 8] >> bit % 8 & ((1u << in->nbit) - 1);
}

static float sum_naively(const struct input *in, const psr_dedisp *p, const struct work *w,
                         const struct line *l, size_t i, size_t t)
{
    double sum = 0;
    for (size_t c = 0; c < w->nchan; c++) {
        size_t first = (t + (size_t)psr_dedisp_delay(p, i, c)) * l->downsamp;
        for (size_t u = 0; u < l->downsamp; u++)
            sum += sample(in, first + u, c);
    }
    return (float)(sum / (double)l->downsamp);
}

/* Of n samples of every trial in the device_series, the first of them sample t0, at random places. */
static size_t count_wrong(const struct input *in, const psr_dedisp *p, const struct work *w,
                          const struct line *l, const struct psr_device_series *device_series,
                          size_t t0, size_t n)
{
    psr_err err;
    size_t bad = 0;
    for (size_t k = 0; n && k < CHECKED; k++) {
        size_t i = k * 7919 * 31 % l->ndm, t = k * 104729 % n;
        struct psr_device_series one = *device_series;
        float got;
        one.nseries = 1;
        one.d_x += i * device_series->stride + t;
        bench_must(psr_device_series_fetch(&one, 1, 1, &got, 1, &err), &err);
        float want = sum_naively(in, p, w, l, i, t0 + t);
        if (!(got == want) && bad++ < 12)
            fprintf(stderr, "trial %zu sample %zu + %zu of %zu: %g, not %g\n", i, t0, t, n,
                    (double)got, (double)want);
    }
    return bad;
}

/* --- running ---------------------------------------------------------------------------------- */

struct figures {
    double cornerturn_s, sum_s, adds;
    size_t nline, ntrial, bad;
};

static void stream(psr_dedisp *p, const struct input *in, size_t nsamp, psr_singlepulse *search,
                   struct psr_device_series *last, size_t *first, size_t *n)
{
    psr_err err;
    const struct psr_device_series *device_series;
    size_t ndevice_series, done = 0, taken, nout = 0;
    for (size_t t = 0; t < nsamp; t += taken) {
        size_t at = t % in->block, left = in->block - at,
               want = nsamp - t < left ? nsamp - t : left;
        bench_must(psr_dedisp_execute_device(p, in->data + at * in->row_bytes, want, &taken,
                                             &device_series, &ndevice_series, &nout, &err),
                   &err);
        if (search)
            bench_must(psr_singlepulse_execute_device(search, device_series, ndevice_series, nout,
                                                      NULL, 0, &err),
                       &err);
        done += nout;
    }
    *last = device_series[0];
    *first = done - nout;
    *n = nout;
}

/* The blocks that the plan would have. */
static void choose_block(struct input *in, const psr_dedisp *p)
{
    size_t block = psr_dedisp_block(p);
    in->block = block < in->room ? block : in->room;
}

static void run_line(const struct work *w, struct input *in, const struct line *l,
                     struct figures *f)
{
    psr_dedisp *p = create(w, l);
    struct psr_dedisp_info before = {0}, after;
    struct psr_device_series device_series;
    double cornerturn_s[REPEAT + 1], sum_s[REPEAT + 1];
    size_t first, n, nsamp = count_spectra(w), bad = 0;
    choose_block(in, p);
    for (int k = 0; k <= REPEAT; k++) { /* the first warms up */
        psr_dedisp_reset(p);
        stream(p, in, nsamp, NULL, &device_series, &first, &n);
        psr_dedisp_describe(p, &after);
        cornerturn_s[k] = after.cornerturn_s - before.cornerturn_s;
        sum_s[k] = after.sum_s - before.sum_s;
        before = after;
    }
    bad = count_wrong(in, p, w, l, &device_series, first, n);
    f->cornerturn_s += bench_median(cornerturn_s + 1, REPEAT);
    f->sum_s += bench_median(sum_s + 1, REPEAT);
    f->adds += (double)(first + n) * (double)w->nchan * (double)l->ndm;
    f->ntrial += l->ndm;
    f->bad += bad;
    f->nline++;
    psr_dedisp_destroy(p);
}

static void print_ratio(double x)
{
    if (x > 0)
        printf(" %8.2f", x);
    else
        printf(" %8s", "-");
}

static void report(const struct work *w, double products)
{
    struct line line[MAX_LINES];
    struct input in;
    struct figures f = {0};
    size_t nline = make_lines(w, line);
    fill(&in, w);
    for (size_t k = 0; k < nline; k++) {
        run_line(w, &in, &line[k], &f);
        free(line[k].dm);
    }
    double tera = f.adds / f.sum_s;
    printf("%-5s %5zu %4d %5zu %6zu %9.2f %9.2f %8.1f %8.3f", w->name, w->nchan, w->nbit, f.nline,
           f.ntrial, f.sum_s * 1e3, f.cornerturn_s * 1e3, tera * 1e-12, tera / products);
    print_ratio(w->peer_s / f.sum_s);
    print_ratio(w->goal_s / f.sum_s);
    printf("  %s\n", f.bad ? "WRONG" : w->trials == NOVOTNY_TREE ? "to the bit" : "exact");
    fflush(stdout);
    psr_device_unpin(in.data);
    if (f.bad)
        exit(EXIT_FAILURE);
}

/* From pinned memory to events. */
static void report_events(const struct work *w)
{
    struct line l;
    struct input in;
    struct psr_device_series device_series;
    psr_err err;
    size_t first, n, nsamp = count_spectra(w);
    (void)make_lines(w, &l);
    fill(&in, w);
    double began_s = bench_wall_s();
    psr_dedisp *p = create(w, &l);
    choose_block(&in, p);
    double plan_s = bench_wall_s() - began_s, best_s = INFINITY, search_s = 0;
    for (int k = 0; k <= REPEAT; k++) {
        psr_singlepulse *search;
        psr_dedisp_reset(p);
        bench_must(psr_singlepulse_create(
                       &search,
                       &(struct psr_singlepulse_desc){.size = sizeof(struct psr_singlepulse_desc),
                                                      .nseries = l.ndm,
                                                      .dm = l.dm,
                                                      .tsamp_s = w->tsamp_s,
                                                      .threshold = 6},
                       &err),
                   &err);
        began_s = bench_wall_s();
        stream(p, &in, nsamp, search, &device_series, &first, &n);
        bench_must(psr_singlepulse_finish(search, &err), &err);
        double s = bench_wall_s() - began_s;
        best_s = s < best_s ? s : best_s;
        search_s = psr_singlepulse_device_seconds(search);
        psr_singlepulse_destroy(search);
    }
    printf("%5zu channels from pinned memory to events: %.1f ms, of which search %.1f ms; plan "
           "%.1f ms\n",
           w->nchan, best_s * 1e3, search_s * 1e3, plan_s * 1e3);
    psr_dedisp_destroy(p);
    psr_device_unpin(in.data);
    free(l.dm);
}

int main(int argc, char **argv)
{
    struct psr_device device;
    psr_err err;
    if (psr_device_describe(0, &device, &err)) {
        printf("SKIP: %s\n", err.msg);
        return 0;
    }
    double copy = bench_copy_rate(), products = bench_ceiling_rate(ceiling_products),
           shared = bench_ceiling_rate(ceiling_shared);
    printf("%s: copies %.2f TB/s, byte products %.0f T/s, shared memory %.1f TB/s\n", device.name,
           copy * 1e-12, products * 1e-12, shared * 1e-12);
    printf("ratios: of T adds/s to byte products; of the seconds of AstroAccelerate tuned (N) or "
           "dedisp (HTRU), and of the aim, to ours\n");
    printf("work  nchan bits lines trials    sum_ms   turn_ms T_adds/s  of_prod     peer      "
           "aim\n");
    for (size_t n = 0; n < sizeof works / sizeof *works; n++)
        if ((argc < 2 || !strcmp(argv[1], works[n].name)) &&
            (argc < 3 || strtoul(argv[2], NULL, 10) == works[n].nchan))
            report(works + n, products);
    for (size_t n = 0; n < sizeof works / sizeof *works && argc < 3; n++)
        if (works[n].trials == NOVOTNY && works[n].nbit == 8 && works[n].nchan == 4096)
            report_events(works + n);
    return 0;
}
