/* fuzz_spectrum: any text as the .inf of a series and of a spectrum, and any bytes, which follow it
 * behind a byte 0, as their data. */
#include <psrkit/series.h>

#include "fuzz_file.h"
#include "tests/support/scratch.h"

/* A file that is cut and written again would wait for the disk. */
static void put(const char *path, const uint8_t *data, size_t size)
{
    unlink(path);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

static void use(const char *path, size_t bytes)
{
    struct psr_spectrum_file file;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_spectrum_describe(&file, path, &err);
    if (!st) {
        if (file.nbin < 1 || 8 * (size_t)file.nbin != bytes || !(file.tobs_s > 0))
            abort();
        float *x = malloc(bytes); /* a sanitizer sees any step beyond it */
        st = x ? psr_spectrum_read(&file, path, x, &err) : PSR_OK;
        free(x);
    }
    if (st)
        fuzz_check_failure(st, &err, scratch("s."));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!*scratch_dir) {
        scratch_make();
        if (symlink("s.dat", scratch("s.fft")))
            abort();
    }
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t text = end ? (size_t)(end - data) : size, rest = end ? size - text - 1 : 0;
    put(scratch("s.inf"), data, text);
    put(scratch("s.dat"), data + size - rest, rest);
    use(scratch("s.dat"), rest);
    use(scratch("s.fft"), rest);
    return 0;
}
