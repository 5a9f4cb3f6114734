/* Describes SIGPROC time series. */
#include "series_internal.h"

#include "base/input/readfd.h"
#include "formats/sigproc/sigproc_header.h"

#include "base/tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 1 << 16 };

bool psr_tim_is_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".tim");
}

static psr_status check_series(const struct psr_sigproc_header *h, const char *path, psr_err *err)
{
    const struct psr_obs *obs = &h->obs;
    if (obs->nchan != 1 || obs->nif != 1)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nchans",
                              "%s: nchans = %zu, nifs = %d, must be 1 and 1, as of a series", path,
                              obs->nchan, obs->nif);
    if (h->data_type > PSR_SIGPROC_SERIES)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "data_type",
                              "%s: data_type = %d, must be %d, a time series", path, h->data_type,
                              (int)PSR_SIGPROC_SERIES);
    if (obs->nbit < 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbits", "%s: nbits = %d, must be 8, 16 or 32",
                              path, obs->nbit);
    return PSR_OK;
}

static psr_status describe(struct psr_tim *tim, int fd, unsigned char *bytes, const char *path,
                           psr_err *err)
{
    struct stat about;
    struct psr_sigproc_header h;
    struct psr_inf *inf = &tim->inf;
    if (fstat(fd, &about))
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(about.st_mode))
        return psr_fail(err, PSR_EFORMAT, "%s: not a regular file", path);
    const ssize_t n = psr_read_at(fd, bytes, HEADER_BYTES, 0);
    if (n < 0)
        return psr_fail_errno(err, "%s", path);
    psr_status st = psr_sigproc_parse_header(&h, bytes, (size_t)n, path, NULL, err);
    if (st)
        return st;
    st = check_series(&h, path, err);
    tim->data_at = (int64_t)h.bytes;
    tim->nbit = h.obs.nbit;
    tim->kind = h.obs.kind;
    psr_inf_from_obs(inf, &h.obs, h.obs.nbit);
    inf->has_epoch = h.obs.tstart.day > 0;
    inf->dm = h.obs.refdm;
    inf->tbin_s = h.obs.tsamp_s;
    const int64_t left = about.st_size - tim->data_at, sample = st ? 1 : h.obs.nbit / 8;
    inf->nbin = left / sample;
    if (!st && left % sample)
        st = psr_fail(err, PSR_EFORMAT, "%s: %lld bytes of samples, must be a multiple of %lld",
                      path, (long long)left, (long long)sample);
    char *stem = st ? NULL : psr_path_beside(path, "");
    if (!st)
        st = stem ? psr_inf_set_name(inf, stem, err)
                  : psr_fail_nomem(err, path, (double)strlen(path));
    free(stem);
    psr_obs_clear(&h.obs);
    return st;
}

psr_status psr_tim_describe(struct psr_tim *tim, const char *path, psr_err *err)
{
    unsigned char *bytes = malloc(HEADER_BYTES);
    if (!bytes)
        return psr_fail_nomem(err, path, HEADER_BYTES);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    psr_status st = fd < 0 ? psr_fail_errno(err, "%s", path) : describe(tim, fd, bytes, path, err);
    if (fd >= 0)
        close(fd);
    free(bytes);
    return st;
}

/* No sample is overwritten before it is read: it lies at least as far behind as its float. */
void psr_tim_widen(float *x, size_t room, size_t n, int nbit, enum psr_kind kind)
{
    const size_t size = (size_t)nbit / 8;
    const unsigned char *from = (const unsigned char *)x + room * (sizeof *x - size);
    if (nbit == 32)
        return;
    for (size_t i = 0; i < n; i++) {
        uint16_t word = 0;
        memcpy(&word, from + i * size, size);
        x[i] = kind != PSR_INT ? (float)word
               : nbit == 8     ? (float)(int8_t)word
                               : (float)(int16_t)word;
    }
}
