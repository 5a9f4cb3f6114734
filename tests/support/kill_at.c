/* kill_at.c: preloaded, kills the process before the KILL_AT-th time that it writes to a regular file,
 * renames or removes one. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void count_step(void)
{
    static atomic_int steps;
    const char *at = getenv("KILL_AT");
    if (at && atomic_fetch_add(&steps, 1) + 1 == atoi(at))
        kill(getpid(), SIGKILL);
}

static void count_write(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        count_step();
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    count_write(fd);
    return syscall(SYS_write, fd, bytes, n);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, __off64_t at)
{
    count_write(fd);
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

int rename(const char *from, const char *to)
{
    count_step();
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlink(const char *path)
{
    count_step();
    return unlinkat(AT_FDCWD, path, 0);
}
