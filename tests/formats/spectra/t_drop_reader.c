/* drop_reader: a pipe that is read too slowly loses whole blocks, which are gaps, and its writer never waits; and waits for
 * silent inputs end when the caller stops. */
#include "formats/spectra/spectra_reader.h"
#include "tests/support/fil.h"
#include "tests/support/loopback.h"

#include <fcntl.h>
#include <psrkit/experimental/source.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum {
    NCHAN = 64,
    NSAMP = 60000,
    PIPE_SPECTRA = 1024 /* that are in the pipe when its writer ends */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- what is sent ----------------------------------------------------------------------------- */

static void fill_row(uint8_t row[NCHAN], int64_t t)
{
    uint64_t state = (uint64_t)t * 977 + 1;
    for (int c = 0; c < NCHAN; c++)
        row[c] = (uint8_t)(tap_random(&state) >> 56);
}

struct sender {
    struct fil file;
    const char *path;
    pthread_t thread;
    size_t silent_from; /* bytes after which it holds the pipe and writes no more; 0: never */
    atomic_bool over;   /* it may close the pipe */
};

static void *send_file(void *arg)
{
    struct sender *s = arg;
    const size_t n = s->silent_from ? s->silent_from : s->file.n;
    int fd = open(s->path, O_WRONLY);
    for (size_t at = 0; fd >= 0 && at < n;) {
        ssize_t more = write(fd, s->file.b + at, n - at < 30000 ? n - at : 30000);
        if (more < 0)
            break;
        at += (size_t)more;
    }
    while (s->silent_from && !atomic_load(&s->over))
        usleep(1000);
    if (fd >= 0)
        close(fd);
    return NULL;
}

static size_t begin(struct sender *s, int64_t nsamp, const char *path)
{
    struct fil_desc d = fil_bytes_desc(NCHAN);
    uint8_t row[NCHAN];
    *s = (struct sender){.path = path};
    fil_begin(&s->file, &d);
    fil_text(&s->file, "HEADER_END");
    const size_t header = s->file.n;
    for (int64_t t = 0; t < nsamp; t++) {
        fill_row(row, t);
        fil_bytes(&s->file, row, NCHAN);
    }
    return header;
}

static void start(struct sender *s)
{
    atomic_store(&s->over, false);
    if (mkfifo(s->path, 0600) || pthread_create(&s->thread, NULL, send_file, s)) {
        printf("Bail out! no pipe\n");
        exit(EXIT_FAILURE);
    }
}

static void end(struct sender *s)
{
    atomic_store(&s->over, true);
    pthread_join(s->thread, NULL);
    unlink(s->path);
}

/* --- what is read ----------------------------------------------------------------------------- */

struct seen {
    int64_t n, missing, wrong, ngap, last_first;
    psr_status status;
};

/* Reads to the end; a block of up to 300 spectra, and then a rest. */
static struct seen read_slowly(psr_source *s, unsigned rest_us, uint64_t *seed, psr_err *err)
{
    enum { MOST = 300 };
    static uint8_t block[MOST * NCHAN];
    uint8_t row[NCHAN];
    struct seen seen = {0};
    size_t n = 1;
    while (!seen.status && n) {
        seen.status = psr_source_read(s, (size_t)tap_between(seed, 1, MOST), block, &n, err);
        n = seen.status ? 0 : n;
        const struct psr_span *gap;
        const size_t ngap = psr_source_gaps(s, &gap);
        for (size_t k = 0; k < n; k++) {
            const int64_t t = seen.n + (int64_t)k;
            bool missing = false;
            for (size_t g = 0; g < ngap; g++)
                missing |= t >= gap[g].first && t < gap[g].first + gap[g].count;
            fill_row(row, t);
            seen.missing += missing;
            seen.wrong += !missing && memcmp(row, block + k * NCHAN, NCHAN);
        }
        seen.n += (int64_t)n;
        seen.ngap = (int64_t)ngap;
        if (rest_us)
            usleep(rest_us);
    }
    return seen;
}

static struct psr_source_desc describe(const char *const *path, double drop_s, struct heard *heard)
{
    *heard = (struct heard){.count = 0};
    return (struct psr_source_desc){.size = sizeof(struct psr_source_desc),
                                    .path = path,
                                    .npath = 1,
                                    .if_choice = -1,
                                    .drop_s = drop_s,
                                    .notes = {hear, heard}};
}

