/* udp_frames: VDIF frames sent over the loopback interface are read as the same frames in a file are. */
#include "formats/stream/udp.h"
#include "formats/voltages/baseband.h"
#include "tests/support/baseband_made.h"

#include "tests/support/loopback.h"
#include "tests/support/tap.h"
#include <pthread.h>
#include <time.h>

enum { NFRAME = 400, FRAME_NSAMP = 64, SEQUENCE_BYTES = 8, DATAGRAM_MAX = 65507 };

/* Datagrams a second, few enough for small buffers of the kernel on a busy machine. */
static const double datagram_rate = 2000;

/* What comes before the stream. */
enum early { NOTHING, OTHER_SIZE, OLD, OTHER_BITS, OTHER_REAL, OTHER_CHANNELS, KINDS_MIXED };
static const char *const early_name[] = {
    "",
    ", ten of another size first",
    ", ten old ones first",
    ", ten of other bits first",
    ", ten of real samples first",
    ", ten of other channels first",
    ", thirty of three other kinds in turn first",
};

/* Frames as they are sent: in this order, some twice, some never. */
struct stream {
    struct made made;
    struct made_vdif vdif;
    struct made_bytes frames;
    size_t frame_bytes, per_datagram, prefix;
    bool hostile, changes; /* after a pause */
    enum early early;
    int port;
    uint64_t random;
};

struct result {
    struct psr_baseband_header header;
    struct psr_baseband_count count;
    float *x; /* [nplane][room][ndim] */
    bool *lost;
    size_t n, room;
    char note[1024];
};

