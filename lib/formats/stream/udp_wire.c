/* Sends datagrams at a rate. */
#include "udp.h"

#include "base/base.h"
#include "formats/sigproc/sigproc_header.h"
#include "formats/spectra/unpack.h"

#include <errno.h>
#include <psrkit/experimental/source.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- holds the last datagrams until enough of them are of one stream -------------------------- */

struct psr_udp_quorum {
    psr_udp_alike *alike;
    struct psr_udp_held held[PSR_UDP_QUORUM_OF];
    size_t room[PSR_UDP_QUORUM_OF]; /* bytes of each packet */
    size_t first, n;                /* a ring */
};

psr_status psr_udp_quorum_create(psr_udp_quorum **out, psr_udp_alike *alike, psr_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return psr_fail_nomem(err, "datagrams", sizeof **out);
    (*out)->alike = alike;
    return PSR_OK;
}

void psr_udp_quorum_destroy(psr_udp_quorum *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < PSR_UDP_QUORUM_OF; i++)
        free(q->held[i].packet);
    free(q);
}

void psr_udp_quorum_clear(psr_udp_quorum *q)
{
    q->n = 0;
}

size_t psr_udp_quorum_count(const psr_udp_quorum *q)
{
    return q->n;
}

const struct psr_udp_held *psr_udp_quorum_at(const psr_udp_quorum *q, size_t i)
{
    return &q->held[(q->first + i) % PSR_UDP_QUORUM_OF];
}

static size_t count_alike(const psr_udp_quorum *q, const struct psr_udp_held *like)
{
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        n += q->alike(psr_udp_quorum_at(q, i), like);
    return n;
}

size_t psr_udp_quorum_hold(psr_udp_quorum *q, const unsigned char *packet, size_t n,
                           double arrival_s)
{
    if (q->n == PSR_UDP_QUORUM_OF) {
        q->first = (q->first + 1) % PSR_UDP_QUORUM_OF;
        q->n--;
    }
    const size_t slot = (q->first + q->n) % PSR_UDP_QUORUM_OF;
    struct psr_udp_held *h = &q->held[slot];
    if (psr_reserve(&h->packet, &q->room[slot], n, 1, "a packet", NULL))
        return 0;
    memcpy(h->packet, packet, n);
    h->n = n;
    h->arrival_s = arrival_s;
    q->n++;
    return count_alike(q, h);
}

const struct psr_udp_held *psr_udp_quorum_most(const psr_udp_quorum *q)
{
    for (size_t i = q->n; i-- > 0;)
        if (2 * count_alike(q, psr_udp_quorum_at(q, i)) > q->n)
            return psr_udp_quorum_at(q, i);
    return NULL;
}

/* --- packs and unpacks the datagrams of a filterbank sent over UDP ---------------------------- */

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

enum { REORDER_MAX = 1 << 16 };

/* A datagram whose turn is not there. */
struct waiting {
    double turn; /* number of the datagram after which it is sent */
    size_t slot;
};

struct psr_udp_wire {
    struct psr_udp_wire_desc d;
    char *to;
    int fd;
    uint64_t random;
    double began_s;
    unsigned char *packet; /* [slots][d.bytes] */
    size_t nwaiting, *spare, nspare;
    struct waiting *waiting; /* [slots] */
    size_t slot;             /* being filled */
    int64_t number, lost;
};

/* --- sending ---------------------------------------------------------------------------------- */

/* Sends other bytes at once, which are neither lost nor counted. */
static psr_status udp_wire_send_now(const psr_udp_wire *w, const void *bytes, size_t n,
                                    psr_err *err)
{
    while (send(w->fd, bytes, n, MSG_NOSIGNAL) < 0) {
        if (errno == ECONNREFUSED || errno == ENOBUFS)
            return PSR_OK; /* nobody is there yet, or the network is full: lost, as on any network */
        if (errno != EINTR)
            return psr_fail_errno(err, "%s: cannot send %zu bytes", w->to, n);
    }
    return PSR_OK;
}

static double next_uniform(psr_udp_wire *w)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(w->random >> 11) * 0x1p-53;
}

/* Sends those whose turn is up to a number, the earliest first. */
static psr_status send_due(psr_udp_wire *w, double now, psr_err *err)
{
    psr_status st = PSR_OK;
    while (!st && w->nwaiting) {
        size_t k = 0;
        for (size_t i = 1; i < w->nwaiting; i++)
            k = w->waiting[i].turn < w->waiting[k].turn ? i : k;
        if (w->waiting[k].turn > now)
            break;
        const size_t slot = w->waiting[k].slot;
        const int copies = w->d.twice > 0 && next_uniform(w) < w->d.twice ? 2 : 1;
        for (int i = 0; i < copies && !st; i++)
            st = udp_wire_send_now(w, w->packet + slot * w->d.bytes, w->d.bytes, err);
        w->spare[w->nspare++] = slot;
        w->waiting[k] = w->waiting[--w->nwaiting];
    }
    return st;
}

