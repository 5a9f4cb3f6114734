/* Opens the sockets of udp://ADDRESS:PORT. */
#include "udp.h"

#include "base/portable.h"
#include "base/tool.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of both sides' kernel buffers; Linux grants less unless net.core.rmem_max allows it. */
enum { BUFFER_BYTES = 64 << 20 };

bool psr_udp_is_name(const char *path)
{
    return !strncmp(path, PSR_UDP_SCHEME, strlen(PSR_UDP_SCHEME));
}

/* --- names ------------------------------------------------------------------------------------ */

/* Copies n characters. */
static psr_status copy_part(char *to, size_t room, const char *from, size_t n, const char *path,
                            const char *what, psr_err *err)
{
    if (n < 1 || n >= room)
        return psr_fail_field(err, PSR_EINVAL, what,
                              "%s: %s of %zu characters, must be udp://ADDRESS:PORT", path, what,
                              n);
    memcpy(to, from, n);
    to[n] = '\0';
    return PSR_OK;
}

/* In brackets or not. */
static psr_status parse_from(struct psr_udp_name *name, const char *value, psr_err *err)
{
    struct psr_udp_address address;
    size_t n = strlen(value);
    if (n > 1 && value[0] == '[' && value[n - 1] == ']') {
        value++;
        n -= 2;
    }
    psr_status st = copy_part(name->from, sizeof name->from, value, n, PSR_UDP_SCHEME, "from", err);
    return st ? st : psr_udp_parse_address(&address, name->from, err);
}

static psr_status parse_setting(struct psr_udp_name *name, char *text, psr_err *err)
{
    const int64_t window_max = 1 << 20;
    char *value = strchr(text, '=');
    if (!value)
        return psr_fail_field(err, PSR_EINVAL, text, "%s: must be NAME=VALUE", text);
    *value++ = '\0';
    char what[64];
    snprintf(what, sizeof what, PSR_UDP_SCHEME "%.40s: %s", name->address, text);
    if (!strcmp(text, "idle"))
        return psr_parse_double(what, value, 1e-3, 1e9, &name->idle_s, err);
    if (!strcmp(text, "window"))
        return psr_parse_int(what, value, 1, window_max, &name->window, err);
    if (!strcmp(text, "room"))
        return psr_parse_size(what, value, &name->room, err);
    if (!strcmp(text, "from"))
        return parse_from(name, value, err);
    return psr_fail_field(err, PSR_EINVAL, text, "%s: must be idle, window, room or from", text);
}

static psr_status parse_settings(struct psr_udp_name *name, const char *text, psr_err *err)
{
    char copy[256], *rest = copy;
    psr_status st = PSR_OK;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return psr_fail(err, PSR_EINVAL, "?%.20s...: more than %zu characters", text,
                        sizeof copy - 1);
    for (char *one = strsep(&rest, "&"); one && !st; one = strsep(&rest, "&"))
        st = parse_setting(name, one, err);
    return st;
}

