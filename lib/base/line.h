/* line.h: lines of text files, which may be no text files (private). */
#ifndef PSR_BASE_LINE_H
#define PSR_BASE_LINE_H

#include <stdio.h>
#include <sys/types.h>

/* Reads a line as getline does, but never more than a byte beyond its room, whatever the file: a
 * gigabyte of zeros is one line.
 * Given:    line [room]
 * Returned: its length, the newline included; room where it is longer than room - 1 bytes; -1 at
 *           the end of f and after an error, which ferror tells of.  Bytes of 0 may be in it. */
ssize_t psr_line_read(FILE *f, char *line, size_t room);

#endif
