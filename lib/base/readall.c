#include "readall.h"

#include <errno.h>
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
