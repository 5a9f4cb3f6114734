/* Describes and reads PRESTO's .fft, .dat and .sdat files, and SIGPROC's .tim. */
#include "series_internal.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include <psrkit/experimental/outfile.h>
#include <psrkit/series.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- .dat ------------------------------------------------------------------------------------- */

/* Reads the .inf beside a .dat or .fft file.
 * Status: those of psr_inf_read; PSR_EFORMAT if there is none */
static psr_status inf_read_beside(struct psr_inf *inf, const char *path, psr_err *err)
{
    char *beside = psr_path_beside(path, ".inf");
    psr_status st = PSR_OK;
    if (!beside)
        st = psr_fail_nomem(err, path, (double)strlen(path));
    else if (access(beside, F_OK) && errno == ENOENT)
        st = psr_fail(err, PSR_EFORMAT, "%s: there is no %s to describe it", path, beside);
    else
        st = psr_inf_read(inf, beside, err);
    free(beside);
    return st;
}

/* Returned: *bytes, the size of the file behind fd. */
static psr_status check_size(int fd, const char *path, const struct psr_inf *inf, int64_t *bytes,
                             psr_err *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return psr_fail_errno(err, "%s", path);
    *bytes = st.st_size;
    if (!S_ISREG(st.st_mode))
        return psr_fail(err, PSR_EFORMAT, "%s: not a regular file", path);
    if (*bytes % (int64_t)sizeof(float))
        return psr_fail(err, PSR_EFORMAT, "%s: size %lld bytes, must be a multiple of 4", path,
                        (long long)*bytes);
    if (*bytes / (int64_t)sizeof(float) != inf->nbin)
        return psr_fail(err, PSR_EFORMAT, "%s: %lld samples, but its .inf says %lld", path,
                        (long long)(*bytes / (int64_t)sizeof(float)), (long long)inf->nbin);
    return PSR_OK;
}

psr_status psr_dat_read(const char *path, float **x, int64_t *n, struct psr_inf *inf, psr_err *err)
{
    int64_t bytes = 0;
    float *samples = NULL;
    *x = NULL;
    *n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return psr_fail_errno(err, "%s", path);
    psr_status st = inf_read_beside(inf, path, err);
    if (!st)
        st = check_size(fd, path, inf, &bytes, err);
    if (!st && !(samples = malloc(bytes ? (size_t)bytes : 1)))
        st = psr_fail_nomem(err, path, (double)bytes);
    if (!st)
        st = psr_read_all(fd, path, samples, bytes, err);
    close(fd);
    if (st) {
        free(samples);
        return st;
    }
    *x = samples;
    *n = bytes / (int64_t)sizeof(float);
    return PSR_OK;
}

/* --- .fft ------------------------------------------------------------------------------------- */

static psr_status identify_suffix(struct psr_spectrum_file *file, const char *path, psr_err *err)
{
    const char *dot = strrchr(path, '.');
    const bool is_tim = psr_tim_is_name(path);
    file->shorts = dot && !strcmp(dot, ".sdat");
    file->series = file->shorts || is_tim || (dot && !strcmp(dot, ".dat"));
    file->sample_nbit = file->shorts ? 16 : 32;
    file->sample_kind = file->shorts ? PSR_INT : PSR_FLOAT;
    file->data_at = 0;
    if (!file->series && !(dot && !strcmp(dot, ".fft")))
        return psr_fail(err, PSR_EINVAL, "%s: not named .fft, .dat, .sdat or .tim", path);
    return PSR_OK;
}

/* A series of an odd length loses its last sample: the transform needs an even one. */
static void drop_last(struct psr_spectrum_file *file)
{
    struct psr_inf *inf = &file->inf;
    const int64_t last = inf->nbin - 2;
    file->odd = inf->nbin % 2 != 0;
    if (!file->odd)
        return;
    inf->nbin--;
    for (int i = 0; i < inf->nonoff; i++) {
        int64_t *pair = inf->onoff[i];
        pair[1] = pair[1] < last ? pair[1] : last;
        /* PRESTO marks padding by a pair of only the last sample after it. */
        pair[0] = pair[0] < last ? pair[0] : last;
    }
    if (inf->nonoff > 1 && inf->onoff[inf->nonoff - 1][0] <= inf->onoff[inf->nonoff - 2][1])
        inf->nonoff--;
}

static int64_t bytes_of_sample(const struct psr_spectrum_file *file)
{
    return file->sample_nbit / 8;
}

