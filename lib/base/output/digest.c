/* Digests data, and samples of files. */
#include "outfile_internal.h"

#include "base/input/readfd.h"
#include "base/portable.h"
#include <fcntl.h>
#include <psrkit/experimental/outfile.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

uint64_t psr_digest_bytes(uint64_t digest, const void *bytes, size_t n)
{
    return XXH3_64bits_withSeed(bytes, n, digest);
}

uint64_t psr_digest_text(uint64_t digest, const char *text)
{
    return psr_digest_bytes(digest, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* The first piece holds the header; the others are spread over the file. */
static psr_status digest_file(uint64_t *digest, struct timespec *changed, const char *path,
                              psr_err *err)
{
    enum { FIRST = 1 << 16, PIECE = 1 << 12, NPIECE = 16 };
    unsigned char piece[FIRST];
    struct stat status;
    int fd;
    psr_status st = psr_open_regular(&fd, &status, path, err);
    if (st || fd < 0)
        return st;
    const int64_t size = status.st_size;
    *changed = status.st_mtim;
    *digest = psr_digest_bytes(PSR_DIGEST_START, &size, sizeof size);
    for (int k = 0; k <= NPIECE && !st; k++) {
        int64_t at = size > PIECE ? (int64_t)((double)(size - PIECE) / NPIECE * k) : 0;
        ssize_t got = psr_read_at(fd, piece, k ? PIECE : FIRST, at);
        if (got < 0)
            st = psr_fail_errno(err, "%s", path);
        else
            *digest = psr_digest_bytes(*digest, piece, (size_t)got);
    }
    close(fd);
    return st;
}

psr_status psr_digest_files(uint64_t *digest, struct timespec *changed, const char *const *path,
                            size_t npath, psr_err *err)
{
    psr_status st = PSR_OK;
    *digest = 0;
    *changed = (struct timespec){0, 0};
    for (size_t i = 0; i < npath && !st; i++) {
        uint64_t one = 0;
        struct timespec when = {0, 0};
        st = digest_file(&one, &when, path[i], err);
        *digest += one;
        if (when.tv_sec > changed->tv_sec ||
            (when.tv_sec == changed->tv_sec && when.tv_nsec > changed->tv_nsec))
            *changed = when;
    }
    return st;
}

psr_status psr_file_digest(uint64_t *digest, int64_t *bytes, const char *path, psr_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return psr_fail_errno(err, "%s", path);
    unsigned char piece[1 << 16];
    ssize_t got = 0;
    XXH3_state_t *state = XXH3_createState();
    psr_status st = state ? PSR_OK : psr_fail_nomem(err, path, 512);
    *bytes = 0;
    if (!st)
        XXH3_64bits_reset(state);
    while (!st && (got = psr_read_at(fd, piece, sizeof piece, *bytes)) > 0) {
        XXH3_64bits_update(state, piece, (size_t)got);
        *bytes += got;
    }
    if (got < 0)
        st = psr_fail_errno(err, "%s", path);
    if (!st)
        *digest = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    close(fd);
    return st;
}
