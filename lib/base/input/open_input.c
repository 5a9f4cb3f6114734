/* Opens inputs: files, pipes, standard input and rings. */
#include "base/base.h"
#include "dada_ring.h"
#include "readfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Reads a whole small file into memory, up to a limit. */

/* Reads on until the end of f or one byte more than most. */
static psr_status read_all(FILE *f, const char *name, size_t most, char **text, size_t *n,
                           psr_err *err)
{
    struct stat about;
    psr_status st = PSR_OK;
    const bool known = fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode);
    if (known && about.st_size > (int64_t)most)
        return psr_fail(err, PSR_EFORMAT, "%s: %lld bytes, beyond %zu bytes", name,
                        (long long)about.st_size, most);
    size_t room = known ? (size_t)about.st_size + 1 : 1 << 14;
    for (bool more = true; more && !st; room *= 2) {
        char *grown = realloc(*text, room + 1);
        if (!grown)
            return psr_fail_nomem(err, name, (double)room);
        *text = grown;
        *n += fread(*text + *n, 1, room - *n, f);
        more = *n == room;
        if (ferror(f))
            st = psr_fail_errno(err, "%s: cannot read", name);
        else if (*n > most)
            st = psr_fail(err, PSR_EFORMAT, "%s: beyond %zu bytes", name, most);
    }
    if (!st)
        (*text)[*n] = 0;
    return st;
}

psr_status psr_read_file(const char *path, size_t most, char **text, size_t *n, psr_err *err)
{
    const char *name = psr_path_called(path);
    FILE *f = strcmp(path, "-") ? psr_open_file(path) : stdin;
    *text = NULL;
    *n = 0;
    if (!f)
        return psr_fail_errno(err, "%s", name);
    psr_status st = read_all(f, name, most, text, n, err);
    if (f != stdin)
        fclose(f);
    if (st) {
        free(*text);
        *text = NULL;
    }
    return st;
}
