#include "readfd.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

ssize_t psr_read_some(int fd, void *to, size_t n)
{
    ssize_t got = read(fd, to, n);
    while (got < 0 && errno == EAGAIN) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, -1) < 0)
            break;
        got = read(fd, to, n);
    }
    return got;
}

psr_status psr_read_all(int fd, const char *path, void *to, int64_t n, psr_err *err)
{
    char *at = to;
    while (n > 0) {
        ssize_t got = psr_read_some(fd, at, (size_t)n);
        if (got < 0)
            return psr_fail_errno(err, "%s: cannot read", path);
        if (got == 0)
            return psr_fail(err, PSR_EIO, "%s: ended %lld bytes early while it was read", path,
                            (long long)n);
        at += got;
        n -= got;
    }
    return PSR_OK;
}
