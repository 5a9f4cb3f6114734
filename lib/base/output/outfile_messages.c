/* Opens files for the messages of other programs. */
#include "outfile_internal.h"

#include <psrkit/experimental/outfile.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Waiting for the reader of a pipe could take for ever. */
static psr_status check_regular(const char *path, psr_err *err)
{
    struct stat is;
    if (lstat(path, &is) != 0 || S_ISREG(is.st_mode) || S_ISLNK(is.st_mode))
        return PSR_OK; /* a link is psr_outfile_create's */
    return psr_fail(err, PSR_EIO, "%.300s: is there, and is not a regular file", path);
}

/* Opens the file that has just been created, and nothing that took its place. */
static psr_status open_created(int *fd, const char *path, psr_err *err)
{
    struct stat is;
    *fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return psr_fail_errno(err, "%s", path);
    if (fstat(*fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink <= 1 && is.st_size == 0)
        return PSR_OK;
    close(*fd);
    *fd = -1;
    return psr_fail(err, PSR_EIO, "%.300s: was replaced while it was opened", path);
}

psr_status psr_outfile_open_messages(int *fd, const char *path, psr_err *err)
{
    psr_outfile *f = NULL;
    *fd = -1;
    psr_status st = check_regular(path, err);
    if (!st && (st = psr_outfile_check_path(path, err)) == PSR_OK)
        st = psr_outfile_create(&f, path, err);
    if (!st)
        st = psr_outfile_commit(f, err);
    return st ? st : open_created(fd, path, err);
}
