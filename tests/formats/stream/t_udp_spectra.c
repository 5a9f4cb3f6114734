/* Voltages over the loopback interface to spectra: those whose samples all came have the bits of a
 * lossless run, the others are flagged, and counts are exact, whatever is lost, disordered, repeated
 * or begun again. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/source.h>
#include <psrkit/fake.h>

#include "formats/spectra/spectra_reader.h"
#include "tests/support/loopback.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { NPOL = 2, NCHAN = 16, TSUM = 5, PER_SECOND = 50, FRAME_NSAMP = 4000, HEAD = 32 };
enum { FRAME_BYTES = HEAD + 2 * FRAME_NSAMP, FRAMES = 200, DATAGRAMS = NPOL * FRAMES };
enum { ROW_NSAMP = NCHAN * TSUM };

static const double datagram_rate = 6000;

/* What is sent, and when. */
struct stream {
    uint8_t *frames;          /* [DATAGRAMS][FRAME_BYTES] as in the file */
    int order[4 * DATAGRAMS]; /* datagrams; -1: a silence of 0.3 s */
    size_t n;
    int shift_s[4 * DATAGRAMS]; /* seconds that the sender's clock is ahead, for each */
    bool strays;                /* each is followed by one that is none of the stream's */
    int port;
};

struct spectra {
    float *x; /* [n][NCHAN] */
    size_t n;
    struct psr_filterbank_report report;
    char note[1024];
};

/* How channels are made. */
struct kind {
    const char *name;
    int64_t ntap, freq_res;
    double dm;
};
static const struct kind plain = {"plain", 1, 0, 0};

static void keep_note(void *ctx, const char *msg)
{
    struct spectra *s = ctx;
    const size_t n = strlen(s->note);
    snprintf(s->note + n, sizeof s->note - n, "%s; ", msg);
}

/* --- voltages --------------------------------------------------------------------------------- */