unsigned char *psr_udp_wire_room(const psr_udp_wire *w)
{
    return w->packet + w->slot * w->d.bytes;
}

psr_status psr_udp_wire_send(psr_udp_wire *w, psr_err *err)
{
    /* Waits until the datagram is due. */
    const double due_s =
                     w->d.rate > 0 ? w->began_s + (double)w->number * w->d.each_s / w->d.rate : 0,
                 left_s = due_s - psr_seconds();
    const struct timespec wait = {(time_t)left_s, (long)((left_s - (double)(time_t)left_s) * 1e9)};
    if (left_s > 0)
        (void)nanosleep(&wait, NULL);
    if (next_uniform(w) < w->d.loss) {
        w->lost++;
    } else {
        w->waiting[w->nwaiting++] =
            (struct waiting){(double)w->number + next_uniform(w) * (double)w->d.reorder, w->slot};
        w->slot = w->spare[--w->nspare];
    }
    psr_status st = send_due(w, (double)w->number, err);
    w->number++;
    return st;
}

psr_status psr_udp_wire_flush(psr_udp_wire *w, psr_err *err)
{
    return send_due(w, (double)(w->number + w->d.reorder), err);
}

int64_t psr_udp_wire_count(const psr_udp_wire *w, int64_t *lost)
{
    *lost = w->lost;
    return w->number;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static psr_status check_desc(const struct psr_udp_wire_desc *d, psr_err *err)
{
    if (!psr_udp_is_name(d->to))
        return psr_fail_field(err, PSR_EINVAL, "to", "%s: must be udp://ADDRESS:PORT", d->to);
    if (!(d->loss >= 0 && d->loss < 1))
        return psr_fail_field(err, PSR_EINVAL, "loss", "loss = %g, must be 0 or more and below 1",
                              d->loss);
    if (!(d->twice >= 0 && d->twice <= 1))
        return psr_fail_field(err, PSR_EINVAL, "twice", "twice = %g, must be 0 to 1", d->twice);
    if (d->reorder < 0 || d->reorder > REORDER_MAX)
        return psr_fail_field(err, PSR_EINVAL, "reorder", "reorder = %lld, must be 0 to %d",
                              (long long)d->reorder, REORDER_MAX);
    if (!(d->rate >= 0))
        return psr_fail_field(err, PSR_EINVAL, "rate", "rate = %g, must be 0 or more", d->rate);
    return PSR_OK;
}

static psr_status set_up(psr_udp_wire *w, psr_err *err)
{
    struct psr_udp_name name;
    const size_t slots = (size_t)w->d.reorder + 3;
    psr_status st = psr_udp_parse(&name, w->d.to, err);
    if (st)
        return st;
    w->to = strdup(w->d.to);
    w->packet = calloc(slots, w->d.bytes);
    w->waiting = calloc(slots, sizeof *w->waiting);
    w->spare = calloc(slots, sizeof *w->spare);
    if (!w->to || !w->packet || !w->waiting || !w->spare)
        return psr_fail_nomem(err, "datagrams", (double)slots * (double)w->d.bytes);
    for (size_t i = 1; i < slots; i++)
        w->spare[w->nspare++] = i;
    w->random = w->d.seed;
    w->began_s = psr_seconds();
    return psr_udp_open_sender(&w->fd, &name, err);
}

psr_status psr_udp_wire_create(psr_udp_wire **out, const struct psr_udp_wire_desc *desc,
                               psr_err *err)
{
    *out = NULL;
    psr_status st = check_desc(desc, err);
    if (st)
        return st;
    psr_udp_wire *w = calloc(1, sizeof *w);
    if (!w)
        return psr_fail_nomem(err, "a sender", sizeof *w);
    w->d = *desc;
    w->fd = -1;
    st = set_up(w, err);
    w->d.to = w->to;
    if (st)
        psr_udp_wire_destroy(w);
    else
        *out = w;
    return st;
}

void psr_udp_wire_destroy(psr_udp_wire *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    free(w->to);
    free(w->packet);
    free(w->waiting);
    free(w->spare);
    free(w);
}

/* --- sending ------------------------------------------------------------------------------------- */

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
    return udp_wire_send_now(s->wire, s->header, s->header_bytes, err);
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
        st = udp_wire_send_now(s->wire, bytes, sizeof bytes, err);
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

static psr_status set_up_sender(psr_udp_sender *s, psr_err *err)
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
    st = set_up_sender(s, err);
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