/* ADDRESS[@INTERFACE], n characters; an address of IPv6 is in brackets. */
static psr_status parse_host(struct psr_udp_name *name, const char *host, size_t n,
                             const char *path, psr_err *err)
{
    const char *at = memchr(host, '@', n);
    size_t length = at ? (size_t)(at - host) : n;
    psr_status st = PSR_OK;
    if (at)
        st = copy_part(name->interface, sizeof name->interface, at + 1, n - length - 1, path,
                       "interface", err);
    if (!st && length > 1 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    return st ? st
              : copy_part(name->address, sizeof name->address, host, length, path, "address", err);
}

psr_status psr_udp_parse(struct psr_udp_name *name, const char *path, psr_err *err)
{
    const char *host = path + strlen(PSR_UDP_SCHEME), *end = host + strcspn(host, "?"),
               *colon = end;
    char what[96];
    int64_t port;
    *name = (struct psr_udp_name){.idle_s = 0};
    while (colon > host && *colon != ':')
        colon--;
    if (colon == host)
        return psr_fail_field(err, PSR_EINVAL, "address", "%s: must be udp://ADDRESS:PORT", path);
    snprintf(what, sizeof what, "%.80s: port", path);
    psr_status st = parse_host(name, host, (size_t)(colon - host), path, err);
    if (!st)
        st = copy_part(name->port, sizeof name->port, colon + 1, (size_t)(end - colon - 1), path,
                       "port", err);
    if (!st)
        st = psr_parse_int(what, name->port, 1, 65535, &port, err);
    return !st && *end ? parse_settings(name, end + 1, err) : st;
}

/* --- addresses -------------------------------------------------------------------------------- */

psr_status psr_udp_parse_address(struct psr_udp_address *to, const char *text, psr_err *err)
{
    *to = (struct psr_udp_address){.n = 0};
    if (inet_pton(AF_INET, text, to->bytes) == 1)
        to->n = 4;
    else if (inet_pton(AF_INET6, text, to->bytes) == 1)
        to->n = 16;
    return to->n ? PSR_OK
                 : psr_fail_field(err, PSR_EINVAL, "from",
                                  "from=%s: must be a numeric address of IPv4 or IPv6", text);
}

struct psr_udp_address psr_udp_address_of(const struct sockaddr *a)
{
    struct psr_udp_address address = {.n = 0};
    if (a->sa_family == AF_INET) {
        address.n = 4;
        memcpy(address.bytes, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
    } else if (a->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
        const size_t skip = IN6_IS_ADDR_V4MAPPED(six) ? 12 : 0;
        address.n = 16 - skip;
        memcpy(address.bytes, six->s6_addr + skip, address.n);
    }
    return address;
}

/* --- sockets ---------------------------------------------------------------------------------- */

static bool is_group(const struct addrinfo *a)
{
    if (a->ai_family == AF_INET)
        return IN_MULTICAST(
            ntohl(((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr.s_addr));
    return a->ai_family == AF_INET6 &&
           IN6_IS_ADDR_MULTICAST(
               &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr);
}

static psr_status join_group(int fd, const struct addrinfo *a, const struct psr_udp_name *name,
                             psr_err *err)
{
    struct group_req request = {.gr_interface = 0};
    const int level = a->ai_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    struct ip_mreq on = {{0}, {0}};
    memcpy(&request.gr_group, a->ai_addr, a->ai_addrlen);
    if (!*name->interface)
        return setsockopt(fd, level, MCAST_JOIN_GROUP, &request, sizeof request)
                   ? psr_fail_errno(err, "udp: cannot join %s", name->address)
                   : PSR_OK;
    if (a->ai_family != AF_INET || inet_pton(AF_INET, name->interface, &on.imr_interface) != 1)
        return psr_fail_field(err, PSR_EINVAL, "interface",
                              "%s: must be the numeric IPv4 address of an interface",
                              name->interface);
    on.imr_multiaddr = ((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr;
    return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &on, sizeof on)
               ? psr_fail_errno(err, "udp: cannot join %s on %s", name->address, name->interface)
               : PSR_OK;
}

static void enlarge_buffer(int fd, int force, int option)
{
    const int bytes = BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof bytes))
        (void)setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
}

static psr_status bind_receiver(int fd, const struct addrinfo *a, const struct psr_udp_name *name,
                                psr_err *err)
{
    const int on = 1;
    /* Several programs of a machine may receive a group. */
    if (is_group(a))
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    enlarge_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
    if (bind(fd, a->ai_addr, a->ai_addrlen))
        return psr_fail_errno(err, "udp: cannot receive at %s, port %s", name->address, name->port);
    return is_group(a) ? join_group(fd, a, name, err) : PSR_OK;
}

static psr_status open_socket(int *fd, struct addrinfo **a, const struct psr_udp_name *name,
                              int flags, psr_err *err)
{
    *fd = -1;
    /* Numeric addresses only: a name could be another's tomorrow. */
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    const int code = getaddrinfo(name->address, name->port, &hints, a);
    psr_status st = code ? psr_fail_field(err, PSR_EINVAL, "address", "%s: %s, must be numeric",
                                          name->address, gai_strerror(code))
                         : PSR_OK;
    if (st)
        return st;
    *fd = socket((*a)->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
    if (*fd >= 0)
        return PSR_OK;
    st = psr_fail_errno(err, "udp: no socket for %s", name->address);
    freeaddrinfo(*a);
    return st;
}

psr_status psr_udp_open_receiver(int *fd, int64_t *buffer, const struct psr_udp_name *name,
                                 psr_err *err)
{
    struct addrinfo *a;
    psr_status st = open_socket(fd, &a, name, SOCK_NONBLOCK, err);
    if (st)
        return st;
    int bytes = 0;
    socklen_t size = sizeof bytes;
    st = bind_receiver(*fd, a, name, err);
    freeaddrinfo(a);
    (void)getsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    *buffer = bytes / 2; /* Linux reports twice what packets may take */
    if (st) {
        close(*fd);
        *fd = -1;
    }
    return st;
}

psr_status psr_udp_open_sender(int *fd, const struct psr_udp_name *name, psr_err *err)
{
    struct addrinfo *a;
    psr_status st = open_socket(fd, &a, name, 0, err);
    if (st)
        return st;
    enlarge_buffer(*fd, SO_SNDBUFFORCE, SO_SNDBUF);
    if (connect(*fd, a->ai_addr, a->ai_addrlen)) {
        st = psr_fail_errno(err, "udp: cannot send to %s, port %s", name->address, name->port);
        close(*fd);
        *fd = -1;
    }
    freeaddrinfo(a);
    return st;
}
