/* Reads text files line by line, with limits on line length and file size. */
#include "base/tool.h"

#include "base/path.h"
#include <string.h>

psr_status psr_text_lines_open(struct psr_text_lines *l, const char *path, int64_t most,
                               psr_err *err)
{
    *l = (struct psr_text_lines){.name = psr_path_called(path), .most = most};
    l->file = strcmp(path, "-") ? psr_open_file(path) : stdin;
    return l->file ? PSR_OK : psr_fail_errno(err, "%s", l->name);
}

psr_status psr_text_lines_next(struct psr_text_lines *l, char *line, size_t room, bool *exists,
                               psr_err *err)
{
    size_t n = 0;
    int c = 0;
    flockfile(l->file);
    while (c != '\n' && n < room && (c = getc_unlocked(l->file)) != EOF)
        line[n++] = (char)c;
    funlockfile(l->file);
    line[n < room ? n : room - 1] = '\0';
    *exists = n > 0;
    if (ferror(l->file))
        return psr_fail_errno(err, "%s", l->name);
    l->got += (int64_t)n;
    l->number += *exists;
    if (n == room)
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld: longer than %zu bytes", l->name, l->number,
                        room - 2);
    if (strlen(line) != n)
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld: a byte 0: this is no text", l->name,
                        l->number);
    if (l->got > l->most)
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld: beyond %lld bytes", l->name, l->number,
                        (long long)l->most);
    return PSR_OK;
}

void psr_text_lines_close(struct psr_text_lines *l)
{
    if (l->file && l->file != stdin)
        fclose(l->file);
    l->file = NULL;
}