static void keep_note(void *ctx, const char *msg)
{
    struct result *r = ctx;
    const size_t n = strlen(r->note);
    snprintf(r->note + n, sizeof r->note - n, "%s; ", msg);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void make_stream(struct stream *s, uint64_t *random, double loss, size_t reorder)
{
    struct made *m = &s->made;
    const size_t nthread = (size_t)tap_between(random, 1, 2);
    s->vdif = (struct made_vdif){.nthread = nthread,
                                 .nchan = (size_t)1 << tap_between(random, 0, 3),
                                 .frame_nsamp = FRAME_NSAMP,
                                 .legacy = tap_random(random) >> 63,
                                 .threads_are_pols = nthread == 2,
                                 .per_second = 150,
                                 .second = 1000};
    *m =
        (struct made){.npol = nthread, .ndim = 2, .nsamp = (size_t)FRAME_NSAMP * NFRAME, .nbit = 8};
    m->nchan = s->vdif.nchan;
    made_fill(m, random);
    s->frame_bytes = (s->vdif.legacy ? 16U : 32U) + FRAME_NSAMP * m->nchan * m->ndim;
    size_t order[NFRAME];
    for (size_t k = 0; k < NFRAME; k++)
        order[k] = k;
    for (size_t k = 4; reorder > 0 && k + reorder < NFRAME; k += reorder) {
        const size_t with = k + (size_t)tap_between(random, 0, (int64_t)reorder - 1);
        const size_t was = order[k];
        order[k] = order[with];
        order[with] = was;
    }
    for (size_t i = 0; i < NFRAME; i++)
        for (size_t g = 0; g < nthread; g++) {
            const bool edge = i < 4 || i + 1 == NFRAME;
            const double fate = (double)(tap_random(random) >> 11) * 0x1p-53;
            const int copies = edge || fate > 2 * loss ? 1 : fate > loss ? 2 : 0;
            for (int c = 0; c < copies; c++)
                made_vdif_frame(&s->frames, m, &s->vdif, order[i], g, false);
        }
    if (s->frames.n / s->frame_bytes % s->per_datagram) /* datagrams are of one size */
        made_vdif_frame(&s->frames, m, &s->vdif, NFRAME - 1, 0, false);
    s->random = tap_random(random);
}

/* A datagram that is none of the stream's. */
static void send_hostile(const struct stream *s, int fd, uint64_t *random)
{
    unsigned char packet[DATAGRAM_MAX];
    const size_t whole = s->prefix + s->per_datagram * s->frame_bytes;
    const size_t length[] = {1, whole, whole - 1, (size_t)tap_between(random, 0, 9000)};
    const size_t kind = tap_random(random) % 4;
    for (size_t i = 0; i < sizeof packet; i++)
        packet[i] = (unsigned char)(tap_random(random) >> 40);
    if (kind == 2)
        memcpy(packet, s->frames.bytes, s->frame_bytes);
    (void)!send(fd, packet, length[kind], 0);
}

/* Makes a frame's header say another kind, of the same size. */
static void change_kind(unsigned char *header, enum early kind)
{
    if (kind == OTHER_BITS) /* bits of a component, less 1, from bit 26 of word 3 */
        header[15] ^= (7 ^ 3) << 2;
    else if (kind == OTHER_REAL)
        header[15] ^= 0x80;
    else if (kind == OTHER_CHANNELS) /* the logarithm from bit 24 of word 2 */
        header[11] ^= 1;
}

static void send_early(const struct stream *s, int fd)
{
    unsigned char packet[DATAGRAM_MAX];
    const bool mixed = s->early == KINDS_MIXED, other_size = s->early == OTHER_SIZE;
    const size_t bytes = s->per_datagram * s->frame_bytes,
                 n = other_size ? 3 * s->frame_bytes : bytes;
    for (int i = 0; s->early && i < (mixed ? 30 : 10); i++) {
        memcpy(packet + s->prefix, s->frames.bytes, n);
        for (size_t at = s->prefix; at < s->prefix + n; at += s->frame_bytes) {
            if (s->early == OLD)
                psr_vdif_add_seconds(packet + at, -500);
            change_kind(packet + at, mixed ? (enum early)(OTHER_BITS + i % 3) : s->early);
        }
        (void)!send(fd, packet, s->prefix + n, 0);
    }
}

static void *send_stream(void *arg)
{
    const struct stream *s = arg;
    unsigned char packet[DATAGRAM_MAX];
    const size_t bytes = s->per_datagram * s->frame_bytes;
    uint64_t number = 0, random = s->random;
    nanosleep(&(struct timespec){0, 200000000}, NULL); /* all receivers open */
    const int fd = loopback_sender(s->port);           /* none of their ports */
    send_early(s, fd);
    for (int i = 0; s->hostile && i < 20; i++)
        send_hostile(s, fd, &random);
    for (size_t at = 0; at < s->frames.n; at += bytes, number++) {
        const size_t n = s->frames.n - at < bytes ? s->frames.n - at : bytes;
        memcpy(packet, &number, sizeof number);
        memcpy(packet + s->prefix, s->frames.bytes + at, n);
        (void)!send(fd, packet, s->prefix + n, 0);
        nanosleep(&(struct timespec){0, (long)(1e9 / datagram_rate)}, NULL);
        if (s->hostile && number % 3 == 0)
            send_hostile(s, fd, &random);
    }
    close(fd);
    return NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static psr_status read_all(struct result *r, const char *path, size_t room, double bw_mhz,
                           psr_err *err)
{
    psr_baseband *b;
    *r = (struct result){.room = room};
    const struct psr_baseband_desc d = {.size = sizeof d,
                                        .path = &path,
                                        .npath = 1,
                                        .freq_mhz = 400,
                                        .bw_mhz = bw_mhz,
                                        .notes = {keep_note, r}};
    psr_status st = psr_baseband_open(&b, &d, err);
    if (st)
        return st;
    r->header = *psr_baseband_header(b);
    const size_t nplane = r->header.nchan * r->header.npol;
    r->x = tap_take(nplane * room * 2, sizeof *r->x);
    r->lost = tap_take(room, sizeof *r->lost);
    st = psr_baseband_read(b, room, r->x, &r->n, err);
    const struct psr_span *span;
    for (size_t i = psr_baseband_lost(b, &span); i-- > 0 && !st;)
        for (int64_t t = 0; t < span[i].count; t++)
            r->lost[span[i].first + t] = true;
    psr_baseband_describe(b, &r->count);
    psr_baseband_close(b);
    return st;
}

static bool same(const struct result *a, const struct result *b)
{
    const size_t nplane = a->header.nchan * a->header.npol;
    const struct psr_baseband_count *m = &a->count, *n = &b->count;
    return a->n == b->n && a->header.start.day == b->header.start.day &&
           a->header.start.frac == b->header.start.frac &&
           nplane == b->header.nchan * b->header.npol &&
           !memcmp(a->x, b->x, nplane * a->room * 2 * sizeof *a->x) &&
           !memcmp(a->lost, b->lost, a->room) && m->missing == n->missing && m->lost == n->lost &&
           m->duplicates == n->duplicates;
}

/* A stream that is sent and read while others are: most of the time they wait. */
struct transfer {
    struct stream s;
    double loss, bw_mhz;
    size_t reorder, room;
    struct result file, net;
    psr_status st;
    psr_err err;
    pthread_t thread;
};

static void *receive_stream(void *arg)
{
    struct transfer *t = arg;
    pthread_t sender;
    char name[64];
    snprintf(name, sizeof name, "udp://127.0.0.1:%d?idle=2", t->s.port);
    if (pthread_create(&sender, NULL, send_stream, &t->s))
        exit(EXIT_FAILURE);
    t->st = read_all(&t->net, name, t->room, t->bw_mhz, &t->err);
    pthread_join(sender, NULL);
    return NULL;
}

/* A port that no other transfer has. */
static int own_port(const struct transfer *t, size_t n)
{
    int port = loopback_port();
    for (size_t i = 0; i < n; i++)
        if (t[i].s.port == port)
            port = loopback_port(), i = (size_t)-1;
    return port;
}

/* t[n] is made, its file read, and it can be sent. */
static void add_transfer(struct transfer *t, size_t n, uint64_t *random, bool hostile,
                         enum early early)
{
    struct transfer *new = &t[n];
    new->s = (struct stream){.per_datagram = (size_t)tap_between(random, 1, 2),
                             .prefix = tap_random(random) >> 63 ? SEQUENCE_BYTES : 0,
                             .hostile = hostile,
                             .early = early,
                             .port = own_port(t, n)};
    make_stream(&new->s, random, new->loss, new->reorder);
    const char *path = scratch("frames.vdif");
    scratch_write(path, new->s.frames.bytes, new->s.frames.n);
    new->bw_mhz = new->s.vdif.per_second *FRAME_NSAMP * 1e-6 * (double)new->s.made.nchan;
    new->room = new->s.made.nsamp + 100;
    if (read_all(&new->file, path, new->room, new->bw_mhz, &new->err)) {
        printf("Bail out! %s\n", new->err.msg);
        exit(EXIT_FAILURE);
    }
}

static void report_transfer(struct transfer *t)
{
    const struct stream *s = &t->s;
    const bool overflowed = !strstr(t->net.note, " 0 datagrams found the kernel's");
    ok(!t->st && (overflowed || same(&t->file, &t->net)),
       "%zu threads of %zu channels, %zu frames a datagram behind %zu bytes, %g lost, reordered by "
       "%zu%s: %lld lost, %lld twice%s",
       s->vdif.nthread, s->vdif.nchan, s->per_datagram, s->prefix, t->loss, t->reorder,
       s->hostile ? ", among hostile ones" : early_name[s->early], (long long)t->file.count.lost,
       (long long)t->file.count.duplicates,
       overflowed ? " (the kernel lost some: not compared)" : "");
    diag("%s", t->st ? t->err.msg : t->net.note);
    free(t->file.x), free(t->file.lost), free(t->net.x), free(t->net.lost);
    free(t->s.frames.bytes), free(t->s.made.level);
}

enum { PLAIN = 5, NTRANSFER = PLAIN + KINDS_MIXED };

static void start_transfers(struct transfer *t, uint64_t *random)
{
    const double losses[PLAIN] = {0, 0.001, 0.05, 0.05, 0.05};
    for (size_t i = 0; i < NTRANSFER; i++) {
        t[i].loss = i < PLAIN ? losses[i] : 0;
        t[i].reorder = i == 3 || i == 4 ? 16 : 0;
        add_transfer(t, i, random, i == 4, i < PLAIN ? NOTHING : (enum early)(i - PLAIN + 1));
    }
    for (size_t i = 0; i < NTRANSFER; i++)
        if (pthread_create(&t[i].thread, NULL, receive_stream, &t[i]))
            exit(EXIT_FAILURE);
}

static void test_transfers(struct transfer *t)
{
    for (size_t i = 0; i < NTRANSFER; i++)
        pthread_join(t[i].thread, NULL);
    for (size_t i = 0; i < NTRANSFER; i++)
        report_transfer(&t[i]);
}

/* --- a reader that is too slow ---------------------------------------------------------------- */

enum { BURST = 1500, MORE = 100, ROOM = 512 }; /* two windows */

static size_t read_frames(psr_udp_frames *u, size_t bytes, size_t most)
{
    static unsigned char to[1 << 20];
    psr_err err;
    size_t n = 0;
    for (size_t got = 1; got > 0 && n < most * bytes; n += got)
        if (psr_udp_frames_read(u, to, most * bytes - n, &got, &err))
            break;
    return n / bytes;
}

static void send_some(const struct stream *s, int fd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)!send(fd, s->frames.bytes, s->frame_bytes, 0);
}

static void *send_burst(void *arg)
{
    const struct stream *s = arg;
    const int fd = loopback_sender(s->port);
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    send_some(s, fd, BURST);
    nanosleep(&(struct timespec){1, 500000000},
              NULL); /* meanwhile all that there is room for is read */
    send_some(s, fd, MORE);
    close(fd);
    return NULL;
}

/* What there is no room for is lost, and counted as such; what comes when there is room again is not. */
static void test_slow_reader(uint64_t *random)
{
    struct stream s = {.per_datagram = 1, .port = loopback_port()};
    struct result r = {.n = 0};
    const struct psr_notes notes = {keep_note, &r};
    psr_udp_frames *u;
    psr_err err = {.msg = ""};
    pthread_t thread;
    char name[64];
    make_stream(&s, random, 0, 0);
    snprintf(name, sizeof name, "udp://127.0.0.1:%d?idle=2&room=1", s.port);
    if (pthread_create(&thread, NULL, send_burst, &s))
        exit(EXIT_FAILURE);
    const psr_status st = psr_udp_frames_open(&u, name, &notes, &err);
    nanosleep(&(struct timespec){0, 700000000}, NULL);
    const size_t first = st ? 0 : read_frames(u, s.frame_bytes, ROOM);
    const size_t later = st ? 0 : read_frames(u, s.frame_bytes, BURST);
    pthread_join(thread, NULL);
    const bool overflowed = !strstr(r.note, " 0 datagrams found the kernel's");
    char counts[64];
    snprintf(counts, sizeof counts, "and %d frames ours; 0 were foreign", BURST - ROOM);
    ok(!st && (overflowed || (first == ROOM && later == MORE && strstr(r.note, counts))),
       "a reader that is too slow gets %d frames of %d, and all of the %d after: %zu and %zu%s",
       ROOM, BURST, MORE, first, later, overflowed ? " (the kernel lost some: not compared)" : "");
    diag("%s%s", err.msg, r.note);
    psr_udp_frames_close(u);
    free(s.frames.bytes), free(s.made.level);
}

/* --- the buffer before it ----------------------------------------------------------------------- */

enum { FIRST = 40, PAUSE_MS = 300 };

/* The same frames of another time, two in a datagram behind a number. */
static void send_pairs(const struct stream *s, int fd, size_t n)
{
    static unsigned char packet[DATAGRAM_MAX];
    unsigned char *first = packet + SEQUENCE_BYTES, *second = first + s->frame_bytes;
    memcpy(first, s->frames.bytes, s->frame_bytes);
    psr_vdif_add_seconds(first, 100000);
    memcpy(second, first, s->frame_bytes);
    for (size_t i = 0; i < n; i++)
        (void)!send(fd, packet, SEQUENCE_BYTES + 2 * s->frame_bytes, 0);
}

static void *send_with_pause(void *arg)
{
    const struct stream *s = arg;
    const int fd = loopback_sender(s->port);
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    send_some(s, fd, FIRST);
    nanosleep(&(struct timespec){0, PAUSE_MS * 1000000L}, NULL);
    if (s->changes)
        send_pairs(s, fd, FIRST);
    else
        send_some(s, fd, FIRST);
    close(fd);
    return NULL;
}

/* A pause is no end: what is shown is short, and the input has ended, only when the stream has. */
static void test_input(uint64_t *random, bool changes)
{
    struct stream s = {.per_datagram = 1, .changes = changes, .port = loopback_port()};
    struct result r = {.n = 0};
    const struct psr_notes notes = {keep_note, &r};
    struct psr_baseband_input *in;
    const uint8_t *bytes;
    psr_err err = {.msg = ""};
    pthread_t thread;
    char name[64];
    size_t all = 0, more = 0;
    bool early = true;
    make_stream(&s, random, 0, 0);
    const size_t sent = (changes ? 3 : 2) * FIRST * s.frame_bytes;
    snprintf(name, sizeof name, "udp://127.0.0.1:%d?idle=1", s.port);
    if (pthread_create(&thread, NULL, send_with_pause, &s))
        exit(EXIT_FAILURE);
    psr_status st = psr_baseband_input_open(&in, name, &notes, &err);
    if (!st)
        st = psr_baseband_input_peek(in, sent, &bytes, &all, &err);
    if (!st) {
        early = in->ended;
        st = psr_baseband_input_peek(in, sent + 1, &bytes, &more, &err);
    }
    pthread_join(thread, NULL);
    ok(!st && all == sent && !early && more == sent && in->ended,
       "all of %zu bytes are shown over a pause of %d ms%s: %zu, then %zu and the end", sent,
       PAUSE_MS, changes ? ", after which datagrams are of another size and time" : "", all, more);
    diag("%s%s", err.msg, r.note);
    if (!st)
        psr_baseband_input_close(in);
    free(s.frames.bytes), free(s.made.level);
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    static struct transfer t[NTRANSFER];
    start_transfers(t, &random);
    test_slow_reader(&random);
    test_input(&random, false);
    test_input(&random, true);
    test_transfers(t);
    return done_testing();
}
