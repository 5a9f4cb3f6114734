/* Sorts the datagrams of a filterbank that is received. */
#include "base/output/outfile_internal.h"
#include "base/tool.h"
#include "formats/spectra/unpack.h"
#include "udp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Silence after which another sender may go on, and one after which another stream ends the input. */
static const double silence_s = 0.2, change_s = 10;

/* What a jump may lose, as between files. */
static const double most_lost_s = PSR_GAP_DAYS_MAX * PSR_DAY_S;

double psr_udp_spectra_packet_s(const struct psr_udp_spectra *s)
{
    return s->obs.tsamp_s * s->shape.spectra / s->shape.pieces;
}

static int64_t most_lost(const struct psr_udp_spectra *s)
{
    const double most = most_lost_s / psr_udp_spectra_packet_s(s);
    return most < 0x1p40 ? (int64_t)most + 1 : INT64_C(1) << 40;
}

/* --- headers ---------------------------------------------------------------------------------- */

static bool parse_header(struct psr_sigproc_header *h, const struct psr_udp_spectra *s,
                         const unsigned char *bytes, size_t n)
{
    psr_err err;
    if (psr_sigproc_parse_header(h, bytes, n, s->path, NULL, &err))
        return false;
    if (h->data_type <= PSR_SIGPROC_FILTERBANK && h->obs.nchan * (size_t)h->obs.nbit % 8 == 0)
        return true;
    psr_obs_clear(&h->obs);
    return false;
}

static uint64_t stream_of(const struct psr_udp_held *h)
{
    struct psr_udp_packet p;
    return psr_udp_unpack(&p, h->packet, h->n) ? p.stream : 0;
}

static bool are_alike(const struct psr_udp_held *a, const struct psr_udp_held *b)
{
    return stream_of(a) == stream_of(b);
}

static size_t count_held(const struct psr_udp_spectra *s, uint64_t stream)
{
    size_t n = 0;
    for (size_t i = 0; i < psr_udp_quorum_count(s->quorum); i++)
        n += stream_of(psr_udp_quorum_at(s->quorum, i)) == stream;
    return n;
}

/* Of two that came as often the later. */
static struct psr_udp_candidate *find_candidate(struct psr_udp_spectra *s, uint64_t stream)
{
    struct psr_udp_candidate *best = NULL;
    for (size_t i = 0; i < PSR_UDP_HEADERS; i++) {
        struct psr_udp_candidate *c = &s->candidate[i];
        if (c->used && c->stream == stream &&
            (!best || c->came > best->came ||
             (c->came == best->came && c->arrival_s >= best->arrival_s)))
            best = c;
    }
    return best;
}

static struct psr_udp_candidate *find_header(struct psr_udp_spectra *s, uint64_t stream,
                                             uint64_t digest)
{
    for (size_t i = 0; i < PSR_UDP_HEADERS; i++)
        if (s->candidate[i].used && s->candidate[i].stream == stream &&
            s->candidate[i].digest == digest)
            return &s->candidate[i];
    return NULL;
}

/* A free place, or that of the oldest header without samples, or of the oldest. */
static struct psr_udp_candidate *choose_place(struct psr_udp_spectra *s)
{
    struct psr_udp_candidate *best = NULL;
    bool best_empty = false;
    for (size_t i = 0; i < PSR_UDP_HEADERS; i++) {
        struct psr_udp_candidate *c = &s->candidate[i];
        const bool empty = !c->used || !count_held(s, c->stream);
        if (!c->used)
            return c;
        if (!best || (empty && !best_empty) ||
            (empty == best_empty && c->arrival_s < best->arrival_s)) {
            best = c;
            best_empty = empty;
        }
    }
    return best;
}

/* --- beginning -------------------------------------------------------------------------------- */

