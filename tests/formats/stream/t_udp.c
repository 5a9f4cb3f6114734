/* udp: what is sent over the loopback interface against what is received. */
#include "formats/stream/udp.h"
#include <psrkit/experimental/source.h>

#include "tests/support/loopback.h"
#include "tests/support/tap.h"
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Datagrams a second, few enough for small buffers of the kernel on a busy machine. */
static const double packet_rate = 2000;

struct shape {
    size_t nchan;
    int nbit;
    size_t nsamp;
    double loss;
    int64_t reorder;
    uint64_t seed;
    int nif; /* 0: 1; of several the first is received */
    enum psr_pols pols;
};

struct transfer {
    struct shape shape;
    char to[64], from[96];
    struct psr_obs obs;
    size_t row_bytes;
    int64_t packets, lost; /* as sent */
    psr_status sent;
    psr_err err;
    void (*send)(struct transfer *t);
    /* as received */
    size_t nrow; /* with gaps */
    int64_t missing, wrong, overflowed;
    int64_t first_gap, first_missing;
    uint64_t *digest; /* [nrow] */
    char note[1024];
};

/* --- sending ---------------------------------------------------------------------------------- */

static void fill_row(const struct transfer *t, size_t row, unsigned char *to)
{
    uint64_t random = t->shape.seed * 1000003 + row + 1;
    for (size_t i = 0; i < t->row_bytes; i++)
        to[i] = (unsigned char)(tap_random(&random) >> 32);
}

/* As sent. */
static size_t spectrum_bytes(const struct transfer *t)
{
    return t->row_bytes * (size_t)t->obs.nif;
}

static void open_sender(struct transfer *t, psr_udp_sender **s)
{
    const struct psr_udp_shape p = psr_udp_shape(spectrum_bytes(t));
    const struct psr_udp_sender_desc d = {.size = sizeof d,
                                          .to = t->to,
                                          .obs = &t->obs,
                                          .rate =
                                              packet_rate * t->obs.tsamp_s * p.spectra / p.pieces,
                                          .loss = t->shape.loss,
                                          .reorder = t->shape.reorder,
                                          .seed = t->shape.seed};
    t->sent = psr_udp_sender_create(s, &d, &t->err);
}

static void send_rows(struct transfer *t, psr_udp_sender *s, size_t from, size_t to)
{
    unsigned char *row = tap_take(spectrum_bytes(t), 1);
    memset(row, 0x55, spectrum_bytes(t));
    for (size_t k = from; k < to && !t->sent; k++) {
        fill_row(t, k, row);
        t->sent = psr_udp_sender_append(s, row, 1, &t->err);
    }
    free(row);
}

static void send_all(struct transfer *t)
{
    psr_udp_sender *s;
    open_sender(t, &s);
    if (!t->sent)
        send_rows(t, s, 0, t->shape.nsamp);
    if (!t->sent)
        t->sent = psr_udp_sender_finish(s, &t->err);
    if (!t->sent)
        t->packets = psr_udp_sender_count(s, &t->lost);
    psr_udp_sender_destroy(s);
}

static void *run_sender(void *arg)
{
    struct transfer *t = arg;
    nanosleep(&(struct timespec){0, 200000000}, NULL); /* the receiver opens its socket */
    t->send(t);
    return NULL;
}

/* --- receiving -------------------------------------------------------------------------------- */

static void keep_note(void *ctx, const char *msg)
{
    struct transfer *t = ctx;
    if (strstr(msg, "packets received"))
        snprintf(t->note, sizeof t->note, "%s", msg);
}

/* FNV-1a. */
static uint64_t digest_of(const unsigned char *bytes, size_t n)
{
    uint64_t digest = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        digest = (digest ^ bytes[i]) * UINT64_C(1099511628211);
    return digest;
}

static void keep_rows(struct transfer *t, const unsigned char *block, size_t n)
{
    for (size_t k = 0; k < n; k++)
        t->digest[t->nrow + k] = digest_of(block + k * t->row_bytes, t->row_bytes);
    t->nrow += n;
}

/* Whether row k is what was sent as row sent. */
static bool is_row(const struct transfer *t, size_t k, size_t sent)
{
    unsigned char *row = tap_take(t->row_bytes, 1);
    fill_row(t, sent, row);
    const bool same = digest_of(row, t->row_bytes) == t->digest[k];
    free(row);
    return same;
}

