/* Joins texts, reads lines, and shows commands. */
#include "psrsearch.h"

#include "tools/common/quote.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static psr_status take_lines(struct psr_text_lines *in, char *line, size_t room,
                             psrsearch_take_line *take, void *ctx, psr_err *err)
{
    bool exists = true;
    psr_status st = PSR_OK;
    while (!st && exists) {
        st = psr_text_lines_next(in, line, room, &exists, err);
        if (!st && exists && !take(ctx, line))
            st = psr_fail_nomem(err, in->name, (double)strlen(line));
    }
    return st;
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
        st = take_lines(&in, line, room, take, ctx, err);
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
