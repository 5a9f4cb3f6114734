#include "readall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

psr_status psr_read_all(int fd, const char *path, void *to, int64_t n, psr_err *err)
{
    char *at = to;
    while (n > 0) {
        ssize_t got = read(fd, at, (size_t)n);
        if (got == 0)
            return psr_fail(err, PSR_EIO, "%s: ended %lld bytes early while it was read", path,
                            (long long)n);
        if (got < 0 && errno != EINTR)
            return psr_fail_errno(err, "%s: cannot read", path);
        if (got > 0) {
            at += got;
            n -= got;
        }
    }
    return PSR_OK;
}

psr_status psr_read_text(const char *path, size_t most, char **text, size_t *n, psr_err *err)
{
    psr_status st = PSR_OK;
    char *all = malloc(most + 2);
    FILE *f = all ? fopen(path, "re") : NULL;
    *text = NULL;
    *n = 0;
    if (!f) {
        st = psr_fail_errno(err, "%s", path);
        goto done;
    }
    *n = fread(all, 1, most + 1, f);
    if (ferror(f))
        st = psr_fail_errno(err, "%s: cannot read", path);
    else if (*n > most)
        st = psr_fail(err, PSR_EFORMAT, "%s: longer than %zu bytes, more than such a text has",
                      path, most);
done:
    if (f)
        fclose(f);
    if (st != PSR_OK) {
        free(all);
        return st;
    }
    all[*n] = '\0';
    *text = all;
    return PSR_OK;
}