/* Rows that are neither right nor said to be missing are wrong. */
static void count_rows(struct transfer *t, const psr_source *s)
{
    const struct psr_span *gap;
    const size_t n = psr_source_gaps(s, &gap);
    size_t k = 0;
    t->first_gap = n ? gap[0].first : -1;
    t->first_missing = n ? gap[0].count : 0;
    for (size_t i = 0; i <= n; i++) {
        const size_t end = i < n ? (size_t)gap[i].first : t->nrow;
        for (; k < end; k++)
            t->wrong += !is_row(t, k, k);
        k += i < n ? (size_t)gap[i].count : 0;
        t->missing += i < n ? gap[i].count : 0;
    }
    const char *full = strstr(t->note, "came late, ");
    t->overflowed = full ? atoll(full + strlen("came late, ")) : -1;
}

static psr_status receive(struct transfer *t, psr_err *err)
{
    enum { ROWS = 37 };
    const char *path = t->from;
    psr_source *s;
    size_t n = 1;
    const size_t most = 4 * t->shape.nsamp + 100000;
    psr_status st =
        psr_source_open(&s,
                        &(struct psr_source_desc){.size = sizeof(struct psr_source_desc),
                                                  .path = &path,
                                                  .npath = 1,
                                                  .if_choice = -1,
                                                  .notes = {keep_note, t}},
                        err);
    if (st)
        return st;
    unsigned char *block = tap_take(ROWS, t->row_bytes);
    t->digest = tap_take(most + ROWS, sizeof *t->digest);
    while (!st && n && t->nrow < most) {
        st = psr_source_read(s, ROWS, block, &n, err);
        keep_rows(t, block, st ? 0 : n);
    }
    if (!st)
        count_rows(t, s);
    free(block);
    psr_source_close(s);
    return st;
}

/* Returned: whether all was sent; the rest is in *t and *st, that of the receiver */
static bool transfer_of(struct transfer *t, const struct shape *shape,
                        void (*send)(struct transfer *), psr_status *st, psr_err *err)
{
    pthread_t thread;
    const int port = loopback_port();
    *t = (struct transfer){.shape = *shape, .send = send};
    psr_obs_init(&t->obs);
    t->obs.nchan = shape->nchan;
    t->obs.nbit = shape->nbit;
    t->obs.kind = shape->nbit == 32 ? PSR_FLOAT : PSR_UINT;
    t->obs.nif = shape->nif ? shape->nif : 1;
    t->obs.pols = shape->pols;
    t->obs.fch1_mhz = 1500;
    t->obs.foff_mhz = -0.01;
    t->obs.tsamp_s = 1e-3;
    t->obs.tstart.day = 60000;
    t->row_bytes = shape->nchan * (size_t)shape->nbit / 8;
    snprintf(t->to, sizeof t->to, "udp://127.0.0.1:%d", port);
    snprintf(t->from, sizeof t->from, "%s?idle=3&window=128", t->to);
    if (pthread_create(&thread, NULL, run_sender, t))
        return false;
    *st = receive(t, err);
    pthread_join(thread, NULL);
    return !t->sent;
}

/* Returned: whether all went through; the rest is in *t */
static bool transfer(struct transfer *t, const struct shape *shape, void (*send)(struct transfer *))
{
    psr_err err = {.msg = ""};
    psr_status st = PSR_OK;
    if (!transfer_of(t, shape, send, &st, &err) && !t->sent)
        return false;
    if (st || t->sent)
        diag("%s%s", st ? err.msg : "", t->sent ? t->err.msg : "");
    return !st && !t->sent;
}

