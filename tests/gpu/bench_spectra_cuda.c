/* Times coded voltages to detected spectra on a CUDA device, from page-locked memory to page-locked memory, beside
 * copying the same bytes there in the same run.  Voltages are noise; the rows of the last block are compared with
 * what the CPU makes of it. */
#include "bench_cuda.h"
#include "dsp/channels/spectra.h"

#include <psrkit/ddplan.h>
#include <psrkit/device.h>

enum { BLOCKS = 6, MIN_S = 1 };

struct shape {
    const char *name;
    size_t nchan_in, npol;
    bool real, planes; /* planes: one behind the other in frames */
    int nbit;
    double bw_mhz;
    size_t nchan, ntap, nfft;
    double dm;
    size_t tsum;
    enum psr_detect what;
};

struct run {
    psr_channelise *channels;
    struct psr_channelise_shape shape;
    struct baseband_layout layout;
    struct baseband_coding coding;
    struct psr_spectra_block block[BLOCKS];
    size_t nsamp, bytes, nvalue, nrow; /* of a block */
    bool *good;
    psr_spectra *plan;
    size_t npush; /* blocks so far */
};

static psr_err err;

static void must(psr_status st)
{
    if (st)
        bench_stop(err.msg);
}

static void lay_out(const struct shape *s, struct run *r)
{
    struct baseband_layout *l = &r->layout;
    const size_t element = (s->real ? 1 : 2) * (size_t)s->nbit;
    l->nplane = s->nchan_in * s->npol;
    l->ndim = s->real ? 1 : 2;
    must(psr_baseband_make_planes(l, &err));
    l->sample_bits = s->planes ? element : element * l->nplane;
    l->frame_nsamp = s->planes ? 8192 : SIZE_MAX;
    l->frame_bytes = s->planes ? l->frame_nsamp * element * l->nplane / 8 : 0;
    for (size_t p = 0; p < l->nplane; p++)
        l->plane_bits[p] = p * element * (s->planes ? l->frame_nsamp : 1);
    r->coding = (struct baseband_coding){.nbit = s->nbit, .code = BASEBAND_SIGNED};
    psr_baseband_fill_values(&r->coding);
}

/* Blocks of about 32 MB, of whole batches, or of whole segments and frames. */
static void choose_block(const struct shape *s, struct run *r)
{
    const size_t sample_bits = r->layout.nplane * r->layout.ndim * (size_t)s->nbit;
    const size_t batch = r->shape.step * psr_spectra_batch(r->channels);
    const size_t want = (size_t)34e6 * 8 / sample_bits;
    const size_t unit = batch <= want ? batch : s->planes ? r->layout.frame_nsamp : r->shape.step;
    const size_t n = want / unit;
    r->nsamp = (n ? n : 1) * unit;
    r->bytes = r->nsamp * sample_bits / 8;
}

static void make(const struct shape *s, struct run *r)
{
    const struct psr_channelise_desc d = {.size = sizeof d,
                                          .nchan_in = s->nchan_in,
                                          .npol = s->npol,
                                          .real = s->real,
                                          .freq_mhz = 3000,
                                          .bw_mhz = s->bw_mhz,
                                          .nchan = s->nchan,
                                          .ntap = s->ntap,
                                          .nfft = s->nfft,
                                          .dm = s->dm,
                                          .dmconst = PSR_DMCONST_PRESTO};
    *r = (struct run){.bytes = 0};
    must(psr_channelise_create(&r->channels, &d, &err));
    psr_channelise_describe(r->channels, &r->shape);
    lay_out(s, r);
    choose_block(s, r);
    const struct psr_spectra_desc desc = {.channels = r->channels,
                                          .layout = &r->layout,
                                          .coding = &r->coding,
                                          .npol = s->npol,
                                          .pol = -1,
                                          .what = s->what,
                                          .tsum = s->tsum,
                                          .fsum = 1,
                                          .block = r->nsamp,
                                          .block_bytes = r->bytes,
                                          .backend = "cuda"};
    must(psr_spectra_create(&r->plan, &desc, &err));
    r->nvalue = psr_detect_nproduct(s->what, s->npol) * s->nchan;
    const size_t ngood = (2 * r->nsamp / r->shape.step + 4) * r->shape.keep + s->tsum;
    r->good = bench_take(ngood, sizeof *r->good);
    for (size_t i = 0; i < ngood; i++)
        r->good[i] = true;
}

