/* portable.h: what Linux has, and macOS under other names or not at all (private).
 *
 * What is not there fails, or does nothing where it only helps: macOS receives no packets, and a tool's
 * steps may outlive it there. */
#ifndef PSR_BASE_PORTABLE_H
#define PSR_BASE_PORTABLE_H

#include <sys/random.h>
#include <sys/socket.h>

#if defined __linux__
#include <byteswap.h>
#include <endian.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#else
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define st_mtim               st_mtimespec
#define st_ctim               st_ctimespec
#define bswap_16(x)           __builtin_bswap16(x)
#define bswap_32(x)           __builtin_bswap32(x)
#define bswap_64(x)           __builtin_bswap64(x)
#define be32toh(x)            __builtin_bswap32(x)
#define be64toh(x)            __builtin_bswap64(x)
#define MADV_HUGEPAGE         MADV_NORMAL
#define POSIX_FADV_SEQUENTIAL 2
#define GRND_NONBLOCK         1
#define PR_SET_PDEATHSIG      1
#define EFD_CLOEXEC           1
#define SOCK_CLOEXEC          0
#define SOCK_NONBLOCK         0
#define SO_RXQ_OVFL           40
#define SO_RCVBUFFORCE        SO_RCVBUF
#define SO_SNDBUFFORCE        SO_SNDBUF
#define SI_TKILL              SI_USER

#define program_invocation_short_name getprogname()

struct mmsghdr {
    struct msghdr msg_hdr;
    unsigned msg_len;
};

static inline int posix_fadvise(int fd, off_t from, off_t n, int what)
{
    (void)fd, (void)from, (void)n, (void)what;
    return 0;
}

static inline ssize_t getrandom(void *to, size_t n, unsigned flags)
{
    (void)flags;
    return getentropy(to, n) ? -1 : (ssize_t)n;
}

static inline void *memrchr(const void *in, int c, size_t n)
{
    const unsigned char *byte = in;
    while (n-- > 0)
        if (byte[n] == (unsigned char)c)
            return (void *)(byte + n);
    return NULL;
}

static inline int prctl(int what, unsigned long value)
{
    (void)what, (void)value;
    return 0;
}

static inline int eventfd(unsigned first, int flags)
{
    (void)first, (void)flags;
    errno = ENOSYS;
    return -1;
}

static inline int recvmmsg(int fd, struct mmsghdr *message, unsigned n, int flags, void *timeout)
{
    (void)fd, (void)message, (void)n, (void)flags, (void)timeout;
    errno = ENOSYS;
    return -1;
}
#endif

#endif
