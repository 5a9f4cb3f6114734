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