static psr_source *open_or_bail(const struct psr_source_desc *d)
{
    psr_source *s;
    psr_err err;
    if (psr_source_open(&s, d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return s;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_enough_room(struct sender *s, uint64_t *seed)
{
    struct heard heard;
    psr_err err;
    const struct psr_source_desc d = describe(&s->path, 61, &heard);
    start(s);
    psr_source *source = open_or_bail(&d);
    const struct seen seen = read_slowly(source, 0, seed, &err);
    psr_source_close(source);
    end(s);
    ok(!seen.status && seen.n == NSAMP && !seen.missing && !seen.wrong && !heard.count,
       "what has room is read whole: %lld spectra, %s", (long long)seen.n, heard.text);
}

/* The writer ends although nobody has read: but for the ring all is dropped. */
static void test_writer_never_waits(struct sender *s, uint64_t *seed)
{
    struct heard heard;
    psr_err err;
    const struct psr_source_desc d = describe(&s->path, 2, &heard);
    start(s);
    psr_source *source = open_or_bail(&d);
    pthread_join(s->thread, NULL);
    unlink(s->path);
    const struct seen seen = read_slowly(source, 0, seed, &err);
    ok(!seen.status && seen.n == NSAMP && !seen.wrong && seen.ngap == 1 &&
           seen.missing >= NSAMP - 2000 - PIPE_SPECTRA && seen.missing < NSAMP - 1900,
       "the writer does not wait: %lld of %lld spectra missing", (long long)seen.missing,
       (long long)seen.n);
    const struct psr_span *gap;
    (void)psr_source_gaps(source, &gap);
    const int64_t end_ = gap->first + gap->count;
    psr_source_forget_gaps(source, end_ - 1);
    ok(psr_source_gaps(source, &gap) == 1, "a gap that goes on is not forgotten");
    psr_source_forget_gaps(source, end_);
    ok(!psr_source_gaps(source, &gap), "one that has ended is");
    psr_source_close(source);
    char want[128];
    snprintf(want, sizeof want, "too much for this machine: %lld spectra, %.3g s in 1 blocks",
             (long long)seen.missing, (double)seen.missing * 1e-3);
    ok(heard.count == 1 && strstr(heard.text, want), "one line says so: %s", heard.text);
}

static void test_slow_reader(struct sender *s, uint64_t *seed)
{
    for (int k = 0; k < 4; k++) {
        struct heard heard;
        psr_err err;
        const struct psr_source_desc d =
            describe(&s->path, 0.5 * (double)tap_between(seed, 1, 6), &heard);
        start(s);
        psr_source *source = open_or_bail(&d);
        const struct seen seen = read_slowly(source, 300, seed, &err);
        psr_source_close(source);
        end(s);
        /* Between two gaps lies a quarter of the ring. */
        ok(!seen.status && seen.n == NSAMP && !seen.wrong && seen.missing > 0 &&
               (double)seen.ngap <= 2 + (double)NSAMP / (250 * d.drop_s),
           "a slow reader loses %lld spectra in %lld gaps, and gets the others right",
           (long long)seen.missing, (long long)seen.ngap);
    }
}

/* --- silence ---------------------------------------------------------------------------------- */

static bool is_late(void *ctx)
{
    const double *when_s = ctx;
    return now_s() > *when_s;
}

/* A sender that holds the pipe: the wait ends 0.3 s later, with what came. */
static void test_silence(struct sender *s, size_t silent_from, double drop_s, uint64_t *seed)
{
    struct heard heard;
    psr_err err;
    struct seen seen = {0};
    double when_s = now_s() + 0.3;
    struct psr_source_desc d = describe(&s->path, drop_s, &heard);
    d.should_stop = is_late;
    d.stop_ctx = &when_s;
    s->silent_from = silent_from;
    start(s);
    psr_source *source = NULL;
    psr_status st = psr_source_open(&source, &d, &err);
    if (!st)
        seen = read_slowly(source, 0, seed, &err);
    const double late_s = now_s() - when_s;
    psr_source_close(source);
    end(s);
    s->silent_from = 0;
    const bool whole = silent_from > 1000;
    ok((whole ? !st && !seen.status && seen.n == 100 && !seen.wrong && !seen.missing
              : st != PSR_OK) &&
           late_s < 0.7,
       "a wait %s ends %.2f s after it should: %lld spectra",
       whole ? "for spectra" : "for a header", late_s, (long long)seen.n);
}

static void test_close(struct sender *s, size_t silent_from)
{
    struct heard heard;
    const struct psr_source_desc d = describe(&s->path, 2, &heard);
    s->silent_from = silent_from;
    start(s);
    psr_source *source = open_or_bail(&d);
    const double since_s = now_s();
    psr_source_close(source);
    const double took_s = now_s() - since_s;
    end(s);
    s->silent_from = 0;
    ok(took_s < 0.7, "a source is closed in %.2f s though its sender is silent", took_s);
}

static void test_silent_network(void)
{
    char path[64];
    const char *const name = path;
    struct heard heard;
    psr_err err;
    double when_s = now_s() + 0.3;
    snprintf(path, sizeof path, "udp://127.0.0.1:%d", loopback_port());
    struct psr_source_desc d = describe(&name, 0, &heard);
    d.should_stop = is_late;
    d.stop_ctx = &when_s;
    psr_source *source;
    psr_status st = psr_source_open(&source, &d, &err);
    ok(st == PSR_EIO && now_s() - when_s < 0.7, "nor is a network waited for: %s", err.msg);
    psr_source_close(source);
}

/* What a slow reader makes a receiver drop is counted apart from what the network lost. */
struct network {
    char to[64];
    struct psr_obs obs;
    const uint8_t *rows;
    psr_status status;
};

static void *send_packets(void *arg)
{
    struct network *n = arg;
    psr_udp_sender *sender;
    psr_err err;
    usleep(200000); /* the receiver opens its socket */
    n->status = psr_udp_sender_create(
        &sender,
        &(struct psr_udp_sender_desc){
            .size = sizeof(struct psr_udp_sender_desc), .to = n->to, .obs = &n->obs},
        &err);
    for (int t = 0; t < NSAMP && !n->status; t += 1000) {
        n->status = psr_udp_sender_append(sender, n->rows + (size_t)t * NCHAN, 1000, &err);
        usleep(2000);
    }
    if (!n->status)
        n->status = psr_udp_sender_finish(sender, &err);
    psr_udp_sender_destroy(sender);
    return NULL;
}

static int64_t number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    return at ? atoll(at + strlen(words)) : -1;
}

static void test_slow_network(const uint8_t *rows, uint64_t *seed)
{
    struct network n = {.rows = rows};
    struct heard heard;
    psr_err err;
    char path[96];
    const char *const name = path;
    pthread_t thread;
    psr_obs_init(&n.obs);
    n.obs.nchan = NCHAN, n.obs.nif = 1, n.obs.nbit = 8, n.obs.fch1_mhz = 1500,
    n.obs.foff_mhz = -0.1, n.obs.tsamp_s = 1e-3;
    snprintf(n.to, sizeof n.to, "udp://127.0.0.1:%d", loopback_port());
    snprintf(path, sizeof path, "%s?idle=3&window=16&room=1M", n.to);
    const struct psr_source_desc d = describe(&name, 0, &heard);
    if (pthread_create(&thread, NULL, send_packets, &n))
        exit(EXIT_FAILURE);
    psr_source *source = open_or_bail(&d);
    pthread_join(thread, NULL);
    const struct seen seen = read_slowly(source, 0, seed, &err);
    psr_source_close(source);
    const int64_t lost = number_after(heard.text, "received, "),
                  late = number_after(heard.text, "of which "),
                  kernel = number_after(heard.text, "came late, "),
                  dropped = number_after(heard.text, "for this machine: ");
    ok(!n.status && !seen.status && seen.n == NSAMP && !seen.wrong && dropped > 100 &&
           lost == late + kernel + dropped && seen.missing > 100 * dropped,
       "a network's packets without room are counted: %lld lost, %lld of them dropped; %lld wrong",
       (long long)lost, (long long)dropped, (long long)seen.wrong);
    diag("%s", heard.text);
}

static void test_refusals(struct sender *s)
{
    struct heard heard;
    psr_err err;
    psr_source *source;
    const char *file = scratch("file.fil");
    struct psr_source_desc d = describe(&s->path, 0.05, &heard);
    start(s);
    psr_status st = psr_source_open(&source, &d, &err);
    end(s);
    ok(st == PSR_EINVAL && !source && !strcmp(err.field, "drop_s"), "%s", err.msg);
    fil_save(&s->file, file);
    d = describe(&file, 5, &heard);
    source = open_or_bail(&d);
    ok(psr_source_obs(source)->nsamp == NSAMP && heard.count == 1 &&
           strstr(heard.text, "-drop is for pipes: ignored"),
       "a file waits: %s", heard.text);
    psr_source_close(source);
}

int main(void)
{
    uint64_t seed = tap_seed();
    struct sender s;
    signal(SIGPIPE, SIG_IGN);
    scratch_make();
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch("pipe"));
    const size_t header = begin(&s, NSAMP, path);
    test_enough_room(&s, &seed);
    test_writer_never_waits(&s, &seed);
    test_slow_reader(&s, &seed);
    for (int k = 0; k < 2; k++) {
        test_silence(&s, header + 100 * NCHAN, k ? 2 : 0, &seed);
        test_silence(&s, 20, k ? 2 : 0, &seed);
    }
    test_close(&s, header + 100 * NCHAN);
    test_silent_network();
    test_slow_network(s.file.b + header, &seed);
    test_refusals(&s);
    free(s.file.b);
    return done_testing();
}
