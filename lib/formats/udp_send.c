/* Sends a filterbank over UDP. */
#include "base/clock.h"
#include "base/copy_desc.h"
#include "sigproc_header.h"
#include "udp_packet.h"
#include "udp_socket.h"
#include "unpack.h"
#include <psrkit/source.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REORDER_MAX = 1 << 16, ENDS = 3 };
static const double header_s = 1; /* between headers */

/* A datagram whose turn is not there. */
struct waiting {
    double turn; /* number of the datagram after which it is sent */
    size_t slot;
};

struct psr_udp_sender {
    struct psr_udp_sender_desc d;
    char *to;
    int fd;
    unsigned char *header; /* [header_bytes] as sent */
    size_t header_bytes, row_bytes;
    struct psr_udp_shape shape;
    uint64_t stream, random;
    double packet_s, began_s, headed_s;
    unsigned char *packet; /* [slots][packet_bytes] */
    size_t packet_bytes, nwaiting, *spare, nspare;
    struct waiting *waiting;  /* [slots] */
    size_t slot, rows, piece; /* being filled */
    int64_t number, lost;
};

/* --- what is sent ----------------------------------------------------------------------------- */

static psr_status put_on_wire(psr_udp_sender *s, const void *bytes, size_t n, psr_err *err)
{
    while (send(s->fd, bytes, n, MSG_NOSIGNAL) < 0) {
        if (errno == ECONNREFUSED || errno == ENOBUFS)
            return PSR_OK; /* nobody is there yet, or the network is full: lost, as on any network */
        if (errno != EINTR)
            return psr_fail_errno(err, "%s: cannot send %zu bytes", s->to, n);
    }
    return PSR_OK;
}

static psr_status send_header(psr_udp_sender *s, psr_err *err)
{
    s->headed_s = psr_seconds();
    return put_on_wire(s, s->header, s->header_bytes, err);
}

/* Waits until the datagram is due. */
static void keep_rate(const psr_udp_sender *s)
{
    const double due_s =
                     s->d.rate > 0 ? s->began_s + (double)s->number * s->packet_s / s->d.rate : 0,
                 left_s = due_s - psr_seconds();
    const struct timespec wait = {(time_t)left_s, (long)((left_s - (double)(time_t)left_s) * 1e9)};
    if (left_s > 0)
        (void)nanosleep(&wait, NULL);
}

static double next_uniform(psr_udp_sender *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(s->random >> 11) * 0x1p-53;
}

/* Sends those whose turn is up to a number, the earliest first. */
static psr_status send_due(psr_udp_sender *s, double now, psr_err *err)
{
    psr_status st = PSR_OK;
    while (!st && s->nwaiting) {
        size_t k = 0;
        for (size_t i = 1; i < s->nwaiting; i++)
            k = s->waiting[i].turn < s->waiting[k].turn ? i : k;
        if (s->waiting[k].turn > now)
            break;
        const size_t slot = s->waiting[k].slot;
        st = put_on_wire(s, s->packet + slot * s->packet_bytes, s->packet_bytes, err);
        s->spare[s->nspare++] = slot;
        s->waiting[k] = s->waiting[--s->nwaiting];
    }
    return st;
}

static unsigned char *being_filled(const psr_udp_sender *s)
{
    return s->packet + s->slot * s->packet_bytes;
}

/* The datagram is complete. */
static psr_status send_packet(psr_udp_sender *s, psr_err *err)
{
    const struct psr_udp_packet head = {PSR_UDP_KIND_SAMPLES,
                                        s->shape.pieces,
                                        s->stream,
                                        (uint64_t)s->number,
                                        s->shape.pieces > 1 ? 1 : (uint32_t)s->rows,
                                        s->shape.bytes};
    psr_udp_pack(being_filled(s), &head);
    keep_rate(s);
    if (next_uniform(s) < s->d.loss) {
        s->lost++;
    } else {
        s->waiting[s->nwaiting++] =
            (struct waiting){(double)s->number + next_uniform(s) * (double)s->d.reorder, s->slot};
        s->slot = s->spare[--s->nspare];
    }
    psr_status st = send_due(s, (double)s->number, err);
    s->number++;
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
        unsigned char *to = being_filled(s) + PSR_UDP_HEAD;
        memcpy(to, row + from, n);
        memset(to + n, 0, s->shape.bytes - n);
        st = send_packet(s, err);
    }
    return st;
}

