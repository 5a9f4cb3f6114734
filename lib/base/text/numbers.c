/* Reads files of numbers. */
#include "base/tool.h"

#include "base/input/readfd.h"
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 63, FILE_BYTES = 1 << 24 };

psr_status psr_numbers_read(const char *path, double **x, size_t *n, psr_err *err)
{
    static const char blanks[] = " \t\r\n";
    char *text, *rest;
    size_t bytes, room = 0;
    *x = NULL;
    *n = 0;
    psr_status st = psr_read_file(path, FILE_BYTES, &text, &bytes, err);
    if (!st && memchr(text, 0, bytes))
        st = psr_fail(err, PSR_EFORMAT, "%s: a byte 0: this is no text", path);
    for (char *word = st ? NULL : strtok_r(text, blanks, &rest); word && !st;
         word = strtok_r(NULL, blanks, &rest)) {
        st = psr_grow(x, &room, *n, sizeof **x, "numbers", err);
        if (!st && strlen(word) >= WORD_BYTES)
            st =
                psr_fail(err, PSR_EFORMAT, "%s: '%.63s...' is longer than numbers are", path, word);
        if (!st)
            st = psr_parse_double(path, word, -1e30, 1e30, *x + *n, err);
        *n += !st;
    }
    if (!st && *n == 0)
        st = psr_fail(err, PSR_EFORMAT, "%s: no numbers in it", path);
    free(text);
    if (st) {
        free(*x);
        *x = NULL;
    }
    return st;
}
