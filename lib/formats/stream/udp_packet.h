/* udp_packet.h: datagrams of a filterbank sent over UDP (private).
 *
 * All numbers are little-endian.  32 bytes come first:
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
#ifndef PSR_FORMATS_STREAM_UDP_PACKET_H
#define PSR_FORMATS_STREAM_UDP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
