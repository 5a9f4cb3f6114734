/* fuzz_file.h: the input of a harness as a file, for readers that take a path. */
#ifndef PSR_FUZZ_FILE_H
#define PSR_FUZZ_FILE_H

#include <psrkit/status.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns a file without a name, or one in the folder of temporary files where FUZZ_NAMED is defined: HDF5 resolves links. */
static int fuzz_open(char *path, size_t room)
{
#ifdef FUZZ_NAMED
    const char *folder = getenv("TMPDIR");
    snprintf(path, room, "%s/fuzz-XXXXXX", folder ? folder : "/tmp");
    return mkstemp(path);
#else
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, room, "/proc/self/fd/%d", fd);
    return fd;
#endif
}

static char fuzz_path[4096];

__attribute__((destructor, unused)) static void fuzz_remove(void)
{
#ifdef FUZZ_NAMED
    if (*fuzz_path)
        unlink(fuzz_path);
#endif
}

/* A path under which size bytes can be opened, until the next call. */
__attribute__((unused)) static const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = fuzz_open(fuzz_path, sizeof fuzz_path);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) {
        perror("input of a harness");
        exit(EXIT_FAILURE);
    }
    return fuzz_path;
}

/* A failure says which and of what, in one line. */
__attribute__((unused)) static void fuzz_check_failure(psr_status st, const psr_err *err,
                                                       const char *name)
{
    if (err->code != st || !strstr(err->msg, name) || strchr(err->msg, '\n')) {
        fprintf(stderr, "status %d: %s\n", (int)st, err->msg);
        abort();
    }
}

#endif