static bool has_shape(const struct psr_udp_shape *s, const struct psr_udp_packet *p)
{
    return p->kind == PSR_UDP_KIND_SAMPLES && p->pieces == s->pieces && p->bytes == s->bytes &&
           p->spectra >= 1 && p->spectra <= s->spectra && !(p->number >> 60);
}

PSR_COMPARE_VALUES(compare_numbers, int64_t);

/* The lowest number where most of those that are held of a stream lie within a window; -1: there are none.
 * Returned: *arrival_s   when its packet came */
static int64_t first_number(const struct psr_udp_spectra *s, uint64_t stream,
                            const struct psr_udp_shape *shape, double *arrival_s)
{
    int64_t number[PSR_UDP_QUORUM_OF], window = psr_udp_window(s->receiver);
    size_t n = 0;
    *arrival_s = INFINITY;
    for (size_t i = 0; i < psr_udp_quorum_count(s->quorum); i++) {
        const struct psr_udp_held *h = psr_udp_quorum_at(s->quorum, i);
        struct psr_udp_packet p;
        if (psr_udp_unpack(&p, h->packet, h->n) && p.stream == stream && has_shape(shape, &p)) {
            number[n++] = (int64_t)p.number;
            *arrival_s = fmin(*arrival_s, h->arrival_s);
        }
    }
    if (!n)
        return -1;
    qsort(number, n, sizeof *number, compare_numbers);
    size_t first = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t near = 0;
        for (size_t k = i; k < n && number[k] - number[i] < window; k++)
            near += k == i || number[k] != number[k - 1];
        if (near > most) {
            most = near;
            first = i;
        }
    }
    return number[first];
}

/* Gives a packet of the stream's shape to be put in order.  One that holds fewer spectra than the others can only be the
 * last: until the end has come it is kept.
 * Returned: whether it is for now */
static bool accept_samples(struct psr_udp_spectra *s, const struct psr_udp_packet *p,
                           const unsigned char *packet, double arrival_s)
{
    const int64_t number = (int64_t)p->number + s->base_number;
    if (p->spectra == s->shape.spectra || (number == s->total - 1 && p->spectra == s->last_spectra))
        return true;
    s->partial.number = number;
    s->partial.spectra = p->spectra;
    s->partial.arrival_s = arrival_s;
    memcpy(s->partial.packet, packet, PSR_UDP_HEAD + (size_t)p->bytes);
    return false;
}

static void put_partial(struct psr_udp_spectra *s)
{
    if (s->partial.number >= 0)
        psr_udp_put(s->receiver, s->partial.number, s->partial.packet, s->partial.arrival_s);
    s->partial.number = -1;
}

/* Puts what is held of the stream; all others were foreign. */
static void put_held(struct psr_udp_spectra *s)
{
    for (size_t i = 0; i < psr_udp_quorum_count(s->quorum); i++) {
        const struct psr_udp_held *h = psr_udp_quorum_at(s->quorum, i);
        struct psr_udp_packet p;
        if (psr_udp_unpack(&p, h->packet, h->n) && p.stream == s->stream &&
            has_shape(&s->shape, &p)) {
            if (accept_samples(s, &p, h->packet, h->arrival_s))
                psr_udp_put(s->receiver, (int64_t)p.number + s->base_number, h->packet,
                            h->arrival_s);
            s->last_s = h->arrival_s;
        } else {
            psr_udp_add_foreign(s->receiver, 1);
        }
    }
    psr_udp_quorum_clear(s->quorum);
}

