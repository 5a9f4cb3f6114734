/* Speed of voltages to dedispersed series of many beams on a CUDA device, with rows of beams that stay
 * there and with rows that go through the host's memory.
 *   bench_beam_rows_cuda [BEAMS [ROWS]]
 * An 8 x 8 array of 64 dishes, 1024 channels; BEAMS (256) in any direction, rows of 8 bits from 32 samples
 * of voltages; blocks of ROWS (1024); trials of the band "small".  Voltages are read round and round from
 * pinned memory.  Times are medians from block to block: of beams alone, of dedispersion alone, and of both
 * with two buffers of rows.  Beside them is how fast the device copies from the host. */
#include "base/device/device_internal.h"
#include "beam/beam_internal.h"
#include "bench_cuda.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/bench/bench_beams.h"

#include <psrkit/experimental/beam.h>
#include <string.h>

enum { NDISH = 64, TDS = 32, PIECE_ROWS = 64, NBLOCK = 5, NCHAN = 1024 };

struct bench {
    struct setting *s;
    struct psr_array a;
    int32_t cell[NDISH];
    size_t tds[NCHAN], nbeam, rows, row_bytes;
    double *theta;
    uint8_t *in; /* pinned: PIECE_ROWS rows' voltages */
    psr_beam *beams;
    psr_dedisp_beams *search;
    void *host[2], *there[2]; /* [nbeam][rows] */
    cudaStream_t stream;
    cudaEvent_t read[2]; /* the search is done with a buffer */
    size_t nblock;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* --- the plans -------------------------------------------------------------------------------- */

static void make_beams(struct bench *b)
{
    static float offset[NCHAN], scale[NCHAN];
    struct psr_beam_desc d = {.size = sizeof d,
                              .array = &b->a,
                              .nfreq = NCHAN,
                              .tds = b->tds,
                              .pattern = PSR_BEAM_POINTS,
                              .nbeam = b->nbeam,
                              .mem_bytes = INT64_C(16) << 30,
                              .backend = "cuda"};
    psr_err err;
    b->a =
        (struct psr_array){.m = 8, .n = 8, .ns_m = 8, .ew_m = 6, .ndish = NDISH, .cell = b->cell};
    for (int k = 0; k < NDISH; k++)
        b->cell[k] = k;
    b->theta = bench_take(2 * NCHAN * b->nbeam, sizeof *b->theta);
    for (size_t k = 0; k < 2 * NCHAN * b->nbeam; k++)
        b->theta[k] = (double)(mix(k + 1) >> 11) * 0x1p-53 * 8;
    d.theta_ns = b->theta;
    d.theta_ew = b->theta + NCHAN * b->nbeam;
    for (size_t f = 0; f < NCHAN; f++) {
        b->tds[f] = TDS;
        offset[f] = 0;
        scale[f] = 3e-4f;
    }
    bench_must(psr_beam_create(&b->beams, &d, &err), &err);
    bench_must(psr_beam_quantise(b->beams, 8, offset, scale, &err), &err);
    b->row_bytes = psr_beam_row_bytes(b->beams);
}

static void make_search(struct bench *b)
{
    psr_err err;
    b->s = make_setting(find_band("small"), 8, 1, 0, 0);
    b->s->d.nbeam = b->nbeam;
    b->s->d.block = b->rows;
    b->s->d.backend = "cuda";
    b->s->d.mem_bytes = 0;
    bench_must(psr_dedisp_beams_create(&b->search, &b->s->d, &err), &err);
}

static void make_buffers(struct bench *b)
{
    const size_t bytes = b->nbeam * b->rows * b->row_bytes,
                 in_bytes = (size_t)PIECE_ROWS * TDS * NCHAN * 2 * NDISH;
    void *in;
    psr_err err;
    bench_must(psr_device_pin(&in, in_bytes, &err), &err);
    b->in = in;
#pragma omp parallel for
    for (size_t n = 0; n < in_bytes / 8; n++) {
        uint64_t x = mix(n + 1);
        memcpy(b->in + 8 * n, &x, 8);
    }
    for (int k = 0; k < 2; k++) {
        bench_must(psr_device_pin(&b->host[k], bytes, &err), &err);
        bench_must(psr_beam_alloc_device(b->beams, bytes, &b->there[k], &err), &err);
    }
    MUST(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    for (int k = 0; k < 2; k++)
        MUST(cudaEventCreateWithFlags(&b->read[k], cudaEventDisableTiming));
}

/* --- what is timed ---------------------------------------------------------------------------- */

static void form(struct bench *b, void *rows, bool there)
{
    psr_err err;
    size_t nrow;
    for (size_t done = 0; done < b->rows; done += nrow)
        bench_must((there ? psr_beam_start_device : psr_beam_start)(
                       b->beams, b->in, (size_t)PIECE_ROWS * TDS,
                       (char *)rows + done * b->row_bytes, b->rows, &nrow, &err),
                   &err);
    bench_must(psr_beam_wait(b->beams, 0, &err), &err);
}

static void search(struct bench *b, const void *rows, bool there)
{
    psr_err err;
    for (size_t k = 0; k < b->nbeam; k++) {
        const char *at = (const char *)rows + k * b->rows * b->row_bytes;
        bench_must(there
                       ? psr_dedisp_beams_execute_device(b->search, k, at, b->stream, b->rows, &err)
                       : psr_dedisp_beams_execute(b->search, k, at, b->rows, &err),
                   &err);
    }
}

static void form_block(struct bench *b, bool there)
{
    form(b, there ? b->there[0] : b->host[0], there);
}

static void search_block(struct bench *b, bool there)
{
    search(b, there ? b->there[0] : b->host[0], there);
    MUST(cudaDeviceSynchronize());
}

/* A buffer is filled while the device searches the other. */
static void do_block(struct bench *b, bool there)
{
    const size_t turn = b->nblock++ % 2;
    void *rows = there ? b->there[turn] : b->host[turn];
    if (there)
        MUST(cudaEventSynchronize(b->read[turn]));
    form(b, rows, there);
    search(b, rows, there);
    if (there)
        MUST(cudaEventRecord(b->read[turn], b->stream));
}

static double time_blocks(struct bench *b, void (*run)(struct bench *b, bool there), bool there)
{
    double s[NBLOCK];
    run(b, there);
    for (int k = 0; k < NBLOCK; k++) {
        double from = bench_wall_s();
        run(b, there);
        s[k] = bench_wall_s() - from;
    }
    MUST(cudaDeviceSynchronize());
    return bench_median(s, NBLOCK);
}

static cudaError_t copy_rows(void *ctx)
{
    struct bench *b = ctx;
    const size_t bytes = b->nbeam * b->rows * b->row_bytes;
    cudaError_t e = cudaMemcpyAsync(b->host[0], b->there[0], bytes, cudaMemcpyDeviceToHost, 0);
    return e ? e : cudaMemcpyAsync(b->there[0], b->host[0], bytes, cudaMemcpyHostToDevice, 0);
}

/* A block's rows to the host and back, with nothing beside. */
static double time_copies(struct bench *b)
{
    return bench_device_s(copy_rows, b, 0);
}

/* --- the same series -------------------------------------------------------------------------- */

static float *series_of(struct bench *b, bool there, size_t *bytes)
{
    struct psr_dedisp_beams_series got;
    psr_err err;
    psr_beam_reset(b->beams);
    psr_dedisp_beams_reset(b->search, b->nbeam - 1);
    form_block(b, there);
    search_block(b, there);
    psr_dedisp_beams_series(b->search, 0, &got);
    *bytes = got.on_device.nseries * got.nsamp * sizeof(float);
    float *x = bench_take(*bytes, 1);
    bench_must(psr_device_series_fetch(&got.on_device, 1, got.nsamp, x, got.nsamp, &err), &err);
    return x;
}

static void compare(struct bench *b)
{
    size_t nhost, nthere;
    float *host = series_of(b, false, &nhost), *there = series_of(b, true, &nthere), most = 0;
    for (size_t k = 0; k < nhost / sizeof *host; k++)
        most = host[k] > most ? host[k] : most;
    if (nhost != nthere || memcmp(host, there, nhost) != 0 || !(most > 0))
        bench_stop("the two ways give different series");
    printf("%.4g samples of the last beam: the same bits both ways\n",
           (double)nhost / sizeof *host);
    free(host);
    free(there);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct bench *b, bool there);
    } part[] = {
        {"beams alone", form_block}, {"dedispersion alone", search_block}, {"both", do_block}};
    static struct bench b;
    b.nbeam = argc > 1 ? (size_t)atoi(argv[1]) : 256;
    b.rows = argc > 2 ? (size_t)atoi(argv[2]) : 1024;
    if (b.nbeam < 1 || b.rows < PIECE_ROWS || b.rows % PIECE_ROWS)
        bench_stop("beams are 1 or more, rows a multiple of 64");
    make_beams(&b);
    make_search(&b);
    make_buffers(&b);
    compare(&b);
    const double bytes = (double)(b.nbeam * b.rows * b.row_bytes);
    printf("%zu beams of %d channels, blocks of %zu rows, %zu trials: %.0f MB of rows, %.0f MB of "
           "voltages; %.1f GB/s from the host\n",
           b.nbeam, NCHAN, b.rows, b.s->d.ndm, bytes * 1e-6,
           (double)b.rows * TDS * NCHAN * 2 * NDISH * 1e-6, bench_upload_rate() * 1e-9);
    printf("%-20s %8.2f ms through the host, none on the device\n", "copies of rows",
           1e3 * time_copies(&b));
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        double host = time_blocks(&b, part[k].run, false);
        double there = time_blocks(&b, part[k].run, true);
        printf("%-20s %8.2f ms through the host, %8.2f ms on the device: %.2f times\n",
               part[k].name, host * 1e3, there * 1e3, host / there);
    }
    return EXIT_SUCCESS;
}
