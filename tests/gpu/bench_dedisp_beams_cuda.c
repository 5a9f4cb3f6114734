/* Speed of the search of beams as they arrive on a CUDA device: time of its kernels for a second of a
 * beam, and the CPU's bits in all that the first two blocks of a beam give.
 *   bench_dedisp_beams_cuda [BAND [NBIT [SECONDS [NBEAM]]]]
 * BAND is chord, chime or small; blocks of SECONDS.  Spectra come from pinned memory; the figure is
 * from block to block, so that copies count where they are not hidden.  Beside it is how fast the device
 * copies its memory and the host's, measured in the same run. */
#include "base/device/device_internal.h"
#include "bench_cuda.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/bench/bench_beams.h"

#include <string.h>

enum { NBLOCK = 6, NCHECKED = 2 };

static unsigned char *make_noise(const struct setting *s, size_t *row_bytes)
{
    void *in;
    psr_err err;
    *row_bytes = (s->d.nchan * (size_t)s->d.nbit + 7) / 8;
    size_t bytes = NCHECKED * s->d.block * *row_bytes;
    bench_must(psr_device_pin(&in, bytes, &err), &err);
    for (size_t n = 0; n < bytes / 8; n++) {
        uint64_t x = (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
        x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
        x ^= x >> 31;
        memcpy((unsigned char *)in + 8 * n, &x, 8);
    }
    return in;
}

/* --- the CPU's bits --------------------------------------------------------------------------- */

static void compare_line(const psr_dedisp_beams *cpu, const psr_dedisp_beams *cuda, size_t line,
                         double *ncompared)
{
    struct psr_dedisp_beams_line l;
    struct psr_dedisp_beams_series want, got;
    psr_err err;
    psr_dedisp_beams_line(cpu, line, &l);
    psr_dedisp_beams_series(cpu, line, &want);
    psr_dedisp_beams_series(cuda, line, &got);
    float *x = bench_take(l.ndm * want.nsamp, sizeof *x);
    bench_must(psr_device_series_fetch(&got.on_device, 1, want.nsamp, x, want.nsamp, &err), &err);
    for (size_t i = 0; i < l.ndm; i++)
        if (memcmp(x + i * want.nsamp, want.out + i * want.stride, want.nsamp * sizeof *x))
            bench_stop("the device's sums are not those of the CPU");
    *ncompared += (double)l.ndm * (double)want.nsamp;
    free(x);
}

static void compare(const struct setting *s, psr_dedisp_beams *cuda, const unsigned char *in,
                    size_t row_bytes)
{
    struct psr_dedisp_beams_desc d = s->d;
    psr_dedisp_beams *cpu;
    struct psr_dedisp_beams_info info;
    psr_err err;
    double n = 0;
    d.backend = "cpu";
    d.nbeam = 1;
    d.nthread = 0;
    d.mem_bytes = INT64_C(64) << 30;
    bench_must(psr_dedisp_beams_create(&cpu, &d, &err), &err);
    psr_dedisp_beams_describe(cpu, &info);
    for (size_t k = 0; k < NCHECKED; k++) {
        const unsigned char *at = in + k * d.block * row_bytes;
        bench_must(psr_dedisp_beams_execute(cpu, 0, at, d.block, &err), &err);
        bench_must(psr_dedisp_beams_execute(cuda, 0, at, d.block, &err), &err);
        for (size_t line = 0; line < info.nline; line++)
            compare_line(cpu, cuda, line, &n);
    }
    printf("%.4g sums of two blocks of a beam: the CPU's bits\n", n);
    psr_dedisp_beams_destroy(cpu);
    fflush(stdout);
}

/* --- time ------------------------------------------------------------------------------------- */

static void run_blocks(psr_dedisp_beams *p, const struct setting *s, const unsigned char *in,
                       size_t row_bytes, int n)
{
    psr_err err;
    for (int k = 0; k < n; k++)
        for (size_t b = 0; b < s->d.nbeam; b++)
            bench_must(
                psr_dedisp_beams_execute(p, b, in + (size_t)(k % NCHECKED) * s->d.block * row_bytes,
                                         s->d.block, &err),
                &err);
}

static double time_blocks(psr_dedisp_beams *p, const struct setting *s, const unsigned char *in,
                          size_t row_bytes)
{
    struct psr_dedisp_beams_series series;
    cudaEvent_t from, to;
    psr_dedisp_beams_series(p, 0, &series);
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&to));
    run_blocks(p, s, in, row_bytes, 2);
    MUST(cudaEventRecord(from, series.on_device.stream));
    run_blocks(p, s, in, row_bytes, NBLOCK);
    MUST(cudaEventRecord(to, series.on_device.stream));
    double took = bench_between_s(from, to);
    MUST(cudaEventDestroy(from));
    MUST(cudaEventDestroy(to));
    return took / NBLOCK / (double)s->d.nbeam / ((double)s->d.block * s->d.tsamp_s);
}

int main(int argc, char **argv)
{
    const struct band *b = find_band(argc > 1 ? argv[1] : "chord");
    int nbit = argc > 2 ? atoi(argv[2]) : 4;
    double seconds = argc > 3 ? atof(argv[3]) : 8;
    struct setting *s = make_setting(b, nbit, seconds, 0, 0);
    struct psr_dedisp_beams_info info;
    psr_dedisp_beams *p;
    psr_err err;
    size_t row_bytes;
    s->d.nbeam = argc > 4 ? (size_t)atoi(argv[4]) : 1;
    s->d.backend = "cuda";
    s->d.mem_bytes = 0;
    double create = -bench_wall_s();
    bench_must(psr_dedisp_beams_create(&p, &s->d, &err), &err);
    create += bench_wall_s();
    psr_dedisp_beams_describe(p, &info);
    unsigned char *in = make_noise(s, &row_bytes);
    printf("%s: %zu channels, %d bits, %zu trials to DM %g, blocks of %g s, %zu beams; plan made "
           "in %.1f s\n",
           b->name, s->d.nchan, nbit, s->d.ndm, b->dm, seconds, s->d.nbeam, create);
    printf("a beam's state %.1f MB, shared %.1f MB; adds of a second: exact sums %.4g, planned "
           "%.4g\n",
           info.bytes_beam * 1e-6, info.bytes_shared * 1e-6, info.adds_direct / b->tsamp_s,
           info.adds_planned / b->tsamp_s);
    double took = time_blocks(p, s, in, row_bytes);
    printf("a second of a beam: %.3f ms of the device; it copies %.2f TB/s, %.1f GB/s from the "
           "host\n",
           took * 1e3, bench_copy_rate() * 1e-12, bench_upload_rate() * 1e-9);
    fflush(stdout);
    psr_dedisp_beams_reset(p, 0);
    if (!getenv("PSRKIT_TEST_SHORT"))
        compare(s, p, in, row_bytes);
    psr_dedisp_beams_destroy(p);
    psr_device_unpin(in);
    free(s);
    return EXIT_SUCCESS;
}
