/* udp: datagrams of another stream, or of the stream with numbers that cannot be, change nothing of what is received. */
#include "formats/sigproc/sigproc_header.h"
#include "formats/stream/udp.h"
#include <psrkit/experimental/source.h>

#include "tests/support/loopback.h"
#include "tests/support/tap.h"
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { NCHAN = 64, ROWS = 128, PACKETS = 100, OWN = 9, OTHER = 5, STRAYS = 10, MOST_ROWS = 40000 };

struct scenario {
    const char *name, *settings;
    void (*send)(int fd, int other_fd);
    size_t packets; /* that come out, without gaps */
};

static void rest_s(double s)
{
    nanosleep(&(struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}, NULL);
}

/* --- sending ---------------------------------------------------------------------------------- */

static uint8_t level(uint64_t stream, int64_t number, size_t row)
{
    return (uint8_t)(31 * stream + 7 * (uint64_t)number + row);
}

/* Header of spectra of another kind: nif polarisations of nchan channels of nbit bits. */
static void send_kind(int fd, uint64_t stream, size_t nchan, int nbit, int nif)
{
    struct psr_obs obs;
    unsigned char packet[4096], *header = NULL;
    size_t n = 0;
    psr_err err;
    psr_obs_init(&obs);
    obs.nchan = nchan, obs.nbit = nbit, obs.nif = nif;
    obs.fch1_mhz = 1500, obs.foff_mhz = -1, obs.tsamp_s = 1e-3;
    obs.tstart.day = 60000 + (long)stream;
    if (psr_sigproc_make_header(&header, &n, &obs, PSR_SIGPROC_FILTERBANK, &err))
        return;
    const struct psr_udp_packet p = {.kind = PSR_UDP_KIND_HEADER,
                                     .pieces = 1,
                                     .stream = stream,
                                     .spectra = ROWS,
                                     .bytes = (uint32_t)n};
    psr_udp_pack(packet, &p);
    memcpy(packet + PSR_UDP_HEAD, header, n);
    (void)!send(fd, packet, PSR_UDP_HEAD + n, 0);
    free(header);
}

static void send_header(int fd, uint64_t stream, size_t nchan)
{
    send_kind(fd, stream, nchan, 8, 1);
}

static void send_spectra(int fd, uint64_t stream, int64_t number, uint32_t spectra)
{
    unsigned char packet[PSR_UDP_HEAD + ROWS * NCHAN];
    const struct psr_udp_packet p = {.kind = PSR_UDP_KIND_SAMPLES,
                                     .pieces = 1,
                                     .stream = stream,
                                     .number = (uint64_t)number,
                                     .spectra = spectra,
                                     .bytes = ROWS * NCHAN};
    psr_udp_pack(packet, &p);
    for (size_t k = 0; k < ROWS; k++)
        memset(packet + PSR_UDP_HEAD + k * NCHAN, level(stream, number, k), NCHAN);
    (void)!send(fd, packet, sizeof packet, 0);
    rest_s(5e-4);
}

static void send_samples(int fd, uint64_t stream, int64_t number)
{
    send_spectra(fd, stream, number, ROWS);
}

static void send_range(int fd, uint64_t stream, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to; k++)
        send_samples(fd, stream, k);
}

static void send_end(int fd, uint64_t stream, int64_t total)
{
    unsigned char packet[PSR_UDP_HEAD];
    const struct psr_udp_packet p = {.kind = PSR_UDP_KIND_END,
                                     .pieces = 1,
                                     .stream = stream,
                                     .number = (uint64_t)total,
                                     .spectra = ROWS,
                                     .bytes = ROWS};
    psr_udp_pack(packet, &p);
    (void)!send(fd, packet, sizeof packet, 0);
}

static void send_own(int fd)
{
    send_header(fd, OWN, NCHAN);
    send_range(fd, OWN, 0, PACKETS);
    send_end(fd, OWN, PACKETS);
}

static void strays_first(int fd, int other_fd)
{
    (void)other_fd;
    send_header(fd, OTHER, NCHAN);
    send_header(fd, OTHER + 1, 2 * NCHAN);
    send_range(fd, OTHER, 0, STRAYS);
    send_end(fd, OTHER + 1, 3);
    send_own(fd);
}

/* Two polarisations in half as many channels, and four in a quarter: packets of the stream's size, as many as make a
 * quorum, are of no stream that can be received; then ten of other bits, and headers after their samples. */
static void other_kinds_first(int fd, int other_fd)
{
    send_kind(other_fd, OTHER, 3000, 8, 2);
    send_range(other_fd, OTHER, 0, 2 * PSR_UDP_QUORUM_OF);
    send_range(other_fd, OTHER + 1, 0, PSR_UDP_QUORUM_OF);
    send_kind(other_fd, OTHER + 1, 5000, 8, 4);
    send_end(other_fd, OTHER + 1, PSR_UDP_QUORUM_OF);
    send_kind(other_fd, OTHER + 2, NCHAN / 2, 16, 1);
    send_range(other_fd, OTHER + 2, 0, STRAYS);
    send_range(other_fd, OTHER + 2, INT64_C(1) << 40, (INT64_C(1) << 40) + STRAYS / 2);
    send_own(fd);
}

