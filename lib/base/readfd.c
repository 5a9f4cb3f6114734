#include "readfd.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

ssize_t psr_read_some(int fd, void *to, size_t n)
{
    for (;;) {
        ssize_t got = read(fd, to, n);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN))
            return got;
        if (errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLIN};
            (void)poll(&ready, 1, -1);
        }
    }
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
