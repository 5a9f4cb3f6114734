/* Times automatic cleaning on a CUDA device, beside bringing the spectra there: per window of 32768 spectra, of HTRU's
 * band and of those of Novotny et al. 2023, table 2.  Spectra are noise, with a tone and common noise. */
#include "base/device/device_internal.h"
#include "rfi/auto/clean_auto_plan.h"
#include "tests/support/tap.h"

#include <cuda_runtime_api.h>
#include <psrkit/device.h>
#include <psrkit/experimental/clean_auto.h>
#include <stdlib.h>
#include <time.h>

enum { WINDOWS = 4, TURNS = 5 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int must(bool good, const char *what)
{
    if (!good) {
        printf("%s\n", what);
        exit(EXIT_FAILURE);
    }
    return 0;
}

/* Levels of noise of 11 about 90: sums of bytes of a random word. */
static void make_spectra(unsigned char *x, size_t nchan, size_t nsamp, bool common)
{
    uint64_t seed = 20261123;
    for (size_t t = 0; t < nsamp; t++) {
        const int hum = common ? (int)(4 * sin((double)t / 40)) : 0;
        for (size_t c = 0; c < nchan; c++) {
            const uint64_t w = tap_random(&seed);
            const int sum = (int)(w & 63) + (int)(w >> 8 & 63) + (int)(w >> 16 & 63);
            x[t * nchan + c] = (unsigned char)(sum / 3 * 2 + 28 + hum);
        }
        x[t * nchan + nchan / 2] = (unsigned char)(t / 500 % 2 ? 200 : 90);
    }
}

static double time_copy(const void *in, size_t bytes)
{
    void *d_in;
    must(!cudaMalloc(&d_in, bytes), "no device memory");
    double least = 1e9;
    for (int k = 0; k < TURNS; k++) {
        const double from = seconds();
        must(!cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice), "copy");
        const double now = seconds() - from;
        least = now < least ? now : least;
    }
    cudaFree(d_in);
    return least;
}

static double time_cleaning(const void *in, size_t nchan, size_t nsamp, size_t *nfiltered)
{
    const struct psr_clean_auto_desc desc = {.size = sizeof desc,
                                             .nchan = nchan,
                                             .nbit = 8,
                                             .kind = PSR_UINT,
                                             .tsamp_s = 64e-6,
                                             .clip_sigma = 6,
                                             .backend = "cuda"};
    psr_clean_auto *p;
    psr_err err;
    void *d_out;
    size_t nout;
    double least = 1e9;
    must(!psr_clean_auto_create(&p, &desc, &err), "plan");
    for (int k = 0; k < TURNS; k++) {
        const double from = seconds();
        must(!psr_clean_auto_execute_device(p, in, nsamp, &d_out, &nout, &err), err.msg);
        const double now = seconds() - from;
        least = now < least ? now : least;
    }
    struct psr_clean_auto_report report;
    psr_clean_auto_describe(p, &report);
    *nfiltered = report.nfiltered;
    psr_clean_auto_destroy(p);
    return least;
}

static void run(const char *name, size_t nchan, bool common)
{
    const size_t nsamp = (size_t)WINDOWS * 32768, bytes = nsamp * nchan;
    psr_err err;
    void *in;
    size_t nfiltered;
    must(!psr_device_pin(&in, bytes, &err), err.msg);
    make_spectra(in, nchan, nsamp, common);
    const double copy_s = time_copy(in, bytes), all_s = time_cleaning(in, nchan, nsamp, &nfiltered);
    printf("%-8s %5zu channels%s: %.3f ms a window with the copy, %.3f ms without; filtered %zu of "
           "%d\n",
           name, nchan, common ? ", common noise" : "", 1e3 * all_s / WINDOWS,
           1e3 * (all_s - copy_s) / WINDOWS, nfiltered, WINDOWS * TURNS);
    psr_device_unpin(in);
}

int main(void)
{
    psr_err err;
    if (psr_device_count(&err) == 0) {
        printf("%s\n", err.msg);
        return EXIT_SUCCESS;
    }
    static const size_t novotny[] = {512, 2048, 4096};
    for (int common = 0; common < 2; common++) {
        run("HTRU", 1024, common);
        for (size_t k = 0; k < sizeof novotny / sizeof *novotny; k++)
            run("Novotny", novotny[k], common);
    }
    return EXIT_SUCCESS;
}