/* The same among the packets of the stream, whose header comes last. */
static void other_kinds_between(int fd, int other_fd)
{
    send_kind(other_fd, OTHER, NCHAN / 2, 8, 2);
    send_kind(other_fd, OTHER + 1, NCHAN / 2, 16, 1);
    for (int64_t k = 0; k < PACKETS; k++) {
        if (k < STRAYS)
            send_samples(other_fd, OTHER + (uint64_t)k % 2, k % 2 ? (INT64_C(1) << 40) + k : k);
        send_samples(fd, OWN, k);
        if (k == STRAYS)
            send_header(fd, OWN, NCHAN);
    }
    send_end(fd, OWN, PACKETS);
}

static void far_numbers(int fd, int other_fd)
{
    (void)other_fd;
    send_header(fd, OWN, NCHAN);
    send_samples(fd, OWN, INT64_C(1) << 40);
    send_range(fd, OWN, 0, 50);
    send_range(fd, OWN, INT64_C(1) << 40, (INT64_C(1) << 40) + STRAYS);
    send_range(fd, OWN, INT64_C(1) << 59, (INT64_C(1) << 59) + STRAYS);
    send_end(fd, OWN, INT64_C(1) << 50);
    send_range(fd, OWN, 50, PACKETS);
    send_end(fd, OWN, PACKETS);
}

/* One end that is far ahead, and one far behind, of a stream that goes on. */
static void far_ends(int fd, int other_fd)
{
    (void)other_fd;
    send_header(fd, OWN, NCHAN);
    send_range(fd, OWN, 0, 80);
    send_end(fd, OWN, 100000);
    send_range(fd, OWN, 80, 90);
    send_end(fd, OWN, 2);
    send_range(fd, OWN, 90, PACKETS);
    send_end(fd, OWN, PACKETS);
}

/* The right end, long before the stream is there. */
static void early_ends(int fd, int other_fd)
{
    (void)other_fd;
    send_header(fd, OWN, NCHAN);
    send_range(fd, OWN, 0, 40);
    for (int64_t k = 40; k < PACKETS; k++) {
        send_end(fd, OWN, PACKETS);
        send_samples(fd, OWN, k);
        rest_s(0.02);
    }
    send_end(fd, OWN, PACKETS);
}

/* As many of numbers that cannot be as of others, from before the beginning on. */
static void half_far(int fd, int other_fd)
{
    static const int64_t far[] = {INT64_C(1) << 40, 1000000, INT64_C(1) << 32, 1000000000};
    (void)other_fd;
    send_header(fd, OWN, NCHAN);
    for (int64_t k = -STRAYS; k < PACKETS; k++) {
        send_samples(fd, OWN, far[(7 * (k + STRAYS) / 3) % 4]);
        if (k >= 0)
            send_samples(fd, OWN, k);
    }
    send_end(fd, OWN, PACKETS);
}

/* Other headers under the name of the stream, each once, before and between. */
static void other_headers(int fd, int other_fd)
{
    send_kind(other_fd, OWN, NCHAN / 2, 8, 2);
    send_header(fd, OWN, NCHAN);
    send_range(fd, OWN, 0, 5);
    send_kind(other_fd, OWN, NCHAN / 2, 16, 1);
    send_header(fd, OWN, NCHAN);
    send_range(fd, OWN, 5, PACKETS);
    send_end(fd, OWN, PACKETS);
}

/* Only the last packet holds fewer spectra than all others. */
static void short_between(int fd, int other_fd)
{
    (void)other_fd;
    send_header(fd, OWN, NCHAN);
    for (int64_t k = 0; k < PACKETS; k++) {
        send_spectra(fd, OWN, k, (uint32_t)k % 3);
        send_spectra(fd, OWN, k + 1, ROWS - 1);
        send_samples(fd, OWN, k);
    }
    send_end(fd, OWN, PACKETS);
}

/* So many agree that the stream begins again there. */
static void far_stream(int fd, int other_fd)
{
    const int64_t far = INT64_C(1) << 40;
    (void)other_fd;
    send_header(fd, OWN, NCHAN);
    send_range(fd, OWN, 0, 50);
    send_range(fd, OWN, far, far + 50);
    send_end(fd, OWN, far + 50);
}

static void strays_in_silence(int fd, int other_fd)
{
    (void)other_fd;
    send_header(fd, OWN, NCHAN);
    send_range(fd, OWN, 0, 50);
    rest_s(0.4);
    send_header(fd, OTHER, NCHAN);
    send_range(fd, OTHER, 0, STRAYS);
    send_range(fd, OWN, 50, PACKETS);
    send_end(fd, OWN, PACKETS);
}

