/* Receives VDIF frames over UDP. */
#include "udp.h"

#include "base/base.h"

#include <erfa.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parses headers of VDIF frames, and finds them. */

static uint32_t read_word(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Extended data of kinds 1 and 3 begin with the rate of complex samples, in kHz or MHz: half that of
 * real ones. */
static double read_rate(uint32_t word, bool complex)
{
    const unsigned kind = word >> 24;
    const double value = (word & 0x7fffff) * (complex ? 1.0 : 2.0);
    return kind == 1 || kind == 3 ? value * (word >> 23 & 1 ? 1e6 : 1e3) : 0;
}

static bool makes_sense(const struct psr_vdif_frame *f)
{
    const size_t bits = (f->bytes - f->header_bytes) * 8;
    const size_t sample = f->nchan * (size_t)f->nbit * (f->complex ? 2 : 1);
    return f->bytes > f->header_bytes && bits % sample == 0 && f->version <= 1;
}

bool psr_vdif_parse(struct psr_vdif_frame *f, const uint8_t *bytes, size_t n)
{
    if (n < PSR_VDIF_LEGACY)
        return false;
    const uint32_t w0 = read_word(bytes), w1 = read_word(bytes + 4), w2 = read_word(bytes + 8),
                   w3 = read_word(bytes + 12);
    *f = (struct psr_vdif_frame){.invalid = w0 >> 31,
                                 .legacy = w0 >> 30 & 1,
                                 .second = w0 & 0x3fffffff,
                                 .epoch = w1 >> 24 & 0x3f,
                                 .frame = w1 & 0xffffff,
                                 .version = w2 >> 29,
                                 .nchan = (size_t)1 << (w2 >> 24 & 0x1f),
                                 .bytes = (size_t)(w2 & 0xffffff) * 8,
                                 .complex = w3 >> 31,
                                 .nbit = (int)(w3 >> 26 & 0x1f) + 1,
                                 .thread = w3 >> 16 & 0x3ff,
                                 .station = w3 & 0xffff};
    f->header_bytes = f->legacy ? PSR_VDIF_LEGACY : PSR_VDIF_HEADER;
    if (n < f->header_bytes || !makes_sense(f))
        return false;
    f->rate_hz = f->legacy ? 0 : read_rate(read_word(bytes + 16), f->complex);
    return true;
}

static void put_word(uint8_t *to, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(word >> 8 * i);
}

/* Extended data of kind 1, or of kind 0, which are none. */
static uint32_t rate_word(const struct psr_vdif_frame *f)
{
    const double khz = f->rate_hz / (f->complex ? 1e3 : 2e3), mhz = khz / 1e3;
    const uint32_t kind = UINT32_C(1) << 24, most = 0x7fffff;
    if (khz == floor(khz) && khz <= most)
        return kind | (uint32_t)khz;
    return mhz == floor(mhz) && mhz <= most ? kind | UINT32_C(1) << 23 | (uint32_t)mhz : 0;
}

void psr_vdif_pack(uint8_t header[PSR_VDIF_HEADER], const struct psr_vdif_frame *f)
{
    uint32_t log2 = 0;
    while ((size_t)1 << log2 < f->nchan)
        log2++;
    memset(header, 0, PSR_VDIF_HEADER);
    put_word(header, f->second | (uint32_t)f->invalid << 31);
    put_word(header + 4, f->frame | (uint32_t)f->epoch << 24);
    put_word(header + 8, (uint32_t)(f->bytes / 8) | log2 << 24);
    put_word(header + 12, f->station | (uint32_t)f->thread << 16 | (uint32_t)(f->nbit - 1) << 26 |
                              (uint32_t)f->complex << 31);
    put_word(header + 16, rate_word(f));
}

void psr_vdif_add_seconds(uint8_t *header, int64_t seconds)
{
    const uint32_t word = read_word(header), all = 0x3fffffff;
    put_word(header, (word & ~all) | ((uint32_t)((int64_t)(word & all) + seconds) & all));
}

bool psr_vdif_alike(const struct psr_vdif_frame *a, const struct psr_vdif_frame *b)
{
    return a->legacy == b->legacy && a->complex == b->complex && a->epoch == b->epoch &&
           a->version == b->version && a->bytes == b->bytes && a->nchan == b->nchan &&
           a->nbit == b->nbit;
}

size_t psr_vdif_find(struct psr_vdif_frame *f, const uint8_t *bytes, size_t n,
                     const struct psr_vdif_frame *like)
{
    for (size_t at = 0; at < n; at++) {
        struct psr_vdif_frame next;
        if (!psr_vdif_parse(f, bytes + at, n - at) || f->bytes > n - at ||
            (like && !psr_vdif_alike(f, like)))
            continue;
        const size_t after = at + f->bytes;
        if (after == n ||
            (psr_vdif_parse(&next, bytes + after, n - after) && psr_vdif_alike(f, &next)))
            return at;
    }
    return n;
}

struct psr_mjd psr_vdif_epoch(unsigned epoch)
{
    double day = 0, zero;
    if (eraCal2jd(2000 + (int)(epoch / 2), epoch % 2 ? 7 : 1, 1, &zero, &day) != 0)
        day = 0;
    return (struct psr_mjd){(long)day, 0};
}

enum { SEQUENCE_BYTES = 8, FRAMES = 64 };

/* Datagrams in a row that make another time be believed, and seconds within which times agree. */
enum { CONFIRM = 32, APART_S = 2 };

/* Time between reports; silence of the stream after which datagrams of another size with such frames
 * go on, and one after which other frames end the input. */
static const double report_s = 10, silence_s = 0.2, change_s = 10;

struct psr_udp_frames {
    struct psr_notes notes;
    const char *path;
    psr_udp_receiver *receiver;
    /* of the thread that receives */
    psr_udp_quorum *quorum; /* datagrams before the stream is known, and those of another later */
    size_t datagram_bytes, prefix; /* 0: the stream is not known yet */
    size_t changed_bytes;          /* of the datagrams that have come instead; 0: none have */
    struct psr_vdif_frame like;
    double own_s;   /* when the last one of it came */
    int64_t number; /* frames in the order in which they came */
    struct {
        bool known;
        int64_t second;   /* of the frames that came last, as they say */
        double at_s;      /* when they came */
        int64_t offset_s; /* what is added to make seconds go on */
        int64_t strange;  /* the second that others say who do not agree */
        int nstrange;     /* how many in a row */
        int64_t jumps;
    } clock;
    int64_t senders;      /* that went on with other datagrams */
    unsigned char *moved; /* [like.bytes] with other seconds; NULL until they are needed */
    struct psr_udp_beginning beginning;
    /* of the thread that reads */
    unsigned char *held; /* [FRAMES][like.bytes] */
    size_t at, end;      /* bytes of it */
    double arrival_s;    /* when the first of them came */
    bool ended;
    double reported_s;
    int64_t reported_lost;
};

/* --- datagrams, in the thread that receives them ----------------------------------------------- */

/* Whether whole frames follow the prefix. */
static bool holds_frames(struct psr_vdif_frame *f, const unsigned char *packet, size_t n,
                         size_t prefix)
{
    return n > prefix && psr_vdif_parse(f, packet + prefix, n - prefix) &&
           (n - prefix) % f->bytes == 0;
}

static bool find_frames(struct psr_vdif_frame *f, const unsigned char *packet, size_t n,
                        size_t *prefix)
{
    return holds_frames(f, packet, n, *prefix = 0) ||
           holds_frames(f, packet, n, *prefix = SEQUENCE_BYTES);
}

/* Seconds may differ by what has passed. */
static bool are_alike(const struct psr_udp_held *a, const struct psr_udp_held *b)
{
    struct psr_vdif_frame f, g;
    size_t at_f, at_g;
    if (a->n != b->n || !find_frames(&f, a->packet, a->n, &at_f) ||
        !find_frames(&g, b->packet, b->n, &at_g))
        return false;
    const double apart_s = fabs((double)f.second - (double)g.second);
    return at_f == at_g && psr_vdif_alike(&f, &g) &&
           apart_s <= APART_S + fabs(a->arrival_s - b->arrival_s);
}

/* Frames whose time is not that of the stream are strange, until enough have come in a row: then the
 * sender's clock has jumped, or another sender goes on, and seconds follow those before by the clock
 * of this machine. */
static bool agrees(struct psr_udp_frames *u, int64_t second)
{
    const double now_s = psr_udp_now(u->receiver);
    const double silent_s = u->clock.known ? now_s - u->clock.at_s : 0;
    const int64_t ahead = u->clock.known ? second - u->clock.second : 0;
    if (ahead < -APART_S || (double)ahead > APART_S + silent_s) {
        u->clock.nstrange = llabs(second - u->clock.strange) <= 1 ? u->clock.nstrange + 1 : 1;
        u->clock.strange = second;
        if (u->clock.nstrange < CONFIRM)
            return false;
        u->clock.offset_s += u->clock.second + 1 + (int64_t)silent_s - second;
        u->clock.jumps++;
        u->clock.second = second;
    }
    u->clock.known = true;
    u->clock.nstrange = 0;
    u->clock.at_s = now_s;
    u->clock.second = second > u->clock.second ? second : u->clock.second;
    return true;
}

/* Puts the frames of a datagram of the stream, with its seconds.
 * Returned: false if there is no memory for them */
static bool put_frames(struct psr_udp_frames *u, const unsigned char *packet, double arrival_s)
{
    if (u->clock.offset_s && !u->moved && !(u->moved = malloc(u->like.bytes)))
        return false;
    for (size_t at = u->prefix; at < u->datagram_bytes; at += u->like.bytes) {
        const unsigned char *frame = packet + at;
        if (u->clock.offset_s) {
            memcpy(u->moved, frame, u->like.bytes);
            psr_vdif_add_seconds(u->moved, u->clock.offset_s);
            frame = u->moved;
        }
        psr_udp_put(u->receiver, u->number++, frame, arrival_s);
    }
    return true;
}

/* The stream goes on, or begins, with all datagrams that are held and like one of them. */
static void put_held(struct psr_udp_frames *u, const struct psr_udp_held *of)
{
    u->datagram_bytes = of->n;
    u->own_s = of->arrival_s;
    for (size_t i = 0; i < psr_udp_quorum_count(u->quorum); i++) {
        const struct psr_udp_held *h = psr_udp_quorum_at(u->quorum, i);
        struct psr_vdif_frame f;
        if (!are_alike(h, of) || !holds_frames(&f, h->packet, h->n, u->prefix) ||
            !agrees(u, f.second) || !put_frames(u, h->packet, h->arrival_s))
            psr_udp_add_foreign(u->receiver, 1);
    }
    psr_udp_quorum_clear(u->quorum);
}

static void begin_stream(struct psr_udp_frames *u, const struct psr_udp_held *of)
{
    struct psr_udp_beginning *b = &u->beginning;
    (void)find_frames(&u->like, of->packet, of->n, &u->prefix);
    b->status = psr_udp_set_frames(u->receiver, u->like.bytes, 0, &b->err);
    b->ready = true;
    if (!b->status)
        put_held(u, of);
}

/* So many datagrams in a row are believed, whatever their time is. */
static void take_over(struct psr_udp_frames *u, const struct psr_udp_held *of)
{
    struct psr_vdif_frame f;
    (void)find_frames(&f, of->packet, of->n, &u->prefix);
    u->clock.strange = f.second;
    u->clock.nstrange = CONFIRM;
    u->senders++;
    put_held(u, of);
}

/* Few datagrams are a stream, too, if they are all that came. */
static void settle(void *ctx)
{
    struct psr_udp_frames *u = ctx;
    const struct psr_udp_held *most = psr_udp_quorum_most(u->quorum);
    if (!u->beginning.ready && most)
        begin_stream(u, most);
}

/* A datagram that is not of the stream, or comes before it is known.  When none of the stream comes,
 * others are looked at anew: such frames go on in datagrams of any size, and others, which come for
 * long, end the input, since what reads it knows frames of one kind. */
static enum psr_udp_what sort_other(struct psr_udp_frames *u, const unsigned char *packet, size_t n)
{
    struct psr_vdif_frame f;
    size_t prefix;
    const double now_s = psr_udp_now(u->receiver);
    const bool known = u->datagram_bytes > 0;
    if (!find_frames(&f, packet, n, &prefix) || (known && now_s - u->own_s < silence_s))
        return PSR_UDP_FOREIGN;
    if (psr_udp_quorum_hold(u->quorum, packet, n, now_s) < PSR_UDP_QUORUM)
        return known ? PSR_UDP_FOREIGN : PSR_UDP_OTHER;
    const struct psr_udp_held *of =
        psr_udp_quorum_at(u->quorum, psr_udp_quorum_count(u->quorum) - 1);
    if (known && !psr_vdif_alike(&f, &u->like)) {
        const bool long_gone = now_s - u->own_s >= change_s;
        u->changed_bytes = long_gone ? n : 0;
        return long_gone ? PSR_UDP_END : PSR_UDP_FOREIGN;
    }
    if (known)
        take_over(u, of);
    else
        begin_stream(u, of);
    return PSR_UDP_OTHER;
}

static enum psr_udp_what sort(void *ctx, const unsigned char *packet, size_t n, int64_t *number,
                              const unsigned char **frame)
{
    struct psr_udp_frames *u = ctx;
    struct psr_vdif_frame f;
    (void)number;
    (void)frame;
    if (u->beginning.status)
        return PSR_UDP_FOREIGN;
    if (!u->datagram_bytes || n != u->datagram_bytes || !holds_frames(&f, packet, n, u->prefix) ||
        !psr_vdif_alike(&f, &u->like))
        return sort_other(u, packet, n);
    if (!agrees(u, f.second))
        return PSR_UDP_FOREIGN;
    u->own_s = psr_udp_now(u->receiver);
    psr_udp_quorum_clear(u->quorum);
    return put_frames(u, packet, u->own_s) ? PSR_UDP_OTHER : PSR_UDP_FOREIGN;
}

/* --- bytes, in the thread that reads ------------------------------------------------------------ */

static void report(struct psr_udp_frames *u, bool end)
{
    const struct psr_udp_counts c = psr_udp_counts(u->receiver);
    const int64_t lost = c.overflowed + c.frames.dropped;
    u->reported_s = psr_seconds();
    if (!end && lost == u->reported_lost)
        return;
    u->reported_lost = lost;
    psr_note(&u->notes,
             "%s: %lld VDIF frames received; %lld datagrams found the kernel's %lld bytes full "
             "and %lld frames ours; %lld were foreign; the clock jumped %lld times; %lld senders "
             "went on",
             u->path, (long long)c.frames.accepted, (long long)c.overflowed, (long long)c.buffer,
             (long long)c.frames.dropped, (long long)(c.foreign + c.frames.rejected),
             (long long)u->clock.jumps, (long long)u->senders);
    if (end && u->changed_bytes)
        psr_note(&u->notes,
                 "%s: for %g s datagrams of other frames, of %zu bytes, have come instead of %zu: "
                 "the stream has "
                 "changed, and the input ends",
                 u->path, change_s, u->changed_bytes, u->datagram_bytes);
}

static psr_status take_frames(struct psr_udp_frames *u, psr_err *err)
{
    struct psr_frame_run run = {0};
    u->at = u->end = 0;
    psr_status st = psr_udp_take(u->receiver, FRAMES, u->held, &run, err);
    if (st)
        return st;
    u->end = run.n * u->like.bytes;
    u->arrival_s = run.arrival_s;
    const bool ended = psr_frame_run_is_empty(&run);
    if (psr_seconds() - u->reported_s > report_s || (ended && !u->ended))
        report(u, ended);
    u->ended = ended;
    return PSR_OK;
}

psr_status psr_udp_frames_read(psr_udp_frames *u, void *to, size_t n, size_t *got, psr_err *err)
{
    psr_status st = PSR_OK;
    *got = 0;
    while (!st && !u->ended && u->at == u->end)
        st = take_frames(u, err);
    if (st || u->ended)
        return st;
    const size_t held = u->end - u->at;
    *got = held < n ? held : n;
    memcpy(to, u->held + u->at, *got);
    u->at += *got;
    return PSR_OK;
}

double psr_udp_frames_came(const psr_udp_frames *u)
{
    return u->arrival_s;
}

/* --- beginning and end -------------------------------------------------------------------------- */

/* Waits for the first datagram. */
static psr_status begin(struct psr_udp_frames *u, psr_err *err)
{
    psr_status st = psr_udp_wait(u->receiver, &u->beginning, u->path, err);
    if (st)
        return st;
    const size_t bytes = FRAMES * u->like.bytes;
    u->held = malloc(bytes);
    return u->held ? PSR_OK : psr_fail_nomem(err, "datagrams", (double)bytes);
}

void psr_udp_frames_close(psr_udp_frames *u)
{
    if (!u)
        return;
    psr_udp_stop(u->receiver);
    psr_udp_quorum_destroy(u->quorum);
    free(u->held);
    free(u->moved);
    free(u);
}

psr_status psr_udp_frames_open(psr_udp_frames **out, const char *path,
                               const struct psr_notes *notes, psr_err *err)
{
    struct psr_udp_name name;
    *out = NULL;
    psr_status st = psr_udp_parse(&name, path, err);
    if (st)
        return st;
    psr_udp_frames *u = calloc(1, sizeof *u);
    if (!u)
        return psr_fail_nomem(err, "a receiver of frames", sizeof *u);
    u->notes = *notes;
    u->path = path;
    u->reported_s = psr_seconds();
    st = psr_udp_quorum_create(&u->quorum, are_alike, err);
    if (!st)
        st = psr_udp_receive(&u->receiver,
                             &(struct psr_udp_desc){.name = &name,
                                                    .sort = sort,
                                                    .settle = settle,
                                                    .ctx = u,
                                                    .path = path,
                                                    .notes = *notes},
                             err);
    if (!st)
        st = begin(u, err);
    if (st) {
        psr_udp_frames_close(u);
        return st;
    }
    *out = u;
    return PSR_OK;
}
