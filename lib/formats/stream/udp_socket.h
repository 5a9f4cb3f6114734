/* udp_socket.h: sockets of udp://ADDRESS:PORT (private). */
#ifndef PSR_FORMATS_STREAM_UDP_SOCKET_H
#define PSR_FORMATS_STREAM_UDP_SOCKET_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSR_UDP_SCHEME "udp://"

/* Largest payload of a datagram of IPv4. */
enum { PSR_UDP_PACKET_MAX = 65507 };

/* What a name says: udp://ADDRESS:PORT, and settings that receivers take: ?idle=SECONDS&window=N&room=BYTES
 * &from=ADDRESS.
 * ADDRESS is numeric, IPv4 or [IPv6]; a multicast group is joined, on the interface of @ADDRESS if
 * that follows it. */
struct psr_udp_name {
    char address[64], interface[64], port[8];
    double idle_s;  /* the stream ends when nothing has come for so long; 0: never */
    int64_t window; /* packets that may be out of order; 0: default */
    int64_t room;   /* bytes held for a slow reader; 0: default */
    char from[64];  /* numeric address of the only sender; empty: any */
};

bool psr_udp_is_name(const char *path);

/* An address of IPv4 or IPv6 without its port. */
struct psr_udp_address {
    unsigned char bytes[16];
    size_t n; /* 4, 16, or 0: none */
};

/* The numeric address in a text; that of a sender, one of IPv4 that came by IPv6 as such.
 * Status: PSR_EINVAL naming the text */
PSR_MUST_CHECK psr_status psr_udp_parse_address(struct psr_udp_address *to, const char *text,
                                                psr_err *err);
struct sockaddr;
struct psr_udp_address psr_udp_address_of(const struct sockaddr *a);

/* Status: PSR_EINVAL naming the part, its value and its limits */
PSR_MUST_CHECK psr_status psr_udp_parse(struct psr_udp_name *name, const char *path, psr_err *err);

/* Opens a socket that receives what is sent to the address, and nothing else.
 * Returned: *fd, not blocking; *buffer   bytes that the kernel holds
 * Status:   PSR_EIO naming the address */
PSR_MUST_CHECK psr_status psr_udp_open_receiver(int *fd, int64_t *buffer,
                                                const struct psr_udp_name *name, psr_err *err);

/* Opens a socket whose datagrams go to the address. */
PSR_MUST_CHECK psr_status psr_udp_open_sender(int *fd, const struct psr_udp_name *name,
                                              psr_err *err);

#endif
