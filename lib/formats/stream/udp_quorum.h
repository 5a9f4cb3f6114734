/* udp_quorum.h: which stream the datagrams that come belong to (private).
 *
 * One datagram proves nothing: it may be a stray, or hostile.  The last ones are held until enough of
 * them are of one stream, which then begins with them. */
#ifndef PSR_FORMATS_STREAM_UDP_QUORUM_H
#define PSR_FORMATS_STREAM_UDP_QUORUM_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct psr_udp_quorum psr_udp_quorum;

/* A stream is one if so many of the last ones are its. */
enum { PSR_UDP_QUORUM = 16, PSR_UDP_QUORUM_OF = 32 };

struct psr_udp_held {
    unsigned char *packet; /* [n] as it came */
    size_t n;
    double arrival_s;
};

/* Whether two datagrams can be of one stream. */
typedef bool psr_udp_alike(const struct psr_udp_held *a, const struct psr_udp_held *b);

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_udp_quorum_create(psr_udp_quorum **out, psr_udp_alike *alike,
                                                psr_err *err);

/* Holds a copy of a datagram, instead of the oldest if there are enough.
 * Returned: how many of those held are like it, itself included; 0 if there is no memory for it */
size_t psr_udp_quorum_hold(psr_udp_quorum *q, const unsigned char *packet, size_t n,
                           double arrival_s);

/* Those held, the oldest first: i < psr_udp_quorum_count. */
size_t psr_udp_quorum_count(const psr_udp_quorum *q);
const struct psr_udp_held *psr_udp_quorum_at(const psr_udp_quorum *q, size_t i);

/* One of those that more than half of all are like; NULL if there is none. */
const struct psr_udp_held *psr_udp_quorum_most(const psr_udp_quorum *q);

/* Holds none. */
void psr_udp_quorum_clear(psr_udp_quorum *q);

/* Frees it; NULL is allowed. */
void psr_udp_quorum_destroy(psr_udp_quorum *q);

#endif