/* Whether bin 0 is 1, as PRESTO and psr_spectrum_deredden leave it; the sum of a series never is.
 */
static psr_status read_first_bin(struct psr_spectrum_file *file, const char *path, psr_err *err)
{
    float first[2];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return psr_fail_errno(err, "%s", path);
    psr_status st = psr_read_all(fd, path, first, sizeof first, err);
    close(fd);
    file->reddened = st == PSR_OK && first[0] == 1 && first[1] == 0;
    return st;
}

static void set_length(struct psr_spectrum_file *file)
{
    drop_last(file);
    file->nbin = file->inf.nbin / 2;
    file->tobs_s = (double)file->inf.nbin * file->inf.tbin_s;
    file->reddened = false;
}

/* An .inf file has 15 digits of the sampling time. */
void psr_spectrum_of_series(struct psr_spectrum_file *file, const struct psr_inf *inf)
{
    char text[32];
    *file = (struct psr_spectrum_file){
        .series = true, .inf = *inf, .sample_nbit = 32, .sample_kind = PSR_FLOAT};
    psr_c_locale_snprintf(text, sizeof text, "%.15g", inf->tbin_s);
    file->inf.tbin_s = psr_c_locale_strtod(text, NULL);
    set_length(file);
}

/* By the .inf beside it, or the header of a .tim. */
static psr_status read_description(struct psr_spectrum_file *file, const char *path, psr_err *err)
{
    struct psr_tim tim;
    if (!psr_tim_is_name(path))
        return inf_read_beside(&file->inf, path, err);
    psr_status st = psr_tim_describe(&tim, path, err);
    if (st != PSR_OK)
        return st;
    file->inf = tim.inf;
    file->data_at = tim.data_at;
    file->sample_nbit = tim.nbit;
    file->sample_kind = tim.kind;
    return PSR_OK;
}

psr_status psr_spectrum_describe(struct psr_spectrum_file *file, const char *path, psr_err *err)
{
    struct stat about;
    psr_status st = identify_suffix(file, path, err);
    if (st != PSR_OK)
        return st;
    if (stat(path, &about))
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(about.st_mode))
        return psr_fail(err, PSR_EFORMAT, "%s: not a regular file", path);
    file->file_bytes = about.st_size;
    st = read_description(file, path, err);
    if (st)
        return st;
    /* A spectrum has as many bytes as its series; that of an odd number of samples lacks the last one. */
    const int64_t nbin = file->inf.nbin, sample = bytes_of_sample(file),
                  bytes = file->file_bytes - file->data_at;
    if (nbin < 2)
        return psr_fail(err, PSR_EFORMAT, "%s: %lld samples, at least 2 are needed", path,
                        (long long)nbin);
    if (bytes != (file->series ? nbin : nbin - nbin % 2) * sample)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: %lld bytes, but the %lld samples of its .inf make %lld", path,
                        (long long)bytes, (long long)nbin, (long long)(nbin * sample));

    set_length(file);
    return file->series ? PSR_OK : read_first_bin(file, path, err);
}

/* The next padding from *t on: [*t, *end); false where there is none.  pair is the next On/Off pair
 * to look at. */
static bool next_padding(const struct psr_inf *inf, int *pair, int64_t *t, int64_t *end)
{
    for (; *pair <= inf->nonoff; (*pair)++) {
        int64_t on = *pair < inf->nonoff ? inf->onoff[*pair][0] : inf->nbin;
        int64_t begin = *pair ? inf->onoff[*pair - 1][1] + 1 : 0;
        if (on > inf->nbin)
            on = inf->nbin;
        if (begin < on) {
            *t = begin;
            *end = on;
            (*pair)++;
            return true;
        }
    }
    return false;
}

psr_status psr_spectrum_level(const struct psr_spectrum_file *file, const char *name, float *x,
                              psr_err *err)
{
    if (file->series && file->inf.nonoff > 0) {
        /* Padding becomes the mean of the rest. */
        int64_t t, end, from = 0, count = 0;
        double sum = 0;
        for (int pair = 0; next_padding(&file->inf, &pair, &t, &end); from = end)
            for (; from < t; from++, count++)
                sum += x[from];
        for (; from < file->inf.nbin; from++, count++)
            sum += x[from];
        float mean = count ? (float)(sum / (double)count) : 0;
        for (int pair = 0; next_padding(&file->inf, &pair, &t, &end);)
            for (; t < end; t++)
                x[t] = mean;
    }
    int64_t n = 2 * file->nbin;
    int64_t i = file->series || n == 2 ? 1 : 3; /* a spectrum's first bin says little */
    const float first = x[i - 1];
    while (i < n && x[i] == first)
        i++;
    if (i < n)
        return PSR_OK;
    return psr_fail(err, PSR_EFORMAT, "%s: all %s are %g: there is nothing to search", name,
                    file->series ? "samples" : "bins", (double)first);
}

