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

/* A path under which size bytes can be opened, until the next call.  They are in memory only. */
__attribute__((unused)) static const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) {
        perror("memfd");
        exit(EXIT_FAILURE);
    }
    return path;
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
