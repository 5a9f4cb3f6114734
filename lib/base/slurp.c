#include "slurp.h"

#include "path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads on until the end of f or one byte more than most. */
static psr_status read_all(FILE *f, const char *name, size_t most, char **text, size_t *n,
                           psr_err *err)
{
    size_t room = 0;
    do {
        room = room ? 2 * room : 1 << 14;
        char *more = realloc(*text, room + 1);
        if (!more)
            return psr_fail_nomem(err, name, (double)room);
        *text = more;
        *n += fread(*text + *n, 1, room - *n, f);
        if (ferror(f))
            return psr_fail_errno(err, "%s: cannot read", name);
        if (*n > most)
            return psr_fail(err, PSR_EFORMAT, "%s: beyond %zu bytes", name, most);
    } while (*n == room);
    (*text)[*n] = 0;
    return PSR_OK;
}

psr_status psr_slurp(const char *path, size_t most, char **text, size_t *n, psr_err *err)
{
    const char *name = psr_path_called(path);
    FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
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
