/* Reads a tar file member by member, and opens members of ROOT.lists like files. */
#include "tar_read.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fields of a header: first byte and length. */
enum { NAME = 0, NAME_BYTES = 100, SIZE = 124, SUM = 148, SUM_BYTES = 8, TYPE = 156 };

/* --- headers ---------------------------------------------------------------------------------- */

static int64_t read_octal(const unsigned char *field, int n)
{
    int64_t value = 0;
    while (n > 0 && *field == ' ')
        field++, n--;
    for (; n > 0 && *field >= '0' && *field <= '7'; field++, n--)
        value = 8 * value + (*field - '0');
    return n > 0 && *field != ' ' && *field != '\0' ? -1 : value;
}

/* The sum of all bytes, with those of the sum as blanks. */
static bool is_header(const unsigned char *h)
{
    int64_t sum = SUM_BYTES * ' ';
    for (int i = 0; i < PSR_TAR_BLOCK; i++)
        sum += i < SUM || i >= SUM + SUM_BYTES ? h[i] : 0;
    return sum == read_octal(h + SUM, SUM_BYTES);
}

static bool read_at(int fd, void *bytes, size_t n, int64_t at)
{
    return pread(fd, bytes, n, (off_t)at) == (ssize_t)n;
}

/* Takes a longer name from a header of its own: "NN path=NAME\n", or as GNU tar writes it. */
static bool take_long_name(int fd, char type, int64_t at, int64_t n, char *name)
{
    char text[2 * PSR_TAR_NAME] = "", *from = text;
    if (n >= (int64_t)sizeof text || !read_at(fd, text, (size_t)n, at))
        return false;
    if (type == 'x') {
        from = strstr(text, " path=");
        if (!from)
            return true; /* says something else of the member */
        from += strlen(" path=");
        from[strcspn(from, "\n")] = '\0';
    }
    from = (char *)(uintptr_t)psr_path_file(from);
    if (strlen(from) >= PSR_TAR_NAME)
        return false;
    strcpy(name, from);
    return true;
}

static psr_status fail_tar(psr_err *err, const char *path, int64_t at, const char *what)
{
    return psr_fail(err, PSR_EFORMAT, "%s: byte %lld: %s", path, (long long)at, what);
}

psr_status psr_tar_next(int fd, const char *path, int64_t *next, struct psr_tar_member *member,
                        bool *exists, psr_err *err)
{
    unsigned char h[PSR_TAR_BLOCK], zero[PSR_TAR_BLOCK] = {0};
    char name[NAME_BYTES + 1];
    struct stat is;
    *exists = false;
    if (fstat(fd, &is) != 0)
        return psr_fail_errno(err, "%s", path);
    *member = (struct psr_tar_member){.first = *next};
    for (;;) {
        if (!read_at(fd, h, sizeof h, *next))
            return fail_tar(err, path, *next, "cut short, or no tar file");
        if (!memcmp(h, zero, sizeof h))
            return PSR_OK;
        const int64_t n = is_header(h) ? read_octal(h + SIZE, 12) : -1, at = *next + PSR_TAR_BLOCK;
        if (n < 0 || n > (int64_t)is.st_size - at)
            return fail_tar(err, path, *next, n < 0 ? "no header of a tar file" : "cut short");
        *next = at + (n + PSR_TAR_BLOCK - 1) / PSR_TAR_BLOCK * PSR_TAR_BLOCK;
        if (h[TYPE] == 'x' || h[TYPE] == 'L') {
            if (!take_long_name(fd, (char)h[TYPE], at, n, member->name))
                return fail_tar(err, path, at, "a name that is too long");
            continue;
        }
        if (h[TYPE] == '0' || h[TYPE] == '\0') {
            snprintf(name, sizeof name, "%.*s", NAME_BYTES, (const char *)h + NAME);
            if (!*member->name)
                strcpy(member->name, psr_path_file(name));
            member->at = at;
            member->n = n;
            *exists = true;
            return PSR_OK;
        }
        *member = (struct psr_tar_member){.first = *next};
    }
}

/* --- members of ROOT.lists -------------------------------------------------------------------- */

int psr_tar_open(const char *path)
{
    struct stat is;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode))) {
        close(fd);
        fd = -1;
        errno = EINVAL;
    }
    return fd;
}

/* Looks a name up in the index: lines of one width, "FIRST NAME", in the order of strcmp.  A tar file that someone has
 * made anew may have a wrong one.
 * Returned: whether the member is there */
static bool find_by_index(int fd, const char *name, struct psr_tar_member *member)
{
    char line[PSR_TAR_NAME + 32];
    int64_t next = 0;
    bool exists;
    if (psr_tar_next(fd, "", &next, member, &exists, NULL) || !exists ||
        !psr_path_ends(member->name, PSR_LISTS_INDEX))
        return false;
    const struct psr_tar_member index = *member;
    const ssize_t got = pread(fd, line, sizeof line, (off_t)index.at);
    const char *end = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
    if (!end)
        return false;
    const size_t width = (size_t)(end - line) + 1;
    for (int64_t low = 0, high = index.n / (int64_t)width; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        char *of = line;
        if (!read_at(fd, line, width, index.at + middle * (int64_t)width))
            return false;
        line[width - 1] = '\0';
        next = strtoll(line, &of, 10);
        of += *of == ' ';
        of[strcspn(of, " ")] = '\0';
        const int order = strcmp(name, of);
        if (order == 0)
            return next > 0 && !psr_tar_next(fd, "", &next, member, &exists, NULL) && exists &&
                   !strcmp(name, member->name);
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return false;
}

static bool find_by_name(int fd, const char *name, struct psr_tar_member *member)
{
    int64_t next = 0;
    bool exists = true;
    while (exists && !psr_tar_next(fd, "", &next, member, &exists, NULL))
        if (exists && !strcmp(member->name, name))
            return true;
    return false;
}

/* Given: root   bytes of path before ".lists" */
static FILE *open_member(const char *path, size_t root)
{
    const char *name = psr_path_file(path);
    struct psr_tar_member member;
    FILE *f = NULL;
    char *lists = malloc(root + sizeof PSR_LISTS);
    if (!lists)
        return NULL;
    memcpy(lists, path, root);
    strcpy(lists + root, PSR_LISTS);
    const int fd = psr_tar_open(lists);
    if (fd >= 0 && (find_by_index(fd, name, &member) || find_by_name(fd, name, &member))) {
        const size_t n = (size_t)member.n;
        char *bytes = malloc(n + 1);
        f = bytes ? fmemopen(NULL, n + 1, "w+") : NULL;
        const bool whole = f && read_at(fd, bytes, n, member.at) && fwrite(bytes, 1, n, f) == n;
        if (f && (!whole || fflush(f) != 0 || fseeko(f, 0, SEEK_SET) != 0)) {
            fclose(f);
            f = NULL;
            errno = EIO;
        }
        free(bytes);
    } else
        errno = ENOENT;
    if (fd >= 0)
        close(fd);
    free(lists);
    return f;
}

FILE *psr_open_file(const char *path)
{
    FILE *f = fopen(path, "re");
    const char *name = psr_path_file(path);
    if (f || errno != ENOENT)
        return f;
    for (size_t n = strlen(name); n-- > 1 && !f && errno == ENOENT;)
        if (name[n] == '_')
            f = open_member(path, (size_t)(name - path) + n);
    return f;
}

bool psr_is_lists(const char *path)
{
    return psr_path_ends(path, PSR_LISTS);
}
