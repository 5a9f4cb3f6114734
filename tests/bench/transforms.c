/* transforms: seconds to read a file and to transform as many real series, in single
 * precision, as a search of its channels by interval needs, with the faster of FFTW's plans (measured)
 * and the library's own.
 *   transforms FILE HEADER_BYTES NCHAN PTSPERINT THREADS */
#include "base/threads/threads.h"
#include "bench.h"
#include "rfi/statistics/rfi_statistics.h"

#include <fcntl.h>
#include <fftw3.h>
#include <unistd.h>

struct work {
    size_t nchan, n, nint; /* of bytes */
    int nthread;
    float **x, **y; /* [nthread][2 n] */
};

/* Returned: how many intervals there are, read into one buffer */
static size_t read_all(const char *path, off_t skip, size_t bytes)
{
    char *buffer = bench_take(bytes, 1);
    int fd = open(path, O_RDONLY);
    size_t nint = 0;
    if (fd < 0 || lseek(fd, skip, SEEK_SET) != skip)
        bench_stop(path);
    for (ssize_t got = 0; got >= 0;) {
        size_t have = 0;
        while (have < bytes && (got = read(fd, buffer + have, bytes - have)) > 0)
            have += (size_t)got;
        if (have < bytes)
            break;
        nint++;
    }
    close(fd);
    free(buffer);
    return nint;
}

static double transform_pairs(const struct work *w)
{
    psr_rfi_fft *plan;
    psr_err err;
    bench_must(psr_rfi_fft_create(&plan, w->n, &err), &err);
    const double began = bench_wall_s();
#pragma omp parallel for num_threads(w->nthread) schedule(dynamic, 64)
    for (size_t k = 0; k < w->nint * w->nchan / 2; k++)
        psr_rfi_fft_execute(plan, w->x[psr_thread_number()], w->y[psr_thread_number()]);
    const double took = bench_wall_s() - began;
    psr_rfi_fft_destroy(plan);
    return took;
}

static double transform_series(const struct work *w)
{
    fftwf_plan plan =
        fftwf_plan_dft_r2c_1d((int)w->n, w->x[0], (fftwf_complex *)w->y[0], FFTW_MEASURE);
    if (!plan)
        bench_stop("no plan of FFTW");
    const double began = bench_wall_s();
#pragma omp parallel for num_threads(w->nthread) schedule(dynamic, 64)
    for (size_t k = 0; k < w->nint * w->nchan; k++)
        fftwf_execute_dft_r2c(plan, w->x[psr_thread_number()],
                              (fftwf_complex *)w->y[psr_thread_number()]);
    const double took = bench_wall_s() - began;
    fftwf_destroy_plan(plan);
    return took;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        bench_stop("FILE HEADER_BYTES NCHAN PTSPERINT THREADS");
    struct work w = {.nchan = strtoul(argv[3], NULL, 10),
                     .n = strtoul(argv[4], NULL, 10),
                     .nthread = (int)strtol(argv[5], NULL, 10)};
    const double began = bench_wall_s();
    w.nint = read_all(argv[1], strtol(argv[2], NULL, 10), w.nchan * w.n);
    const double read_s = bench_wall_s() - began;
    w.x = bench_take((size_t)w.nthread, sizeof *w.x);
    w.y = bench_take((size_t)w.nthread, sizeof *w.y);
    for (int k = 0; k < w.nthread; k++) {
        w.x[k] = bench_take(2 * w.n + 2, sizeof **w.x);
        w.y[k] = bench_take(2 * w.n + 2, sizeof **w.y);
    }
    const double fftw_s = transform_series(&w), own_s = transform_pairs(&w);
    printf("%.4f %.4f %.4f %.4f\n", read_s + (fftw_s < own_s ? fftw_s : own_s), read_s, fftw_s,
           own_s);
    for (int k = 0; k < w.nthread; k++) {
        free(w.x[k]);
        free(w.y[k]);
    }
    free(w.x);
    free(w.y);
    return EXIT_SUCCESS;
}
