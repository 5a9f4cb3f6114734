/* udp_wire.h: sends datagrams of one size at a rate, and loses, repeats and disorders them for tests
 * (private). */
#ifndef PSR_FORMATS_STREAM_UDP_WIRE_H
#define PSR_FORMATS_STREAM_UDP_WIRE_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All numbers are little-endian.  32 bytes come first:
 *    0  "PSRU"
 *    4  1: version
 *    5  kind: 1 header, 2 samples, 3 end
 *    6  uint16: datagrams of a spectrum, 1 if a datagram holds whole ones
 *    8  uint64: the stream, any number that a sender chooses when it begins
 *   16  uint64: number of the datagram of samples, from 0; of the end: how many there were
 *   24  uint32: spectra in a datagram of samples, 1 if a spectrum takes several
 *   28  uint32: bytes that follow; of the end: spectra in the last datagram
 * A header is followed by a SIGPROC header; it comes first, and again each second.  Datagrams of
 * samples are of one size; what the last has too much is zeros. */

/* Samples: fewer than 9000 bytes with all headers, for networks with frames of that size. */
enum { PSR_UDP_HEAD = 32, PSR_UDP_SAMPLES = 8192 };

enum psr_udp_kind { PSR_UDP_KIND_HEADER = 1, PSR_UDP_KIND_SAMPLES, PSR_UDP_KIND_END };

struct psr_udp_packet {
    enum psr_udp_kind kind;
    unsigned pieces;
    uint64_t stream, number;
    uint32_t spectra, bytes;
};

/* How spectra of row_bytes are dealt to datagrams. */
struct psr_udp_shape {
    unsigned pieces;
    uint32_t spectra, bytes;
};
struct psr_udp_shape psr_udp_shape(size_t row_bytes);

void psr_udp_pack(unsigned char head[PSR_UDP_HEAD], const struct psr_udp_packet *packet);

/* Given:    packet   [n] as received
 * Returned: false for what is no such datagram, or has another length than it says */
bool psr_udp_unpack(struct psr_udp_packet *to, const unsigned char *packet, size_t n);

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