static void another_sender(int fd, int other_fd)
{
    send_header(other_fd, OTHER, NCHAN);
    send_range(other_fd, OTHER, 0, 40);
    send_own(fd);
}

static const struct scenario scenarios[] = {
    {"ten strays first", "", strays_first, PACKETS},
    {"other kinds of spectra first", "", other_kinds_first, PACKETS},
    {"other kinds of spectra between, the header late", "", other_kinds_between, PACKETS},
    {"numbers that cannot be", "", far_numbers, PACKETS},
    {"ends that are far away", "", far_ends, PACKETS},
    {"ends that come early", "", early_ends, PACKETS},
    {"other headers of the stream", "", other_headers, PACKETS},
    {"half of all of numbers that cannot be", "", half_far, PACKETS},
    {"packets of few spectra between", "", short_between, PACKETS},
    {"a stream that begins again far ahead", "", far_stream, PACKETS},
    {"ten strays in a silence", "", strays_in_silence, PACKETS},
    {"another sender, filtered", "&from=127.0.0.1", another_sender, PACKETS},
};

/* --- receiving -------------------------------------------------------------------------------- */

struct result {
    psr_status st;
    psr_err err;
    long day;
    size_t nrow, ngap, wrong;
    bool reported, waited;
};

static void hear_note(void *ctx, const char *msg)
{
    struct result *r = ctx;
    r->reported |= strstr(msg, "no part of the stream") != NULL;
    r->waited |= strstr(msg, "no stream yet") != NULL;
    diag("%s", msg);
}

static void read_stream(struct result *r, const struct scenario *c, const char *path)
{
    static uint8_t block[MOST_ROWS * NCHAN];
    psr_source *s;
    const struct psr_span *gap;
    size_t n = 1;
    *r = (struct result){.nrow = 0};
    const struct psr_source_desc d = {
        .size = sizeof d, .path = &path, .npath = 1, .if_choice = -1, .notes = {hear_note, r}};
    r->st = psr_source_open(&s, &d, &r->err);
    if (r->st)
        return;
    r->day = psr_source_obs(s)->tstart.day;
    while (!r->st && n && r->nrow + 1000 < MOST_ROWS) {
        r->st = psr_source_read(s, 1000, block + r->nrow * NCHAN, &n, &r->err);
        r->nrow += r->st ? 0 : n;
    }
    r->ngap = psr_source_gaps(s, &gap);
    for (size_t k = 0; k < r->nrow; k++) {
        int64_t number = (int64_t)(k / ROWS);
        if (c->send == far_stream && number >= 50)
            number += (INT64_C(1) << 40) - 50;
        r->wrong += block[k * NCHAN] != level(OWN, number, k % ROWS);
    }
    psr_source_close(s);
}

struct sending {
    const struct scenario *scenario;
    int port;
};

/* A socket whose datagrams come from another address of the loopback interface. */
static int other_sender(int port)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)},
                       to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&from, sizeof from) ||
                    connect(fd, (struct sockaddr *)&to, sizeof to))) {
        close(fd);
        return -1;
    }
    return fd;
}

static void *run_sender(void *arg)
{
    const struct sending *s = arg;
    const int fd = loopback_sender(s->port), other_fd = other_sender(s->port);
    rest_s(0.2);
    s->scenario->send(fd, other_fd);
    close(fd);
    if (other_fd >= 0)
        close(other_fd);
    return NULL;
}

static void no_header(int fd, int other_fd)
{
    (void)other_fd;
    send_range(fd, OWN, 0, 40);
    rest_s(2.2);
    send_range(fd, OWN, 40, 80);
}

static void test_scenario(const struct scenario *c)
{
    struct sending s = {c, loopback_port()};
    struct result r;
    pthread_t thread;
    char path[96];
    snprintf(path, sizeof path, "udp://127.0.0.1:%d?idle=3&window=64%s", s.port, c->settings);
    if (pthread_create(&thread, NULL, run_sender, &s))
        return;
    read_stream(&r, c, path);
    pthread_join(thread, NULL);
    if (c->send == no_header)
        ok(r.st == PSR_EIO && r.waited, "%s: %s", c->name, r.err.msg);
    else
        ok(!r.st && r.day == 60000 + OWN && r.nrow == c->packets * ROWS && !r.ngap && !r.wrong,
           "%s: %zu spectra of MJD %ld, %zu gaps, %zu wrong %s", c->name, r.nrow, r.day, r.ngap,
           r.wrong, r.st ? r.err.msg : "");
    if (c->send == no_header)
        return;
    if (c->send == strays_in_silence || c->send == strays_first)
        ok(r.reported, "strays are reported");
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        test_scenario(&scenarios[i]);
    test_scenario(&(struct scenario){"a stream without a header", "", no_header, 0});
    return done_testing();
}
