/* readfd: what is read at a place, to the end and beyond it, and what can be read again. */
#include "base/input/readfd.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <errno.h>
#include <fcntl.h>

static void test_places(uint64_t *seed)
{
    enum { N = 100000 };
    static unsigned char file[N], got[2 * N];
    for (size_t i = 0; i < N; i++)
        file[i] = (unsigned char)(tap_random(seed) >> 56);
    const char *path = scratch("x");
    scratch_write(path, file, N);
    int fd = open(path, O_RDONLY | O_CLOEXEC), wrong = 0;
    for (int trial = 0; trial < 200; trial++) {
        size_t at = (size_t)tap_between(seed, 0, N + 10), n = (size_t)tap_between(seed, 0, N);
        size_t want = at < N ? (n < N - at ? n : N - at) : 0;
        memset(got, 0x5a, sizeof got);
        wrong += psr_read_at(fd, got, n, (int64_t)at) != (ssize_t)want ||
                 (want && memcmp(got, file + at, want) != 0) || got[want] != 0x5a;
    }
    ok(wrong == 0, "200 pieces at any place, some beyond the end");
    ok(lseek(fd, 0, SEEK_CUR) == 0, "the file stands where it stood");
    psr_err err = {0};
    ok(!psr_read_all(fd, path, got, N, &err) && !memcmp(got, file, N), "all of it in order");
    ok(psr_read_all(fd, path, got, 5, &err) == PSR_EIO && strstr(err.msg, "ended 5 bytes early"),
       "more than there is");
    close(fd);
    ok(psr_read_at(fd, got, 1, 0) == -1 && errno == EBADF, "a descriptor that is closed");
}

static void test_regular(void)
{
    struct stat status;
    psr_err err = {0};
    int fd;
    ok(!psr_open_regular(&fd, &status, scratch("x"), &err) && fd >= 0 && status.st_size == 100000,
       "a file is opened, with its size");
    close(fd);
    ok(!psr_open_regular(&fd, &status, "-", &err) && fd == -1, "standard input is not");
    ok(!mkfifo(scratch("pipe"), 0600) && !psr_open_regular(&fd, &status, scratch("pipe"), &err) &&
           fd == -1,
       "a pipe is not, and not waited for");
    ok(psr_open_regular(&fd, &status, scratch("none"), &err) == PSR_EIO && fd == -1 &&
           strstr(err.msg, "none: No such file"),
       "nor is what is not there");
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_places(&seed);
    test_regular();
    return done_testing();
}
