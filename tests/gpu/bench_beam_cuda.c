/* Speed of beams on a CUDA device for the five grids of Smith (2022), one frame of 56.36 ms at a
 * time: voltages to sums on the half-integer grid beside table 3, and these to the beams of table
 * 4; each with its ratio to what the device does at most.
 *
 * Beams timed are compared with direct sums, at places all over the output. */
#include "beam/beam_cuda.h"
#include "bench_cuda.h"
#ifdef HAVE_CUBLAS
#include "beam/beam_internal.h"
#include "beam_cublas.h"
#endif

#include <complex.h>
#include <math.h>
#include <psrkit/device.h>
#include <string.h>

enum { SETS = 3, CHECKED = 24 };
static const double FRAME_S = 56.36e-3;

/* Percents of the GPUs of table 3, and of table 4 for arbitrary beams and for products. */
static const struct entry {
    size_t ndish, m, n, nfreq, tds, nbeam, n_ns, n_ew;
    double tsamp_s, note, note_points, note_product;
} entries[] = {
    {64, 8, 8, 2048, 40, 640, 32, 32, 27.3e-6, 9.2, 1.1, 1.5},
    {64, 8, 12, 2048, 40, 960, 32, 48, 27.3e-6, 14.1, 2.0, 2.3},
    {256, 16, 16, 1024, 25, 2560, 64, 64, 41e-6, 12.4, 5.6, 3.3},
    {256, 16, 20, 1024, 25, 3200, 64, 80, 41e-6, 18.9, 8.4, 4.2},
    {512, 24, 24, 256, 40, 5760, 96, 96, 27.3066e-6, 14.4, 5.9, 1.8},
};

/* Few channels and long sums. */
static const struct entry few = {512, 24, 24, 8, 1032, 5760, 96, 96, 27.3066e-6, 0, 0, 0};

/* --- the workload ----------------------------------------------------------------------------- */

struct bench {
    const struct entry *e;
    struct psr_beam_work w;
    struct psr_beam_cuda c;
    size_t nt, nrow, bytes;
    uint8_t *d_in; /* [SETS] frames */
    int set;
    struct beam_cublas *blas; /* where its beams are those that are checked */
};

static double frand(void)
{
    return rand() / (double)RAND_MAX;
}

static double *random_directions(size_t n, size_t places)
{
    double *theta = bench_take(n, sizeof *theta);
    for (size_t i = 0; i < n; i++)
        theta[i] = frand() * (double)places;
    return theta;
}

/* Dishes at random places, the inputs in no order. */
static void make_work(struct bench *b, enum psr_beam_pattern pattern)
{
    const struct entry *e = b->e;
    const bool points = pattern == PSR_BEAM_POINTS;
    struct psr_beam_work *w = &b->w;
    *w = (struct psr_beam_work){.m = e->m,
                                .n = e->n,
                                .ndish = e->ndish,
                                .nfreq = e->nfreq,
                                .tds_min = e->tds,
                                .tds_max = e->tds,
                                .weight_max = 1,
                                .pattern = pattern,
                                .nbeam = points ? e->nbeam : e->n_ns * e->n_ew,
                                .n_ns = points ? e->nbeam : e->n_ns,
                                .n_ew = points ? e->nbeam : e->n_ew,
                                .nbit = 32,
                                .nthread = 1,
                                .mem_bytes = INT64_C(1) << 36};
    w->cell = bench_take(e->m * e->n, sizeof *w->cell);
    for (size_t i = 0; i < e->m * e->n; i++) {
        size_t k = (size_t)rand() % (i + 1);
        w->cell[i] = w->cell[k];
        w->cell[k] = (int32_t)i;
    }
    w->tds = bench_take(e->nfreq, sizeof *w->tds);
    w->weight = bench_take(e->nfreq * 4 * e->ndish, sizeof *w->weight);
    for (size_t f = 0; f < e->nfreq; f++)
        w->tds[f] = e->tds;
    for (size_t i = 0; i < e->nfreq * 4 * e->ndish; i++)
        w->weight[i] = (float)(frand() - 0.5);
    w->theta_ns = random_directions(e->nfreq * w->n_ns, e->m);
    w->theta_ew = random_directions(e->nfreq * w->n_ew, e->n);
}

