/* Reads from file descriptors, handling short reads and signals. */
#include "readfd.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
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

/* Whether something came, if only the end, before the caller stops. */
static bool await_data(bool (*should_stop)(void *ctx), void *ctx, int fd)
{
    enum { WAIT_MS = 100 };
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (!should_stop(ctx))
        if (poll(&ready, 1, WAIT_MS) > 0)
            return true;
    return false;
}

ssize_t psr_read_unless(bool (*should_stop)(void *ctx), void *ctx, int fd, void *to, size_t n)
{
    ssize_t got = -1;
    if (!should_stop)
        return psr_read_some(fd, to, n);
    do {
        if (!await_data(should_stop, ctx, fd))
            return 0;
        got = read(fd, to, n);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    return got;
}

ssize_t psr_read_at(int fd, void *to, size_t n, int64_t at)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
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
