/* Packs and unpacks the datagrams of a filterbank sent over UDP. */
#include "udp_packet.h"

#include <string.h>

static const unsigned char magic[] = {'P', 'S', 'R', 'U', 1};

static void put(unsigned char *to, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

struct psr_udp_shape psr_udp_shape(size_t row_bytes)
{
    const size_t spectra = PSR_UDP_SAMPLES / row_bytes,
                 pieces = (row_bytes + PSR_UDP_SAMPLES - 1) / PSR_UDP_SAMPLES;
    if (spectra > 0)
        return (struct psr_udp_shape){1, (uint32_t)spectra, (uint32_t)(spectra * row_bytes)};
    return (struct psr_udp_shape){(unsigned)pieces, 1,
                                  (uint32_t)((row_bytes + pieces - 1) / pieces)};
}

void psr_udp_pack(unsigned char head[PSR_UDP_HEAD], const struct psr_udp_packet *packet)
{
    memcpy(head, magic, sizeof magic);
    head[5] = (unsigned char)packet->kind;
    put(head + 6, packet->pieces, 2);
    put(head + 8, packet->stream, 8);
    put(head + 16, packet->number, 8);
    put(head + 24, packet->spectra, 4);
    put(head + 28, packet->bytes, 4);
}

bool psr_udp_unpack(struct psr_udp_packet *to, const unsigned char *packet, size_t n)
{
    if (n < PSR_UDP_HEAD || memcmp(packet, magic, sizeof magic) ||
        packet[5] < PSR_UDP_KIND_HEADER || packet[5] > PSR_UDP_KIND_END)
        return false;
    *to = (struct psr_udp_packet){.kind = (enum psr_udp_kind)packet[5],
                                  .pieces = (unsigned)get(packet + 6, 2),
                                  .stream = get(packet + 8, 8),
                                  .number = get(packet + 16, 8),
                                  .spectra = (uint32_t)get(packet + 24, 4),
                                  .bytes = (uint32_t)get(packet + 28, 4)};
    return n - PSR_UDP_HEAD == (to->kind == PSR_UDP_KIND_END ? 0 : to->bytes);
}