static void free_work(struct psr_beam_work *w)
{
    free(w->cell);
    free(w->tds);
    free(w->weight);
    free(w->theta_ns);
    free(w->theta_ew);
    free(w->offset);
    free(w->scale);
}

static void start(struct bench *b, const struct entry *e, enum psr_beam_pattern pattern)
{
    psr_err err;
    memset(b, 0, sizeof *b);
    b->e = e;
    b->nt = (size_t)(FRAME_S / e->tsamp_s + 0.5);
    b->nrow = b->nt / e->tds;
    b->bytes = b->nt * e->nfreq * 2 * e->ndish;
    make_work(b, pattern);
    b->c.w = &b->w;
    bench_must(psr_beam_cuda_start(&b->c, &err), &err);
    MUST(psr_beam_cuda_make_room(&b->c, b->nrow));
    MUST(cudaMalloc((void **)&b->d_in, SETS * b->bytes));
    MUST(ceiling_fill(b->d_in, SETS * b->bytes, e->ndish));
    MUST(cudaMemset(b->c.d_grid, 0xff, b->nrow * e->nfreq * 4 * e->m * e->n * 2));
    MUST(cudaMemset(b->c.d_beam, 0xff, b->nrow * e->nfreq * b->w.nbeam * sizeof(float)));
    MUST(cudaDeviceSynchronize());
}

static void stop(struct bench *b)
{
    psr_beam_cuda_free(&b->c);
    MUST(cudaFree(b->d_in));
    free_work(&b->w);
}

static cudaError_t run_form(void *ctx)
{
    struct bench *b = ctx;
    const struct psr_beam_cuda *c = &b->c;
    const struct entry *e = b->e;
    const struct beam_k_input in = {.m = e->m,
                                    .n = e->n,
                                    .ndish = e->ndish,
                                    .nfreq = e->nfreq,
                                    .nt = b->nt,
                                    .d_in = b->d_in + (size_t)b->set * b->bytes,
                                    .d_tds = c->d_tds,
                                    .tds_min = (uint32_t)e->tds,
                                    .d_begun = c->d_sum[0],
                                    .d_left = c->d_sum[1]};
    const struct beam_k_tensor tensor = {c->d_table,  c->d_write, c->d_read,
                                         c->d_weight, c->d_unit,  c->d_split};
    const struct beam_k_grid out = {.nrow = b->nrow, .d_half = c->d_grid, .d_bright = c->d_bright};
    b->set = (b->set + 1) % SETS;
    return beam_k_form(&in, &tensor, &out, c->work);
}

static cudaError_t run_refine(void *ctx)
{
    struct bench *b = ctx;
    const struct beam_k_finer r = {.m = b->e->m,
                                   .n = b->e->n,
                                   .nfreq = b->e->nfreq,
                                   .nrow = b->nrow,
                                   .d_table = b->c.d_refine,
                                   .d_half = b->c.d_grid,
                                   .d_fine = b->c.d_fine};
    return beam_k_refine(&r, b->c.work);
}

/* The note's second kernel. */
static cudaError_t run_steer(void *ctx)
{
    struct bench *b = ctx;
    const struct psr_beam_cuda *c = &b->c;
    const bool points = b->w.pattern == PSR_BEAM_POINTS;
    const struct beam_k_steer s = {.m = b->e->m,
                                   .n = b->e->n,
                                   .nfreq = b->e->nfreq,
                                   .nrow = b->nrow,
                                   .d_half = points ? c->d_fine : c->d_grid,
                                   .d_bright = c->d_bright,
                                   .beams = &c->beams,
                                   .d_ns = c->ns.d_left,
                                   .d_ew = c->ew.d_left,
                                   .n_ns = b->w.n_ns,
                                   .n_ew = b->w.n_ew,
                                   .nbit = b->w.nbit,
                                   .d_offset = c->d_offset,
                                   .d_scale = c->d_scale,
                                   .d_beam = c->d_beam};
    if (!points)
        return beam_k_product(&s, c->work);
    cudaError_t e = run_refine(b);
    return e ? e : beam_k_points(&s, c->work);
}

