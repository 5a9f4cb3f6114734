/* Listens on a socket of the file system or a port of 127.0.0.1, and copies what N programs send, one after the other.
 * usage: listen_lines unix PATH N | tcp FILE N; FILE gets the port */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    return fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 1) ? -1 : fd;
}

static int listen_tcp(const char *file)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)&at, &size))
        return -1;
    FILE *f = fopen(file, "w");
    if (!f)
        return -1;
    fprintf(f, "%d\n", ntohs(at.sin_port));
    return fclose(f) ? -1 : fd;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int fd = strcmp(argv[1], "unix") ? listen_tcp(argv[2]) : listen_unix(argv[2]);
    for (int k = 0; k < atoi(argv[3]) && fd >= 0; k++) {
        char bytes[4096];
        ssize_t n;
        int from = accept(fd, NULL, NULL);
        while (from >= 0 && (n = read(from, bytes, sizeof bytes)) > 0)
            fwrite(bytes, 1, (size_t)n, stdout), fflush(stdout);
        close(from);
    }
    return fd < 0;
}