static psr_status add_row(psr_udp_sender *s, const unsigned char *row, psr_err *err)
{
    memcpy(being_filled(s) + PSR_UDP_HEAD + s->rows * s->row_bytes, row, s->row_bytes);
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
        memset(being_filled(s) + PSR_UDP_HEAD + used, 0, s->shape.bytes - used);
        st = send_packet(s, err);
    }
    if (!st)
        st = send_due(s, (double)(s->number + s->d.reorder), err);
    const struct psr_udp_packet end = {
        PSR_UDP_KIND_END, s->shape.pieces, s->stream, (uint64_t)s->number, 0, last};
    unsigned char bytes[PSR_UDP_HEAD];
    psr_udp_pack(bytes, &end);
    for (int i = 0; i < ENDS && !st; i++)
        st = put_on_wire(s, bytes, sizeof bytes, err);
    return st;
}

int64_t psr_udp_sender_count(const psr_udp_sender *s, int64_t *lost)
{
    *lost = s->lost;
    return s->number;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static psr_status check_desc(const struct psr_udp_sender_desc *d, psr_err *err)
{
    if (!psr_udp_is_name(d->to))
        return psr_fail_field(err, PSR_EINVAL, "to", "%s: must be udp://ADDRESS:PORT", d->to);
    if (d->obs->nif != 1)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nif", "%s: nifs = %d, must be 1", d->to,
                              d->obs->nif);
    if (!(d->loss >= 0 && d->loss < 1))
        return psr_fail_field(err, PSR_EINVAL, "loss", "loss = %g, must be 0 or more and below 1",
                              d->loss);
    if (d->reorder < 0 || d->reorder > REORDER_MAX)
        return psr_fail_field(err, PSR_EINVAL, "reorder", "reorder = %lld, must be 0 to %d",
                              (long long)d->reorder, REORDER_MAX);
    if (!(d->rate >= 0))
        return psr_fail_field(err, PSR_EINVAL, "rate", "rate = %g, must be 0 or more", d->rate);
    return PSR_OK;
}

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

static psr_status allocate(psr_udp_sender *s, psr_err *err)
{
    const size_t slots = (size_t)s->d.reorder + 3;
    s->packet_bytes = PSR_UDP_HEAD + s->shape.bytes;
    s->packet = calloc(slots, s->packet_bytes);
    s->waiting = calloc(slots, sizeof *s->waiting);
    s->spare = calloc(slots, sizeof *s->spare);
    if (!s->packet || !s->waiting || !s->spare)
        return psr_fail_nomem(err, "datagrams", (double)slots * (double)s->packet_bytes);
    for (size_t i = 1; i < slots; i++)
        s->spare[s->nspare++] = i;
    return PSR_OK;
}

static psr_status set_up(psr_udp_sender *s, psr_err *err)
{
    struct psr_udp_name name;
    psr_status st = psr_udp_parse(&name, s->d.to, err);
    if (!st && !(s->to = strdup(s->d.to)))
        st = psr_fail_nomem(err, "a name", (double)strlen(s->d.to));
    s->row_bytes = psr_row_bytes(s->d.obs->nchan, s->d.obs->nbit);
    s->shape = psr_udp_shape(s->row_bytes);
    s->packet_s = s->d.obs->tsamp_s * s->shape.spectra / s->shape.pieces;
    s->random = s->d.seed;
    s->began_s = psr_seconds();
    s->stream = (uint64_t)(s->began_s * 1e9) ^ (uint64_t)getpid() << 40;
    if (!st)
        st = make_header(s, err);
    if (!st)
        st = allocate(s, err);
    if (!st)
        st = psr_udp_open_sender(&s->fd, &name, err);
    return st ? st : send_header(s, err);
}

psr_status psr_udp_sender_create(psr_udp_sender **out, const struct psr_udp_sender_desc *desc,
                                 psr_err *err)
{
    struct psr_udp_sender_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "sender", err);
    if (!st)
        st = check_desc(&d, err);
    if (st)
        return st;
    psr_udp_sender *s = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "a sender", sizeof *s);
    s->d = d;
    s->fd = -1;
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
    if (s->fd >= 0)
        close(s->fd);
    free(s->to);
    free(s->header);
    free(s->packet);
    free(s->waiting);
    free(s->spare);
    free(s);
}