/* Random bytes, made on the device. */
static void make_blocks(struct run *r)
{
    void *d;
    MUST(cudaMalloc(&d, r->bytes));
    for (int k = 0; k < BLOCKS; k++) {
        struct psr_spectra_block *b = r->block + k;
        must(psr_spectra_block_make(b, r->bytes, &err));
        MUST(ceiling_fill(d, r->bytes, (uint64_t)k + 1));
        MUST(cudaMemcpy(b->bytes, d, r->bytes, cudaMemcpyDeviceToHost));
        b->nbytes = r->bytes;
        b->nsamp = r->nsamp;
        b->nrun = 1;
        b->run[0] = (struct psr_spectra_run){.n = r->nsamp, .flags = SIZE_MAX};
    }
    MUST(cudaFree(d));
}

/* Bytes a second of the same blocks, copied only. */
static double time_copies(const struct run *r)
{
    cudaStream_t stream;
    void *d[2];
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int k = 0; k < 2; k++)
        MUST(cudaMalloc(d + k, r->bytes));
    double rate = 0;
    for (int turn = 0; turn < 2; turn++) { /* the first warms up */
        const double from_s = bench_wall_s();
        int n = 0;
        while (bench_wall_s() - from_s < 0.5 * MIN_S) {
            for (int k = 0; k < BLOCKS; k++, n++)
                MUST(cudaMemcpyAsync(d[n % 2], r->block[k].bytes, r->bytes, cudaMemcpyHostToDevice,
                                     stream));
            MUST(cudaStreamSynchronize(stream));
        }
        rate = n * (double)r->bytes / (bench_wall_s() - from_s);
    }
    for (int k = 0; k < 2; k++)
        MUST(cudaFree(d[k]));
    MUST(cudaStreamDestroy(stream));
    return rate;
}

/* Pushes n blocks; the rows of the last one are kept. */
static double time_blocks(struct run *r, int n, float *last)
{
    float *x;
    const uint32_t *weight;
    const double from_s = bench_wall_s();
    for (int i = 0; i <= n; i++) {
        if (i < n)
            must(psr_spectra_push(r->plan, r->block + r->npush++ % BLOCKS, r->good, &err));
        if (i > 0)
            must(psr_spectra_collect(r->plan, &x, &weight, &r->nrow, &err));
    }
    const double s = bench_wall_s() - from_s;
    memcpy(last, x, r->nrow * r->nvalue * sizeof *last);
    return s;
}

/* Spectra of a block by the CPU. */
static void run_cpu(struct run *r, const struct psr_spectra_block *b, float *v)
{
    float *x = bench_take(r->nsamp * r->layout.nplane * r->layout.ndim, sizeof *x);
    size_t nout;
    psr_baseband_unpack(&r->layout, &r->coding, b->bytes, 0, r->nsamp, x, r->nsamp, 16);
    must(psr_channelise_execute(r->channels, x, r->nsamp, NULL, v, &nout, &err));
    free(x);
}

/* The largest difference of the last block's rows from the CPU's, over the largest; where segments are spectra, so that
 * the first row has some of the block before. */
static double check(const struct shape *s, struct run *r, const float *rows)
{
    const size_t n = r->nsamp / r->shape.step, spectrum = s->npol * 2 * s->nchan;
    const size_t fill = (r->npush - 1) * n % s->tsum;
    float *v = bench_take(2 * n * spectrum, sizeof *v);
    float *want = bench_take((r->nrow + 1) * r->nvalue, sizeof *want);
    uint32_t *weight = bench_take(r->nrow + 1, sizeof *weight);
    double worst = 0, largest = 0;
    for (size_t k = 0; k < 2; k++)
        run_cpu(r, r->block + (r->npush - 2 + k) % BLOCKS, v + k * n * spectrum);
    psr_detect(s->what, v + (n - fill) * spectrum, fill + n, s->npol, s->nchan, r->good, s->tsum, 1,
               0, want, weight, 16);
    for (size_t i = 0; i < r->nrow * r->nvalue; i++) {
        largest = fmax(largest, fabs((double)want[i]));
        worst = fmax(worst, fabs((double)want[i] - (double)rows[i]));
        if (!isfinite(rows[i]))
            worst = INFINITY;
    }
    free(v);
    free(want);
    free(weight);
    return worst / largest;
}