static void bail(const psr_err *err)
{
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

static void write_frames(const char *path, uint64_t seed)
{
    const double rate_hz = (double)PER_SECOND * FRAME_NSAMP;
    const struct psr_fakeband_desc d = {.size = sizeof d,
                                        .freq_mhz = 400,
                                        .bw_mhz = rate_hz * 1e-6,
                                        .nchan = 1,
                                        .npol = NPOL,
                                        .nbit = 8,
                                        .seed = seed,
                                        .dmconst = PSR_DMCONST_PRESTO};
    struct psr_vdif_writer_desc wd = {.size = sizeof wd,
                                      .nchan = 1,
                                      .npol = NPOL,
                                      .nbit = 8,
                                      .rate_hz = rate_hz,
                                      .start = {60000, 0}};
    uint8_t *levels[NPOL];
    psr_err err;
    psr_fakeband *p;
    psr_outfile *file = NULL;
    psr_vdif_writer *w = NULL;
    psr_status st = psr_fakeband_create(&p, &d, &err);
    for (size_t k = 0; k < NPOL && !st; k++) {
        levels[k] = tap_take((size_t)FRAMES * FRAME_NSAMP, 2);
        st = psr_fakeband_execute(p, k, 0, (size_t)FRAMES * FRAME_NSAMP, levels[k], &err);
    }
    if (!st)
        st = psr_outfile_create(&file, path, &err);
    wd.file = st ? NULL : file;
    if (!st)
        st = psr_vdif_writer_create(&w, &wd, &err);
    if (!st)
        st = psr_vdif_writer_append(w, (const void *const *)levels, FRAMES, &err);
    if (!st)
        st = psr_outfile_commit(file, &err);
    if (st)
        bail(&err);
    psr_vdif_writer_destroy(w);
    psr_fakeband_destroy(p);
    free(levels[0]), free(levels[1]);
}

/* A frame with one thing wrong, or a part of one. */
static void send_stray(int fd, const unsigned char *frame, size_t kind)
{
    static unsigned char packet[FRAME_BYTES];
    uint32_t word[4];
    memcpy(packet, frame, FRAME_BYTES);
    memcpy(word, packet, sizeof word);
    switch (kind % 6) {
    case 0: /* thread */
        word[3] ^= 0x155U << 16;
        break;
    case 1: /* epoch */
        word[1] ^= 3U << 24;
        break;
    case 2: /* an hour on */
        word[0] += 3600;
        break;
    case 3: /* no frame of a second has this number */
        word[1] |= 0xfff000;
        break;
    case 4: /* bits of a sample */
        word[3] ^= 1U << 26;
        break;
    case 5:
        break;
    }
    memcpy(packet, word, sizeof word);
    (void)!send(fd, packet, kind % 6 == 5 ? kind * 997 % FRAME_BYTES : FRAME_BYTES, 0);
}

static void *send_stream(void *arg)
{
    const struct stream *s = arg;
    const int fd = loopback_sender(s->port);
    static unsigned char packet[FRAME_BYTES];
    nanosleep(&(struct timespec){0, 200000000}, NULL); /* the receiver opens */
    for (size_t i = 0; i < s->n; i++) {
        if (s->order[i] < 0) {
            nanosleep(&(struct timespec){0, 300000000}, NULL);
            continue;
        }
        memcpy(packet, s->frames + (size_t)s->order[i] * FRAME_BYTES, FRAME_BYTES);
        uint32_t second;
        memcpy(&second, packet, sizeof second);
        second += (uint32_t)s->shift_s[i];
        memcpy(packet, &second, sizeof second);
        (void)!send(fd, packet, FRAME_BYTES, 0);
        if (s->strays && i % 4 == 3)
            send_stray(fd, packet, i / 4);
        nanosleep(&(struct timespec){0, (long)(1e9 / datagram_rate)}, NULL);
    }
    close(fd);
    return NULL;
}

/* --- spectra ---------------------------------------------------------------------------------- */

static void read_spectra(struct spectra *s, const char *path)
{
    psr_err err;
    struct psr_obs obs;
    size_t bytes, head = 0;
    bool more;
    char *file = scratch_read(path, &bytes);
    if (!file || psr_sigproc_parse(&obs, &head, &more, file, bytes, path, NULL, &err))
        bail(&err);
    s->n = (bytes - head) / (NCHAN * sizeof *s->x);
    s->x = tap_take(s->n * NCHAN + 1, sizeof *s->x);
    memcpy(s->x, file + head, s->n * NCHAN * sizeof *s->x);
    psr_obs_clear(&obs);
    free(file);
}

static void make_spectra(struct spectra *s, const char *from, const struct kind *kind)
{
    psr_filterbank *p;
    psr_err err;
    struct psr_filterbank_desc d;
    memset(s, 0, sizeof *s);
    psr_filterbank_defaults(&d);
    d.path = &from;
    d.npath = 1;
    d.freq_mhz = 400;
    d.nchan = NCHAN;
    d.ntap = kind->ntap;
    d.freq_res = kind->freq_res;
    d.dm = kind->dm;
    d.tsum = TSUM;
    d.nbits = 32;
    d.interval_s = 0;
    d.output = scratch("out.fil");
    d.notes = (struct psr_notes){keep_note, s};
    psr_status st = psr_filterbank_create(&p, &d, &err);
    if (!st)
        st = psr_filterbank_run(p, &err);
    if (st)
        bail(&err);
    psr_filterbank_describe(p, &s->report);
    if (psr_filterbank_finish(p, &err))
        bail(&err);
    psr_filterbank_destroy(p);
    read_spectra(s, d.output);
}

/* --- what must come --------------------------------------------------------------------------- */

/* Frames of the received stream: which frame of the file is there, or -1. */
struct expected {
    int frame[40 * PER_SECOND];
    size_t n;
};

/* Frames are there if those of both polarisations are. */
static void expect(struct expected *e, const bool *came, size_t from, size_t n, size_t at)
{
    for (size_t k = 0; k < n; k++)
        e->frame[at + k] =
            came[NPOL * (from + k)] && came[NPOL * (from + k) + 1] ? (int)(from + k) : -1;
    e->n = at + n;
}

static void compare(const struct spectra *whole, const struct spectra *net,
                    const struct expected *e, const char *what)
{
    size_t wrong = 0, good = 0, lost = 0, unlike = 0;
    int64_t samples = 0;
    const size_t nrow = e->n * FRAME_NSAMP / ROW_NSAMP;
    for (size_t k = 0; k < e->n; k++)
        samples += e->frame[k] < 0 ? FRAME_NSAMP : 0;
    for (size_t i = 0; i < nrow && i < net->n; i++) {
        const size_t first = i * ROW_NSAMP / FRAME_NSAMP,
                     last = ((i + 1) * ROW_NSAMP - 1) / FRAME_NSAMP;
        const int at = e->frame[first];
        const float *x = net->x + i * NCHAN;
        bool some = false;
        for (size_t c = 0; c < NCHAN; c++)
            some |= x[c] != 0;
        if (at >= 0 && (first == last || e->frame[last] == at + 1)) {
            const size_t row = ((size_t)at * FRAME_NSAMP + i * ROW_NSAMP % FRAME_NSAMP) / ROW_NSAMP;
            wrong += memcmp(x, whole->x + row * NCHAN, NCHAN * sizeof *x) != 0;
            good++;
        } else if (at < 0 && e->frame[last] < 0) {
            unlike += some;
            lost++;
        }
    }
    ok(net->n == nrow && !wrong && !unlike && good > 0,
       "%s: %zu spectra have the bits of a lossless run, %zu do not; %zu are flagged, %zu of them "
       "have values",
       what, good, wrong, lost, unlike);
    ok(net->report.nlost == samples && net->report.nrow_lost == (int64_t)lost,
       "%s: %lld samples are lost, and %zu spectra", what, (long long)samples, lost);
    if (net->n != nrow || net->report.nlost != samples || net->report.nrow_lost != (int64_t)lost)
        diag("%zu spectra of %zu; %lld samples lost, %lld spectra; %s", net->n, nrow,
             (long long)net->report.nlost, (long long)net->report.nrow_lost, net->note);
}

static void transfer(struct stream *s, const struct spectra *whole, const struct expected *e,
                     const char *what)
{
    struct spectra net;
    pthread_t thread;
    char name[64];
    s->port = loopback_port();
    snprintf(name, sizeof name, "udp://127.0.0.1:%d?idle=0.6", s->port);
    if (pthread_create(&thread, NULL, send_stream, s))
        exit(EXIT_FAILURE);
    make_spectra(&net, name, &plain);
    pthread_join(thread, NULL);
    if (strstr(net.note, " 0 datagrams found the kernel's"))
        compare(whole, &net, e, what);
    else
        skip(what, "the kernel lost packets");
    free(net.x);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void put(struct stream *s, int datagram, int shift_s)
{
    s->shift_s[s->n] = shift_s;
    s->order[s->n++] = datagram;
}

static void disorder(struct stream *s, uint64_t *random, size_t reorder)
{
    for (size_t i = 4; reorder && i + reorder < s->n; i += reorder) {
        const size_t with = i + (size_t)tap_between(random, 0, (int64_t)reorder);
        const int was = s->order[i];
        s->order[i] = s->order[with];
        s->order[with] = was;
    }
}

static void test_losses(struct stream *s, const struct spectra *whole, uint64_t *random,
                        double loss, size_t reorder)
{
    bool came[DATAGRAMS];
    struct expected e;
    char what[64];
    s->n = 0;
    for (int i = 0; i < DATAGRAMS; i++) {
        const bool edge = i < 8 || i >= DATAGRAMS - NPOL; /* the beginning and the end are told */
        came[i] = edge || tap_uniform(random) >= loss;
        for (int k = 0; k < (reorder && i % 50 == 30 ? 2 : 1) && came[i]; k++)
            put(s, i, 0);
    }
    disorder(s, random, reorder);
    expect(&e, came, 0, FRAMES, 0);
    snprintf(what, sizeof what, "%g lost, up to %zu too late", loss, reorder);
    transfer(s, whole, &e, what);
}

/* Hostile frames change nothing. */
static void test_strays(struct stream *s, const struct spectra *whole)
{
    bool came[DATAGRAMS];
    struct expected e;
    s->n = 0;
    for (int i = 0; i < DATAGRAMS; i++)
        put(s, i, 0);
    memset(came, true, sizeof came);
    expect(&e, came, 0, FRAMES, 0);
    s->strays = true;
    transfer(s, whole, &e, "stray frames");
    s->strays = false;
}

/* A sender is killed, and begins again a second and a half later by its clock. */
static void test_restart(struct stream *s, const struct spectra *whole)
{
    bool came[DATAGRAMS];
    struct expected e;
    const int stop = DATAGRAMS / 3, go = stop + 3 * PER_SECOND / 2 * NPOL;
    s->n = 0;
    for (int i = 0; i < DATAGRAMS; i++) {
        came[i] = i < stop || i >= go;
        if (came[i])
            put(s, i, 0);
        if (i == stop)
            put(s, -1, 0);
    }
    expect(&e, came, 0, FRAMES, 0);
    transfer(s, whole, &e, "a sender killed and restarted");
}

/* The clock of the one that begins again is an hour behind: seconds go on after those before, and
 * what came until it was believed is lost. */
static void test_clock(struct stream *s, const struct spectra *whole, int shift_s)
{
    enum { BEFORE = 120, CONFIRM = 32 };
    bool came[DATAGRAMS];
    struct expected e;
    char what[64];
    s->n = 0;
    for (int i = 0; i < NPOL * BEFORE; i++)
        put(s, i, 0);
    put(s, -1, 0);
    for (int i = 0; i < DATAGRAMS; i++)
        put(s, i, shift_s);
    memset(e.frame, 0xff, sizeof e.frame);
    memset(came, true, sizeof came);
    expect(&e, came, 0, BEFORE, 0);
    memset(came, false, CONFIRM - 1);
    /* 120 frames are 2.4 s: the next second after the silence is the fourth */
    const size_t first = (BEFORE / PER_SECOND + 1) * PER_SECOND;
    expect(&e, came, 0, FRAMES, first);
    snprintf(what, sizeof what, "a clock %d s ahead", shift_s);
    transfer(s, whole, &e, what);
}

/* --- stretches of a file ------------------------------------------------------------------------ */

/* Runs of frames that are there and of others, up to longest frames each; the first and last are. */
static void lose_stretches(uint64_t *random, int64_t longest, bool *came)
{
    bool on = true;
    for (int64_t i = 0, left = 5; i < FRAMES; i++, left--) {
        if (left == 0) {
            on = !on;
            left = tap_between(random, 1, longest);
        }
        came[NPOL * i] = came[NPOL * i + 1] = on || i >= FRAMES - 2;
        if (on && left == 1) /* a polarisation alone is no use */
            came[NPOL * i + (size_t)tap_between(random, 0, 1)] = tap_random(random) % 2;
    }
}

static bool are_there(const struct expected *e, size_t first, size_t n)
{
    for (size_t k = first / FRAME_NSAMP; k * FRAME_NSAMP < first + n; k++)
        if (k >= e->n || e->frame[k] < 0)
            return false;
    return true;
}

/* Of the spectra of row i, those whose samples are there, and those whose segments are. */
static void count_spectra(const struct expected *e, const struct spectra *s,
                          const struct kind *kind, size_t i, size_t *good, size_t *whole)
{
    const size_t early = s->report.early, late = s->report.late, nfft = s->report.nfft;
    const size_t keep = nfft - early - late, ntap = (size_t)kind->ntap;
    *good = *whole = 0;
    for (size_t k = i * TSUM; k < (i + 1) * TSUM; k++) {
        *good += are_there(e, k * NCHAN, (ntap + early + late) * NCHAN);
        *whole += are_there(e, k / keep * keep * NCHAN, ntap * nfft * NCHAN);
    }
}

/* Rows of whole segments have the bits of a lossless run; those without a spectrum are 0 and flagged. */
static void compare_kind(const struct spectra *all, const struct spectra *some,
                         const struct expected *e, const struct kind *kind, int64_t longest)
{
    static const float none[NCHAN];
    size_t wrong = 0, same = 0, lost = 0;
    int64_t samples = 0;
    for (size_t k = 0; k < e->n; k++)
        samples += e->frame[k] < 0 ? FRAME_NSAMP : 0;
    for (size_t i = 0; i < all->n && i < some->n; i++) {
        const float *x = some->x + i * NCHAN;
        size_t good, whole;
        count_spectra(e, some, kind, i, &good, &whole);
        if (whole == TSUM)
            wrong += memcmp(x, all->x + i * NCHAN, sizeof none) != 0;
        if (good == 0)
            wrong += memcmp(x, none, sizeof none) != 0;
        same += whole == TSUM;
        lost += good == 0;
    }
    ok(some->n == all->n && !wrong && same > 0 && some->report.nlost == samples &&
           some->report.nrow_lost == (int64_t)lost,
       "%s, up to %lld frames lost in a row: %zu rows have the bits of a lossless run, %zu of "
       "%lld are flagged",
       kind->name, (long long)longest, same, lost, (long long)some->report.nrow);
    if (wrong || some->report.nlost != samples || some->report.nrow_lost != (int64_t)lost)
        diag("%zu wrong, %lld samples lost of %lld, %lld rows", wrong,
             (long long)some->report.nlost, (long long)samples, (long long)some->report.nrow_lost);
}

static void test_stretches(const struct stream *s, const char *path, uint64_t *random,
                           const struct kind *kind, int64_t longest)
{
    bool came[DATAGRAMS];
    struct expected e;
    struct spectra all, some;
    uint8_t *kept = tap_take(DATAGRAMS, FRAME_BYTES);
    size_t n = 0;
    lose_stretches(random, longest, came);
    expect(&e, came, 0, FRAMES, 0);
    for (size_t i = 0; i < DATAGRAMS; i++)
        if (came[i])
            memcpy(kept + n++ * FRAME_BYTES, s->frames + i * FRAME_BYTES, FRAME_BYTES);
    scratch_write(scratch("lossy.vdif"), kept, n * FRAME_BYTES);
    make_spectra(&all, path, kind);
    make_spectra(&some, scratch("lossy.vdif"), kind);
    compare_kind(&all, &some, &e, kind, longest);
    free(kept);
    free(all.x);
    free(some.x);
}

int main(void)
{
    uint64_t random = tap_seed();
    struct stream s = {.n = 0};
    struct spectra whole;
    size_t bytes;
    scratch_make();
    char path[256];
    snprintf(path, sizeof path, "%s", scratch("whole.vdif"));
    write_frames(path, tap_random(&random) >> 2);
    s.frames = (uint8_t *)scratch_read(path, &bytes);
    make_spectra(&whole, path, &plain);
    ok(bytes == (size_t)DATAGRAMS * FRAME_BYTES &&
           whole.n == (size_t)FRAMES * FRAME_NSAMP / ROW_NSAMP && !whole.report.nlost,
       "a lossless run of a file");
    test_losses(&s, &whole, &random, 0, 0);
    test_losses(&s, &whole, &random, 0.001, 64);
    test_losses(&s, &whole, &random, 0.05, 64);
    test_strays(&s, &whole);
    test_restart(&s, &whole);
    test_clock(&s, &whole, -3600);
    test_clock(&s, &whole, 3600);
    const struct kind kinds[] = {
        plain, {"8 taps", 8, 0, 0}, {"sharp", 1, 32, 0}, {"coherent", 1, 128, 500}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int64_t longest = 1; longest <= 64; longest *= 8)
            test_stretches(&s, path, &random, kinds + i, longest);
    free(s.frames);
    free(whole.x);
    return done_testing();
}
