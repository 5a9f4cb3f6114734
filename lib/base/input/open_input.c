/* Opens inputs: files, pipes, standard input and rings. */
#include "base/path.h"
#include "dada_ring.h"
#include "readfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

psr_status psr_open_regular(int *fd, struct stat *status, const char *path, psr_err *err)
{
    *fd = -1;
    if (psr_path_is_stream(path))
        return PSR_OK;
    if (stat(path, status) != 0)
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(status->st_mode))
        return PSR_OK;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? psr_fail_errno(err, "%s", path) : PSR_OK;
}

psr_status psr_open_input(int *fd, bool *stream, int64_t *size, const char *path, psr_err *err)
{
    struct stat about;
    const bool standard = strcmp(path, "-") == 0;
    *stream = true;
    *size = 0;
    if (psr_dada_ring_is_name(path))
        return psr_dada_ring_read(fd, path, err);
    *fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &about) != 0)
        return psr_fail_errno(err, "%s", psr_path_called(path));
    if (S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return psr_fail_errno(err, "%s", psr_path_called(path));
    }
    *stream = standard || !S_ISREG(about.st_mode);
    *size = about.st_size;
    return PSR_OK;
}

bool psr_is_regular(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}
