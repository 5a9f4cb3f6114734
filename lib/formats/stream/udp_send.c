/* Sends a filterbank over UDP. */
#include "base/clock.h"
#include "base/copy_desc.h"
#include "formats/sigproc/sigproc_header.h"
#include "formats/spectra/unpack.h"
#include "udp.h"
#include <psrkit/experimental/source.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENDS = 3 };
static const double header_s = 1; /* between headers */

struct psr_udp_sender {
    struct psr_udp_sender_desc d;
    psr_udp_wire *wire;
    unsigned char *header; /* [header_bytes] as sent */
    size_t header_bytes, row_bytes;
    struct psr_udp_shape shape;
    uint64_t stream;
    double headed_s;
    size_t rows; /* of the datagram that is being filled */
};

/* --- what is sent ----------------------------------------------------------------------------- */

static psr_status send_header(psr_udp_sender *s, psr_err *err)
{
    s->headed_s = psr_seconds();
    return psr_udp_wire_send_now(s->wire, s->header, s->header_bytes, err);
}

/* Where the samples of the next datagram go. */
static unsigned char *being_filled(const psr_udp_sender *s)
{
    return psr_udp_wire_room(s->wire) + PSR_UDP_HEAD;
}

static int64_t number_of(const psr_udp_sender *s)
{
    int64_t lost;
    return psr_udp_wire_count(s->wire, &lost);
}

/* The datagram is complete. */
static psr_status send_packet(psr_udp_sender *s, psr_err *err)
{
    const struct psr_udp_packet head = {PSR_UDP_KIND_SAMPLES,
                                        s->shape.pieces,
                                        s->stream,
                                        (uint64_t)number_of(s),
                                        s->shape.pieces > 1 ? 1 : (uint32_t)s->rows,
                                        s->shape.bytes};
    psr_udp_pack(psr_udp_wire_room(s->wire), &head);
    psr_status st = psr_udp_wire_send(s->wire, err);
    s->rows = 0;
    if (!st && psr_seconds() - s->headed_s > header_s)
        st = send_header(s, err);
    return st;
}

static psr_status send_pieces(psr_udp_sender *s, const unsigned char *row, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t from = 0; from < s->row_bytes && !st; from += s->shape.bytes) {
        const size_t left = s->row_bytes - from, n = left < s->shape.bytes ? left : s->shape.bytes;
        unsigned char *to = being_filled(s);
        memcpy(to, row + from, n);
        memset(to + n, 0, s->shape.bytes - n);
        st = send_packet(s, err);
    }
    return st;
}

static psr_status add_row(psr_udp_sender *s, const unsigned char *row, psr_err *err)
{
    memcpy(being_filled(s) + s->rows * s->row_bytes, row, s->row_bytes);
    return ++s->rows == s->shape.spectra ? send_packet(s, err) : PSR_OK;
}

psr_status psr_udp_sender_append(psr_udp_sender *s, const void *spectra, size_t nsamp, psr_err *err)
{
    const unsigned char *row = spectra;
    psr_status st = PSR_OK;
    for (size_t t = 0; t < nsamp && !st; t++, row += s->row_bytes)
        st = s->shape.pieces > 1 ? send_pieces(s, row, err) : add_row(s, row, err);
    return st;
}

psr_status psr_udp_sender_finish(psr_udp_sender *s, psr_err *err)
{
    const uint32_t last = s->rows ? (uint32_t)s->rows : s->shape.spectra;
    psr_status st = PSR_OK;
    if (s->rows) {
        const size_t used = s->rows * s->row_bytes;
        memset(being_filled(s) + used, 0, s->shape.bytes - used);
        st = send_packet(s, err);
    }
    if (!st)
        st = psr_udp_wire_flush(s->wire, err);
    const struct psr_udp_packet end = {
        PSR_UDP_KIND_END, s->shape.pieces, s->stream, (uint64_t)number_of(s), 0, last};
    unsigned char bytes[PSR_UDP_HEAD];
    psr_udp_pack(bytes, &end);
    for (int i = 0; i < ENDS && !st; i++)
        st = psr_udp_wire_send_now(s->wire, bytes, sizeof bytes, err);
    return st;
}

int64_t psr_udp_sender_count(const psr_udp_sender *s, int64_t *lost)
{
    return psr_udp_wire_count(s->wire, lost);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static psr_status make_header(psr_udp_sender *s, psr_err *err)
{
    unsigned char *bytes;
    size_t n;
    psr_status st = psr_sigproc_make_header(&bytes, &n, s->d.obs, PSR_SIGPROC_FILTERBANK, err);
    if (!st && n > PSR_UDP_PACKET_MAX - PSR_UDP_HEAD)
        st = psr_fail(err, PSR_EUNSUPPORTED, "%s: a header of %zu bytes, must be at most %d",
                      s->d.to, n, PSR_UDP_PACKET_MAX - PSR_UDP_HEAD);
    s->header_bytes = PSR_UDP_HEAD + n;
    s->header = st ? NULL : malloc(s->header_bytes);
    if (s->header) {
        psr_udp_pack(s->header,
                     &(struct psr_udp_packet){PSR_UDP_KIND_HEADER, s->shape.pieces, s->stream, 0,
                                              s->shape.spectra, (uint32_t)n});
        memcpy(s->header + PSR_UDP_HEAD, bytes, n);
    }
    free(bytes);
    return st || s->header ? st : psr_fail_nomem(err, "a header", (double)n);
}

static psr_status set_up(psr_udp_sender *s, psr_err *err)
{
    s->row_bytes = psr_row_bytes(s->d.obs->nchan, s->d.obs->nbit) * (size_t)s->d.obs->nif;
    s->shape = psr_udp_shape(s->row_bytes);
    s->stream = (uint64_t)(psr_seconds() * 1e9) ^ (uint64_t)getpid() << 40;
    const struct psr_udp_wire_desc wire = {.to = s->d.to,
                                           .bytes = PSR_UDP_HEAD + s->shape.bytes,
                                           .each_s = s->d.obs->tsamp_s * s->shape.spectra /
                                                     s->shape.pieces,
                                           .rate = s->d.rate,
                                           .loss = s->d.loss,
                                           .twice = s->d.twice,
                                           .reorder = s->d.reorder,
                                           .seed = s->d.seed};
    psr_status st = make_header(s, err);
    if (!st)
        st = psr_udp_wire_create(&s->wire, &wire, err);
    return st ? st : send_header(s, err);
}

psr_status psr_udp_sender_create(psr_udp_sender **out, const struct psr_udp_sender_desc *desc,
                                 psr_err *err)
{
    struct psr_udp_sender_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "sender", err);
    if (st)
        return st;
    psr_udp_sender *s = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "a sender", sizeof *s);
    s->d = d;
    st = set_up(s, err);
    if (st)
        psr_udp_sender_destroy(s);
    else
        *out = s;
    return st;
}

void psr_udp_sender_destroy(psr_udp_sender *s)
{
    if (!s)
        return;
    psr_udp_wire_destroy(s->wire);
    free(s->header);
    free(s);
}
