/* Joins texts, reads lines, and shows commands. */
#include "psrsearch.h"

#include "tools/common/quote.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- reads the logs of steps ------------------------------------------------------------------ */

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

/* --- joins texts, reads lines, and shows commands --------------------------------------------- */

char *psrsearch_join(const char *first, ...)
{
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return NULL;
    va_list ap;
    va_start(ap, first);
    for (const char *part = first; part; part = va_arg(ap, const char *))
        fputs(part, to);
    va_end(ap);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

psr_status psrsearch_read_lines(const char *path, bool *exists, psrsearch_take_line *take,
                                void *ctx, psr_err *err)
{
    struct psr_text_lines in;
    struct stat is;
    *exists = stat(path, &is) == 0;
    if (!*exists)
        return PSR_OK;
    if (!S_ISREG(is.st_mode))
        return psr_fail(err, PSR_EIO, "%s: is not a regular file", path);
    const size_t room = (size_t)is.st_size + 2;
    char *line = malloc(room);
    psr_status st = line ? psr_text_lines_open(&in, path, PSR_TABLE_MAX_BYTES, err)
                         : psr_fail_nomem(err, path, (double)room);
    if (!st) {
        for (bool more = true; !st && more;) {
            st = psr_text_lines_next(&in, line, room, &more, err);
            if (!st && more && !take(ctx, line))
                st = psr_fail_nomem(err, in.name, (double)strlen(line));
        }
        psr_text_lines_close(&in);
    }
    free(line);
    return st;
}

char *psrsearch_command_line(const struct psrsearch_plan *p, const struct psrsearch_step *step)
{
    char *words = quote_command(step->command.name[0], (int)step->command.n, step->command.name);
    char *output = NULL, *line = NULL;
    if (words && step->output) {
        char *argv[] = {(char *)">", psrsearch_join(p->base, step->output, NULL)};
        output = argv[1] ? quote_command(" >", 2, argv) : NULL;
        free(argv[1]);
    }
    if (words && (output || !step->output))
        line = psrsearch_join(words, output ? output : "", NULL);
    free(words);
    free(output);
    return line;
}