static cudaError_t run_factors(void *ctx)
{
    struct bench *b = ctx;
    if (b->w.pattern == PSR_BEAM_POINTS)
        return beam_k_make_beams(&b->c.beams, b->e->nfreq, b->c.work);
    cudaError_t e = beam_k_make_factors(&b->c.ns, b->e->nfreq, b->c.work);
    return e ? e : beam_k_make_factors(&b->c.ew, b->e->nfreq, b->c.work);
}

static cudaError_t run_emit(void *ctx)
{
    struct bench *b = ctx;
    const bool levels = psr_beam_cuda_levels(&b->c);
    const struct beam_k_rows rows = {.nfreq = b->e->nfreq,
                                     .nrow = b->nrow,
                                     .stride = b->nrow,
                                     .lines = psr_beam_cuda_lines(&b->c, b->nrow, levels),
                                     .levels = levels,
                                     .d_beam = b->c.d_beam,
                                     .nt = b->nt,
                                     .d_tds = b->c.d_tds,
                                     .nbit = b->w.nbit,
                                     .d_offset = b->c.d_offset,
                                     .d_scale = b->c.d_scale,
                                     .d_out = b->c.buffer[0].d_rows};
    return beam_k_emit(&rows, b->c.work);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Beam i of channel f and row k by direct sums over the frame used last. */
static double direct(const struct bench *b, const uint8_t *v, size_t f, size_t i)
{
    const struct entry *e = b->e;
    const struct psr_beam_work *w = &b->w;
    const bool points = w->pattern == PSR_BEAM_POINTS;
    double ns = w->theta_ns[f * w->n_ns + (points ? i : i / w->n_ew)];
    double ew = w->theta_ew[f * w->n_ew + (points ? i : i % w->n_ew)], power = 0;
    double complex *phase = bench_take(2 * e->ndish, sizeof *phase);
    for (size_t d = 0; d < 2 * e->ndish; d++) {
        double m = (double)((size_t)w->cell[d % e->ndish] / e->n);
        double n = (double)((size_t)w->cell[d % e->ndish] % e->n);
        const float *x = w->weight + 2 * (2 * f * e->ndish + d);
        phase[d] = ((double)x[0] + (double)x[1] * I) *
                   cexp(2 * M_PI * I * (m * ns / (double)e->m + n * ew / (double)e->n));
    }
    for (size_t t = 0; t < 2 * e->tds; t++) {
        double complex sum = 0;
        for (size_t d = 0; d < e->ndish; d++) {
            int x = v[t * e->ndish + d], re = (x >> 4) - (x & 128 ? 16 : 0),
                im = (x & 15) - (x & 8 ? 16 : 0);
            sum += phase[t % 2 * e->ndish + d] * ((double)re + (double)im * I);
        }
        power += creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
    }
    free(phase);
    return power;
}

/* Intensity of beam i, row k and channel f as given. */
static double fetch_given(const struct bench *b, size_t f, size_t k, size_t i)
{
    const size_t at = (i * b->nrow + k) * b->e->nfreq + f;
    float x = 0;
    uint8_t level = 0;
    if (b->w.nbit == 32)
        MUST(cudaMemcpy(&x, (float *)b->c.buffer[0].d_rows + at, sizeof x, cudaMemcpyDeviceToHost));
    else
        MUST(cudaMemcpy(&level, (uint8_t *)b->c.buffer[0].d_rows + at, 1, cudaMemcpyDeviceToHost));
    return b->w.nbit == 32 ? (double)x : level / (double)b->w.scale[f] + (double)b->w.offset[f];
}

/* Largest error of some rows, of the mean beam (the input is noise); a level is 1 % of that. */
static double check(const struct bench *b,
                    double (*fetch)(const struct bench *, size_t f, size_t k, size_t i),
                    double *mean)
{
    const struct entry *e = b->e;
    const size_t row = 2 * e->ndish, last = (size_t)(b->set + SETS - 1) % SETS;
    double worst = 0, off[CHECKED];
    uint8_t *v = bench_take(e->tds, row);
    *mean = 0;
    MUST(cudaStreamSynchronize(b->c.work));
    for (size_t n = 0; n < CHECKED; n++) {
        size_t f = n * (e->nfreq - 1) / (CHECKED - 1), k = (size_t)rand() % b->nrow;
        size_t i = n ? (size_t)rand() % b->w.nbeam : b->w.nbeam - 1;
        double got = fetch(b, f, k, i);
        MUST(cudaMemcpy2D(v, row, b->d_in + last * b->bytes + (k * e->tds * e->nfreq + f) * row,
                          e->nfreq * row, row, e->tds, cudaMemcpyDeviceToHost));
        double want = direct(b, v, f, i);
        *mean += want / CHECKED;
        off[n] = fabs(got - want);
    }
    for (size_t n = 0; n < CHECKED; n++)
        worst = off[n] / *mean <= worst ? worst : off[n] / *mean;
    free(v);
    if (!(worst < (b->w.nbit == 32 ? 5e-3 : 1e-2))) {
        printf("WRONG by %g\n", worst);
        exit(EXIT_FAILURE);
    }
    return worst;
}

/* Levels from now on, of 1 % of the mean. */
static void quantise(struct bench *b, double mean)
{
    const size_t nfreq = b->e->nfreq;
    b->w.nbit = 8;
    b->w.offset = bench_take(nfreq, sizeof *b->w.offset);
    b->w.scale = bench_take(nfreq, sizeof *b->w.scale);
    for (size_t f = 0; f < nfreq; f++) {
        b->w.offset[f] = (float)(0.1 * mean);
        b->w.scale[f] = (float)(100 / mean);
    }
    MUST(psr_beam_cuda_quantise(&b->c));
    const size_t bytes = b->nrow * nfreq * b->w.nbeam;
    MUST(cudaMemset(b->c.buffer[0].d_rows, 0xff, bytes));
    MUST(cudaMemset(b->c.d_beam, 0xff, bytes));
}

/* --- figures ---------------------------------------------------------------------------------- */

struct ceiling {
    double products, copy; /* flop/s and byte/s */
};

static double time_ms(cudaError_t (*run)(void *), struct bench *b)
{
    return 1e3 * bench_device_s(run, b, b->c.work);
}

static void report_form(const struct entry *e, const struct ceiling *c)
{
    struct bench b;
    start(&b, e, PSR_BEAM_POINTS);
    double ms = time_ms(run_form, &b);
    MUST(run_steer(&b));
    MUST(run_emit(&b));
    double mean, worst = check(&b, fetch_given, &mean), mb = (double)e->m / 8,
                 nb = ceil((double)e->n / 8);
    double flops = nb * (2 * mb * nb + 4 * mb * mb) * 2048 * (double)(2 * b.nt * e->nfreq);
    double bytes = (double)b.bytes + (double)(b.nrow * e->nfreq * 4 * e->m * e->n) * 2;
    double frame_ms = (double)b.nt * e->tsamp_s * 1e3;
    printf("%4zu dishes %2zu x %2zu, %4zu channels, %4zu samples: %7.3f ms, %5.2f %% of real time "
           "(note: %4.1f %%), %4.1f %% of products, %4.1f %% of copies, error %.0e\n",
           e->ndish, e->m, e->n, e->nfreq, b.nt, ms, 100 * ms / frame_ms, e->note,
           100 * flops / c->products / ms * 1e3, 100 * bytes / c->copy / ms * 1e3, worst);
    fflush(stdout);
    stop(&b);
}

static void report_steer(const struct entry *e, const struct ceiling *c,
                         enum psr_beam_pattern pattern)
{
    struct bench b;
    const bool points = pattern == PSR_BEAM_POINTS;
    start(&b, e, pattern);
    double mean, factors = time_ms(run_factors, &b);
    MUST(run_form(&b));
    double refine = points ? time_ms(run_refine, &b) : 0;
    double ms = time_ms(run_steer, &b), rows = time_ms(run_emit, &b);
    double worst = check(&b, fetch_given, &mean);
    quantise(&b, mean);
    double ms8 = time_ms(run_steer, &b), rows8 = time_ms(run_emit, &b);
    (void)check(&b, fetch_given, &mean);
    double count = (double)(b.nrow * e->nfreq), grid = 4 * (double)(e->m * e->n);
    double bytes = count * (grid * 2 + (double)b.w.nbeam * 4);
    double frame = 0.1 / ((double)b.nt * e->tsamp_s); /* percent a ms */
    printf("%2zu x %2zu to %4zu beams%s: %6.3f ms, %4.2f %% of real time (note: %3.1f %%; of it "
           "refining %.3f ms), %4.1f %% of copies, error %.0e; rows %.3f ms; factors %.3f ms; 8 "
           "bits: %.3f ms, %4.2f %%, rows %.3f ms\n",
           e->m, e->n, b.w.nbeam, points ? "" : " (product)", ms, frame * ms,
           points ? e->note_points : e->note_product, refine, 100 * bytes / c->copy / ms * 1e3,
           worst, rows, factors, ms8, frame * ms8, rows8);
    fflush(stdout);
    stop(&b);
}

#ifdef HAVE_CUBLAS

static double fetch_cublas(const struct bench *b, size_t f, size_t k, size_t i)
{
    float x, bright;
    MUST(cudaMemcpy(&x, b->blas->d_beam + (f * b->nrow + k) * b->w.nbeam + i, sizeof x,
                    cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(&bright, b->c.d_bright + f, sizeof bright, cudaMemcpyDeviceToHost));
    return (double)x / (double)bright;
}

/* The same by cuBLAS. */
static void report_cublas(const struct entry *e, enum psr_beam_pattern pattern)
{
    struct bench b;
    start(&b, e, pattern);
    const bool product = pattern == PSR_BEAM_PRODUCT;
    struct beam_cublas blas = {.m = e->m,
                               .n = e->n,
                               .nfreq = e->nfreq,
                               .nrow = b.nrow,
                               .n_ns = product ? e->n_ns : 1,
                               .n_ew = product ? e->n_ew : e->nbeam,
                               .d_grid = b.c.d_grid,
                               .product = product};
    double mean;
    MUST(run_form(&b));
    beam_cublas_start(&blas, product ? b.c.ns.d_theta : b.c.beams.d_ns,
                      product ? b.c.ew.d_theta : b.c.beams.d_ew, b.c.work);
    b.blas = &blas;
    double ms = 1e3 * bench_device_s(beam_cublas_run, &blas, b.c.work);
    double worst = check(&b, fetch_cublas, &mean);
    printf("%2zu x %2zu to %4zu beams%s by cuBLAS: %6.3f ms, error %.0e\n", e->m, e->n, b.w.nbeam,
           product ? " (product)" : "", ms, worst);
    fflush(stdout);
    beam_cublas_stop(&blas);
    stop(&b);
}

#endif

/* --- through the library ---------------------------------------------------------------------- */

/* Host to host, one block after the other, rows of 8 bits. */
static void report_stream(const struct entry *e)
{
    struct bench b = {.e = e};
    make_work(&b, PSR_BEAM_POINTS);
    struct psr_array a = {.m = e->m, .n = e->n, .ns_m = 1, .ew_m = 1, .ndish = e->ndish};
    a.cell = b.w.cell;
    const struct psr_beam_desc desc = {.size = sizeof desc,
                                       .array = &a,
                                       .nfreq = e->nfreq,
                                       .tds = b.w.tds,
                                       .weight = b.w.weight,
                                       .pattern = PSR_BEAM_POINTS,
                                       .nbeam = e->nbeam,
                                       .theta_ns = b.w.theta_ns,
                                       .theta_ew = b.w.theta_ew,
                                       .mem_bytes = INT64_C(1) << 34,
                                       .backend = "cuda"};
    psr_beam *p;
    psr_err err;
    void *in, *out;
    bench_must(psr_beam_create(&p, &desc, &err), &err);
    float *offset = bench_take(e->nfreq, sizeof *offset),
          *scale = bench_take(e->nfreq, sizeof *scale);
    for (size_t f = 0; f < e->nfreq; f++)
        scale[f] = 1e-4F;
    bench_must(psr_beam_quantise(p, 8, offset, scale, &err), &err);
    size_t nt = psr_beam_block(p), sample = e->nfreq * 2 * e->ndish, nrow = nt / e->tds + 1, got;
    bench_must(psr_beam_alloc(p, nt * sample, &in, &err), &err);
    bench_must(psr_beam_alloc(p, e->nbeam * nrow * psr_beam_row_bytes(p), &out, &err), &err);
    for (size_t i = 0; i < nt * sample; i++)
        ((uint8_t *)in)[i] = (uint8_t)(i * 2654435761u >> 24);
    double best = 1e9, copy = 1e9;
    void *d_copy;
    MUST(cudaMalloc(&d_copy, nt * sample));
    for (int n = 0; n < 4; n++) {
        double t0 = bench_wall_s();
        bench_must(psr_beam_execute(p, in, nt, out, nrow, &got, &err), &err);
        double t1 = bench_wall_s();
        MUST(cudaMemcpy(d_copy, in, nt * sample, cudaMemcpyHostToDevice));
        best = fmin(best, t1 - t0);
        copy = fmin(copy, bench_wall_s() - t1);
    }
    printf("%zu dishes, %zu channels, %zu beams of 8 bits through the library, blocks of %zu: "
           "%.1f GB/s of voltages, %.2f of the host's copies (%.1f GB/s), %.1f x real time\n",
           e->ndish, e->nfreq, e->nbeam, nt, (double)(nt * sample) / best * 1e-9, copy / best,
           (double)(nt * sample) / copy * 1e-9, (double)nt * e->tsamp_s / best);
    MUST(cudaFree(d_copy));
    psr_beam_free("cuda", in);
    psr_beam_free("cuda", out);
    psr_beam_destroy(p);
    free(offset);
    free(scale);
    free_work(&b.w);
}

int main(int argc, char **argv)
{
    enum { N = sizeof entries / sizeof *entries };
    struct psr_device device;
    psr_err err;
    size_t from = argc > 1 ? (size_t)atoi(argv[1]) - 1 : 0, to = argc > 1 ? from + 1 : N;
    if (psr_device_describe(0, &device, &err)) {
        printf("SKIP: %s\n", err.msg);
        return 0;
    }
    struct ceiling c = {bench_ceiling_rate(ceiling_halves), bench_copy_rate()};
    printf("%s: products of halves %.0f TFLOP/s, copies %.2f TB/s\n", device.name,
           c.products * 1e-12, c.copy * 1e-12);
    printf(
        "voltages to sums on the grid (the CHORD collaboration's kernel: 2.58 ms for 24 x 24)\n");
    for (size_t n = from; n < to && n < N; n++)
        report_form(entries + n, &c);
    report_form(&few, &c);
    printf("to directions\n");
    for (size_t n = from; n < to && n < N; n++)
        report_steer(entries + n, &c, PSR_BEAM_POINTS);
    for (size_t n = from; n < to && n < N; n++)
        report_steer(entries + n, &c, PSR_BEAM_PRODUCT);
#ifdef HAVE_CUBLAS
    report_cublas(entries + N - 1, PSR_BEAM_POINTS);
    report_cublas(entries + N - 1, PSR_BEAM_PRODUCT);
#endif
    report_stream(entries + N - 1);
    return 0;
}