static void begin_stream(struct psr_udp_spectra *s, struct psr_udp_candidate *c)
{
    struct psr_udp_beginning *b = &s->beginning;
    const size_t row_bytes =
        psr_row_bytes(c->header.obs.nchan, c->header.obs.nbit) * (size_t)c->header.obs.nif;
    const struct psr_udp_shape shape = psr_udp_shape(row_bytes);
    double arrival_s;
    const int64_t number = first_number(s, c->stream, &shape, &arrival_s);
    if (number < 0)
        return;
    b->status = psr_obs_copy(&s->obs, &c->header.obs, &b->err);
    s->shape = shape;
    s->row_bytes = row_bytes;
    if (!b->status)
        b->status =
            psr_udp_set_frames(s->receiver, PSR_UDP_HEAD + shape.bytes, most_lost(s), &b->err);
    b->ready = true;
    if (b->status)
        return;
    s->known = true;
    s->stream = c->stream;
    s->first = number < psr_udp_window(s->receiver) ? 0 : number;
    s->first -= s->first % shape.pieces;
    psr_udp_begin(s->receiver, s->first);
    put_held(s);
}

static bool same_spectra(const struct psr_obs *a, const struct psr_obs *b)
{
    return a->nchan == b->nchan && a->nbit == b->nbit && a->nif == b->nif && a->kind == b->kind &&
           fabs(a->tsamp_s / b->tsamp_s - 1) < 1e-9;
}

/* Numbers follow those before by the clock. */
static void take_over(struct psr_udp_spectra *s, const struct psr_udp_candidate *c)
{
    const int64_t pieces = s->shape.pieces;
    double arrival_s;
    const int64_t number = first_number(s, c->stream, &s->shape, &arrival_s);
    if (number < 0 || arrival_s - s->last_s < silence_s)
        return;
    const int64_t passed = llrint((arrival_s - s->last_s) / psr_udp_spectra_packet_s(s));
    const int64_t base = psr_udp_end(s->receiver) + passed - number, over = base % pieces;
    s->base_number = base + (over > 0 ? pieces - over : -over);
    s->stream = c->stream;
    s->restarts++;
    put_held(s);
}

/* Whether enough packets of a stream are held, and its header is there: then it is the one to be received, if there
 * is none. */
static void consider(struct psr_udp_spectra *s, uint64_t stream)
{
    struct psr_udp_candidate *c = find_candidate(s, stream);
    if (!c)
        return;
    if (!s->known)
        begin_stream(s, c);
    else if (same_spectra(&s->obs, &c->header.obs))
        take_over(s, c);
    else
        s->changed = psr_udp_now(s->receiver) - s->last_s >= change_s;
}

void psr_udp_spectra_settle(void *ctx)
{
    struct psr_udp_spectra *s = ctx;
    const struct psr_udp_held *most = psr_udp_quorum_most(s->quorum);
    if (!s->beginning.ready && most)
        consider(s, stream_of(most));
    if (s->known && s->total < 0 && s->partial.number == psr_udp_end(s->receiver))
        put_partial(s); /* the end itself was lost */
}

/* --- packets ---------------------------------------------------------------------------------- */

static bool remember_header(struct psr_udp_spectra *s, const struct psr_udp_packet *p,
                            const unsigned char *bytes)
{
    const uint64_t digest = psr_digest_bytes(0, bytes, p->bytes);
    struct psr_udp_candidate *c = find_header(s, p->stream, digest);
    struct psr_sigproc_header h;
    if (c) {
        c->came++;
        c->arrival_s = psr_udp_now(s->receiver);
        return true;
    }
    if (!parse_header(&h, s, bytes, p->bytes))
        return false;
    c = choose_place(s);
    if (c->used)
        psr_obs_clear(&c->header.obs);
    *c = (struct psr_udp_candidate){.used = true,
                                    .stream = p->stream,
                                    .digest = digest,
                                    .came = 1,
                                    .header = h,
                                    .arrival_s = psr_udp_now(s->receiver)};
    if (count_held(s, p->stream) >= PSR_UDP_QUORUM)
        consider(s, p->stream);
    return true;
}

static bool is_own(const struct psr_udp_spectra *s, const struct psr_udp_packet *p)
{
    return s->known && p->stream == s->stream;
}

/* Whether the stream ends with so many packets: about where it is, or as two ends in a row say, since what lies between would
 * be lost. */
