#include "line.h"

ssize_t psr_line_read(FILE *f, char *line, size_t room)
{
    size_t n = 0;
    int c = 0;
    flockfile(f);
    while (c != '\n' && n < room && (c = getc_unlocked(f)) != EOF)
        line[n++] = (char)c;
    funlockfile(f);
    line[n < room ? n : room - 1] = '\0';
    return n > 0 ? (ssize_t)n : -1;
}
