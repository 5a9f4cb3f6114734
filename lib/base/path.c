/* Builds file names from other file names. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

char *psr_path_beside(const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
    char *beside = malloc(stem + strlen(suffix) + 1);
    if (beside) {
        memcpy(beside, path, stem);
        strcpy(beside + stem, suffix);
    }
    return beside;
}

bool psr_path_ends(const char *path, const char *suffix)
{
    const size_t n = strlen(path), m = strlen(suffix);
    return n >= m && !strcmp(path + n - m, suffix);
}

const char *psr_path_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *psr_path_called(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

char **psr_path_copies(const char *const *path, size_t n)
{
    size_t bytes = n * sizeof *path;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(path[i]) + 1;
    char **copy = malloc(bytes), *to = (char *)(copy + n);
    for (size_t i = 0; i < n && copy; i++, to += strlen(to) + 1)
        copy[i] = strcpy(to, path[i]);
    return copy;
}

static bool begins_with_one(const char *path, const char *const *start, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(path, start[i], strlen(start[i])))
            return true;
    return false;
}

bool psr_path_is_stream(const char *path)
{
    static const char *const start[] = {"udp://", "dada://"};
    return !strcmp(path, "-") || begins_with_one(path, start, sizeof start / sizeof *start);
}

bool psr_path_is_descriptor(const char *path)
{
    static const char *const start[] = {"/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/",
                                        "dada://"};
    return begins_with_one(path, start, sizeof start / sizeof *start);
}
