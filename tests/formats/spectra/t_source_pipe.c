/* source: filterbanks from pipes, whole and cut. */
#include "tests/support/source_made.h"
#include <fcntl.h>

/* A child writes bytes to fd in dribbles. */
static pid_t dribble(uint64_t *random, int fd, int unused_fd, const struct fil *f)
{
    pid_t child = fork();
    if (child)
        return child;
    close(unused_fd);
    for (size_t at = 0; at < f->n;) {
        size_t n = (size_t)tap_between(random, 1, at < 400 ? 40 : 5000);
        n = n < f->n - at ? n : f->n - at;
        if (write(fd, f->b + at, n) < 0)
            _exit(0);
        at += n;
        if (tap_between(random, 0, 9) == 0)
            usleep(200);
    }
    _exit(0);
}

/* Runs body with standard input the end of a pipe that f is dribbled into. */
static void with_standard_input(uint64_t *random, const struct fil *f, void (*body)(void *),
                                void *ctx)
{
    int ends[2], saved = dup(STDIN_FILENO);
    if (pipe(ends) != 0)
        abort();
    pid_t child = dribble(random, ends[1], ends[0], f);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    if (tap_between(random, 0, 1))
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    body(ctx);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    } else {
        close(STDIN_FILENO);
    }
    waitpid(child, NULL, 0);
}

struct attempt {
    struct psr_source_desc desc;
    const struct made *m;
    uint64_t *random;
    psr_status opened, status;
    bool same;
    int64_t nsamp, nread;
    psr_err err;
};

static void attempt_read(void *ctx)
{
    struct attempt *a = ctx;
    psr_source *s;
    a->err.msg[0] = 0;
    a->same = false;
    a->opened = a->status = psr_source_open(&s, &a->desc, &a->err);
    if (a->status)
        return;
    a->nsamp = psr_source_obs(s)->nsamp;
    uint8_t *all = read_all(a->random, s, a->m->nsamp, &a->nread, &a->status, &a->err);
    a->same = agrees(a->m, &a->desc, psr_source_obs(s), all, a->nread);
    free(all);
    psr_source_close(s);
}

static void test_random_pipes(uint64_t *random)
{
    static const char *const dash = "-";
    int wrong = 0;
    for (int trial = 0; trial < 40; trial++) {
        struct made m;
        make_random(random, &m);
        struct attempt a = {.desc = describe(&dash, 1), .m = &m, .random = random};
        choose_randomly(random, &m, &a.desc);
        with_standard_input(random, &m.file, attempt_read, &a);
        wrong += a.status || !a.same || a.nsamp != -1 || heard.count;
        if (a.status)
            diag("%s", a.err.msg);
        free_made(&m);
    }
    ok(wrong == 0, "40 random pipes, dribbled (%d wrong)", wrong);
}

static void test_named_pipe(uint64_t *random)
{
    struct made m;
    const char *path = scratch("fifo");
    make_random(random, &m);
    if (mkfifo(path, 0600) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        fil_save(&m.file, path);
        _exit(0);
    }
    const char *fifo = path;
    struct attempt a = {.desc = describe(&fifo, 1), .m = &m, .random = random};
    a.desc.pols = PSR_POLS_COHERENCE;
    attempt_read(&a);
    waitpid(child, NULL, 0);
    ok(!a.status && a.same && a.nsamp == -1, "a named pipe");
    unlink(path);
    const char *device = "/dev/stdin";
    a.desc = describe(&device, 1);
    a.desc.pols = PSR_POLS_COHERENCE;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(!a.status && a.same && a.nsamp == -1, "/dev/stdin");
    free_made(&m);
}

static void test_pipe_endings(uint64_t *random)
{
    static const char *const dash = "-";
    struct made m = {.nsamp = 50,
                     .desc = {.nchan = 16,
                              .nif = 1,
                              .nbit = 8,
                              .fch1 = 1400,
                              .foff = -1,
                              .tstart = 55000,
                              .tsamp = 1e-3,
                              .nsamples = 60}};
    make_file(random, &m);
    struct attempt a = {.desc = describe(&dash, 1), .m = &m, .random = random};
    fil_bytes(&m.file, "half a row", 10);
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(!a.status && a.same && a.nsamp == -1 && heard.count == 2 &&
           strstr(heard.text, "standard input: truncated: 60 spectra promised, 50 read") &&
           strstr(heard.text, "the last 10 bytes are no whole spectrum of 16"),
       "a pipe shorter than promised: remarks, and what there is");
    size_t whole = m.file.n;
    m.file.n = whole - 10 - 50 * 16;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(!a.opened && a.status == PSR_EFORMAT && strstr(a.err.msg, "standard input: no samples"),
       "a pipe of a header alone");
    m.file.n -= 20;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EFORMAT && strstr(a.err.msg, "the header is cut off"), "half a header");
    m.file.n = 0;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EFORMAT && strstr(a.err.msg, "standard input: empty"), "an empty pipe");
    fil_bytes(&m.file, "SIMPLE  =                    T", 30);
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EUNSUPPORTED && strstr(a.err.msg, "FITS files cannot be read from a pipe"),
       "FITS on standard input");
    a.desc.input = PSR_INPUT_PSRFITS;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EUNSUPPORTED && strstr(a.err.msg, "standard input: PSRFITS"),
       "PSRFITS asked for on standard input");
    m.file.n = whole;
    a.desc = describe(&dash, 1);
    a.desc.skip = 51;
    fil_begin(&m.file, &m.desc);
    fil_text(&m.file, "HEADER_END");
    m.file.n += 50 * 16;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EINVAL && strstr(a.err.msg, "offset of 51 spectra, must be 0 to 49"),
       "a skip beyond a pipe's end");
    free_made(&m);
}

int main(void)
{
    uint64_t random = tap_seed();
    int before = count_descriptors();
    scratch_make();
    test_random_pipes(&random);
    test_named_pipe(&random);
    test_pipe_endings(&random);
    ok(count_descriptors() == before, "no descriptor is left open");
    return done_testing();
}
