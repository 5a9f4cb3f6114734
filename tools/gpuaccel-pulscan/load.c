/* Reads files into the input of a search, and writes files of spectra. */
#include "gpuaccel-pulscan.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where ROOT.inf is the input's own, that describes the spectrum too, and stays as it is. */
static psr_status write_named(const char *root, const struct accel_file *file, const float *x,
                              psr_err *err)
{
    char *inf = NULL, *own = psr_path_beside(file->path, ".inf");
    if (asprintf(&inf, "%s.inf", root) < 0)
        inf = NULL;
    psr_status st = inf && own ? PSR_OK : psr_fail_nomem(err, file->path, 0);
    const bool same = st == PSR_OK && accel_has_inf(file->path) && psr_same_file(inf, own);
    free(inf);
    free(own);
    if (st == PSR_OK && same && file->about.odd)
        st =
            psr_fail(err, PSR_EINVAL,
                     "%s: its spectrum is of one sample less and needs an .inf of its own: -outdir "
                     "or -o",
                     file->path);
    return st == PSR_OK
               ? psr_spectrum_write(root, x, file->about.nbin, same ? NULL : &file->about.inf, err)
               : st;
}

/* x was divided by 2^exponent. */
static psr_status scale_back(const struct accel_file *file, float *x, int exponent, psr_err *err)
{
    const int64_t n = 2 * file->about.nbin;
    double peak = 0;
    for (int64_t i = 0; i < n; i++)
        peak = fmax(peak, fabs((double)x[i]));
    peak = ldexp(peak, exponent);
    if (peak > (double)FLT_MAX)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: its spectrum reaches %.3g, and a .fft file holds at most %.3g",
                        file->path, peak, (double)FLT_MAX);
    for (int64_t i = 0; i < n; i++)
        x[i] = ldexpf(x[i], exponent);
    return PSR_OK;
}

psr_status accel_load(const struct accel_job *j, const struct accel_file *file,
                      struct psr_fourier_input *in, psr_err *err)
{
    int exponent = 0;
    psr_status st = psr_spectrum_read(&file->about, file->path, in->x, err);
    if (!st)
        st = psr_fourier_prepare(j->device->search, in, &exponent, err);
    if (!st && j->opt.fourier.search.keep_spectra && file->about.series) {
        float *x = in->x;
        const bool red = j->opt.fourier.search.rednoise;
        char *root = accel_output_root(j, file->path), *name = NULL;
        if (!root || asprintf(&name, "%s%s", root, red ? "_red" : "") < 0)
            st = psr_fail_nomem(err, file->path, (double)strlen(file->path));
        if (st == PSR_OK && exponent && !red)
            st = scale_back(file, x, exponent, err);
        if (st == PSR_OK)
            st = write_named(name, file, x, err);
        if (exponent && !red)
            psr_spectrum_rescale(x, 2 * file->about.nbin, false);
        free(root);
        free(name);
    }
    return st ? st : psr_fourier_whiten(j->device->search, in, err);
}