static void release(struct transfer *t)
{
    free(t->digest);
    psr_obs_clear(&t->obs);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_shape(const struct shape *shape)
{
    struct transfer t;
    bool right = transfer(&t, shape, send_all);
    const struct psr_udp_shape p = psr_udp_shape(spectrum_bytes(&t));
    const int64_t gone = t.lost + t.overflowed, most = gone * p.spectra,
                  least = p.pieces > 1 ? (gone + p.pieces - 1) / p.pieces : most - (p.spectra - 1);
    right &= t.nrow == shape->nsamp && !t.wrong && t.overflowed >= 0 && t.missing <= most &&
             (t.missing >= least || !gone);
    ok(right,
       "%zu channels of %d bits, %zu spectra: %lld of %lld packets lost, %lld by the kernel; %lld "
       "spectra "
       "missing, %lld wrong",
       shape->nchan, shape->nbit, shape->nsamp, (long long)t.lost, (long long)t.packets,
       (long long)t.overflowed, (long long)t.missing, (long long)t.wrong);
    if (!right)
        diag("%zu rows; %s", t.nrow, t.note);
    release(&t);
}

static void test_shapes(uint64_t *random)
{
    const double losses[] = {0, 1e-3, 0.05};
    const struct shape fixed[] = {
        {1024, 8, 4000, 0.05, 64, 1, 1, PSR_POLS_UNKNOWN},
        {24, 1, 300000, 1e-3, 64, 2, 1, PSR_POLS_UNKNOWN},
        {20000, 8, 300, 0.05, 7, 3, 1, PSR_POLS_UNKNOWN},
        {3000, 32, 200, 0.02, 0, 4, 1, PSR_POLS_UNKNOWN},
        {8, 8, 1, 0, 0, 5, 1, PSR_POLS_UNKNOWN},
        {64, 8, 4000, 0, 0, 6, 4, PSR_POLS_STOKES},
        {3000, 16, 200, 0, 0, 7, 4, PSR_POLS_STOKES},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        test_shape(&fixed[i]);
    for (size_t i = 0; i < 3; i++) {
        const int nbit = 1 << tap_between(random, 0, 4);
        struct shape s = {.nchan = 8 * (size_t)tap_between(random, 1, 1500),
                          .nbit = nbit,
                          .loss = losses[i],
                          .reorder = tap_between(random, 0, 64),
                          .seed = tap_random(random) >> 20};
        s.nsamp = 1 + (size_t)(8e6 / ((double)s.nchan * nbit / 8));
        test_shape(&s);
    }
}

/* What four are must be said. */
static void test_unknown_pols(void)
{
    struct transfer t = {.shape = {64, 8, 400, 0, 0, 8, 4, PSR_POLS_UNKNOWN}};
    const struct shape shape = t.shape;
    psr_err err = {.msg = ""};
    psr_status st = PSR_OK;
    (void)transfer_of(&t, &shape, send_all, &st, &err);
    ok(st == PSR_EUNSUPPORTED && strstr(err.msg, "-state Stokes"), "four of unknown kind: %s",
       err.msg);
    release(&t);
}

/* A sender is killed within a packet, and another goes on later. */
enum { BEFORE = 2001, AFTER = 1500 };

static void send_twice(struct transfer *t)
{
    psr_udp_sender *s;
    open_sender(t, &s);
    if (!t->sent)
        send_rows(t, s, 0, BEFORE);
    psr_udp_sender_destroy(s);
    nanosleep(&(struct timespec){0, 500000000}, NULL);
    if (t->sent)
        return;
    open_sender(t, &s);
    if (!t->sent)
        send_rows(t, s, 0, AFTER);
    if (!t->sent)
        t->sent = psr_udp_sender_finish(s, &t->err);
    psr_udp_sender_destroy(s);
}

static void test_restart(void)
{
    const struct shape shape = {512, 8, BEFORE + AFTER, 0, 0, 9, 1, PSR_POLS_UNKNOWN};
    struct transfer t;
    const bool through = transfer(&t, &shape, send_twice);
    const int64_t whole = BEFORE - BEFORE % psr_udp_shape(t.row_bytes).spectra;
    const int64_t expected = (int64_t)t.nrow - whole - AFTER;
    int64_t wrong = 0;
    for (size_t k = 0; through && k < t.nrow; k++)
        if ((int64_t)k < whole || t.nrow - k <= AFTER)
            wrong += !is_row(&t, k, (int64_t)k < whole ? k : k + AFTER - t.nrow);
    ok(through && !wrong && t.first_gap == whole && t.missing == expected &&
           t.first_missing == expected,
       "a sender that was killed and one that goes on: %lld spectra, %lld missing, %lld",
       (long long)whole, (long long)t.missing, (long long)AFTER);
    const double tsamp_s = t.obs.tsamp_s;
    /* A receiver that is held up itself sees the first sender's end late. */
    ok((double)t.missing * tsamp_s > 0.25 && (double)t.missing * tsamp_s < 5,
       "the time between is %.3f s of missing spectra", (double)t.missing * tsamp_s);
    if (!through || t.missing != expected)
        diag("%zu rows, gap of %lld at %lld; %s", t.nrow, (long long)t.first_missing,
             (long long)t.first_gap, t.note);
    release(&t);
}

/* Packets that are none of the stream's, of every kind. */
static void send_hostile(struct transfer *t, int fd, uint64_t *random)
{
    unsigned char packet[PSR_UDP_HEAD + PSR_UDP_SAMPLES + 64];
    const struct psr_udp_shape p = psr_udp_shape(t->row_bytes);
    struct psr_udp_packet head = {.kind = (enum psr_udp_kind)(1 + tap_random(random) % 3),
                                  .pieces = p.pieces,
                                  .stream = tap_random(random),
                                  .number = tap_random(random) >> tap_between(random, 0, 60),
                                  .spectra = p.spectra,
                                  .bytes = p.bytes};
    size_t n = PSR_UDP_HEAD + p.bytes;
    for (size_t i = 0; i < sizeof packet; i++)
        packet[i] = (unsigned char)(tap_random(random) >> 40);
    switch (tap_random(random) % 5) {
    case 0:
        n = 1;
        break;
    case 1:
        n = (size_t)tap_between(random, 0, sizeof packet);
        break;
    case 2:
        psr_udp_pack(packet, &head);
        break;
    case 3:
        head.bytes = (uint32_t)tap_random(random);
        psr_udp_pack(packet, &head);
        break;
    default:
        psr_udp_pack(packet, &head);
        n = (size_t)tap_between(random, 0, PSR_UDP_HEAD);
    }
    (void)!send(fd, packet, n, 0);
}

static void send_among_hostile(struct transfer *t)
{
    uint64_t random = t->shape.seed;
    psr_udp_sender *s;
    const int fd = loopback_sender(atoi(strrchr(t->to, ':') + 1));
    if (fd < 0)
        t->sent = PSR_EIO;
    for (int k = 0; k < 50 && !t->sent; k++)
        send_hostile(t, fd, &random);
    if (!t->sent)
        open_sender(t, &s);
    for (size_t k = 0; k < t->shape.nsamp && !t->sent; k++) {
        send_rows(t, s, k, k + 1);
        if (k % 5 == 0)
            send_hostile(t, fd, &random);
    }
    if (!t->sent)
        t->sent = psr_udp_sender_finish(s, &t->err);
    psr_udp_sender_destroy(s);
    close(fd);
}

static void test_hostile(uint64_t *random)
{
    const struct shape shape = {1000, 8, 4000, 0, 0, tap_random(random) | 1, 1, PSR_POLS_UNKNOWN};
    struct transfer t;
    const bool through = transfer(&t, &shape, send_among_hostile);
    ok(through && t.nrow == shape.nsamp && !t.wrong && (!t.missing || t.overflowed),
       "850 hostile packets do not change %zu spectra (%lld missing, %lld packets lost by the "
       "kernel)",
       shape.nsamp, (long long)t.missing, (long long)t.overflowed);
    if (!through || t.nrow != shape.nsamp || t.wrong)
        diag("%zu rows, %lld wrong; %s", t.nrow, (long long)t.wrong, t.note);
    release(&t);
}

static void test_names(void)
{
    static const char *const bad[] = {
        "udp://",           "udp://127.0.0.1",           "udp://127.0.0.1:0",
        "udp://127.0.0.1:", "udp://127.0.0.1:99999",     "udp://localhost:9",
        "udp://:9",         "udp://127.0.0.1:9?idle",    "udp://127.0.0.1:9?idle=x",
        "udp://1.1.1.1:9?", "udp://127.0.0.1:9?speed=3", "udp://203.0.113.77:9",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        psr_source *s;
        psr_err err = {.msg = ""};
        const psr_status st =
            psr_source_open(&s,
                            &(struct psr_source_desc){.size = sizeof(struct psr_source_desc),
                                                      .path = &bad[i],
                                                      .npath = 1,
                                                      .if_choice = -1},
                            &err);
        ok(st && !s && *err.msg, "%s: %s", bad[i], err.msg);
        psr_source_close(s);
    }
}

int main(void)
{
    uint64_t random = tap_seed();
    test_names();
    test_shapes(&random);
    test_unknown_pols();
    test_restart();
    test_hostile(&random);
    return done_testing();
}
