/* loopback.h: ports and sockets of the loopback interface. */
#ifndef PSR_LOOPBACK_H
#define PSR_LOOPBACK_H

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A port that nobody has. */
static int loopback_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) ||
        getsockname(fd, (struct sockaddr *)&a, &size)) {
        printf("Bail out! no socket on the loopback interface\n");
        exit(EXIT_FAILURE);
    }
    close(fd);
    return ntohs(a.sin_port);
}

/* A socket whose datagrams go to a port; -1: none. */
__attribute__((unused)) static int loopback_sender(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    a.sin_port = htons((uint16_t)port);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a)) {
        close(fd);
        return -1;
    }
    return fd;
}

#endif
