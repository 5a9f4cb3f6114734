/* udp_wire.h: sends datagrams of one size at a rate, and loses, repeats and disorders them for tests
 * (private). */
#ifndef PSR_FORMATS_STREAM_UDP_WIRE_H
#define PSR_FORMATS_STREAM_UDP_WIRE_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct psr_udp_wire psr_udp_wire;

struct psr_udp_wire_desc {
    const char *to;  /* udp://ADDRESS:PORT */
    size_t bytes;    /* of a datagram */
    double each_s;   /* from one datagram to the next at rate 1 */
    double rate;     /* times that; 0: as fast as the network takes them */
    double loss;     /* fraction that is not sent */
    double twice;    /* fraction of the others that is sent twice */
    int64_t reorder; /* datagrams that one may be sent after its turn */
    uint64_t seed;   /* of these three */
};

/* Opens the socket.
 * Status: PSR_EINVAL naming the field, PSR_EIO, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_udp_wire_create(psr_udp_wire **out,
                                              const struct psr_udp_wire_desc *desc, psr_err *err);

/* Where the next datagram is put together. */
unsigned char *psr_udp_wire_room(const psr_udp_wire *w);

/* Sends it when it is due.
 * Notes:  returns early, at its rate, if a signal interrupts the wait
 * Status: PSR_EIO; a receiver that is not there yet is none */
PSR_MUST_CHECK psr_status psr_udp_wire_send(psr_udp_wire *w, psr_err *err);

/* Sends other bytes at once, which are neither lost nor counted. */
PSR_MUST_CHECK psr_status psr_udp_wire_send_now(const psr_udp_wire *w, const void *bytes, size_t n,
                                                psr_err *err);

/* Sends those that still wait for their turn. */
PSR_MUST_CHECK psr_status psr_udp_wire_flush(psr_udp_wire *w, psr_err *err);

/* Datagrams so far, sent or lost on purpose; *lost of them. */
int64_t psr_udp_wire_count(const psr_udp_wire *w, int64_t *lost);

/* Frees it; NULL is allowed. */
void psr_udp_wire_destroy(psr_udp_wire *w);

#endif
