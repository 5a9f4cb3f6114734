/* inf_text.h: an .inf as text, by way of a file in memory. */
#ifndef PSR_INF_TEXT_H
#define PSR_INF_TEXT_H

#include <psrkit/series.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { INF_TEXT_MAX = 1 << 16 };

/* Returned: the length of text, which is terminated; 0 where that failed. */
static size_t inf_text(const struct psr_inf *inf, char text[INF_TEXT_MAX])
{
    char path[64];
    psr_outfile *f = NULL;
    ssize_t n = -1;
    int fd = memfd_create("inf", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    if (fd < 0 || psr_outfile_create(&f, path, NULL))
        return 0;
    if (psr_inf_write(f, inf, NULL))
        psr_outfile_abort(f);
    else if (!psr_outfile_commit(f, NULL))
        n = pread(fd, text, INF_TEXT_MAX - 1, 0);
    close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? 0 : (size_t)n;
}

#endif
