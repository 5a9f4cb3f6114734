/* Reads files into the input of a plan, and writes files of spectra. */
#include "gpuaccel-pulscan.h"

#include <float.h>
#include <math.h>
#include <psrkit/outfile.h>
#include <psrkit/tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file without red noise is not changed. */
static bool removes_red_noise(const struct accel_job *j, const struct accel_file *file)
{
    return j->opt.rednoise && !file->about.reddened;
}

/* With -endwidth, numbers are those of realfft. */
static bool detrends_ends(const struct accel_job *j, const struct accel_file *file)
{
    return removes_red_noise(j, file) && !j->opt.endwidth;
}

/* Transforms, if that is the tool's, and takes red noise out. */
static psr_status transform(const struct accel_job *j, const struct accel_file *file, float *x,
                            psr_err *err)
{
    const struct accel_options *o = &j->opt;
    const struct psr_redden how = accel_redden(o, file->about.tobs_s);
    int64_t n = 2 * file->about.nbin;
    int64_t bad = psr_spectrum_bad(x, n);
    if (bad >= 0)
        return psr_fail(err, PSR_EFORMAT, "%s: %s %lld is no finite number", file->path,
                        file->about.series ? "sample" : "bin",
                        (long long)(file->about.series ? bad : bad / 2));
    if (file->about.series) {
        float *room = malloc((size_t)(n + 2) * sizeof *room);
        if (!room)
            return psr_fail_nomem(err, file->path, 4.0 * (double)n);
        psr_rfft_execute(j->rfft, x, room);
        memcpy(x, room, (size_t)n * sizeof *x);
        free(room);
    } else if (detrends_ends(j, file))
        psr_spectrum_detrend_ends(x, file->about.nbin);
    return removes_red_noise(j, file) ? psr_spectrum_deredden(x, file->about.nbin, &how, err)
                                      : PSR_OK;
}

/* Where ROOT.inf is the input's own, that describes the spectrum too, and stays as it is. */
static psr_status write_named(const char *root, const struct accel_file *file, const float *x,
                              psr_err *err)
{
    char *inf = NULL, *own = psr_path_beside(file->path, ".inf");
    if (asprintf(&inf, "%s.inf", root) < 0)
        inf = NULL;
    psr_status st = inf && own ? PSR_OK : psr_fail_nomem(err, file->path, 0);
    const bool same = st == PSR_OK && psr_same_file(inf, own);
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

static psr_status write_spectrum(const struct accel_job *j, const struct accel_file *file, float *x,
                                 int exponent, psr_err *err)
{
    const char *suffix = j->opt.rednoise ? "_red" : "";
    char *root = accel_output_root(j, file->path), *name = NULL;
    psr_status st = PSR_OK;
    if (!root || asprintf(&name, "%s%s", root, suffix) < 0)
        st = psr_fail_nomem(err, file->path, (double)strlen(file->path));
    if (st == PSR_OK && exponent && !j->opt.rednoise)
        st = scale_back(file, x, exponent, err);
    if (st == PSR_OK)
        st = write_named(name, file, x, err);
    if (exponent && !j->opt.rednoise)
        psr_spectrum_rescale(x, 2 * file->about.nbin, false);
    free(root);
    free(name);
    return st;
}

psr_status accel_load(const struct accel_job *j, const struct accel_file *file, float *x,
                      psr_err *err)
{
    psr_status st = psr_spectrum_read(&file->about, file->path, x, err);
    bool mine = !j->shape.series && (file->about.series || removes_red_noise(j, file));
    if (st != PSR_OK)
        return st;
    /* The search does not depend on the scale. */
    const int exponent = psr_spectrum_rescale(x, 2 * file->about.nbin, file->about.series);
    if (file->about.series && detrends_ends(j, file))
        psr_series_detrend_ends(x, 2 * file->about.nbin);
    if (mine)
        st = transform(j, file, x, err);
    if (st == PSR_OK && mine && file->about.series && j->opt.fftout)
        st = write_spectrum(j, file, x, exponent, err);
    return st;
}
