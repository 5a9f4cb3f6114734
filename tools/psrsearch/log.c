/* Reads the logs of steps. */
#include "psrsearch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returned: NULL for what is not a regular file: opening a pipe would wait for its writer */
static FILE *open_regular(const char *path)
{
    struct stat is;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *from = fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) ? fdopen(fd, "r") : NULL;
    if (!from && fd >= 0)
        close(fd);
    return from;
}

void psrsearch_copy_log(const struct psrsearch_plan *p, enum psrsearch_kind step, FILE *to)
{
    char *name = psrsearch_join(p->aside, "_", p->step[step].name, ".log", NULL);
    FILE *from = name ? open_regular(name) : NULL;
    char bytes[4096];
    size_t n;
    while (from && (n = fread(bytes, 1, sizeof bytes, from)) > 0)
        fwrite(bytes, 1, n, to);
    if (from)
        fclose(from);
    free(name);
}

/* The begin of the last line of bytes that is not blank, which then ends with a NUL byte. */
static char *find_last_line(char *bytes, size_t n)
{
    while (n && strchr(" \t\r\n", bytes[n - 1]))
        n--;
    bytes[n] = '\0';
    for (size_t k = 0; k < n; k++)
        if (bytes[k] == '\0')
            bytes[k] = ' ';
    char *slash = strrchr(bytes, '\n');
    return slash ? slash + 1 : bytes;
}

bool psrsearch_last_line(char *line, size_t room, const char *log)
{
    char bytes[4097];
    FILE *from = open_regular(log);
    if (!from)
        return false;
    if (fseek(from, -(long)(sizeof bytes - 1), SEEK_END) != 0)
        rewind(from);
    const size_t n = fread(bytes, 1, sizeof bytes - 1, from);
    fclose(from);
    const char *last = find_last_line(bytes, n);
    snprintf(line, room, "%s", last);
    return *last && *last != '#';
}

bool psrsearch_is_log(const char *path)
{
    char bytes[2] = "";
    struct stat is;
    FILE *from = open_regular(path);
    if (!from)
        return false;
    const bool empty = fstat(fileno(from), &is) == 0 && is.st_size == 0;
    const bool begun = fread(bytes, 1, 2, from) == 2 && bytes[0] == '#' && bytes[1] == ' ';
    fclose(from);
    return empty || begun;
}
