/* write_spectrum.h: writes a test's spectrum, for the program whose lists are compared. */
#ifndef PSR_WRITE_SPECTRUM_H
#define PSR_WRITE_SPECTRUM_H

#include <stdio.h>
#include <stdlib.h>

/* Given: x [2 nbin], which is freed.  Returned: the status to exit with */
static int write_spectrum(const char *path, float *x, size_t nbin)
{
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(x, 2 * sizeof *x, nbin, f) == nbin;
    free(x);
    return f && fclose(f) == 0 && good ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