static bool believes_end(struct psr_udp_spectra *s, int64_t total)
{
    const int64_t ahead = total - psr_udp_end(s->receiver), window = psr_udp_window(s->receiver);
    const bool again = s->said_end && s->said_total == total;
    s->said_end = true;
    s->said_total = total;
    return again || (ahead <= window && ahead >= -window);
}

/* Not of the stream, or before it is known. */
static enum psr_udp_what sort_other(struct psr_udp_spectra *s, const struct psr_udp_packet *p,
                                    const unsigned char *packet, size_t n)
{
    const bool was_known = s->known;
    if (p->kind == PSR_UDP_KIND_HEADER && !remember_header(s, p, packet + PSR_UDP_HEAD))
        return PSR_UDP_FOREIGN;
    if (p->kind == PSR_UDP_KIND_SAMPLES &&
        psr_udp_quorum_hold(s->quorum, packet, n, psr_udp_now(s->receiver)) >= PSR_UDP_QUORUM)
        consider(s, p->stream);
    if (s->changed)
        return PSR_UDP_END;
    return !was_known || is_own(s, p) ? PSR_UDP_OTHER : PSR_UDP_FOREIGN;
}

enum psr_udp_what psr_udp_spectra_sort(void *ctx, const unsigned char *packet, size_t n,
                                       int64_t *number, const unsigned char **frame)
{
    struct psr_udp_spectra *s = ctx;
    struct psr_udp_packet p;
    if (s->beginning.status || !psr_udp_unpack(&p, packet, n))
        return PSR_UDP_FOREIGN;
    if (p.kind == PSR_UDP_KIND_END && !s->known) {
        const struct psr_udp_held *most = psr_udp_quorum_most(s->quorum);
        if (most && stream_of(most) == p.stream)
            consider(s, p.stream);
    }
    *frame = packet;
    if (is_own(s, &p)) {
        if (p.kind == PSR_UDP_KIND_HEADER)
            return PSR_UDP_OTHER;
        if (p.kind == PSR_UDP_KIND_SAMPLES) {
            if (!has_shape(&s->shape, &p))
                return PSR_UDP_FOREIGN;
            psr_udp_quorum_clear(s->quorum);
            *number = (int64_t)p.number + s->base_number;
            s->last_s = psr_udp_now(s->receiver);
            return accept_samples(s, &p, packet, s->last_s) ? PSR_UDP_FRAME : PSR_UDP_OTHER;
        }
        if (p.number >> 60 || p.bytes > s->shape.spectra ||
            (int64_t)p.number + s->base_number > psr_udp_end(s->receiver) + most_lost(s))
            return PSR_UDP_FOREIGN;
        if (!believes_end(s, (int64_t)p.number + s->base_number))
            return PSR_UDP_FOREIGN;
        s->last_spectra = p.bytes;
        s->total = (int64_t)p.number + s->base_number;
        if (s->partial.number == s->total - 1 && s->partial.spectra == s->last_spectra)
            put_partial(s);
        return PSR_UDP_END;
    }
    return p.kind == PSR_UDP_KIND_END ? PSR_UDP_FOREIGN : sort_other(s, &p, packet, n);
}

/* --- both ends -------------------------------------------------------------------------------- */

psr_status psr_udp_spectra_init(struct psr_udp_spectra *s, const char *path, psr_err *err)
{
    psr_obs_init(&s->obs);
    s->path = path;
    s->total = s->partial.number = -1;
    return psr_udp_quorum_create(&s->quorum, are_alike, err);
}

void psr_udp_spectra_clear(struct psr_udp_spectra *s)
{
    for (size_t i = 0; i < PSR_UDP_HEADERS; i++)
        if (s->candidate[i].used)
            psr_obs_clear(&s->candidate[i].header.obs);
    psr_obs_clear(&s->obs);
    psr_udp_quorum_destroy(s->quorum);
}
