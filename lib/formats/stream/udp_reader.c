/* Reads a filterbank that comes over UDP. */
#include "formats/spectra/spectra_reader.h"

#include "base/base.h"
#include "base/obs_internal.h"
#include "base/output/outfile_internal.h"
#include "formats/spectra/unpack.h"
#include "udp.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- sorts the datagrams of a filterbank that is received ------------------------------------- */

/* Silence after which another sender may go on, and one after which another stream ends the input. */
static const double silence_s = 0.2, change_s = 10;

/* What a jump may lose, as between files. */
static const double most_lost_s = PSR_GAP_DAYS_MAX * PSR_DAY_S;

/* Seconds of a packet. */
static double udp_spectra_packet_s(const struct psr_udp_spectra *s)
{
    return s->obs.tsamp_s * s->shape.spectra / s->shape.pieces;
}

static int64_t most_lost(const struct psr_udp_spectra *s)
{
    const double most = most_lost_s / udp_spectra_packet_s(s);
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
    const int64_t passed = llrint((arrival_s - s->last_s) / udp_spectra_packet_s(s));
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

static void udp_spectra_settle(void *ctx)
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

/* As psr_udp_desc has them; ctx is the struct. */
static enum psr_udp_what udp_spectra_sort(void *ctx, const unsigned char *packet, size_t n,
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

/* Status: PSR_ENOMEM */
static psr_status udp_spectra_init(struct psr_udp_spectra *s, const char *path, psr_err *err)
{
    psr_obs_init(&s->obs);
    s->path = path;
    s->total = s->partial.number = -1;
    return psr_udp_quorum_create(&s->quorum, are_alike, err);
}

static void udp_spectra_clear(struct psr_udp_spectra *s)
{
    for (size_t i = 0; i < PSR_UDP_HEADERS; i++)
        if (s->candidate[i].used)
            psr_obs_clear(&s->candidate[i].header.obs);
    psr_obs_clear(&s->obs);
    psr_udp_quorum_destroy(s->quorum);
}

/* --- the reader ------------------------------------------------------------------------------- */

/* Frames taken at once; time between reports. */
enum { FRAMES = 32 };
static const double report_s = 10;

struct udp_reader {
    struct psr_reader base;
    struct psr_notes notes;
    char *path;
    psr_udp_receiver *receiver;
    struct psr_udp_spectra in; /* of the thread that receives */
    /* of the thread that reads */
    unsigned char *frame; /* [FRAMES][PSR_UDP_HEAD + in.shape.bytes] */
    size_t nframe, at;    /* frames taken, and used up */
    size_t row_at;        /* spectra used up of frame at */
    int64_t gap;          /* spectra that are missing here */
    int64_t next;         /* packet */
    struct psr_ifs ifs;
    unsigned char *row; /* [in.shape.pieces in.shape.bytes] a spectrum of several packets */
    unsigned npiece;    /* of it */
    bool torn;          /* one of them was lost */
    bool ended;
    double reported_s;
    int64_t reported_lost, reported_dropped;
};

/* --- reports ---------------------------------------------------------------------------------- */

static void report(struct udp_reader *r, bool end)
{
    const struct psr_udp_counts c = psr_udp_counts(r->receiver);
    const struct psr_frame_counts *f = &c.frames;
    r->reported_s = psr_seconds();
    if (!end && f->lost == r->reported_lost)
        return;
    r->reported_lost = f->lost;
    psr_note(&r->notes,
             "%s: %lld packets received, %lld lost, of which %lld came late, %lld found the "
             "kernel's %lld "
             "bytes full and %lld ours; %lld came twice, %lld were foreign, %lld senders went on",
             r->path, (long long)f->accepted, (long long)f->lost, (long long)f->late,
             (long long)c.overflowed, (long long)c.buffer, (long long)f->dropped,
             (long long)f->duplicate, (long long)(c.foreign + f->rejected),
             (long long)(r->in.restarts + f->restarts));
    if (end && r->in.changed)
        psr_note(&r->notes,
                 "%s: another stream, of other spectra, has come instead: the input ends", r->path);
}

/* --- spectra, in the thread that reads -------------------------------------------------------- */

/* Counts lost packets as missing spectra: each that one of them is of, but not what the last would have had too much. */
static void lose(struct udp_reader *r, int64_t lost)
{
    const int64_t pieces = r->in.shape.pieces;
    r->next += lost;
    if (pieces == 1) {
        r->gap += lost * r->in.shape.spectra;
        if (r->next == r->in.total)
            r->gap -= r->in.shape.spectra - r->in.last_spectra;
        return;
    }
    const int64_t have = r->npiece + lost;
    r->gap += have / pieces;
    r->torn = have / pieces ? have % pieces > 0 : true;
    r->npiece = (unsigned)(have % pieces);
}

/* Numbers go on from another one; a spectrum that was not complete is lost, and one that is not there from its beginning. */
static void begin_again(struct udp_reader *r, int64_t number)
{
    const int64_t pieces = r->in.shape.pieces;
    r->next = number;
    r->gap += r->npiece > 0;
    r->npiece = (unsigned)(number % pieces);
    r->torn = r->npiece > 0;
}

static unsigned char *frame_at(const struct udp_reader *r, size_t i)
{
    return r->frame + i * (PSR_UDP_HEAD + r->in.shape.bytes);
}

/* Returned: *end, the stream has ended */
static psr_status take_frames(struct udp_reader *r, bool *end, psr_err *err)
{
    struct psr_frame_run run;
    psr_status st = psr_udp_take(r->receiver, FRAMES, r->frame, &run, err);
    if (st)
        return st;
    r->nframe = run.n;
    r->at = r->row_at = 0;
    r->next += (int64_t)run.n;
    *end = psr_frame_run_is_empty(&run);
    if (*end) {
        /* The spectra at the end that never came. */
        const int64_t total = r->in.total;
        if (total > r->next)
            lose(r, total - r->next);
    } else if (run.lost)
        lose(r, run.lost);
    else if (run.restart)
        begin_again(r, run.next);
    if (psr_seconds() - r->reported_s > report_s || (*end && !r->ended)) {
        report(r, *end);
        /* Apart from what the network lost: it is the reader's fault. */
        const struct psr_frame_counts f = psr_udp_counts(r->receiver).frames;
        if (f.dropped != r->reported_dropped) {
            r->reported_dropped = f.dropped;
            psr_note(
                &r->notes,
                "%s: too much for this machine: %lld packets, %.3g s in %lld blocks, were dropped "
                "unread and are "
                "missing",
                r->path, (long long)f.dropped, (double)f.dropped * udp_spectra_packet_s(&r->in),
                (long long)f.drops);
        }
    }
    r->ended = *end;
    return PSR_OK;
}

/* Copies spectra of the frame that is used; returned: how many */
static size_t copy_spectra(struct udp_reader *r, size_t nsamp, unsigned char *block)
{
    struct psr_udp_packet p;
    const unsigned char *frame = frame_at(r, r->at);
    (void)psr_udp_unpack(&p, frame, PSR_UDP_HEAD + r->in.shape.bytes);
    const size_t left = p.spectra - r->row_at, n = left < nsamp ? left : nsamp;
    psr_ifs_merge(&r->ifs, &r->base, n, frame + PSR_UDP_HEAD + r->row_at * r->in.row_bytes, block);
    r->row_at += n;
    if (r->row_at == p.spectra) {
        r->at++;
        r->row_at = 0;
    }
    return n;
}

/* Adds a piece to a spectrum; returned: 1 if that is whole. */
static size_t add_piece(struct udp_reader *r, unsigned char *block)
{
    const size_t bytes = r->in.shape.bytes;
    memcpy(r->row + r->npiece++ * bytes, frame_at(r, r->at++) + PSR_UDP_HEAD, bytes);
    if (r->npiece < r->in.shape.pieces)
        return 0;
    r->npiece = 0;
    if (r->torn) {
        r->torn = false;
        r->gap++;
        return 0;
    }
    psr_ifs_merge(&r->ifs, &r->base, 1, r->row, block);
    return 1;
}

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct udp_reader *r = (struct udp_reader *)base;
    unsigned char *to = block;
    bool end = false;
    psr_status st = PSR_OK;
    *nread = 0;
    while (!st && !end && *nread < nsamp && !r->gap) {
        unsigned char *at = to + *nread * r->ifs.row_bytes;
        if (r->at == r->nframe)
            st = take_frames(r, &end, err);
        else
            *nread +=
                r->in.shape.pieces > 1 ? add_piece(r, at) : copy_spectra(r, nsamp - *nread, at);
        if (r->at == r->nframe && *nread)
            break;
    }
    *gap = *nread ? 0 : r->gap;
    if (!*nread)
        r->gap = 0;
    return st;
}

static void close_reader(struct psr_reader *base)
{
    struct udp_reader *r = (struct udp_reader *)base;
    psr_udp_stop(r->receiver);
    udp_spectra_clear(&r->in);
    psr_obs_clear(&base->obs);
    free(r->path);
    free(r->frame);
    free(r->row);
    free(r);
}

static const struct psr_reader_ops udp_ops = {next_spectra, NULL, close_reader};

/* --- beginning -------------------------------------------------------------------------------- */

static psr_status describe(struct udp_reader *r, const struct psr_source_desc *desc, psr_err *err)
{
    struct psr_obs *obs = &r->base.obs;
    psr_status st = psr_obs_copy(obs, &r->in.obs, err);
    if (st)
        return st;
    r->next = r->in.first;
    obs->nsamp = -1;
    obs->tstart =
        psr_mjd_add(obs->tstart, (double)(r->in.first / r->in.shape.pieces * r->in.shape.spectra) *
                                     obs->tsamp_s);
    r->base.file_nbit = obs->nbit;
    st = psr_ifs_choose(&r->ifs, &r->base, r->path, desc, err);
    if (st)
        return st;
    r->frame = malloc(FRAMES * (PSR_UDP_HEAD + (size_t)r->in.shape.bytes));
    r->row = malloc((size_t)r->in.shape.pieces * r->in.shape.bytes);
    return r->frame && r->row ? PSR_OK
                              : psr_fail_nomem(err, "packets", FRAMES * (double)r->in.shape.bytes);
}

psr_status psr_udp_reader_open(struct psr_reader **out, const char *path,
                               const struct psr_source_desc *desc, psr_err *err)
{
    *out = NULL;
    struct udp_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a reader of packets", sizeof *r);
    psr_obs_init(&r->base.obs);
    r->base.ops = &udp_ops;
    r->notes = desc->notes;
    r->reported_s = psr_seconds();
    struct psr_udp_name name;
    psr_status st = psr_udp_parse(&name, path, err);
    if (!st && !(r->path = strdup(path)))
        st = psr_fail_nomem(err, "a name", (double)strlen(path));
    const struct psr_udp_desc d = {.name = &name,
                                   .sort = udp_spectra_sort,
                                   .settle = udp_spectra_settle,
                                   .ctx = &r->in,
                                   .path = r->path,
                                   .notes = desc->notes,
                                   .should_stop = desc->should_stop,
                                   .stop_ctx = desc->stop_ctx};
    if (!st)
        st = udp_spectra_init(&r->in, r->path, err);
    if (!st)
        st = psr_udp_receive(&r->in.receiver, &d, err);
    r->receiver = r->in.receiver;
    if (!st)
        st = psr_udp_wait(r->receiver, &r->in.beginning, r->path, err);
    st = st ? st : describe(r, desc, err);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return PSR_OK;
}