static void run(const struct shape *s)
{
    struct run r;
    double rates[BENCH_REPEAT];
    make(s, &r);
    make_blocks(&r);
    const double copy = time_copies(&r);
    const size_t most = (r.nsamp / r.shape.step + 2) * r.shape.keep / s->tsum + 2;
    float *last = malloc(most * r.nvalue * sizeof *last);
    if (!last)
        bench_stop("no memory");
    const int n = (int)(0.3 * MIN_S * copy / (double)r.bytes) + BLOCKS;
    (void)time_blocks(&r, n, last);
    for (int k = 0; k < BENCH_REPEAT; k++) {
        memset(last, 0xff, most * r.nvalue * sizeof *last);
        rates[k] = n * (double)r.bytes / time_blocks(&r, n, last);
    }
    const double rate = bench_median(rates, BENCH_REPEAT);
    const bool apart = r.shape.keep == 1 && s->ntap == 1;
    printf("%-44s %6.2f GB/s, %.2f of the copy's %.2f; %.1f x real time; %.0f MB on the device; ",
           s->name, rate / 1e9, rate / copy, copy / 1e9,
           rate / ((double)r.layout.nplane * s->nbit / 8 * 2e6 * fabs(s->bw_mhz) /
                   (double)s->nchan_in),
           (double)r.plan->bytes / 1e6);
    if (apart)
        printf("within %.1e of the CPU\n", check(s, &r, last));
    else
        printf("%zu rows, first %g\n", r.nrow, r.nrow ? (double)last[0] : 0);
    psr_spectra_destroy(r.plan);
    psr_channelise_destroy(r.channels);
    for (int k = 0; k < BLOCKS; k++)
        psr_spectra_block_free(r.block + k);
    free(r.layout.plane_bits);
    free(r.good);
    free(last);
}

int main(int argc, char **argv)
{
    static const struct shape shapes[] = {
        {"3.3 GHz real, 2 pol, 8 bits: 4096", 1, 2, true, false, 8, 3300, 4096, 1, 1, 0, 52,
         PSR_DETECT_EACH},
        {"the same, IQUV", 1, 2, true, false, 8, 3300, 4096, 1, 1, 0, 52, PSR_DETECT_STOKES},
        {"the same, 8 taps", 1, 2, true, false, 8, 3300, 4096, 8, 1, 0, 52, PSR_DETECT_EACH},
        {"the same, DM 50 within channels", 1, 2, true, false, 8, 3300, 4096, 1, 0, 50, 52,
         PSR_DETECT_EACH},
        {"the same, 256 channels, long sums", 1, 2, true, false, 8, 3300, 256, 1, 1, 0, 832,
         PSR_DETECT_EACH},
        {"the same, 2 bits", 1, 2, true, false, 2, 3300, 4096, 1, 1, 0, 52, PSR_DETECT_EACH},
        {"512 channels, 8 bits: 4096, samples in turn", 512, 2, false, false, 8, 400, 4096, 1, 1, 0,
         16, PSR_DETECT_EACH},
        {"512 channels, 8 bits: 4096, in frames", 512, 2, false, true, 8, 400, 4096, 1, 1, 0, 16,
         PSR_DETECT_EACH},
    };
    if (psr_device_count(&err) == 0) {
        printf("%s\n", err.msg);
        return EXIT_SUCCESS;
    }
    const size_t n = argc > 1 ? (size_t)atoi(argv[1]) : sizeof shapes / sizeof *shapes;
    for (size_t k = 0; k < n; k++)
        run(shapes + k);
    return EXIT_SUCCESS;
}
