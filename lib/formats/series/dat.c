/* Reads .dat series and the .inf beside them. */
#include "dat.h"

#include "base/input/readfd.h"
#include "base/path.h"
#include <psrkit/series.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

psr_status psr_inf_read_beside(struct psr_inf *inf, const char *path, psr_err *err)
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
    psr_status st = psr_inf_read_beside(inf, path, err);
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
