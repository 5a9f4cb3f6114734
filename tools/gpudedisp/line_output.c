/* Writes lines to standard output, a file or a socket. */
#include "gpudedisp.h"

#include "base/portable.h"
#include "tools/common/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const char TCP[] = "tcp://", UNIX[] = "unix:";

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

bool line_output_is_socket(const char *name)
{
    return begins(name, TCP) || begins(name, UNIX);
}

static psr_status fail_output(const struct line_output *o, psr_err *err)
{
    return psr_fail(err, PSR_EIO, "%s: %s", strcmp(o->name, "-") ? o->name : "standard output",
                    strerror(errno));
}

/* Nobody is waited for longer than half a second, connecting included. */
static bool connect_to(struct line_output *o, int family, const struct sockaddr *to, socklen_t size)
{
    const struct timeval limit = {.tv_usec = 500000};
    o->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (o->fd >= 0 && !setsockopt(o->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) &&
        !connect(o->fd, to, size))
        return true;
    const int why = errno;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    errno = why;
    return false;
}

static psr_status open_unix(struct line_output *o, psr_err *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = o->name + strlen(UNIX);
    if (strlen(path) >= sizeof to.sun_path || !*path)
        return psr_fail(err, PSR_EINVAL, "%s: a path of %zu bytes, must have 1 to %zu", o->name,
                        strlen(path), sizeof to.sun_path - 1);
    strcpy(to.sun_path, path);
    return connect_to(o, AF_UNIX, (const struct sockaddr *)&to, sizeof to) ? PSR_OK
                                                                           : fail_output(o, err);
}

/* HOST is a name, an address, or one of IPv6 in brackets. */
static bool split_address(const char *name, char host[256], const char **port)
{
    const char *from = name + strlen(TCP), *colon = strrchr(from, ':'), *end = colon;
    if (!colon || !colon[1] || colon == from)
        return false;
    if (*from == '[' && end[-1] == ']')
        from++, end--;
    if (end <= from || end - from > 255)
        return false;
    snprintf(host, 256, "%.*s", (int)(end - from), from);
    *port = colon + 1;
    return true;
}

static psr_status open_tcp(struct line_output *o, psr_err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    char host[256];
    const char *port;
    if (!split_address(o->name, host, &port))
        return psr_fail(err, PSR_EINVAL, "%s: is not tcp://HOST:PORT", o->name);
    int why = getaddrinfo(host, port, &hints, &list);
    if (why)
        return psr_fail(err, PSR_EIO, "%s: %s", o->name, gai_strerror(why));
    bool connected = false;
    for (const struct addrinfo *a = list; a && !connected; a = a->ai_next)
        connected = connect_to(o, a->ai_family, a->ai_addr, a->ai_addrlen);
    psr_status st = connected ? PSR_OK : fail_output(o, err);
    freeaddrinfo(list);
    return st;
}

static psr_status open_output(struct line_output *o, psr_err *err)
{
    if (o->socket)
        return begins(o->name, TCP) ? open_tcp(o, err) : open_unix(o, err);
    o->fd = !strcmp(o->name, "-") ? STDOUT_FILENO
                                  : open(o->name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    return o->fd < 0 ? fail_output(o, err) : PSR_OK;
}

psr_status line_output_open(struct line_output *o, const char *name, psr_err *err)
{
    *o = (struct line_output){.name = name, .fd = -1, .socket = line_output_is_socket(name)};
    return open_output(o, err);
}

static bool write_all(const struct line_output *o, const char *line, size_t n)
{
    int interrupted = 0; /* in a row: nobody reads the pipe */
    for (size_t done = 0; done < n && interrupted < 3;) {
        ssize_t more = write(o->fd, line + done, n - done);
        if (more < 0 && errno != EINTR)
            return false;
        interrupted = more > 0 ? 0 : interrupted + 1;
        done += more > 0 ? (size_t)more : 0;
    }
    return interrupted == 0;
}

/* A socket that has gone is no failure of the search. */
static void leave_socket(struct line_output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    o->retry_s = run_seconds() + 1;
}

psr_status line_output_write(struct line_output *o, const char *line, size_t n, psr_err *err)
{
    psr_err why;
    if (o->socket && o->fd < 0 && run_seconds() >= o->retry_s && open_output(o, &why))
        leave_socket(o);
    if (o->fd >= 0 && write_all(o, line, n))
        return PSR_OK;
    if (!o->socket)
        return fail_output(o, err);
    if (o->fd >= 0)
        leave_socket(o);
    o->nlost++;
    return PSR_OK;
}

psr_status line_output_reopen(struct line_output *o, psr_err *err)
{
    psr_err why;
    if (!strcmp(o->name, "-"))
        return PSR_OK;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    if (!o->socket)
        return open_output(o, err);
    if (open_output(o, &why))
        leave_socket(o);
    return PSR_OK;
}

psr_status line_output_close(struct line_output *o, psr_err *err)
{
    const int fd = o->fd;
    o->fd = -1;
    return fd > STDERR_FILENO && close(fd) && !o->socket ? fail_output(o, err) : PSR_OK;
}
