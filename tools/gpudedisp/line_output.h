/* line_output.h: lines for other programs: to standard output, a file or a socket. */
#ifndef PSR_TOOLS_GPUDEDISP_LINE_OUTPUT_H
#define PSR_TOOLS_GPUDEDISP_LINE_OUTPUT_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_output {
    const char *name; /* "-", tcp://HOST:PORT, unix:PATH, or a file that lines are appended to */
    int fd;           /* -1: a socket whose other end has gone */
    bool socket;
    int64_t nlost;  /* lines that nobody took */
    double retry_s; /* when to connect again */
};

/* True if the name is that of a socket. */
bool line_output_is_socket(const char *name);

/* Connects, or opens.  Status: PSR_EINVAL (not HOST:PORT, a path too long), PSR_EIO naming the output */
PSR_MUST_CHECK psr_status line_output_open(struct line_output *o, const char *name, psr_err *err);

/* Writes n bytes, a line.  A socket that nobody reads from for half a second, or whose other end has gone, is left, and
 * tried again with the next line a second later at the earliest; lines are lost meanwhile, and counted.
 * Status: PSR_EIO where a file cannot be written */
PSR_MUST_CHECK psr_status line_output_write(struct line_output *o, const char *line, size_t n,
                                            psr_err *err);

/* Opens a file anew, or connects again at once. */
PSR_MUST_CHECK psr_status line_output_reopen(struct line_output *o, psr_err *err);

PSR_MUST_CHECK psr_status line_output_close(struct line_output *o, psr_err *err);

#endif