psr_status psr_spectrum_read(const struct psr_spectrum_file *file, const char *path, float *x,
                             psr_err *err)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return psr_fail_errno(err, "%s", path);
    psr_status st = PSR_OK;
    const int64_t n = 2 * file->nbin, bytes = n * bytes_of_sample(file);
    char *to = (char *)x + (n * (int64_t)sizeof *x - bytes); /* the end of x */
    if (fstat(fd, &about) || lseek(fd, (off_t)file->data_at, SEEK_SET) < 0)
        st = psr_fail_errno(err, "%s", path);
    else if (about.st_size != file->file_bytes)
        st = psr_fail(err, PSR_EIO, "%s: its size changed from %lld to %lld bytes", path,
                      (long long)file->file_bytes, (long long)about.st_size);
    if (st == PSR_OK)
        st = psr_read_all(fd, path, to, bytes, err);
    close(fd);
    if (st == PSR_OK)
        psr_tim_widen(x, (size_t)n, (size_t)n, file->sample_nbit, file->sample_kind);
    return st == PSR_OK ? psr_spectrum_level(file, path, x, err) : st;
}

/* One of the two files of a spectrum: its bins, or where x is NULL its description. */
static psr_status add_file(psr_output_group *g, const char *root, const char *suffix,
                           const float *x, int64_t nbin, const struct psr_inf *inf, psr_err *err)
{
    psr_outfile *f;
    char *path = NULL;
    if (asprintf(&path, "%s%s", root, suffix) < 0)
        return psr_fail_nomem(err, root, (double)strlen(root));
    psr_status st = psr_output_group_add(g, path, &f, err);
    if (st == PSR_OK && x)
        st = psr_outfile_write(f, x, 2 * (size_t)nbin * sizeof *x, err);
    else if (st == PSR_OK)
        st = psr_inf_write(f, inf, err);
    free(path);
    return st;
}

psr_status psr_spectrum_write(const char *root, const float *x, int64_t nbin,
                              const struct psr_inf *inf, psr_err *err)
{
    struct psr_inf named;
    psr_output_group *g;
    const int64_t bad = psr_spectrum_bad(x, 2 * nbin);
    if (bad >= 0)
        return psr_fail(err, PSR_EFORMAT, "%s.fft: bin %lld is no finite number", root,
                        (long long)(bad / 2));
    if (inf) {
        named = *inf;
        psr_status st = psr_inf_set_name(&named, root, err);
        if (st != PSR_OK)
            return st;
    }
    psr_status st = psr_output_group_create(
        &g,
        &(struct psr_output_group_desc){.size = sizeof(struct psr_output_group_desc), .root = NULL},
        err);
    if (st != PSR_OK)
        return st;
    st = add_file(g, root, ".fft", x, nbin, NULL, err);
    if (st == PSR_OK && inf)
        st = add_file(g, root, ".inf", NULL, 0, &named, err);
    if (st == PSR_OK)
        return psr_output_group_commit(g, err);
    psr_output_group_abort(g);
    return st;
}

int64_t psr_spectrum_bad(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return i;
    return -1;
}

/* The largest size, NaN if there is one: bits of sizes are in the order of their values, and integers
 * have a maximum that compilers vectorise. */
static float find_peak(const float *x, int64_t n)
{
    int32_t most = 0;
    float peak;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    memcpy(&peak, &most, sizeof peak);
    return peak;
}

/* Values up to 2^30 have sums of 2^32 below 2^62, whose powers floats hold; values of a spectrum are
 * such sums.  A power of two changes no digit. */
int psr_spectrum_rescale(float *x, int64_t n, bool sums)
{
    const float most = sums ? 0x1p30F : 0x1p60F, least = 0x1p-40F;
    const float peak = find_peak(x, n);
    if (!(peak > 0) || !isfinite(peak) || (peak >= least && peak <= most))
        return 0;
    const int exponent = ilogbf(peak);
    for (int64_t i = 0; i < n; i++)
        x[i] = ldexpf(x[i], -exponent);
    return exponent;
}
